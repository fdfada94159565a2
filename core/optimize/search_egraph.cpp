// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <set>

#include "core/optimize/equal_nodes.h"
#include "core/optimize/search_run.h"

namespace tunesmith::optimize {
namespace {

constexpr std::size_t kFrontier = 4; // drafts beside the planned ones whose moves are added in each round

// Rewrites add their nodes to an e-graph, extraction plans the cheapest draft that its nodes can be put together to, and the plan is walked to from
// the start, rewrite by rewrite: so what is found is reached by rules, costs what it really costs with kernels shared, and can be
// replayed. The drafts on the way add what further rewrites they allow, until the plan is where the search stands. The e-graph stays; drafts that
// were made long ago are dropped, and made again where a plan leads through them.
class EqualitySearch {
public:
    explicit EqualitySearch(SearchRun& run) : run_(run) { nodes_.add(run.start()->draft, 0, run.cost()); }

    void go() {
        descend();
        std::set<std::vector<std::size_t>> planned;
        while (!run_.stopped()) {
            const std::vector<EqualNodes::ClassNo> results = nodes_.resultsOf(run_.start()->draft);
            Extraction plan = extractExactly(nodes_, results, run_.secondsLeft(), run_.stop());
            if (!planned.insert(plan.makers).second && !widen())
                return;
            walkTo(plan);
        }
    }

private:
    // The greedy way: what is extracted later can only be better.
    void descend() {
        for (StatePtr at = run_.start(); at && !run_.stopped();) {
            StatePtr next;
            for (const StatePtr& child : expand(at))
                if (child->cost < (next ? next : at)->cost)
                    next = child;
            at = next;
        }
    }

    // The drafts one rewrite away, which the e-graph knows from now on.
    const std::vector<StatePtr>& expand(const StatePtr& state) {
        if (const auto known = children_.find(state.get()); known != children_.end())
            return known->second;
        dropOld();
        std::vector<StatePtr> children = run_.expand(state, SearchRun::Seen::again);
        for (const StatePtr& child : children)
            nodes_.add(child->draft, state->draft.nodes(), run_.cost());
        waiting_.insert(waiting_.end(), children.begin(), children.end());
        held_ += bytesOf(children);
        if (state != run_.start())
            expanded_.push_back(state);
        return children_[state.get()] = std::move(children);
    }

    static std::size_t bytesOf(const std::vector<StatePtr>& states) {
        std::size_t bytes = 0;
        for (const StatePtr& state : states)
            bytes += state->draft.bytes();
        return bytes;
    }

    // The children of what was expanded first, but for the start's, and the dearest of those that wait.
    void dropOld() {
        const std::size_t most = run_.options().memory / 4;
        for (; held_ > most && !expanded_.empty(); expanded_.pop_front()) {
            const auto oldest = children_.find(expanded_.front().get());
            held_ -= bytesOf(oldest->second);
            children_.erase(oldest);
        }
        std::size_t bytes = bytesOf(waiting_);
        if (bytes <= most)
            return;
        std::ranges::stable_sort(waiting_, {}, &State::cost);
        for (; bytes > most / 2; waiting_.pop_back())
            bytes -= waiting_.back()->draft.bytes();
    }

    // How many of a draft's nodes the plan does not have.
    std::size_t missing(const StatePtr& state, const Extraction& plan) const {
        const std::vector<std::size_t> own = nodes_.makersOf(state->draft);
        return static_cast<std::size_t>(std::ranges::count_if(own, [&](std::size_t maker) { return !std::ranges::binary_search(plan.makers, maker); }));
    }

    void walkTo(const Extraction& plan) {
        StatePtr at = run_.start();
        for (std::size_t left = missing(at, plan); left > 0 && !run_.stopped();) {
            StatePtr next;
            std::size_t nearest = left;
            for (const StatePtr& child : expand(at)) {
                const std::size_t far = missing(child, plan);
                if (far < nearest || (next && far == nearest && child->cost < next->cost)) {
                    nearest = far;
                    next = child;
                }
            }
            if (!next)
                return;
            at = next;
            left = nearest;
        }
        if (!run_.stopped())
            expand(at);
    }

    // The cheapest drafts that were not expanded, as long as there are some within alpha.
    bool widen() {
        std::ranges::stable_sort(waiting_, {}, &State::cost);
        std::size_t widened = 0;
        std::vector<StatePtr> left;
        for (const StatePtr& state : std::exchange(waiting_, {})) {
            const bool worth = state->cost <= run_.options().alpha * run_.best()->cost && !hashes_.contains(state->draft.hash());
            if (widened < kFrontier && worth && !run_.stopped()) {
                hashes_.insert(state->draft.hash());
                expand(state);
                ++widened;
            } else if (worth) {
                left.push_back(state);
            }
        }
        waiting_.insert(waiting_.end(), left.begin(), left.end());
        return widened > 0;
    }

    SearchRun& run_;
    EqualNodes nodes_;
    std::unordered_map<const State*, std::vector<StatePtr>> children_;
    std::deque<StatePtr> expanded_; // whose children are known, the first first, without the start
    std::vector<StatePtr> waiting_;
    std::size_t held_ = 0; // bytes of all children
    std::set<std::uint64_t> hashes_; // of drafts that were widened
};

} // namespace

void searchEqualities(SearchRun& run) { EqualitySearch(run).go(); }

} // namespace tunesmith::optimize
