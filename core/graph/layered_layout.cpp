// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/layered_layout.h"
#include "core/graph/layout_internal.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace tunesmith {
namespace {

using namespace layout;

// Marks the edges that close a cycle: those that lead back into the current depth-first path.
std::vector<char> backEdges(int nodes, const std::vector<LayoutEdge>& edges) {
    std::vector<int> start(nodes + 1, 0), outgoing(edges.size());
    for (const auto& edge : edges)
        ++start[edge.from + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    auto next = start;
    for (std::size_t i = 0; i < edges.size(); ++i)
        outgoing[next[edges[i].from]++] = static_cast<int>(i);
    enum : char { fresh, onPath, done };
    std::vector<char> state(nodes, fresh), back(edges.size(), 0);
    std::vector<int> path, cursor(start.begin(), start.end() - 1);
    for (int root = 0; root < nodes; ++root) {
        if (state[root] != fresh)
            continue;
        path.push_back(root);
        state[root] = onPath;
        while (!path.empty()) {
            const int node = path.back();
            if (cursor[node] == start[node + 1]) {
                state[node] = done;
                path.pop_back();
                continue;
            }
            const int edge = outgoing[cursor[node]++];
            const int to = edges[edge].to;
            back[edge] = state[to] == onPath;
            if (state[to] == fresh) {
                state[to] = onPath;
                path.push_back(to);
            }
        }
    }
    return back;
}

class Groups { // union-find
public:
    explicit Groups(int count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
    int find(int item) {
        while (parent_[item] != item)
            item = parent_[item] = parent_[parent_[item]];
        return item;
    }
    void join(int a, int b) {
        a = find(a), b = find(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<int> parent_;
};

struct OrientedEdge {
    int upper = 0, lower = 0; // nodes
    bool reversed = false;
    bool loop() const { return upper == lower; }
};

// The longest span that is still drawn whole, so that all bends together stay within a multiple of the
// graph's own size.
int affordableSpan(const std::vector<OrientedEdge>& edges, const std::vector<int>& layer, int wanted) {
    std::vector<long long> ofSpan(std::max(wanted, 1) + 1, 0);
    for (const auto& edge : edges)
        if (const int span = layer[edge.lower] - layer[edge.upper]; span >= 1 && span <= wanted)
            ofSpan[span] += span - 1;
    const auto budget = static_cast<long long>(8 * (layer.size() + edges.size()) + 1000);
    long long bends = 0;
    int span = 1;
    while (span < wanted && (bends += ofSpan[span + 1]) <= budget)
        ++span;
    return span;
}

struct Work {               // one connected part on its way through the passes
    std::vector<int> nodes; // global index of each local node
    std::vector<int> edges; // global indices
    Layered graph;
    std::vector<Route> routes;
};

// Splits long edges into bends; edges with a common upper end and group share them.
class RouteBuilder {
public:
    RouteBuilder(Work& work, int maxSpan) : work_(work), maxSpan_(maxSpan) {}

    void add(int edge, int from, int to, bool reversed, int trunk) {
        Route route;
        route.edge = edge;
        route.reversed = reversed;
        route.trunk = reversed ? -1 : trunk;
        const int span = work_.graph.layer[to] - work_.graph.layer[from];
        route.cut = span > maxSpan_;
        route.vertices.push_back(from);
        if (!route.cut && from != to)
            follow(route, from, to, span);
        route.vertices.push_back(to);
        work_.routes.push_back(std::move(route));
    }

private:
    void follow(Route& route, int from, int to, int span) {
        std::vector<int> own;
        auto& trunk =
            route.trunk < 0
                ? own
                : trunks_[(static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(route.trunk)];
        while (static_cast<int>(trunk.size()) < span - 1)
            trunk.push_back(bendBelow(trunk.empty() ? from : trunk.back()));
        route.vertices.insert(route.vertices.end(), trunk.begin(), trunk.begin() + (span - 1));
        work_.graph.links.push_back({route.vertices.back(), to});
    }

    int bendBelow(int above) {
        auto& graph = work_.graph;
        const int bend = graph.count();
        graph.layer.push_back(graph.layer[above] + 1);
        graph.width.push_back(0);
        graph.height.push_back(0);
        graph.links.push_back({above, bend});
        return bend;
    }

    Work& work_;
    int maxSpan_;
    std::unordered_map<std::uint64_t, std::vector<int>> trunks_;
};

class Layouter {
public:
    Layouter(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
             const LayoutOptions& options, const StopToken& stop)
        : nodes_(nodes), edges_(edges), options_(options), stop_(stop) {}

    Result<GraphLayout> run() {
        orient();
        rank();
        splitIntoParts();
        result_.nodes.resize(nodes_.size());
        result_.edges.resize(edges_.size());
        std::vector<Part> parts;
        for (auto& work : works_) {
            if (stop_.stopRequested())
                return cancelledError();
            parts.push_back(layOut(work));
        }
        if (stop_.stopRequested())
            return cancelledError();
        arrange(parts);
        return std::move(result_);
    }

private:
    void orient() {
        const auto back = backEdges(static_cast<int>(nodes_.size()), edges_);
        for (std::size_t i = 0; i < edges_.size(); ++i) {
            const auto [from, to, group] = edges_[i];
            const bool reversed = back[i] && from != to;
            oriented_.push_back({reversed ? to : from, reversed ? from : to, reversed});
        }
    }

    void rank() {
        std::vector<Link> links;
        for (const auto& edge : oriented_)
            if (!edge.loop())
                links.push_back({edge.upper, edge.lower});
        result_.layer = longestPathLayers(static_cast<int>(nodes_.size()), links);
        maxSpan_ = affordableSpan(oriented_, result_.layer, options_.maxSpan);
    }

    void splitIntoParts() {
        const int count = static_cast<int>(nodes_.size());
        Groups groups(count);
        for (const auto& edge : oriented_)
            groups.join(edge.upper, edge.lower);
        std::vector<int> part(count, -1);
        local_.resize(count);
        for (int node = 0; node < count; ++node) {
            int& index = part[groups.find(node)];
            if (index < 0) {
                index = static_cast<int>(works_.size());
                works_.emplace_back();
            }
            local_[node] = static_cast<int>(works_[index].nodes.size());
            works_[index].nodes.push_back(node);
        }
        for (std::size_t i = 0; i < edges_.size(); ++i)
            works_[part[groups.find(edges_[i].from)]].edges.push_back(static_cast<int>(i));
    }

    Part layOut(Work& work) {
        auto& graph = work.graph;
        graph.realNodes = static_cast<int>(work.nodes.size());
        for (const int node : work.nodes) {
            graph.width.push_back(nodes_[node].width);
            graph.height.push_back(nodes_[node].height);
            graph.layer.push_back(result_.layer[node]);
        }
        RouteBuilder builder(work, maxSpan_);
        for (const int edge : work.edges) {
            const auto& [upper, lower, reversed] = oriented_[edge];
            builder.add(edge, local_[upper], local_[lower], reversed, edges_[edge].group);
        }
        graph.above = adjacency(graph.count(), graph.links, false);
        graph.below = adjacency(graph.count(), graph.links, true);
        orderLayers(graph, options_.sweeps, stop_);
        placeHorizontally(graph, options_, stop_);
        return drawPart(graph, work.routes, options_);
    }

    // Parts side by side; when a row gets wider than the widest part and than a landscape page, a new row
    // starts.
    void arrange(std::vector<Part>& parts) {
        float widest = 0, area = 0;
        for (const auto& part : parts) {
            widest = std::max(widest, part.width);
            area += (part.width + options_.componentGap) * (part.height + options_.componentGap);
        }
        const float limit =
            parts.size() <= 4 ? std::numeric_limits<float>::max() : std::max(widest, 1.6f * std::sqrt(area));
        float x = 0, y = 0, rowHeight = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (x > 0 && x + parts[i].width > limit) {
                x = 0;
                y += rowHeight + options_.componentGap;
                rowHeight = 0;
            }
            put(works_[i], parts[i], x, y);
            result_.width = std::max(result_.width, x + parts[i].width);
            result_.height = std::max(result_.height, y + parts[i].height);
            rowHeight = std::max(rowHeight, parts[i].height);
            x += parts[i].width + options_.componentGap;
        }
    }

    void put(const Work& work, Part& part, float x, float y) {
        for (std::size_t i = 0; i < work.nodes.size(); ++i) {
            auto rect = part.nodes[i];
            rect.x += x;
            rect.y += y;
            result_.nodes[work.nodes[i]] = rect;
        }
        for (std::size_t i = 0; i < work.routes.size(); ++i) {
            auto& edge = result_.edges[work.routes[i].edge] = std::move(part.edges[i]);
            for (auto* line : {&edge.points, &edge.arrival})
                for (auto& point : *line)
                    point = {point.x + x, point.y + y};
        }
    }

    const std::vector<LayoutNode>& nodes_;
    const std::vector<LayoutEdge>& edges_;
    const LayoutOptions& options_;
    const StopToken& stop_;
    std::vector<OrientedEdge> oriented_;
    std::vector<Work> works_;
    std::vector<int> local_; // index of a node within its part
    int maxSpan_ = 1;
    GraphLayout result_;
};

} // namespace

Result<GraphLayout> layeredLayout(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
                                  const LayoutOptions& options, const StopToken& stop) {
    for ([[maybe_unused]] const auto& edge : edges) {
        assert(edge.from >= 0 && edge.from < static_cast<int>(nodes.size()));
        assert(edge.to >= 0 && edge.to < static_cast<int>(nodes.size()));
    }
    if (stop.stopRequested())
        return cancelledError();
    return Layouter(nodes, edges, options, stop).run();
}

} // namespace tunesmith
