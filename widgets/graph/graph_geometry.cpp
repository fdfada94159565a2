// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/graph_geometry.h"
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainterPathStroker>
#include <algorithm>
#include <cmath>
#include <limits>

#include "widgets/base/theme.h"

namespace tunesmith {

QString categoryName(GraphCategory category) {
    static const char* const kNames[] = {
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Convolution"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Matrix product"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Pooling"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Normalisation"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Elementwise"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Shape"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Other"),
        QT_TRANSLATE_NOOP("tunesmith::GraphCategory", "Input or output"),
    };
    return QCoreApplication::translate("tunesmith::GraphCategory", kNames[static_cast<int>(category)]);
}

QSizeF cardSize(const GraphNode& node, const QFont& font) {
    QFont bold = font;
    bold.setWeight(QFont::DemiBold);
    const QFontMetricsF title(bold), text(Theme::scaled(font, 0.9));
    const double em = title.height();
    double width = title.horizontalAdvance(node.title) +
                   (node.badge.isEmpty() ? 0 : text.horizontalAdvance(node.badge) + em);
    width = std::max(width, text.horizontalAdvance(node.subtitle));
    const int rows = std::min<int>(kCardDetails, static_cast<int>(node.details.size()));
    for (int i = 0; i < rows; ++i)
        width = std::max(width, text.horizontalAdvance(node.details[i].name + QStringLiteral("  ") +
                                                       node.details[i].value));
    double height = em * 1.55;
    const int lines = rows + (node.subtitle.isEmpty() ? 0 : 1);
    if (lines > 0)
        height += lines * text.height() * 1.12 + em * 0.5;
    return {std::ceil(std::clamp(width + em * 1.5, em * 5.0, em * 16.0)), std::ceil(height)};
}

ViewTransform ViewTransform::zoomedAt(const QPointF& view, double factor) const {
    ViewTransform result;
    result.scale = std::clamp(scale * factor, kSmallest, kLargest);
    result.offset = view - toScene(view) * result.scale;
    return result;
}

ViewTransform ViewTransform::fitting(const QRectF& scene, const QSizeF& view, double margin, double largest) {
    const double wide = (view.width() - 2 * margin) / std::max(scene.width(), 1.0);
    const double high = (view.height() - 2 * margin) / std::max(scene.height(), 1.0);
    ViewTransform result;
    result.scale = std::clamp(std::min(wide, high), kSmallest, largest);
    result.offset = QPointF(view.width() / 2, view.height() / 2) - scene.center() * result.scale;
    return result;
}

ViewTransform ViewTransform::opening(const QRectF& scene, const QSizeF& view, double readable) {
    auto result = fitting(scene, view, 24);
    if (result.scale >= readable)
        return result;
    const double wide = (view.width() - 48) / std::max(scene.width(), 1.0);
    result.scale = std::clamp(wide, readable, 1.0);
    const double height = scene.height() * result.scale;
    result.offset = {view.width() / 2 - scene.center().x() * result.scale,
                     (height > view.height() ? 24 : (view.height() - height) / 2) -
                         scene.top() * result.scale};
    return result;
}

ViewTransform ViewTransform::showing(const QRectF& scene, const QSizeF& view, double margin) const {
    auto result = *this;
    const QRectF at = toView(scene);
    const auto shift = [margin](double low, double high, double size) {
        if (high - low > size - 2 * margin)
            return size / 2 - (low + high) / 2;
        return low < margin ? margin - low : high > size - margin ? size - margin - high : 0;
    };
    result.offset +=
        QPointF(shift(at.left(), at.right(), view.width()), shift(at.top(), at.bottom(), view.height()));
    return result;
}

QPainterPath edgePath(const QVector<QPointF>& points) {
    QPainterPath path;
    if (points.isEmpty())
        return path;
    path.moveTo(points.first());
    for (int i = 1; i < points.size(); ++i) {
        const auto &a = points[i - 1], &b = points[i];
        const double dy = b.y() - a.y();
        if (std::abs(a.x() - b.x()) < 0.5 || std::abs(dy) < 0.5)
            path.lineTo(b);
        else
            path.cubicTo({a.x(), a.y() + dy * 0.5}, {b.x(), b.y() - dy * 0.5}, b);
    }
    return path;
}

SceneIndex::SceneIndex(const GraphScene& scene) {
    const double area = std::max(1.0, scene.size.width() * scene.size.height());
    side_ = std::max(400.0, std::sqrt(area / static_cast<double>(4 * scene.nodes.size() + 64)));
    last_ = {static_cast<int>(scene.size.width() / side_) + 1,
             static_cast<int>(scene.size.height() / side_) + 1};
    for (int i = 0; i < scene.nodes.size(); ++i)
        add(scene.nodes[i].rect, i, &Cell::nodes);
    for (int i = 0; i < scene.edges.size(); ++i)
        for (const auto* line : {&scene.edges[i].points, &scene.edges[i].arrival})
            for (int k = 1; k < line->size(); ++k)
                add(QRectF((*line)[k - 1], (*line)[k]).normalized(), i, &Cell::edges);
}

template <class Visit> void SceneIndex::eachCell(const QRectF& rect, Visit visit) const {
    const auto cell = [this](double at, int last) {
        return static_cast<int>(std::clamp(std::floor(at / side_), -1.0, static_cast<double>(last)));
    };
    for (int y = cell(rect.top(), last_.y()); y <= cell(rect.bottom(), last_.y()); ++y)
        for (int x = cell(rect.left(), last_.x()); x <= cell(rect.right(), last_.x()); ++x)
            visit(qMakePair(x, y));
}

void SceneIndex::add(const QRectF& rect, int item, QVector<int> Cell::*list) {
    eachCell(rect, [&](const QPair<int, int>& at) {
        auto& items = cells_[at].*list;
        if (items.isEmpty() || items.last() != item)
            items.push_back(item);
    });
}

namespace {

QVector<int> sortedUnique(QVector<int> items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return items;
}

} // namespace

QVector<int> SceneIndex::nodesIn(const QRectF& rect) const {
    QVector<int> found;
    eachCell(rect, [&](const QPair<int, int>& at) {
        if (const auto cell = cells_.find(at); cell != cells_.end())
            found += cell->nodes;
    });
    return sortedUnique(std::move(found));
}

QVector<int> SceneIndex::edgesIn(const QRectF& rect) const {
    QVector<int> found;
    eachCell(rect, [&](const QPair<int, int>& at) {
        if (const auto cell = cells_.find(at); cell != cells_.end())
            found += cell->edges;
    });
    return sortedUnique(std::move(found));
}

int SceneIndex::nodeAt(const GraphScene& scene, const QPointF& point) const {
    for (const int node : nodesIn({point, QSizeF(0, 0)}))
        if (scene.nodes[node].rect.contains(point))
            return node;
    return -1;
}

int SceneIndex::edgeAt(const GraphScene& scene, const QPointF& point, double tolerance) const {
    const QRectF around(point.x() - tolerance, point.y() - tolerance, 2 * tolerance, 2 * tolerance);
    QPainterPathStroker stroker;
    stroker.setWidth(2 * tolerance);
    for (const int edge : edgesIn(around))
        for (const auto* line : {&scene.edges[edge].points, &scene.edges[edge].arrival}) {
            const auto path = edgePath(*line);
            if (path.controlPointRect()
                    .adjusted(-tolerance, -tolerance, tolerance, tolerance)
                    .contains(point) &&
                stroker.createStroke(path).contains(point))
                return edge;
        }
    return -1;
}

SceneWalk::SceneWalk(const GraphScene& scene, const GraphPresence& presence)
    : edges_(scene.nodes.size()), rank_(scene.nodes.size(), -1) {
    for (int i = 0; i < scene.edges.size(); ++i) {
        if (presence.edge(i) == Presence::absent)
            continue;
        edges_[scene.edges[i].from].push_back(i);
        if (scene.edges[i].to != scene.edges[i].from)
            edges_[scene.edges[i].to].push_back(i);
    }
    for (int i = 0; i < scene.nodes.size(); ++i)
        if (presence.hasNode(i))
            order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
        const auto p = scene.nodes[a].rect.center(), q = scene.nodes[b].rect.center();
        return p.y() != q.y() ? p.y() < q.y() : p.x() < q.x();
    });
    for (int i = 0; i < order_.size(); ++i)
        rank_[order_[i]] = i;
}

int SceneWalk::step(const GraphScene& scene, int node, Direction direction) const {
    const auto here = scene.nodes[node].rect;
    int best = node;
    double nearest = std::numeric_limits<double>::max();
    const auto consider = [&](int other, double distance) {
        if (other != node && distance < nearest) {
            nearest = distance;
            best = other;
        }
    };
    if (direction == Direction::up || direction == Direction::down) {
        for (const int i : edges_[node]) {
            const auto& edge = scene.edges[i];
            const int other = direction == Direction::down ? edge.to : edge.from;
            consider(other, (scene.nodes[other].rect.center() - here.center()).manhattanLength());
        }
        return best;
    }
    for (const int other : order_) {
        const auto rect = scene.nodes[other].rect;
        const double dx = rect.center().x() - here.center().x();
        const bool side = direction == Direction::left ? dx < 0 : dx > 0;
        if (side && rect.top() < here.bottom() && rect.bottom() > here.top())
            consider(other, std::abs(dx));
    }
    return best;
}

int SceneWalk::next(int node, int by) const {
    const int rank = node < 0 ? (by > 0 ? 0 : static_cast<int>(order_.size()) - 1) : rank_[node] + by;
    return rank >= 0 && rank < order_.size() ? order_[rank] : -1;
}

bool matches(const GraphNode& node, const QString& text) {
    const auto has = [&](const QString& where) { return where.contains(text, Qt::CaseInsensitive); };
    return has(node.title) || has(node.subtitle) || has(node.badge) ||
           std::any_of(node.details.begin(), node.details.end(),
                       [&](const GraphDetail& detail) { return has(detail.name) || has(detail.value); });
}

QVector<int> findNodes(const GraphScene& scene, const QString& text) {
    QVector<int> hits;
    if (text.isEmpty())
        return hits;
    const SceneWalk walk(scene);
    for (int node = walk.next(-1, 1); node >= 0; node = walk.next(node, 1))
        if (matches(scene.nodes[node], text))
            hits.push_back(node);
    return hits;
}

} // namespace tunesmith
