// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/graph/graph_scene.h"

namespace tunesmith {

// A picture of many graphs at once, of which one is shown together with what changed since the one before. Nodes have their
// place whether they are there or not, so nothing jumps. Pure: no widget, no painting.

enum class Presence : quint8 { kept, appeared, vanished, absent };

struct GraphPresence {
    QVector<Presence> nodes, edges; // of the scene; empty: everything is there

    bool hasNode(int node) const { return nodes.isEmpty() || nodes[node] != Presence::absent; }
    Presence node(int node) const { return nodes.isEmpty() ? Presence::kept : nodes[node]; }
    Presence edge(int edge) const { return edges.isEmpty() ? Presence::kept : edges[edge]; }
};

// Of one node or edge: the graphs at which it comes, goes, comes again, ascending.
using Turns = QVector<int>;
bool isThere(const Turns& turns, int graph);
Presence presenceAt(const Turns& turns, int graph); // 0: the first graph, in which nothing is new
GraphPresence presenceAt(const QVector<Turns>& nodes, const QVector<Turns>& edges, int graph);

// What surrounds all that appeared or vanished; null when nothing did.
QRectF changedArea(const GraphScene& scene, const GraphPresence& presence);

// Nodes that are in only one of two graphs, ascending.
struct GraphDifference {
    QVector<int> gone, fresh;
};
GraphDifference difference(const QVector<Turns>& nodes, int before, int after);

} // namespace tunesmith
