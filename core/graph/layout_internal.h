// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/layered_layout.h"
#include <vector>

namespace tunesmith::layout {

// The passes of layeredLayout() share this picture of one connected part: real nodes first, then one bend (a
// vertex without height) for every layer that an edge crosses, so that every link joins neighbouring layers.
struct Link {
    int upper = 0, lower = 0;
};

struct Adjacency { // links of each vertex, as ranges into one array
    std::vector<int> start, other;
    const int* begin(int vertex) const { return other.data() + start[static_cast<std::size_t>(vertex)]; }
    const int* end(int vertex) const { return other.data() + start[static_cast<std::size_t>(vertex) + 1]; }
    int size(int vertex) const { return static_cast<int>(end(vertex) - begin(vertex)); }
};

struct Layered {
    int realNodes = 0;
    std::vector<float> width, height; // per vertex
    std::vector<int> layer;
    std::vector<Link> links;
    Adjacency above, below;
    std::vector<std::vector<int>> layers; // vertices from left to right
    std::vector<int> position;            // of a vertex in its layer
    std::vector<float> x;                 // centre of a vertex

    int count() const { return static_cast<int>(layer.size()); }
    bool isBend(int vertex) const { return vertex >= realNodes; }
};

Adjacency adjacency(int vertices, const std::vector<Link>& links, bool towardsLower);

// Rank of each node by longest path from the sources; sources are then pulled down to their first reader.
// `links` must be free of cycles.
std::vector<int> longestPathLayers(int nodes, const std::vector<Link>& links);

// Fills layers and position: depth-first start order, then barycentre sweeps, keeping the order with the
// fewest crossings.
void orderLayers(Layered& graph, int sweeps, const StopToken& stop);
long long crossings(const Layered& graph);

// Fills x: vertices that are aligned into straight vertical blocks, then blocks relaxed towards their
// neighbours.
void placeHorizontally(Layered& graph, const LayoutOptions& options, const StopToken& stop);

// The way of one edge through its part, from the upper to the lower end.
struct Route {
    std::vector<int> vertices; // node, bends, node; both equal for a self loop
    int edge = 0;              // index into the caller's edges
    int trunk = -1;            // routes of one node with the same trunk leave through the same port
    bool cut = false, reversed = false;
};

// A placed part with its origin at (0, 0).
struct Part {
    std::vector<LayoutRect> nodes; // of the real nodes
    std::vector<LaidEdge> edges;   // of the routes
    float width = 0, height = 0;
};
Part drawPart(const Layered& graph, const std::vector<Route>& routes, const LayoutOptions& options);

} // namespace tunesmith::layout
