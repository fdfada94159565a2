// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/base/stop_token.h"
#include <vector>

namespace tunesmith {

// Layered drawing of a directed graph (Sugiyama, Tagawa and Toda, 1981) with a fixed number of passes instead
// of convergence tests: Graphviz needs 49 s for 5,000 nodes of a transformer, this needs milliseconds, and
// the same graph always gets the same picture. Only geometry: no fonts, no colours, no Qt. Lengths are in the
// unit of the node sizes, x to the right, y downwards, the origin at the top left of the picture.

struct LayoutPoint {
    float x = 0, y = 0;
    bool operator==(const LayoutPoint&) const = default;
};

struct LayoutRect {
    float x = 0, y = 0, width = 0, height = 0;
    float right() const { return x + width; }
    float bottom() const { return y + height; }
    bool operator==(const LayoutRect&) const = default;
};

struct LayoutNode {
    float width = 0, height = 0;
};

// Edges that leave the same node with the same group (>= 0) carry the same value: they share one trunk, so
// that a tensor with fifty readers is one line with fifty branches.
struct LayoutEdge {
    int from = 0, to = 0;
    int group = -1;
};

struct LayoutOptions {
    float nodeGap = 28;      // between neighbours of one layer
    float edgeGap = 16;      // between lines, and between a line and a node
    float layerGap = 44;     // between the layers
    float componentGap = 60; // between unconnected parts
    float stub = 14;         // length of the visible ends of a cut edge
    int maxSpan = 40;        // an edge over more layers is cut into two stubs
    int sweeps = 8;          // barycentre passes, half of them downwards
    int relaxations = 6;     // passes of the horizontal placement
};

// Consecutive points of a line are meant to be joined by curves whose tangents are vertical at both ends. A
// cut edge has its first end in `points` and its last in `arrival`; a self loop is a plain polyline.
struct LaidEdge {
    std::vector<LayoutPoint> points;
    std::vector<LayoutPoint> arrival;
    bool reversed = false; // closes a cycle: runs upwards
    bool loop = false;
    bool cut() const { return !arrival.empty(); }
    bool operator==(const LaidEdge&) const = default;
};

struct GraphLayout {
    std::vector<LayoutRect> nodes;
    std::vector<LaidEdge> edges;
    std::vector<int> layer; // of each node, from 0 within its connected part
    float width = 0, height = 0;
    bool operator==(const GraphLayout&) const = default;
};

// Lays the graph out in time near linear in nodes and edges: the number of bends is bounded by cutting the
// longest edges first. Unconnected parts stand side by side (in rows when they are many). Cycles are opened
// at their back edges. The ends of edges must be indices into nodes. The only error is `cancelled`.
Result<GraphLayout> layeredLayout(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
                                  const LayoutOptions& options = {}, const StopToken& stop = {});

} // namespace tunesmith
