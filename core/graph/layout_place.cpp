// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/layout_internal.h"
#include <algorithm>
#include <map>
#include <tuple>

// Horizontal placement. First every vertex is aligned with at most one neighbour above and one below, long
// lines and long chains first, never crossing another alignment (as in Brandes and Köpf, 2002): the aligned
// vertices form blocks that are drawn as straight vertical runs. Then the blocks are moved as wholes: packed
// to the left, and relaxed a fixed number of times towards the mean of their neighbours, each within the room
// that its own neighbours leave.
namespace tunesmith::layout {
namespace {

// How much a link deserves to be straight: the longest chain of the whole part, then bends within a line,
// then other nodes by the length of their chains, then the ends of lines.
int straightness(const Layered& graph, const Link& link, const std::vector<int>& height) {
    constexpr int bends = 1 << 29;
    const bool upper = graph.isBend(link.upper), lower = graph.isBend(link.lower);
    if (upper && lower)
        return bends;
    if (upper || lower)
        return 0;
    const int chain = graph.layer[link.upper] + height[link.lower] + 1;
    return chain + 1 >= static_cast<int>(graph.layers.size()) ? bends + chain : chain;
}

// Longest way down from each vertex that passes only through nodes.
std::vector<int> nodeHeights(const Layered& graph) {
    std::vector<int> height(graph.count(), 0);
    for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer)
        for (const int vertex : *layer)
            for (const int* to = graph.below.begin(vertex); to != graph.below.end(vertex); ++to)
                height[vertex] = std::max(height[vertex], height[*to] + (graph.isBend(*to) ? 0 : 1));
    return height;
}

// The block of each vertex; blocks are numbered from 0.
class Aligner {
public:
    explicit Aligner(const Layered& graph)
        : graph_(graph), up_(graph.count(), -1), down_(graph.count(), -1) {}

    void run() {
        const auto height = nodeHeights(graph_);
        std::vector<std::tuple<int, int, int, int>>
            wanted; // layer, -straightness, distance of positions, link
        wanted.reserve(graph_.links.size());
        for (int i = 0; i < static_cast<int>(graph_.links.size()); ++i) {
            const auto& link = graph_.links[i];
            const int distance = std::abs(graph_.position[link.upper] - graph_.position[link.lower]);
            wanted.emplace_back(graph_.layer[link.upper], -straightness(graph_, link, height), distance, i);
        }
        std::sort(wanted.begin(), wanted.end());
        int layer = -1;
        for (const auto& [at, rank, distance, link] : wanted) {
            if (at != layer)
                accepted_.clear();
            layer = at;
            align(graph_.links[link]);
        }
    }

    std::vector<int> blocks(int& count) const {
        std::vector<int> block(graph_.count(), -1);
        count = 0;
        for (const auto& layer : graph_.layers)
            for (const int vertex : layer)
                block[vertex] = up_[vertex] >= 0 ? block[up_[vertex]] : count++;
        return block;
    }

private:
    void align(const Link& link) {
        if (down_[link.upper] >= 0 || up_[link.lower] >= 0)
            return;
        const int from = graph_.position[link.upper], to = graph_.position[link.lower];
        const auto right = accepted_.lower_bound(from);
        if (right != accepted_.end() && right->second < to)
            return;
        if (right != accepted_.begin() && std::prev(right)->second > to)
            return;
        accepted_.emplace(from, to);
        down_[link.upper] = link.lower;
        up_[link.lower] = link.upper;
    }

    const Layered& graph_;
    std::vector<int> up_, down_;
    std::map<int, int> accepted_; // between the current two layers: position above -> position below
};

struct Neighbour { // `left` must stay at least `distance` left of `right`
    int left = 0, right = 0;
    float distance = 0;
};

class Blocks {
public:
    Blocks(const Layered& graph, const LayoutOptions& options) : graph_(graph) {
        Aligner aligner(graph);
        aligner.run();
        block_ = aligner.blocks(count_);
        collectNeighbours(options);
        collectPulls();
    }

    std::vector<float> place(int relaxations, const StopToken& stop) {
        packLeft();
        for (int pass = 0; pass < relaxations && !stop.stopRequested(); ++pass) {
            for (auto block = order_.rbegin(); block != order_.rend(); ++block)
                relax(*block);
            for (const int block : order_)
                relax(block);
        }
        std::vector<float> x(graph_.count());
        for (int vertex = 0; vertex < graph_.count(); ++vertex)
            x[vertex] = x_[block_[vertex]];
        return x;
    }

private:
    void collectNeighbours(const LayoutOptions& options) {
        for (const auto& layer : graph_.layers)
            for (std::size_t i = 1; i < layer.size(); ++i) {
                const int a = layer[i - 1], b = layer[i];
                const float gap = graph_.isBend(a) || graph_.isBend(b) ? options.edgeGap : options.nodeGap;
                const float distance = (graph_.width[a] + graph_.width[b]) / 2 + gap;
                neighbours_.push_back({block_[a], block_[b], distance});
            }
        leftOf_.resize(count_ + 1);
        rightOf_.resize(count_ + 1);
        for (int i = 0; i < static_cast<int>(neighbours_.size()); ++i) {
            leftOf_[neighbours_[i].right].push_back(i);
            rightOf_[neighbours_[i].left].push_back(i);
        }
    }

    // Weights as in Gansner et al., 1993: the more of a link is a bare line, the straighter it should be.
    void collectPulls() {
        pulls_.resize(count_);
        for (const auto& link : graph_.links) {
            const int a = block_[link.upper], b = block_[link.lower];
            if (a == b)
                continue;
            const bool upper = graph_.isBend(link.upper), lower = graph_.isBend(link.lower);
            const float weight = upper && lower ? 8.0f : upper || lower ? 2.0f : 1.0f;
            pulls_[a].emplace_back(b, weight);
            pulls_[b].emplace_back(a, weight);
        }
    }

    void packLeft() {
        x_.assign(count_, 0);
        order_.clear();
        std::vector<int> waiting(count_);
        for (int block = 0; block < count_; ++block)
            if ((waiting[block] = static_cast<int>(leftOf_[block].size())) == 0)
                order_.push_back(block);
        for (std::size_t head = 0; head < order_.size(); ++head)
            for (const int i : rightOf_[order_[head]]) {
                const auto& [left, right, distance] = neighbours_[i];
                x_[right] = std::max(x_[right], x_[left] + distance);
                if (--waiting[right] == 0)
                    order_.push_back(right);
            }
    }

    void relax(int block) {
        float sum = 0, weights = 0;
        for (const auto& [other, weight] : pulls_[block]) {
            sum += weight * x_[other];
            weights += weight;
        }
        if (weights <= 0)
            return;
        float x = sum / weights;
        for (const int i : rightOf_[block])
            x = std::min(x, x_[neighbours_[i].right] - neighbours_[i].distance);
        for (const int i : leftOf_[block])
            x = std::max(x, x_[neighbours_[i].left] + neighbours_[i].distance);
        x_[block] = x;
    }

    const Layered& graph_;
    int count_ = 0;
    std::vector<int> block_, order_; // order_: every block after all blocks on its left
    std::vector<Neighbour> neighbours_;
    std::vector<std::vector<int>> leftOf_, rightOf_; // indices into neighbours_
    std::vector<std::vector<std::pair<int, float>>> pulls_;
    std::vector<float> x_;
};

} // namespace

void placeHorizontally(Layered& graph, const LayoutOptions& options, const StopToken& stop) {
    graph.x = Blocks(graph, options).place(options.relaxations, stop);
}

} // namespace tunesmith::layout
