// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QFont>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QVector>

namespace tunesmith {

// What GraphView shows: plain data in drawing order, filled in by whoever knows the graph. Positions are in
// scene units; one unit is one logical pixel at zoom 1:1. cardSize() says how large a node has to be before
// it is laid out.
enum class GraphCategory { conv, dense, pool, norm, elementwise, shape, other, io };
QString categoryName(GraphCategory category);

struct GraphDetail {
    QString name, value;
};

struct GraphNode {
    qint64 id = -1;
    QString title;    // operator
    QString subtitle; // name of the node or its output's shape
    GraphCategory category = GraphCategory::other;
    QVector<GraphDetail> details; // the first few are shown on the card, all in the tool tip and by find
    QString badge;                // short figure in the header
    QRectF rect;
};

struct GraphEdge {
    int from = 0, to = 0; // indices into nodes
    QString tooltip;      // tensor, type and shape
    QVector<QPointF> points,
        arrival; // see core/graph/layered_layout.h; arrival only when the middle is left out
};

struct GraphScene {
    QVector<GraphNode> nodes;
    QVector<GraphEdge> edges;
    QSizeF size;
};

// A number per node, shown as colour. NaN: no value.
struct GraphOverlay {
    QString title, unit;
    QVector<double> values;
};

constexpr int kCardDetails = 3; // detail rows on a card
QSizeF cardSize(const GraphNode& node, const QFont& font);

} // namespace tunesmith
