// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/layout_internal.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace tunesmith::layout {

Adjacency adjacency(int vertices, const std::vector<Link>& links, bool towardsLower) {
    Adjacency result;
    result.start.assign(vertices + 1, 0);
    result.other.resize(links.size());
    for (const auto& link : links)
        ++result.start[(towardsLower ? link.upper : link.lower) + 1];
    std::partial_sum(result.start.begin(), result.start.end(), result.start.begin());
    auto next = result.start;
    for (const auto& link : links)
        result.other[next[towardsLower ? link.upper : link.lower]++] = towardsLower ? link.lower : link.upper;
    return result;
}

std::vector<int> longestPathLayers(int nodes, const std::vector<Link>& links) {
    const auto above = adjacency(nodes, links, false);
    const auto below = adjacency(nodes, links, true);
    std::vector<int> layer(nodes, 0), waiting(nodes), queue;
    queue.reserve(nodes);
    for (int node = 0; node < nodes; ++node)
        if ((waiting[node] = above.size(node)) == 0)
            queue.push_back(node);
    for (std::size_t head = 0; head < queue.size(); ++head)
        for (const int* to = below.begin(queue[head]); to != below.end(queue[head]); ++to) {
            layer[*to] = std::max(layer[*to], layer[queue[head]] + 1);
            if (--waiting[*to] == 0)
                queue.push_back(*to);
        }
    for (int node = 0; node < nodes; ++node) {
        if (above.size(node) != 0 || below.size(node) == 0)
            continue;
        int first = std::numeric_limits<int>::max();
        for (const int* to = below.begin(node); to != below.end(node); ++to)
            first = std::min(first, layer[*to]);
        layer[node] = first - 1;
    }
    return layer;
}

namespace {

void updatePositions(Layered& graph, const std::vector<int>& order) {
    for (std::size_t i = 0; i < order.size(); ++i)
        graph.position[order[i]] = static_cast<int>(i);
}

// Vertices in the order in which a depth-first walk from the sources meets them: branches stay together from
// the start.
void startOrder(Layered& graph) {
    const int highest = graph.layer.empty() ? -1 : *std::max_element(graph.layer.begin(), graph.layer.end());
    graph.layers.assign(highest + 1, {});
    graph.position.assign(graph.count(), 0);
    std::vector<char> seen(graph.count(), 0);
    std::vector<int> stack;
    const auto visitFrom = [&](int root) {
        stack.push_back(root);
        while (!stack.empty()) {
            const int vertex = stack.back();
            stack.pop_back();
            if (seen[vertex])
                continue;
            seen[vertex] = 1;
            graph.layers[graph.layer[vertex]].push_back(vertex);
            for (const int* to = graph.below.end(vertex); to != graph.below.begin(vertex);)
                if (!seen[*--to])
                    stack.push_back(*to);
        }
    };
    for (int vertex = 0; vertex < graph.count(); ++vertex)
        if (graph.above.size(vertex) == 0)
            visitFrom(vertex);
    for (const auto& order : graph.layers)
        updatePositions(graph, order);
}

void sortLayer(Layered& graph, std::vector<int>& order, const Adjacency& fixed, std::vector<float>& key) {
    for (const int vertex : order) {
        float sum = 0;
        for (const int* other = fixed.begin(vertex); other != fixed.end(vertex); ++other)
            sum += static_cast<float>(graph.position[*other]);
        const int degree = fixed.size(vertex);
        key[vertex] = degree ? sum / static_cast<float>(degree) : static_cast<float>(graph.position[vertex]);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key[a] < key[b]; });
    updatePositions(graph, order);
}

void sweep(Layered& graph, bool down, std::vector<float>& key) {
    const int count = static_cast<int>(graph.layers.size());
    for (int step = 1; step < count; ++step)
        sortLayer(graph, graph.layers[down ? step : count - 1 - step], down ? graph.above : graph.below, key);
}

// Inversions between two layers with a Fenwick tree (Barth, Jünger and Mutzel, 2002).
long long crossingsBelow(const Layered& graph, int upper, std::vector<int>& tree, std::vector<int>& targets) {
    const int width = static_cast<int>(graph.layers[upper + 1].size());
    tree.assign(width + 1, 0);
    long long result = 0, inserted = 0;
    for (const int vertex : graph.layers[upper]) {
        targets.clear();
        for (const int* to = graph.below.begin(vertex); to != graph.below.end(vertex); ++to)
            targets.push_back(graph.position[*to]);
        for (const int target : targets) {
            result += inserted;
            for (int i = target + 1; i > 0; i -= i & -i)
                result -= tree[i];
        }
        for (const int target : targets)
            for (int i = target + 1; i <= width; i += i & -i)
                ++tree[i];
        inserted += static_cast<long long>(targets.size());
    }
    return result;
}

} // namespace

long long crossings(const Layered& graph) {
    long long result = 0;
    std::vector<int> tree, targets;
    for (int upper = 0; upper + 1 < static_cast<int>(graph.layers.size()); ++upper)
        result += crossingsBelow(graph, upper, tree, targets);
    return result;
}

void orderLayers(Layered& graph, int sweeps, const StopToken& stop) {
    startOrder(graph);
    auto best = graph.layers;
    long long fewest = crossings(graph);
    std::vector<float> key(graph.count(), 0);
    for (int pass = 0; pass < sweeps && fewest > 0 && !stop.stopRequested(); ++pass) {
        sweep(graph, pass % 2 == 0, key);
        if (const auto now = crossings(graph); now < fewest) {
            fewest = now;
            best = graph.layers;
        }
    }
    graph.layers = std::move(best);
    for (const auto& order : graph.layers)
        updatePositions(graph, order);
}

} // namespace tunesmith::layout
