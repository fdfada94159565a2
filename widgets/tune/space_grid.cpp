// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/space_grid.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

using Role = Theme::Role;
using Direction = SpaceLayout::Direction;

constexpr double kBar = 4; // height of the bar of tries

QColor tone(Role role) {
    return Theme::instance().color(role);
}

std::optional<Direction> directionOf(int key) {
    switch (key) {
    case Qt::Key_Left:
        return Direction::left;
    case Qt::Key_Right:
        return Direction::right;
    case Qt::Key_Up:
        return Direction::up;
    case Qt::Key_Down:
        return Direction::down;
    case Qt::Key_Home:
        return Direction::first;
    case Qt::Key_End:
        return Direction::last;
    default:
        return {};
    }
}

} // namespace

SpaceGrid::SpaceGrid(QWidget* parent) : QAbstractScrollArea(parent) {
    setAccessibleName(tr("Values of the knobs"));
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void SpaceGrid::setMap(const SpaceMap& map) {
    map_ = map;
    bestMs_ = map_.bestMs();
    most_.clear();
    for (const SpacePart& part : map_.parts)
        for (const SpaceKnob& knob : part.knobs) {
            qint64 most = 0;
            for (const SpaceValue& value : knob.values)
                most = std::max(most, value.tries);
            most_.push_back(most);
        }
    arrange();
    const SpaceCell kept = layout_.nearest(current_);
    current_ = kept == current_ ? kept : SpaceCell();
    emit currentChanged(cellText(current_));
}

void SpaceGrid::arrange() {
    const QFontMetricsF metrics(font());
    layout_ = SpaceLayout(map_, {static_cast<double>(viewport()->width()), metrics.height(),
                                 [&metrics](const QString& text) { return metrics.horizontalAdvance(text); }});
    const int height = viewport()->height();
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(layout_.height())) - height));
    verticalScrollBar()->setPageStep(height);
    verticalScrollBar()->setSingleStep(static_cast<int>(metrics.height()));
    viewport()->update();
}

void SpaceGrid::setCurrent(SpaceCell cell) {
    if (cell == current_)
        return;
    current_ = cell;
    reveal();
    viewport()->update();
    emit currentChanged(cellText(current_));
}

void SpaceGrid::reveal() {
    if (!current_.valid())
        return;
    const QRectF rect = layout_.cellRect(current_);
    QScrollBar* bar = verticalScrollBar();
    if (rect.top() < bar->value())
        bar->setValue(static_cast<int>(rect.top()) - 2);
    else if (rect.bottom() > bar->value() + viewport()->height())
        bar->setValue(static_cast<int>(std::ceil(rect.bottom())) - viewport()->height() + 2);
}

QPointF SpaceGrid::toLayout(QPoint position) const { return QPointF(position) + QPointF(0, verticalScrollBar()->value()); }

const SpaceValue& SpaceGrid::valueOf(SpaceCell cell) const {
    const SpaceLayout::Row& row = layout_.rows()[cell.row];
    return map_.parts[row.part].knobs[row.knob].values[cell.value];
}

QString SpaceGrid::cellText(SpaceCell cell) const {
    if (!cell.valid())
        return {};
    const SpaceLayout::Row& row = layout_.rows()[cell.row];
    const SpacePart& part = map_.parts[row.part];
    const SpaceValue& value = valueOf(cell);
    QString name = tr("%1 = %2").arg(part.knobs[row.knob].name, value.text);
    if (map_.parts.size() > 1)
        name = tr("%1 of %2").arg(name, part.name);
    if (value.tries == 0)
        return tr("%1: never tried").arg(name);
    const double ratio = value.bestMs / bestMs_;
    if (!std::isfinite(ratio))
        return tr("%1: tries: %2, all of them failed").arg(name).arg(value.tries);
    const QString tried = tr("%1: tries: %2, best time %3").arg(name).arg(value.tries).arg(msText(value.bestMs));
    return ratio <= 1 ? tr("%1, the best of all").arg(tried)
                      : tr("%1, %2 times the best of all").arg(tried, QLocale().toString(ratio, 'f', 2));
}

QColor SpaceGrid::cellColor(const SpaceValue& value) const {
    const double shade = shadeOf(value.bestMs, bestMs_);
    return value.tries > 0 && std::isfinite(shade) ? Theme::instance().ramp(shade) : QColor();
}

void SpaceGrid::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    painter.fillRect(event->rect(), tone(Role::surface));
    painter.setRenderHint(QPainter::Antialiasing);
    const double scrolled = verticalScrollBar()->value();
    painter.translate(0, -scrolled);
    const double top = event->rect().top() + scrolled, bottom = event->rect().bottom() + scrolled;
    for (const SpaceLayout::Header& header : layout_.headers())
        if (header.rect.bottom() >= top && header.rect.top() <= bottom)
            drawHeader(painter, header);
    const auto [from, to] = layout_.rowsIn(top, bottom);
    for (int row = from; row < to; ++row)
        drawRow(painter, row, top, bottom);
    if (!current_.valid())
        return;
    painter.setPen(QPen(tone(hasFocus() ? Role::text : Role::muted), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(layout_.cellRect(current_).adjusted(-1, -1, 1, 1), 4, 4);
}

void SpaceGrid::drawHeader(QPainter& painter, const SpaceLayout::Header& header) const {
    const SpacePart& part = map_.parts[header.part];
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    const QString name = oneLine(part.name);
    painter.setFont(bold);
    painter.setPen(tone(Role::text));
    painter.drawText(header.rect, Qt::AlignVCenter | Qt::AlignLeft, name);
    const double used = painter.fontMetrics().horizontalAdvance(name) + 10;
    painter.setFont(font());
    painter.setPen(tone(Role::muted));
    QString text = tr("%1 of %2 configs").arg(spaceText(static_cast<double>(part.tried)), spaceText(part.configs));
    if (part.bestMs > 0)
        text = tr("%1, best %2").arg(text, msText(part.bestMs));
    painter.drawText(header.rect.adjusted(used, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
}

void SpaceGrid::drawRow(QPainter& painter, int index, double top, double bottom) const {
    const SpaceLayout::Row& row = layout_.rows()[index];
    const QString& name = map_.parts[row.part].knobs[row.knob].name;
    painter.setPen(tone(Role::text));
    painter.drawText(row.label, Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(oneLine(name), Qt::ElideMiddle, static_cast<int>(row.label.width())));
    const auto [from, to] = layout_.cellsIn(index, top, bottom);
    for (int value = from; value < to; ++value)
        drawCell(painter, {index, value});
}

void SpaceGrid::drawCell(QPainter& painter, SpaceCell cell) const {
    const SpaceValue& value = valueOf(cell);
    const QRectF rect = layout_.cellRect(cell).adjusted(0.5, 0.5, -0.5, -0.5);
    const QColor filled = cellColor(value);
    const bool failed = value.tries > 0 && !filled.isValid();
    painter.setPen(QPen(tone(failed ? Role::error : Role::border), 1));
    painter.setBrush(filled.isValid() ? QBrush(filled) : Qt::NoBrush);
    painter.drawRoundedRect(rect, 3, 3);
    const QColor ink = filled.isValid() ? Theme::instance().textOn(filled) : tone(failed ? Role::error : Role::muted);
    painter.setPen(ink);
    const QString text = painter.fontMetrics().elidedText(oneLine(value.text), Qt::ElideRight, static_cast<int>(rect.width()) - 4);
    painter.drawText(rect.adjusted(0, 0, 0, -kBar - 2), Qt::AlignCenter, text);
    if (value.tries == 0)
        return;
    QRectF bar(rect.left() + 4, rect.bottom() - kBar - 2.5, rect.width() - 8, kBar);
    QColor track = ink;
    track.setAlphaF(0.25f);
    painter.fillRect(bar, track);
    bar.setWidth(std::max(2.0, bar.width() * static_cast<double>(value.tries) / static_cast<double>(most_[cell.row])));
    painter.fillRect(bar, ink);
}

void SpaceGrid::resizeEvent(QResizeEvent*) { arrange(); }

void SpaceGrid::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        arrange();
}

void SpaceGrid::keyPressEvent(QKeyEvent* event) {
    if (const auto direction = directionOf(event->key()); direction && event->modifiers() == Qt::NoModifier)
        return setCurrent(layout_.step(current_, *direction));
    QAbstractScrollArea::keyPressEvent(event);
}

void SpaceGrid::mousePressEvent(QMouseEvent* event) {
    if (const SpaceCell cell = layout_.cellAt(toLayout(event->position().toPoint())); cell.valid())
        setCurrent(cell);
}

void SpaceGrid::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    const bool byKey = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
    if (byKey && !current_.valid())
        setCurrent(layout_.nearest({}));
}

bool SpaceGrid::viewportEvent(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const SpaceCell cell = layout_.cellAt(toLayout(help->pos()));
    if (cell.valid())
        QToolTip::showText(help->globalPos(), plainToolTip(cellText(cell)), viewport());
    else
        QToolTip::hideText();
    return true;
}

} // namespace tunesmith
