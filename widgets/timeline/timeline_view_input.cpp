// SPDX-License-Identifier: GPL-3.0-or-later
// The part of TimelineView that listens: mouse and keys.
#include "widgets/timeline/timeline_view.h"
#include <QApplication>
#include <QKeyEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace tunesmith {

void TimelineView::wheelEvent(QWheelEvent* event) {
    const QPoint turned = event->angleDelta();
    if (event->modifiers().testFlag(Qt::ControlModifier))
        verticalScrollBar()->setValue(verticalScrollBar()->value() - turned.y() / 2);
    else if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turned.x()) > std::abs(turned.y()))
        lookElsewhere(scale_.movedBy(-(turned.x() != 0 ? turned.x() : turned.y())));
    else
        lookElsewhere(scale_.zoomedAt(event->position().x() - place_.plot.left(), std::pow(1.0015, turned.y())));
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    pressed_ = lastMouse_ = event->position();
    if (event->button() == Qt::RightButton) {
        if (const int slice = sliceAt(event->position()); slice >= 0)
            select(slice, false);
        return;
    }
    if (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton)
        drag_ = event->modifiers().testFlag(Qt::ShiftModifier) ? Drag::area : Drag::press;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    const QPointF by = event->position() - lastMouse_;
    if (drag_ == Drag::press && (event->position() - pressed_).manhattanLength() >= QApplication::startDragDistance()) {
        drag_ = Drag::pan;
        viewport()->setCursor(Qt::ClosedHandCursor);
    }
    if (drag_ == Drag::pan) {
        lookElsewhere(scale_.movedBy(-by.x()));
        verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::round(by.y())));
    } else if (drag_ == Drag::area) {
        stretchArea(pressed_, event->position());
    } else if (const int slice = sliceAt(event->position()); drag_ == Drag::none && slice != marks_.hovered) {
        marks_.hovered = slice;
        viewport()->update();
    }
    lastMouse_ = event->position();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (drag_ == Drag::press && event->button() == Qt::LeftButton) {
        if (const int track = trackAt(event->position()); track >= 0)
            track_ = track;
        select(sliceAt(event->position()), false);
        if (selected() < 0)
            setArea({});
    }
    drag_ = Drag::none;
    viewport()->unsetCursor();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && selected() >= 0)
        focusOnSelection();
}

// All tracks between, also where the mouse left them.
void TimelineView::stretchArea(QPointF from, QPointF to) {
    if (rows_.size() == 0)
        return;
    const auto inRows = [this](double y) { return y - place_.plot.top() + place_.scroll; };
    const auto [first, behind] = rows_.tracksIn(inRows(std::min(from.y(), to.y())), inRows(std::max(from.y(), to.y())));
    const auto timeAt = [this](double x) { return std::clamp(scale_.toTime(x - place_.plot.left()), model_.span().begin, model_.span().end); };
    setArea({std::min(first, rows_.size() - 1), std::max(first, behind - 1), {timeAt(std::min(from.x(), to.x())), timeAt(std::max(from.x(), to.x()))}});
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Home:
    case Qt::Key_End:
        return selectStep(event->key());
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        return verticalScrollBar()->triggerAction(event->key() == Qt::Key_PageUp ? QAbstractSlider::SliderPageStepSub : QAbstractSlider::SliderPageStepAdd);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (selected() >= 0) {
            const TimelineSlice slice = model_.slice(selected());
            setArea({slice.tracks.front(), slice.tracks.back(), {slice.begin, slice.end}});
        }
        return;
    case Qt::Key_Escape:
        if (selected() >= 0)
            return select(-1);
        if (!area().empty())
            return setArea({});
        [[fallthrough]];
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

// Without a selected slice to the one that stands nearest to the middle.
void TimelineView::selectStep(int key) {
    if (rows_.size() == 0)
        return;
    track_ = std::clamp(track_, 0, rows_.size() - 1);
    const IntervalLevels& slices = model_.onTrack(track_);
    if (key == Qt::Key_Home || key == Qt::Key_End) {
        if (slices.size() > 0)
            select(slices[key == Qt::Key_Home ? 0 : slices.size() - 1].item);
        return;
    }
    const TimeSpan shown = scale_.shown();
    const double middle = selected() < 0 ? (shown.begin + shown.end) / 2 : (model_.slice(selected()).begin + model_.slice(selected()).end) / 2;
    int to = -1;
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
        const int by = key == Qt::Key_Up ? -1 : 1;
        for (int track = track_ + by; track >= 0 && track < rows_.size() && to < 0; track += by)
            if (to = model_.nearestOnTrack(track, middle); to >= 0)
                track_ = track;
    } else {
        to = selected() < 0 ? model_.nearestOnTrack(track_, middle) : model_.nextOnTrack(track_, selected(), key == Qt::Key_Left ? -1 : 1);
    }
    if (to >= 0)
        select(to);
}

} // namespace tunesmith
