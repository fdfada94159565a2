// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/graph_presence.h"
#include <algorithm>

namespace tunesmith {

bool isThere(const Turns& turns, int graph) {
    return (std::upper_bound(turns.begin(), turns.end(), graph) - turns.begin()) % 2 == 1;
}

Presence presenceAt(const Turns& turns, int graph) {
    const bool now = isThere(turns, graph), before = graph > 0 ? isThere(turns, graph - 1) : now;
    if (now)
        return before ? Presence::kept : Presence::appeared;
    return before ? Presence::vanished : Presence::absent;
}

GraphPresence presenceAt(const QVector<Turns>& nodes, const QVector<Turns>& edges, int graph) {
    GraphPresence presence;
    presence.nodes.reserve(nodes.size());
    presence.edges.reserve(edges.size());
    for (const Turns& turns : nodes)
        presence.nodes.push_back(presenceAt(turns, graph));
    for (const Turns& turns : edges)
        presence.edges.push_back(presenceAt(turns, graph));
    return presence;
}

QRectF changedArea(const GraphScene& scene, const GraphPresence& presence) {
    QRectF area;
    for (int i = 0; i < scene.nodes.size(); ++i)
        if (const Presence is = presence.node(i); is == Presence::appeared || is == Presence::vanished)
            area = area.united(scene.nodes[i].rect);
    return area;
}

GraphDifference difference(const QVector<Turns>& nodes, int before, int after) {
    GraphDifference found;
    for (int i = 0; i < nodes.size(); ++i) {
        const bool then = isThere(nodes[i], before), now = isThere(nodes[i], after);
        if (then && !now)
            found.gone.push_back(i);
        else if (now && !then)
            found.fresh.push_back(i);
    }
    return found;
}

} // namespace tunesmith
