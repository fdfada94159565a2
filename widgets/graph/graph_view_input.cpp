// SPDX-License-Identifier: GPL-3.0-or-later
// The part of GraphView that listens: mouse, keys and files.
#include "widgets/base/theme.h"
#include "widgets/graph/graph_view.h"
#include <QApplication>
#include <QFileDialog>
#include <QImage>
#include <QKeyEvent>
#include <QMessageBox>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace tunesmith {

void GraphView::wheelEvent(QWheelEvent* event) {
    const bool zooms = wheelZooms_ || event->modifiers().testFlag(Qt::ControlModifier);
    if (zooms && !event->modifiers().testFlag(Qt::ShiftModifier)) {
        setTransform(transform_.zoomedAt(event->position(), std::pow(1.0015, event->angleDelta().y())));
    } else {
        auto moved = transform_;
        const QPointF delta = event->angleDelta();
        moved.offset +=
            event->modifiers().testFlag(Qt::ShiftModifier) ? QPointF(delta.y(), delta.x()) : delta;
        setTransform(moved);
    }
    event->accept();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    pressed_ = lastMouse_ = event->position();
    if (event->button() == Qt::RightButton) {
        if (const int node = nodeAt(event->position()); node >= 0)
            selectIndex(node, false);
        return QWidget::mousePressEvent(event);
    }
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
        return;
    drag_ = minimapRect().contains(event->position()) ? Drag::minimap : Drag::press;
    if (drag_ == Drag::minimap)
        centreFromMinimap(event->position());
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    const QPointF by = event->position() - lastMouse_;
    lastMouse_ = event->position();
    if (drag_ == Drag::minimap)
        return centreFromMinimap(event->position());
    if (drag_ == Drag::press &&
        (event->position() - pressed_).manhattanLength() >= QApplication::startDragDistance()) {
        drag_ = Drag::pan;
        setCursor(Qt::ClosedHandCursor);
        auto moved = transform_;
        moved.offset += event->position() - pressed_ - by;
        transform_ = moved;
    }
    if (drag_ == Drag::pan) {
        auto moved = transform_;
        moved.offset += by;
        return setTransform(moved);
    }
    const int node = nodeAt(event->position());
    if (node != marks_.hovered) {
        marks_.hovered = node;
        update();
    }
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
    if (drag_ == Drag::press && event->button() == Qt::LeftButton)
        selectIndex(nodeAt(event->position()), false);
    drag_ = Drag::none;
    unsetCursor();
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && selected_ >= 0 &&
        selected_ == nodeAt(event->position()))
        emit activated(selectedId());
}

void GraphView::leaveEvent(QEvent*) {
    marks_.hovered = -1;
    update();
}

bool GraphView::moveBy(int key) {
    constexpr double step = 80;
    auto moved = transform_;
    switch (key) {
    case Qt::Key_Left:
        moved.offset.rx() += step;
        break;
    case Qt::Key_Right:
        moved.offset.rx() -= step;
        break;
    case Qt::Key_Up:
        moved.offset.ry() += step;
        break;
    case Qt::Key_Down:
        moved.offset.ry() -= step;
        break;
    case Qt::Key_PageUp:
        moved.offset.ry() += height() * 0.9;
        break;
    case Qt::Key_PageDown:
        moved.offset.ry() -= height() * 0.9;
        break;
    default:
        return false;
    }
    setTransform(moved);
    return true;
}

bool GraphView::walk(int key) {
    using Direction = SceneWalk::Direction;
    Direction direction = Direction::down;
    switch (key) {
    case Qt::Key_Left:
        direction = Direction::left;
        break;
    case Qt::Key_Right:
        direction = Direction::right;
        break;
    case Qt::Key_Up:
        direction = Direction::up;
        break;
    case Qt::Key_Down:
        break;
    default:
        return false;
    }
    selectIndex(walk_.step(scene_, selected_, direction), true);
    return true;
}

void GraphView::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    const bool pans = selected_ < 0 || event->modifiers().testFlag(Qt::ShiftModifier);
    if (!pans && walk(key))
        return;
    if (moveBy(key))
        return;
    if (key == Qt::Key_Escape && selected_ >= 0)
        selectIndex(-1, false);
    else if ((key == Qt::Key_Return || key == Qt::Key_Enter) && selected_ >= 0)
        emit activated(selectedId());
    else if ((key == Qt::Key_Home || key == Qt::Key_End) && !scene_.nodes.isEmpty())
        selectIndex(walk_.next(-1, key == Qt::Key_Home ? 1 : -1), true);
    else
        QWidget::keyPressEvent(event);
}

// Tab walks through the nodes and leaves the view after the last one, so that nobody is caught in it.
bool GraphView::focusNextPrevChild(bool next) {
    if (!hasFocus() || scene_.nodes.isEmpty())
        return QWidget::focusNextPrevChild(next);
    const int node = walk_.next(selected_, next ? 1 : -1);
    if (node < 0) {
        selectIndex(-1, false);
        return QWidget::focusNextPrevChild(next);
    }
    selectIndex(node, true);
    return true;
}

void GraphView::chooseExport() {
    auto* dialog = new QFileDialog(this, tr("Export image"), {}, tr("Vector image (*.svg);;Picture (*.png)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->selectFile(QStringLiteral("graph.svg"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        if (const QString error = exportTo(path); !error.isEmpty())
            sayError(error);
    });
    dialog->open();
}

void GraphView::sayError(const QString& error) {
    auto* box = new QMessageBox(QMessageBox::Warning, tr("Export image"), error, QMessageBox::Ok, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    box->open();
}

QString GraphView::exportTo(const QString& path) {
    if (scene_.nodes.isEmpty())
        return tr("There is no graph to export.");
    if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive))
        return savePng(path);
    if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive))
        return saveSvg(path);
    return tr("%1: choose a name that ends in .png or .svg.").arg(path);
}

QString GraphView::savePng(const QString& path) {
    const QRectF area = sceneRect().adjusted(-20, -20, 20, 20);
    const double largest = std::max(area.width(), area.height());
    const double bySide = 16000 / largest, byArea = std::sqrt(64e6 / (area.width() * area.height()));
    ViewTransform transform;
    transform.scale = std::min({2.0, bySide, byArea});
    transform.offset = -area.topLeft() * transform.scale;
    QImage image((area.size() * transform.scale).toSize().expandedTo({1, 1}), QImage::Format_RGB32);
    image.fill(Theme::instance().color(Theme::Role::canvas));
    QPainter painter(&image);
    painter_.paint(painter, transform, area, index_, {});
    painter.end();
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || !image.save(&file, "PNG") || !file.commit())
        return tr("%1: the picture could not be written (%2).").arg(path, file.errorString());
    return {};
}

QString GraphView::saveSvg(const QString& path) {
    const QRectF area = sceneRect().adjusted(-20, -20, 20, 20);
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return tr("%1: the picture could not be written (%2).").arg(path, file.errorString());
    QSvgGenerator svg;
    svg.setOutputDevice(&file);
    svg.setSize(area.size().toSize());
    svg.setViewBox(QRectF(QPointF(0, 0), area.size()));
    svg.setTitle(tr("Graph"));
    ViewTransform transform;
    transform.offset = -area.topLeft();
    QPainter painter(&svg);
    painter.fillRect(QRectF(QPointF(0, 0), area.size()), Theme::instance().color(Theme::Role::canvas));
    painter_.paint(painter, transform, area, index_, {});
    painter.end();
    return file.commit() ? QString()
                         : tr("%1: the picture could not be written (%2).").arg(path, file.errorString());
}

} // namespace tunesmith
