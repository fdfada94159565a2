// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/layout_internal.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

// From places of vertices to rectangles and lines. A line leaves the bottom of a node at a port of its own,
// passes each layer vertically through its bend, and enters the top of the next node; ports are sorted by
// where their lines go.
namespace tunesmith::layout {
namespace {

struct Band {
    float top = 0, bottom = 0;
};

std::vector<Band> layerBands(const Layered& graph, float gap) {
    std::vector<Band> bands;
    float y = 0;
    for (const auto& layer : graph.layers) {
        float height = 0;
        for (const int vertex : layer)
            height = std::max(height, graph.height[vertex]);
        bands.push_back({y, y + height});
        y += height + gap;
    }
    return bands;
}

struct Strand { // what wants a port: one per edge, or one per trunk
    float towards = 0;
    std::vector<float*> ports;
};

// One port below the neighbour that is straight ahead, the others to its left and right in the order of their
// targets.
void spreadPorts(std::vector<Strand>& strands, float x, float width) {
    std::stable_sort(strands.begin(), strands.end(),
                     [](const Strand& a, const Strand& b) { return a.towards < b.towards; });
    std::size_t middle = 0;
    for (std::size_t i = 1; i < strands.size(); ++i)
        if (std::abs(strands[i].towards - x) < std::abs(strands[middle].towards - x))
            middle = i;
    const auto most = std::max(middle, strands.size() - 1 - middle);
    const float step = std::min(12.0f, width * 0.4f / static_cast<float>(std::max<std::size_t>(most, 1)));
    for (std::size_t i = 0; i < strands.size(); ++i)
        for (float* port : strands[i].ports)
            *port = x + step * (static_cast<float>(i) - static_cast<float>(middle));
}

struct Ports {
    std::vector<float> leave, arrive; // x, per route
};

Ports choosePorts(const Layered& graph, const std::vector<Route>& routes) {
    Ports ports{std::vector<float>(routes.size()), std::vector<float>(routes.size())};
    std::vector<std::vector<Strand>> out(graph.realNodes), in(graph.realNodes);
    std::map<std::pair<int, int>, std::size_t> trunks; // node, trunk -> strand
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const auto& way = routes[i].vertices;
        const int from = way.front(), to = way.back();
        const bool cut = routes[i].cut;
        in[to].push_back({graph.x[cut ? to : way[way.size() - 2]], {&ports.arrive[i]}});
        if (routes[i].trunk >= 0) {
            const auto [known, fresh] = trunks.emplace(std::pair{from, routes[i].trunk}, out[from].size());
            if (!fresh) {
                out[from][known->second].ports.push_back(&ports.leave[i]);
                continue;
            }
        }
        out[from].push_back({graph.x[cut ? from : way[1]], {&ports.leave[i]}});
    }
    for (int node = 0; node < graph.realNodes; ++node) {
        spreadPorts(out[node], graph.x[node], graph.width[node]);
        spreadPorts(in[node], graph.x[node], graph.width[node]);
    }
    return ports;
}

// Appends a point; a third point on one vertical replaces the second.
void extend(std::vector<LayoutPoint>& line, LayoutPoint point) {
    const auto n = line.size();
    const auto same = [&](const LayoutPoint& other) { return std::abs(other.x - point.x) < 0.01f; };
    if (n >= 1 && same(line[n - 1]) && std::abs(line[n - 1].y - point.y) < 0.01f)
        return;
    if (n >= 2 && same(line[n - 1]) && same(line[n - 2]))
        line[n - 1] = point;
    else
        line.push_back(point);
}

LaidEdge drawLoop(const LayoutRect& node) {
    const float out = node.right() + 12, upper = node.y + node.height * 0.25f,
                lower = node.y + node.height * 0.75f;
    LaidEdge edge;
    edge.loop = true;
    edge.points = {{node.right(), lower}, {out, lower}, {out, upper}, {node.right(), upper}};
    return edge;
}

LaidEdge drawRoute(const Layered& graph, const Part& part, const std::vector<Band>& bands, const Route& route,
                   float leave, float arrive, float stub) {
    const auto& from = part.nodes[route.vertices.front()];
    const auto& to = part.nodes[route.vertices.back()];
    if (route.vertices.front() == route.vertices.back())
        return drawLoop(from);
    LaidEdge edge;
    edge.reversed = route.reversed;
    if (route.cut) {
        edge.points = {{leave, from.bottom()}, {leave, from.bottom() + stub}};
        edge.arrival = {{arrive, to.y - stub}, {arrive, to.y}};
    } else {
        extend(edge.points, {leave, from.bottom()});
        extend(edge.points, {leave, bands[graph.layer[route.vertices.front()]].bottom});
        for (std::size_t i = 1; i + 1 < route.vertices.size(); ++i) {
            const int bend = route.vertices[i];
            extend(edge.points, {graph.x[bend], bands[graph.layer[bend]].top});
            extend(edge.points, {graph.x[bend], bands[graph.layer[bend]].bottom});
        }
        extend(edge.points, {arrive, bands[graph.layer[route.vertices.back()]].top});
        extend(edge.points, {arrive, to.y});
    }
    if (route.reversed) {
        std::reverse(edge.points.begin(), edge.points.end());
        std::reverse(edge.arrival.begin(), edge.arrival.end());
        if (route.cut)
            std::swap(edge.points, edge.arrival);
    }
    return edge;
}

void moveToOrigin(Part& part) {
    float left = std::numeric_limits<float>::max(), right = std::numeric_limits<float>::lowest(), bottom = 0;
    for (const auto& node : part.nodes) {
        left = std::min(left, node.x);
        right = std::max(right, node.right());
        bottom = std::max(bottom, node.bottom());
    }
    const auto eachPoint = [&](auto&& visit) {
        for (auto& edge : part.edges) {
            std::for_each(edge.points.begin(), edge.points.end(), visit);
            std::for_each(edge.arrival.begin(), edge.arrival.end(), visit);
        }
    };
    eachPoint([&](const LayoutPoint& point) {
        left = std::min(left, point.x);
        right = std::max(right, point.x);
        bottom = std::max(bottom, point.y);
    });
    for (auto& node : part.nodes)
        node.x -= left;
    eachPoint([&](LayoutPoint& point) { point.x -= left; });
    part.width = right - left;
    part.height = bottom;
}

} // namespace

Part drawPart(const Layered& graph, const std::vector<Route>& routes, const LayoutOptions& options) {
    const auto bands = layerBands(graph, options.layerGap);
    Part part;
    for (int node = 0; node < graph.realNodes; ++node) {
        const auto& band = bands[graph.layer[node]];
        const float y = band.top + (band.bottom - band.top - graph.height[node]) / 2;
        part.nodes.push_back(
            {graph.x[node] - graph.width[node] / 2, y, graph.width[node], graph.height[node]});
    }
    const auto ports = choosePorts(graph, routes);
    for (std::size_t i = 0; i < routes.size(); ++i)
        part.edges.push_back(
            drawRoute(graph, part, bands, routes[i], ports.leave[i], ports.arrive[i], options.stub));
    moveToOrigin(part);
    return part;
}

} // namespace tunesmith::layout
