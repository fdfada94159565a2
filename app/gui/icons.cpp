// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/icons.h"
#include "widgets/base/theme.h"
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

namespace tunesmith {
namespace {

void polyline(QPainter& painter, std::initializer_list<QPointF> points) {
    painter.drawPolyline(QPolygonF(QList<QPointF>(points)));
}

void paintModels(QPainter& painter) {
    painter.drawRoundedRect(QRectF(3.5, 3.5, 7, 7), 1.5, 1.5);
    painter.drawRoundedRect(QRectF(13.5, 3.5, 7, 7), 1.5, 1.5);
    painter.drawRoundedRect(QRectF(3.5, 13.5, 7, 7), 1.5, 1.5);
    polyline(painter, {{17, 13.5}, {17, 20.5}});
    polyline(painter, {{13.5, 17}, {20.5, 17}});
}

void paintGraph(QPainter& painter) {
    painter.drawRoundedRect(QRectF(8.5, 2.5, 7, 5), 1.2, 1.2);
    painter.drawRoundedRect(QRectF(2.5, 16.5, 7, 5), 1.2, 1.2);
    painter.drawRoundedRect(QRectF(14.5, 16.5, 7, 5), 1.2, 1.2);
    QPainterPath lines(QPointF(12, 7.5));
    lines.cubicTo(12, 13, 6, 11, 6, 16.5);
    lines.moveTo(12, 7.5);
    lines.cubicTo(12, 13, 18, 11, 18, 16.5);
    painter.drawPath(lines);
}

// Two boxes become one.
void paintOptimize(QPainter& painter) {
    painter.drawRoundedRect(QRectF(2.5, 3, 7, 6), 1.2, 1.2);
    painter.drawRoundedRect(QRectF(2.5, 15, 7, 6), 1.2, 1.2);
    painter.drawRoundedRect(QRectF(15, 9, 7, 6), 1.2, 1.2);
    QPainterPath lines(QPointF(9.5, 6));
    lines.cubicTo(13, 6, 11.5, 12, 15, 12);
    lines.moveTo(9.5, 18);
    lines.cubicTo(13, 18, 11.5, 12, 15, 12);
    painter.drawPath(lines);
}

void paintTune(QPainter& painter) {
    polyline(painter, {{3.5, 3}, {3.5, 20.5}, {21, 20.5}});
    polyline(painter, {{6.5, 6}, {9.5, 6}, {9.5, 11}, {13.5, 11}, {13.5, 15.5}, {20, 15.5}});
}

// Slices on three tracks.
void paintTimeline(QPainter& painter) {
    painter.drawRoundedRect(QRectF(3, 4, 9, 4), 1, 1);
    painter.drawRoundedRect(QRectF(14.5, 4, 6.5, 4), 1, 1);
    painter.drawRoundedRect(QRectF(7, 10, 11, 4), 1, 1);
    painter.drawRoundedRect(QRectF(3, 16, 5, 4), 1, 1);
    painter.drawRoundedRect(QRectF(11, 16, 10, 4), 1, 1);
}

void paintExport(QPainter& painter) {
    polyline(painter, {{7.5, 9.5}, {4, 9.5}, {4, 20.5}, {20, 20.5}, {20, 9.5}, {16.5, 9.5}});
    polyline(painter, {{12, 15}, {12, 3}});
    polyline(painter, {{8, 7}, {12, 3}, {16, 7}});
}

void paintOpen(QPainter& painter) {
    polyline(painter, {{3.5, 19.5}, {3.5, 5}, {9, 5}, {11, 7.5}, {18.5, 7.5}, {18.5, 10.5}});
    polyline(painter, {{3.5, 19.5}, {6.5, 10.5}, {21.5, 10.5}, {18.5, 19.5}, {3.5, 19.5}});
}

void paintSample(QPainter& painter) {
    polyline(painter, {{12, 3}, {20.5, 7.5}, {20.5, 16.5}, {12, 21}, {3.5, 16.5}, {3.5, 7.5}, {12, 3}});
    polyline(painter, {{3.5, 7.5}, {12, 12}, {20.5, 7.5}});
    polyline(painter, {{12, 12}, {12, 21}});
}

void paintRecent(QPainter& painter) {
    painter.drawEllipse(QPointF(12, 12), 8.5, 8.5);
    polyline(painter, {{12, 7}, {12, 12}, {15.5, 14}});
}

QPixmap drawn(Glyph glyph, const QColor& color) {
    constexpr void (*kPainters[])(QPainter&) = {paintModels, paintGraph,  paintOptimize, paintTune, paintTimeline, paintExport,
                                                paintOpen,   paintSample, paintRecent};
    constexpr int kScale = 3;
    QPixmap pixmap(24 * kScale, 24 * kScale);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(kScale, kScale);
    painter.setPen(QPen(color, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    kPainters[static_cast<int>(glyph)](painter);
    return pixmap;
}

} // namespace

QIcon glyphIcon(Glyph glyph) {
    using Role = Theme::Role;
    const Theme& theme = Theme::instance();
    QIcon icon(drawn(glyph, theme.color(Role::text)));
    icon.addPixmap(drawn(glyph, theme.color(Role::accent)), QIcon::Normal, QIcon::On);
    icon.addPixmap(drawn(glyph, theme.color(Role::disabled)), QIcon::Disabled);
    return icon;
}

} // namespace tunesmith
