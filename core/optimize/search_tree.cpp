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
// Drafts that were not needed for long are dropped, and made again from their parents' when the search comes back.
class Tree {
public:
    explicit Tree(SearchRun& run) : run_(run) { add(run.start(), 0, {}); }

    void descend() {
        std::vector<std::size_t> path{0};
        while (!run_.stopped()) {
            std::size_t cheapest = path.back();
            for (std::size_t made = open(path.back()); made != 0; made = open(path.back())) {
                path.push_back(made);
                credit(path, rewardOf(nodes_[made].cost));
                path.pop_back();
                cheapest = nodes_[made].cost < nodes_[cheapest].cost ? made : cheapest;
            }
            run_.countExpansion();
            dropOld();
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
        dropOld();
    }
    bool exhausted() const { return exhausted_; }

private:
    struct TreeNode {
        StatePtr state; // none: dropped
        std::size_t parent;
        Move move; // from the parent
        double cost;
        std::vector<std::uint32_t> untried; // moves, in the order in which they will be opened from the back
        std::vector<std::size_t> children;
        std::int64_t visits = 0, used = 0; // when it was on the way last
        double sum = 0, best = 0;
    };

    std::size_t add(StatePtr state, std::size_t parent, Move move) {
        const double cost = state->cost;
        held_ += state->draft.bytes();
        TreeNode node{std::move(state), parent, std::move(move), cost, {}, {}};
        for (std::uint32_t i = 0; i < run_.movesOf(node.state).size(); ++i)
            node.untried.push_back(i);
        for (std::size_t i = node.untried.size(); i > 1; --i)
            std::swap(node.untried[i - 1], node.untried[run_.random.below(i)]);
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }

    // Nothing when the search must end.
    StatePtr stateOf(std::size_t at) {
        std::vector<std::size_t> missing; // from there up
        for (std::size_t node = at; !nodes_[node].state; node = nodes_[node].parent)
            missing.push_back(node);
        for (; !missing.empty(); missing.pop_back()) {
            TreeNode& node = nodes_[missing.back()];
            StatePtr made = run_.child(nodes_[node.parent].state, node.move, SearchRun::Seen::again);
            if (!made || run_.stop().stopRequested()) // it may not be simplified
                return nullptr;
            held_ += made->draft.bytes();
            node.state = std::move(made);
        }
        return nodes_[at].state;
    }

    void drop(std::size_t at) {
        held_ -= at != 0 && nodes_[at].state ? nodes_[at].state->draft.bytes() : 0;
        if (at != 0)
            nodes_[at].state.reset();
    }

    // Half of what may be held stays: what was used last, and what that comes from.
    void dropOld() {
        const std::size_t most = run_.options().memory / 2;
        if (held_ <= most)
            return;
        std::vector<std::size_t> held;
        for (std::size_t i = 1; i < nodes_.size(); ++i)
            if (nodes_[i].state)
                held.push_back(i);
        std::ranges::sort(held, [&](std::size_t a, std::size_t b) { return nodes_[a].used != nodes_[b].used ? nodes_[a].used < nodes_[b].used : a > b; });
        for (std::size_t i = 0; i < held.size() && held_ > most / 2; ++i)
            drop(held[i]);
    }

    void credit(const std::vector<std::size_t>& path, double reward) {
        spread_ = std::max(spread_, std::abs(reward));
        ++now_;
        for (const std::size_t node : path) {
            nodes_[node].used = now_;
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
            const StatePtr state = stateOf(at);
            if (!state)
                return 0;
            Move move = run_.movesOf(state)[nodes_[at].untried.back()];
            nodes_[at].untried.pop_back();
            if (StatePtr made = run_.child(state, move)) {
                const std::size_t added = add(std::move(made), at, std::move(move));
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
        drop(node);
        exhausted_ = node == 0;
    }

    double rewardOf(double cost) const { return 1 - cost / run_.start()->cost; }

    double rollout(StatePtr at) {
        double best = rewardOf(at->cost);
        for (int step = 0; step < kRolloutSteps && !run_.stopped(); ++step) {
            const std::vector<Move>& moves = run_.movesOf(at);
            const StatePtr next = moves.empty() ? nullptr : run_.child(at, Move(moves[run_.random.below(moves.size())]), SearchRun::Seen::again);
            if (!next || next->cost > run_.options().alpha * 1.1 * run_.best()->cost)
                break;
            at = next;
            best = std::max(best, rewardOf(at->cost));
        }
        return best;
    }

    SearchRun& run_;
    std::vector<TreeNode> nodes_;
    double spread_ = 0.05; // of rewards so far
    std::size_t held_ = 0; // bytes of drafts
    std::int64_t now_ = 0;
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
