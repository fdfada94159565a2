// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/graph/graph_presence.h"
#include <QHash>
#include <QPainterPath>

namespace tunesmith {

// The pure part of GraphView: no widget, no painting.

struct ViewTransform { // view = scene * scale + offset
    static constexpr double kSmallest = 0.005, kLargest = 4;
    double scale = 1;
    QPointF offset;

    QPointF toScene(const QPointF& view) const { return (view - offset) / scale; }
    QPointF toView(const QPointF& scene) const { return scene * scale + offset; }
    QRectF toScene(const QRectF& view) const { return {toScene(view.topLeft()), view.size() / scale}; }
    QRectF toView(const QRectF& scene) const { return {toView(scene.topLeft()), scene.size() * scale}; }

    ViewTransform zoomedAt(const QPointF& view, double factor) const; // the point under the cursor stays
    static ViewTransform fitting(const QRectF& scene, const QSizeF& view, double margin, double largest = 1);
    // Opening view: everything when that stays readable, else the top at the width of the graph.
    static ViewTransform opening(const QRectF& scene, const QSizeF& view, double readable);
    ViewTransform showing(const QRectF& scene, const QSizeF& view, double margin) const; // least movement
};

QPainterPath edgePath(const QVector<QPointF>& points); // curves with vertical tangents

// Finds what lies in a rectangle without looking at everything: a uniform grid.
class SceneIndex {
public:
    SceneIndex() = default;
    explicit SceneIndex(const GraphScene& scene);

    QVector<int> nodesIn(const QRectF& rect) const; // ascending
    QVector<int> edgesIn(const QRectF& rect) const; // ascending; by bounding boxes of their pieces
    int nodeAt(const GraphScene& scene, const QPointF& point) const;                   // -1: none
    int edgeAt(const GraphScene& scene, const QPointF& point, double tolerance) const; // -1: none

private:
    struct Cell {
        QVector<int> nodes, edges;
    };
    template <class Visit> void eachCell(const QRectF& rect, Visit visit) const;
    void add(const QRectF& rect, int item, QVector<int> Cell::*list);

    double side_ = 400;
    QHash<QPair<int, int>, Cell> cells_;
    QPoint last_; // largest cell coordinates
};

// Ways from node to node for the keyboard.
class SceneWalk {
public:
    SceneWalk() = default;
    explicit SceneWalk(const GraphScene& scene, const GraphPresence& presence = {}); // never to what is absent

    enum class Direction { up, down, left, right };
    int step(const GraphScene& scene, int node,
             Direction direction) const; // the node itself when there is no way
    int next(int node, int by) const;    // reading order; -1 past the ends
    const QVector<int>& edgesOf(int node) const { return edges_[node]; }

private:
    QVector<QVector<int>> edges_;
    QVector<int> order_, rank_;
};

bool matches(const GraphNode& node, const QString& text); // title, subtitle, badge and details; ignores case
QVector<int> findNodes(const GraphScene& scene, const QString& text); // reading order

} // namespace tunesmith
