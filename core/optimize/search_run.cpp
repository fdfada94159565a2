// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/search_run.h"

#include <algorithm>

#include "core/optimize/retrace.h"

namespace tunesmith::optimize {

Status SearchRun::begin(const Draft& draft) {
    auto state = std::make_shared<State>(State{draft, 0, nullptr, {}});
    state->step.costBefore = cost_.of(draft);
    if (!rules_.simplify(state->draft, nullptr, state->step.simplifications, stop_))
        return internalError("the simplifying rules undo each other");
    state->cost = state->step.costAfter = cost_.of(state->draft);
    mostNodes_ = static_cast<std::size_t>(options_.growth * static_cast<double>(std::max<std::size_t>(state->draft.order().size(), 8)));
    seen_.insert(state->draft.hash());
    result_.start = result_.best = state;
    result_.leaders = {state};
    result_.curve.push_back(progress());
    return {};
}

GraphSearchResult SearchRun::finish(StopReason reason) {
    result_.stopReason = reason;
    result_.seconds = seconds();
    result_.curve.push_back(progress());
    return std::move(result_);
}

bool SearchRun::stopped() {
    if (stop_.stopRequested())
        reason_ = StopReason::cancelled;
    else if (result_.expanded >= options_.budget)
        reason_ = StopReason::budgetTrials;
    else if (options_.seconds > 0 && seconds() >= options_.seconds)
        reason_ = StopReason::budgetTime;
    else
        return false;
    return true;
}

const std::vector<Move>& SearchRun::movesOf(const StatePtr& state) {
    if (const auto known = moves_.find(state.get()); known != moves_.end())
        return known->second;
    const auto before = moves_.find(state->parent.get());
    std::vector<Move> moves = before == moves_.end() ? rules_.moves(state->draft) : rules_.moves(state->draft, state->parent->draft, before->second);
    movesKept_ += moves.size();
    bytesKept_ += state->draft.bytes();
    withMoves_.push_back(state);
    forgetOldMoves();
    return moves_[state.get()] = std::move(moves);
}

void SearchRun::forgetOldMoves() {
    constexpr std::size_t kMostKept = 500'000;
    while ((movesKept_ > kMostKept || bytesKept_ > options_.memory / 4) && withMoves_.size() > 2) {
        const auto oldest = moves_.find(withMoves_.front().get());
        movesKept_ -= oldest->second.size();
        bytesKept_ -= withMoves_.front()->draft.bytes();
        moves_.erase(oldest);
        withMoves_.pop_front();
    }
}

StatePtr SearchRun::child(const StatePtr& parent, const Move& move, Seen seen) {
    auto [draft, refusal] = rewrite::applied(parent->draft, rules_[move.rule], move.match);
    if (!draft) {
        ++result_.refusals.counts[{move.rule, std::string(refusal)}];
        return nullptr;
    }
    auto state = std::make_shared<State>(State{std::move(*draft), 0, parent, {move.rule, {}, parent->cost, 0, placeOf(parent->draft, move.match)}});
    ++result_.generated;
    if (!rules_.simplify(state->draft, &parent->draft, state->step.simplifications, stop_) || state->draft.order().size() > mostNodes_)
        return nullptr;
    if (!seen_.insert(state->draft.hash()).second && seen == Seen::skip)
        return nullptr;
    state->cost = state->step.costAfter = cost_.of(state->draft);
    note(state);
    return state;
}

void SearchRun::note(const StatePtr& state) {
    auto& leaders = result_.leaders;
    const bool known = std::ranges::any_of(leaders, [&](const StatePtr& leader) { return leader->draft.hash() == state->draft.hash(); });
    if (known) // made again
        return;
    if (leaders.size() < options_.leaders || state->cost < leaders.back()->cost) {
        leaders.insert(std::ranges::upper_bound(leaders, state->cost, {}, &State::cost), state);
        leaders.resize(std::min(leaders.size(), options_.leaders));
    }
    if (state->cost >= result_.best->cost)
        return;
    result_.best = state;
    result_.curve.push_back(progress());
}

void SearchRun::countExpansion() {
    ++result_.expanded;
    if (observer_)
        observer_(progress());
}

std::vector<StatePtr> SearchRun::expand(const StatePtr& parent, Seen seen) {
    std::vector<StatePtr> children;
    const std::vector<Move> moves = movesOf(parent);
    for (const Move& move : moves) {
        if (StatePtr made = child(parent, move, seen))
            children.push_back(std::move(made));
        if (stop_.stopRequested() || (options_.seconds > 0 && seconds() >= options_.seconds))
            break;
    }
    countExpansion();
    return children;
}

} // namespace tunesmith::optimize
