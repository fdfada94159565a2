// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/optimize/search_run.h"

namespace tunesmith::optimize {
namespace {

constexpr double kExploration = 0.7;
constexpr int kRolloutSteps = 8;

// Upper confidence bounds on trees (Kocsis and Szepesvari, 2006). The reward of a draft is how much cheaper than the start the best of its
// random continuation is. Moves of a node are opened one at a time, in random order; but the greedy way is in the tree from the beginning.
class Tree {
public:
    explicit Tree(SearchRun& run) : run_(run) { add(run.start(), 0); }

    void descend() {
        std::vector<std::size_t> path{0};
        while (!run_.stopped()) {
            std::size_t cheapest = path.back();
            for (std::size_t made = open(path.back()); made != 0; made = open(path.back())) {
                path.push_back(made);
                credit(path, rewardOf(nodes_[made].state));
                path.pop_back();
                cheapest = nodes_[made].state->cost < nodes_[cheapest].state->cost ? made : cheapest;
            }
            run_.countExpansion();
            if (cheapest == path.back())
                return;
            path.push_back(cheapest);
        }
    }

    void grow() {
        std::vector<std::size_t> path{0};
        while (nodes_[path.back()].untried.empty() && !nodes_[path.back()].children.empty())
            path.push_back(choose(path.back()));
        double reward = 0;
        if (const std::size_t made = open(path.back()); made != 0) {
            path.push_back(made);
            reward = rollout(nodes_[made].state);
        } else if (path.size() == 1 && nodes_[0].children.empty()) {
            exhausted_ = true;
        } else {
            retire(path);
            return;
        }
        credit(path, reward);
    }
    bool exhausted() const { return exhausted_; }

private:
    struct TreeNode {
        StatePtr state;
        std::size_t parent;
        std::vector<std::uint32_t> untried; // moves, in the order in which they will be opened from the back
        std::vector<std::size_t> children;
        std::int64_t visits = 0;
        double sum = 0, best = 0;
    };

    std::size_t add(StatePtr state, std::size_t parent) {
        TreeNode node{std::move(state), parent, {}, {}};
        for (std::uint32_t i = 0; i < run_.movesOf(node.state).size(); ++i)
            node.untried.push_back(i);
        for (std::size_t i = node.untried.size(); i > 1; --i)
            std::swap(node.untried[i - 1], node.untried[run_.random.below(i)]);
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }

    void credit(const std::vector<std::size_t>& path, double reward) {
        spread_ = std::max(spread_, std::abs(reward));
        for (const std::size_t node : path) {
            ++nodes_[node].visits;
            nodes_[node].best = std::max(nodes_[node].best, reward);
            nodes_[node].sum += reward;
        }
    }

    std::size_t choose(std::size_t at) const {
        const double visits = std::log(static_cast<double>(std::max<std::int64_t>(nodes_[at].visits, 1)));
        const auto bound = [&](std::size_t child) {
            const TreeNode& node = nodes_[child];
            const auto n = static_cast<double>(std::max<std::int64_t>(node.visits, 1));
            return 0.5 * (node.sum / n + node.best) + kExploration * spread_ * std::sqrt(visits / n);
        };
        return *std::ranges::max_element(nodes_[at].children, {}, bound);
    }

    // Opens the next move that leads somewhere new; 0 if none is left.
    std::size_t open(std::size_t at) {
        while (!nodes_[at].untried.empty() && !run_.stopped()) {
            const Move move = run_.movesOf(nodes_[at].state)[nodes_[at].untried.back()];
            nodes_[at].untried.pop_back();
            if (StatePtr made = run_.child(nodes_[at].state, move)) {
                const std::size_t added = add(std::move(made), at);
                nodes_[at].children.push_back(added);
                return added;
            }
        }
        return 0;
    }

    // A node with nothing left to open is taken from its parent.
    void retire(const std::vector<std::size_t>& path) {
        const std::size_t node = path.back(), parent = nodes_[node].parent;
        std::erase(nodes_[parent].children, node);
        exhausted_ = node == 0;
    }

    double rewardOf(const StatePtr& state) const { return 1 - state->cost / run_.start()->cost; }

    double rollout(StatePtr at) {
        double best = rewardOf(at);
        for (int step = 0; step < kRolloutSteps && !run_.stopped(); ++step) {
            const std::vector<Move>& moves = run_.movesOf(at);
            const StatePtr next = moves.empty() ? nullptr : run_.child(at, Move(moves[run_.random.below(moves.size())]), SearchRun::Seen::again);
            if (!next || next->cost > run_.options().alpha * 1.1 * run_.best()->cost)
                break;
            at = next;
            best = std::max(best, rewardOf(at));
        }
        return best;
    }

    SearchRun& run_;
    std::vector<TreeNode> nodes_;
    double spread_ = 0.05; // of rewards so far
    bool exhausted_ = false;
};

} // namespace

void searchTree(SearchRun& run) {
    Tree tree(run);
    tree.descend();
    while (!run.stopped() && !tree.exhausted()) {
        tree.grow();
        run.countExpansion();
    }
}

} // namespace tunesmith::optimize
