// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/workload_delegates.h"
#include "widgets/base/row_table_model.h"
#include "widgets/base/theme.h"
#include "widgets/tune/tune_data.h"
#include <QApplication>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

using Role = Theme::Role;
QColor tone(Role role) {
    return Theme::instance().color(role);
}

bool selected(const QStyleOptionViewItem& option) {
    return option.state & QStyle::State_Selected;
}
QColor ink(const QStyleOptionViewItem& option) {
    return tone(selected(option) ? Role::onAccent : Role::text);
}

void drawBackground(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex&) {
    const auto* style = option.widget ? option.widget->style() : QApplication::style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, option.widget);
}

} // namespace

QPolygonF sparkline(const QVector<double>& values, const QRectF& area) {
    double low = std::numeric_limits<double>::max(), high = 0;
    int first = -1;
    for (int i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i]) && values[i] > 0) {
            first = first < 0 ? i : first;
            low = std::min(low, values[i]);
            high = std::max(high, values[i]);
        }
    QPolygonF line;
    if (first < 0 || values.size() < 2)
        return line;
    const double span = std::max(std::log(high / low), 1e-9),
                 width = area.width() / static_cast<double>(values.size() - 1);
    int column = -1;
    for (int i = first; i < values.size(); ++i) {
        if (!std::isfinite(values[i]) || values[i] <= 0)
            continue;
        const double x = area.left() + width * i;
        const bool last = i + 1 == values.size();
        if (static_cast<int>(x) == column && !last)
            continue;
        column = static_cast<int>(x);
        const double y =
            high > low ? area.bottom() - area.height() * std::log(values[i] / low) / span : area.center().y();
        if (!line.isEmpty())
            line << QPointF(x, line.last().y());
        line << QPointF(x, y);
    }
    return line;
}

void BarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given,
                        const QModelIndex& index) const {
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    drawBackground(painter, option, index);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF track =
        QRectF(option.rect).adjusted(6, option.rect.height() * 0.18, -6, -option.rect.height() * 0.18);
    painter->setPen(Qt::NoPen);
    painter->setBrush(tone(Role::raised));
    painter->drawRoundedRect(track, 4, 4);
    const double fraction = std::clamp(index.data(kSortRole).toDouble(), 0.0, 1.0);
    QRectF done = track;
    done.setWidth(std::max(fraction > 0 ? 6.0 : 0.0, track.width() * fraction));
    painter->setBrush(Theme::mix(tone(Role::accent), tone(Role::surface), 0.55));
    painter->drawRoundedRect(done, 4, 4);
    painter->setPen(tone(Role::text));
    painter->drawText(track, Qt::AlignCenter, option.text);
    painter->restore();
}

void SparklineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given,
                              const QModelIndex& index) const {
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    drawBackground(painter, option, index);
    const QRectF area = QRectF(option.rect).adjusted(8, 5, -8, -5);
    const auto line = sparkline(index.data(kSortRole).value<QVector<double>>(), area);
    if (line.isEmpty())
        return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QColor color = selected(option) ? tone(Role::onAccent) : Theme::instance().category(0);
    painter->setPen(QPen(color, 1.5));
    painter->drawPolyline(line);
    painter->setBrush(color);
    painter->drawEllipse(line.last(), 2, 2);
    painter->restore();
}

void StateDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given,
                          const QModelIndex& index) const {
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    drawBackground(painter, option, index);
    constexpr Role kRoles[] = {Role::disabled, Role::accent, Role::warning, Role::success, Role::error};
    const auto role = kRoles[std::clamp(index.data(kSortRole).toInt(), 0, 4)];
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const double size = option.rect.height() * 0.34;
    const QRectF dot(option.rect.left() + 8, option.rect.center().y() - size / 2 + 0.5, size, size);
    painter->setPen(Qt::NoPen);
    painter->setBrush(selected(option) ? tone(Role::onAccent) : tone(role));
    painter->drawEllipse(dot);
    painter->setPen(ink(option));
    painter->drawText(QRectF(option.rect).adjusted(16 + size, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft,
                      option.text);
    painter->restore();
}

} // namespace tunesmith
