// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/graph/graph_geometry.h"
#include <QFont>
#include <QHash>

class QPainter;

namespace tunesmith {

// Draws a scene in one of two levels of detail: cards with text when they are readable, and coloured boxes in
// a few batched calls when they are not (10,000 nodes in a few milliseconds). Knows no widget, so windows,
// minimaps and files look alike.
class GraphPainter {
public:
    void setScene(const GraphScene& scene, const QFont& font); // borrows the scene
    void setOverlay(const GraphOverlay& overlay);
    void setPresence(const GraphPresence& presence) { presence_ = presence; }

    struct Marks {
        int selected = -1, hovered = -1;
        QVector<int> hits; // ascending
    };

    bool readable(double scale) const { return scale * titleHeight_ >= 7.0; }
    double readableScale() const { return 7.5 / titleHeight_; }
    // The painter is in view coordinates; only what lies in `visible` (scene units) is drawn.
    void paint(QPainter& painter, const ViewTransform& transform, const QRectF& visible,
               const SceneIndex& index, const Marks& marks) const;
    void paintFar(QPainter& painter, const ViewTransform& transform) const; // everything, without marks
    void paintLegend(QPainter& painter, const QRectF& view) const;
    QString overlayText(int node) const; // value with unit; empty when there is none

private:
    struct Texts {
        QString title, subtitle;
        QVector<QString> values;
    };
    const Texts& textsOf(int node) const;
    QColor nodeColor(int node) const;
    QColor edgeColor(int edge) const;
    void paintEdges(QPainter& painter, const QVector<int>& edges, int selected) const;
    void paintEdge(QPainter& painter, const GraphEdge& edge, const QColor& color, double width) const;
    void paintCard(QPainter& painter, int node) const;
    void paintHeader(QPainter& painter, int node, const QRectF& header, const QColor& color) const;
    void paintBody(QPainter& painter, int node, QRectF body) const;
    void paintChange(QPainter& painter, int node) const;
    void paintMarks(QPainter& painter, const ViewTransform& transform, const Marks& marks) const;

    const GraphScene* scene_ = nullptr;
    QFont title_, text_;
    double titleHeight_ = 16, textHeight_ = 14;
    mutable QHash<int, Texts> texts_; // cut to their cards, of nodes that were painted
    GraphOverlay overlay_;
    GraphPresence presence_;
    double low_ = 0, high_ = 0;
};

} // namespace tunesmith
