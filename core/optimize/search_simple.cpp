// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <set>

#include "core/optimize/search_run.h"

namespace tunesmith::optimize {
namespace {

// States by cost, the older first among equals.
class Queue {
public:
    explicit Queue(std::size_t most) : most_(most) {}
    bool empty() const { return states_.empty(); }

    void push(StatePtr state) {
        states_.insert({state->cost, next_++, std::move(state)});
        if (states_.size() > most_)
            states_.erase(std::prev(states_.end()));
    }

    StatePtr pop() {
        StatePtr state = states_.begin()->state;
        states_.erase(states_.begin());
        return state;
    }

private:
    struct Entry {
        double cost;
        std::uint64_t number;
        StatePtr state;
        bool operator<(const Entry& other) const { return std::tie(cost, number) < std::tie(other.cost, other.number); }
    };
    std::set<Entry> states_;
    std::size_t most_;
    std::uint64_t next_ = 0;
};

// So that waiting drafts take some hundred megabytes at most.
std::size_t mostWaiting(const StatePtr& start) { return std::max<std::size_t>(64, (std::size_t(4) << 20) / (start->draft.nodes() + 16)); }

bool isCheaper(const StatePtr& a, const StatePtr& b) { return a->cost < b->cost; }

} // namespace

void searchGreedily(SearchRun& run) {
    for (StatePtr at = run.start(); !run.stopped();) {
        const std::vector<StatePtr> children = run.expand(at);
        const auto cheapest = std::ranges::min_element(children, isCheaper);
        if (cheapest == children.end() || (*cheapest)->cost >= at->cost)
            return;
        at = *cheapest;
    }
}

// Jia et al., TASO (SOSP 2019), 5.3. What is cheaper than the draft it came from goes first; what alpha lets through only, from the beginning or
// since a cheaper draft was found, waits until nothing of that is left. So a larger alpha never finds less in the same number of expansions.
void searchBacktracking(SearchRun& run) {
    Queue better(mostWaiting(run.start())), dearer(mostWaiting(run.start()));
    better.push(run.start());
    while ((!better.empty() || !dearer.empty()) && !run.stopped()) {
        const bool waited = better.empty();
        StatePtr at = waited ? dearer.pop() : better.pop();
        if (at->cost > run.options().alpha * run.best()->cost)
            continue;
        if (!waited && at->cost > run.best()->cost) {
            dearer.push(std::move(at));
            continue;
        }
        for (const StatePtr& child : run.expand(at)) {
            if (child->cost < at->cost)
                better.push(child);
            else if (child->cost <= run.options().alpha * run.best()->cost)
                dearer.push(child);
        }
    }
}

void searchBeam(SearchRun& run) {
    std::vector<StatePtr> level{run.start()};
    while (!level.empty() && !run.stopped()) {
        std::vector<StatePtr> next;
        for (const StatePtr& at : level) {
            if (run.stopped())
                return;
            std::ranges::move(run.expand(at), std::back_inserter(next));
        }
        std::erase_if(next, [&](const StatePtr& state) { return state->cost > run.options().alpha * run.best()->cost; });
        std::ranges::stable_sort(next, isCheaper);
        next.resize(std::min(next.size(), run.options().width));
        level = std::move(next);
    }
}

} // namespace tunesmith::optimize
