// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/graph_painter.h"
#include "widgets/base/theme.h"
#include <QFontMetricsF>
#include <QLocale>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tunesmith {
namespace {

using Role = Theme::Role;
constexpr double kRadius = 6, kGhost = 0.5;

QColor tone(Role role) {
    return Theme::instance().color(role);
}

QPainterPath rounded(const QRectF& r, double top, double bottom) {
    QPainterPath path;
    path.moveTo(r.left(), r.top() + top);
    path.quadTo(r.topLeft(), {r.left() + top, r.top()});
    path.lineTo(r.right() - top, r.top());
    path.quadTo(r.topRight(), {r.right(), r.top() + top});
    path.lineTo(r.right(), r.bottom() - bottom);
    path.quadTo(r.bottomRight(), {r.right() - bottom, r.bottom()});
    path.lineTo(r.left() + bottom, r.bottom());
    path.quadTo(r.bottomLeft(), {r.left(), r.bottom() - bottom});
    path.closeSubpath();
    return path;
}

void drawArrow(QPainter& painter, const QVector<QPointF>& line, const QColor& color) {
    if (line.size() < 2)
        return;
    const QPointF tip = line.last(), before = line[line.size() - 2];
    const bool level = std::abs(tip.y() - before.y()) < 0.5;
    const double along = level ? (tip.x() > before.x() ? 1 : -1) : (tip.y() > before.y() ? 1 : -1);
    const QPointF back = level ? QPointF(-7 * along, 0) : QPointF(0, -7 * along);
    const QPointF side = level ? QPointF(0, 4) : QPointF(4, 0);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(QPolygonF({tip, tip + back + side, tip + back * 0.72, tip + back - side}));
}

QColor changeColor(Presence presence) {
    return tone(presence == Presence::vanished ? Role::error : Role::success);
}

QString figure(double value) {
    return QLocale().toString(value, 'g', 3);
}

} // namespace

void GraphPainter::setScene(const GraphScene& scene, const QFont& font) {
    scene_ = &scene;
    if (presence_.nodes.size() != scene.nodes.size() || presence_.edges.size() != scene.edges.size())
        presence_ = {};
    title_ = font;
    title_.setWeight(QFont::DemiBold);
    text_ = Theme::scaled(font, 0.9);
    const QFontMetricsF title(title_), text(text_);
    titleHeight_ = title.height();
    textHeight_ = text.height() * 1.12;
    texts_.clear();
}

const GraphPainter::Texts& GraphPainter::textsOf(int index) const {
    if (const auto known = texts_.constFind(index); known != texts_.constEnd())
        return *known;
    const GraphNode& node = scene_->nodes[index];
    const QFontMetricsF title(title_), text(text_);
    const double room = node.rect.width() - titleHeight_ * 1.3;
    const double badge = node.badge.isEmpty() ? 0 : text.horizontalAdvance(node.badge) + titleHeight_ * 0.9;
    Texts texts{title.elidedText(node.title, Qt::ElideRight, room - badge), text.elidedText(node.subtitle, Qt::ElideMiddle, room), {}};
    for (int i = 0; i < std::min<int>(kCardDetails, static_cast<int>(node.details.size())); ++i)
        texts.values.push_back(text.elidedText(node.details[i].value, Qt::ElideRight, room - text.horizontalAdvance(node.details[i].name + QStringLiteral("  "))));
    return *texts_.insert(index, std::move(texts));
}

void GraphPainter::setOverlay(const GraphOverlay& overlay) {
    overlay_ = overlay;
    overlay_.values.resize(overlay.values.isEmpty() ? 0 : scene_->nodes.size(),
                           std::numeric_limits<double>::quiet_NaN());
    low_ = std::numeric_limits<double>::max();
    high_ = std::numeric_limits<double>::lowest();
    for (const double value : overlay_.values)
        if (std::isfinite(value)) {
            low_ = std::min(low_, value);
            high_ = std::max(high_, value);
        }
}

QString GraphPainter::overlayText(int node) const {
    if (node >= overlay_.values.size() || !std::isfinite(overlay_.values[node]))
        return {};
    return figure(overlay_.values[node]) +
           (overlay_.unit.isEmpty() ? QString() : QStringLiteral(" ") + overlay_.unit);
}

QColor GraphPainter::nodeColor(int node) const {
    const auto& theme = Theme::instance();
    if (overlay_.values.isEmpty())
        return theme.category(static_cast<int>(scene_->nodes[node].category));
    const double value = overlay_.values[node];
    if (!std::isfinite(value))
        return Theme::mix(tone(Role::muted), tone(Role::surface), 0.5);
    return theme.ramp(high_ > low_ ? (value - low_) / (high_ - low_) : 0.5);
}

QColor GraphPainter::edgeColor(int edge) const {
    const Presence is = presence_.edge(edge);
    return is == Presence::kept ? tone(Role::link) : Theme::mix(changeColor(is), tone(Role::canvas), 0.25);
}

void GraphPainter::paint(QPainter& painter, const ViewTransform& transform, const QRectF& visible,
                         const SceneIndex& index, const Marks& marks) const {
    if (!readable(transform.scale)) {
        paintFar(painter, transform);
        paintMarks(painter, transform, marks);
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(transform.offset);
    painter.scale(transform.scale, transform.scale);
    const auto around = visible.adjusted(-12, -12, 12, 12);
    paintEdges(painter, index.edgesIn(around), marks.selected);
    for (const int node : index.nodesIn(around))
        if (presence_.hasNode(node) && scene_->nodes[node].rect.intersects(around)) {
            painter.setOpacity(presence_.node(node) == Presence::vanished ? kGhost : 1);
            paintCard(painter, node);
            paintChange(painter, node);
        }
    painter.restore();
    paintMarks(painter, transform, marks);
}

void GraphPainter::paintFar(QPainter& painter, const ViewTransform& transform) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    std::map<QRgb, QVector<QLineF>> lines;
    for (int i = 0; i < scene_->edges.size(); ++i) {
        if (presence_.edge(i) == Presence::absent)
            continue;
        auto& pieces = lines[Theme::mix(edgeColor(i), tone(Role::canvas), 0.35).rgb()];
        for (const auto* line : {&scene_->edges[i].points, &scene_->edges[i].arrival})
            for (int k = 1; k < line->size(); ++k) {
                const QLineF piece(transform.toView((*line)[k - 1]), transform.toView((*line)[k]));
                if (std::abs(piece.dx()) + std::abs(piece.dy()) >= 1.5)
                    pieces.push_back(piece);
            }
    }
    for (const auto& [color, pieces] : lines) {
        painter.setPen(QPen(QColor::fromRgb(color), 0));
        painter.drawLines(pieces);
    }
    std::map<QRgb, QVector<QRectF>> boxes;
    for (int i = 0; i < scene_->nodes.size(); ++i) {
        if (!presence_.hasNode(i))
            continue;
        auto rect = transform.toView(scene_->nodes[i].rect);
        rect.setSize(rect.size().expandedTo({1, 1}));
        const Presence is = presence_.node(i);
        boxes[(is == Presence::kept ? nodeColor(i) : changeColor(is)).rgb()].push_back(rect);
    }
    painter.setPen(Qt::NoPen);
    for (const auto& [color, rects] : boxes) {
        painter.setBrush(QColor::fromRgb(color));
        painter.drawRects(rects);
    }
    painter.restore();
}

void GraphPainter::paintEdges(QPainter& painter, const QVector<int>& edges, int selected) const {
    QVector<int> last;
    for (const int i : edges) {
        const auto& edge = scene_->edges[i];
        if (presence_.edge(i) == Presence::absent)
            continue;
        if (selected >= 0 && (edge.from == selected || edge.to == selected))
            last.push_back(i);
        else
            paintEdge(painter, edge, edgeColor(i), presence_.edge(i) == Presence::appeared ? 2.0 : 1.3);
    }
    for (const int i : last)
        paintEdge(painter, scene_->edges[i], tone(Role::accent), 2.0);
}

void GraphPainter::paintEdge(QPainter& painter, const GraphEdge& edge, const QColor& color,
                             double width) const {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    painter.drawPath(edgePath(edge.points));
    if (edge.arrival.isEmpty()) {
        drawArrow(painter, edge.points, color);
        return;
    }
    painter.drawPath(edgePath(edge.arrival));
    painter.setBrush(color);
    painter.drawEllipse(edge.points.last(), 2, 2);
    painter.drawEllipse(edge.arrival.first(), 2, 2);
    painter.setFont(text_);
    painter.setPen(tone(Role::muted));
    painter.drawText(edge.arrival.first() + QPointF(5, 2), QStringLiteral("↰ ") + textsOf(edge.from).title);
    drawArrow(painter, edge.arrival, color);
}

void GraphPainter::paintCard(QPainter& painter, int node) const {
    const QRectF rect = scene_->nodes[node].rect;
    painter.setPen(Qt::NoPen);
    if (painter.worldTransform().m11() > 0.65) { // smaller, it costs time and cannot be seen
        painter.setBrush(QColor(0, 0, 0, Theme::instance().isDark() ? 60 : 14));
        painter.drawPath(rounded(rect.adjusted(-1, 1, 1, 3), kRadius + 1, kRadius + 1));
    }
    const double strip = std::min(rect.height(), titleHeight_ * 1.55);
    const bool hasBody = rect.height() - strip > 2;
    const QColor color = nodeColor(node);
    if (hasBody) {
        painter.setBrush(tone(Role::surface));
        painter.setPen(QPen(tone(Role::border), 1));
        painter.drawPath(rounded(rect, kRadius, kRadius));
    }
    const QRectF header(rect.topLeft(), QSizeF(rect.width(), strip));
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPath(rounded(header, kRadius, hasBody ? 0.01 : kRadius));
    paintHeader(painter, node, header, color);
    if (hasBody)
        paintBody(painter, node, rect.adjusted(0, strip, 0, 0));
}

// A frame around what changed; dashes say the same to those who do not tell the colours apart.
void GraphPainter::paintChange(QPainter& painter, int node) const {
    const Presence is = presence_.node(node);
    painter.setOpacity(1);
    if (is == Presence::kept)
        return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(changeColor(is), 2.5, is == Presence::vanished ? Qt::DashLine : Qt::SolidLine));
    painter.drawPath(rounded(scene_->nodes[node].rect.adjusted(-3, -3, 3, 3), kRadius + 3, kRadius + 3));
}

void GraphPainter::paintHeader(QPainter& painter, int node, const QRectF& header, const QColor& color) const {
    const double side = titleHeight_ * 0.65;
    const QColor ink = Theme::instance().textOn(color);
    painter.setPen(ink);
    painter.setFont(title_);
    painter.drawText(header.adjusted(side, 0, -side / 2, 0),
                     Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine, textsOf(node).title);
    const QString over = overlayText(node);
    const QString& badge = over.isEmpty() ? scene_->nodes[node].badge : over;
    if (badge.isEmpty())
        return;
    painter.setFont(text_);
    const double width = QFontMetricsF(text_).horizontalAdvance(badge) + titleHeight_ * 0.6;
    const QRectF pill(header.right() - width - 5, header.center().y() - textHeight_ * 0.55, width,
                      textHeight_ * 1.1);
    painter.setPen(Qt::NoPen);
    QColor glass = ink;
    glass.setAlphaF(0.18f);
    painter.setBrush(glass);
    painter.drawRoundedRect(pill, pill.height() / 2, pill.height() / 2);
    painter.setPen(ink);
    painter.drawText(pill, Qt::AlignCenter | Qt::TextSingleLine, badge);
}

void GraphPainter::paintBody(QPainter& painter, int node, QRectF body) const {
    const auto& data = scene_->nodes[node];
    const auto& texts = textsOf(node);
    const QFontMetricsF metrics(text_);
    const double left = body.left() + titleHeight_ * 0.65;
    double y = body.top() + titleHeight_ * 0.25;
    painter.setFont(text_);
    const auto line = [&](double x, const QColor& color, const QString& text) {
        painter.setPen(color);
        painter.drawText(QPointF(x, y + (textHeight_ + metrics.ascent() - metrics.descent()) / 2), text);
    };
    if (!texts.subtitle.isEmpty()) {
        line(left, tone(Role::text), texts.subtitle);
        y += textHeight_;
    }
    for (int i = 0; i < texts.values.size(); ++i) {
        line(left, tone(Role::muted), data.details[i].name);
        line(left + metrics.horizontalAdvance(data.details[i].name + QStringLiteral("  ")), tone(Role::text),
             texts.values[i]);
        y += textHeight_;
    }
}

void GraphPainter::paintMarks(QPainter& painter, const ViewTransform& transform, const Marks& marks) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    const auto ring = [&](int node, const QColor& color, double width, double out) {
        const QRectF rect = transform.toView(scene_->nodes[node].rect).adjusted(-out, -out, out, out);
        const double radius = kRadius * transform.scale + out;
        painter.setPen(QPen(color, width));
        painter.drawRoundedRect(rect, radius, radius);
    };
    for (const int hit : marks.hits)
        ring(hit, tone(Role::highlight), 3, 2.5);
    if (marks.hovered >= 0 && marks.hovered != marks.selected)
        ring(marks.hovered, Theme::mix(tone(Role::accent), tone(Role::canvas), 0.45), 1.5, 1.5);
    if (marks.selected >= 0)
        ring(marks.selected, tone(Role::accent), 2.5, 2.5);
    painter.restore();
}

void GraphPainter::paintLegend(QPainter& painter, const QRectF& view) const {
    if (overlay_.values.isEmpty() || high_ < low_)
        return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetricsF metrics(text_);
    const double em = metrics.height();
    const QRectF box(view.left() + 12, view.bottom() - 12 - em * 3.5, em * 14, em * 3.5);
    painter.setPen(QPen(tone(Role::border), 1));
    painter.setBrush(tone(Role::surface));
    painter.drawRoundedRect(box, 5, 5);
    const QRectF inner = box.adjusted(em * 0.6, em * 0.3, -em * 0.6, -em * 0.3);
    painter.setFont(text_);
    painter.setPen(tone(Role::text));
    const QString heading = overlay_.unit.isEmpty()
                                ? overlay_.title
                                : QStringLiteral("%1 (%2)").arg(overlay_.title, overlay_.unit);
    painter.drawText(inner, Qt::AlignTop | Qt::AlignLeft,
                     metrics.elidedText(heading, Qt::ElideRight, inner.width()));
    const QRectF bar(inner.left(), inner.top() + em * 1.15, inner.width(), em * 0.55);
    QLinearGradient gradient(bar.topLeft(), bar.topRight());
    for (int i = 0; i <= 10; ++i)
        gradient.setColorAt(i / 10.0, Theme::instance().ramp(i / 10.0));
    painter.fillRect(bar, gradient);
    painter.setPen(tone(Role::muted));
    painter.drawText(inner, Qt::AlignBottom | Qt::AlignLeft, figure(low_));
    painter.drawText(inner, Qt::AlignBottom | Qt::AlignRight, figure(high_));
    painter.restore();
}

} // namespace tunesmith
