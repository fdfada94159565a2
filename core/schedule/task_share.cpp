// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/task_share.h"

#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

constexpr double kPast = 0.2;      // how much the last gains count beside what may still come
constexpr double kReach = 2;       // a workload may come to half the speed of the fastest of its kind
constexpr double kGained = 0.99;   // what improves by less has gained nothing
constexpr std::size_t kWindow = 3; // batches over which gains are averaged

} // namespace

TaskShare::TaskShare(const std::vector<Task>& tasks) {
    for (const Task& task : tasks)
        states_.push_back({task, 0, {}});
}

void TaskShare::delivered(std::size_t task, std::optional<double> bestMs) {
    State& state = states_[task];
    if (!bestMs)
        return;
    const bool gained = state.best.empty() || *bestMs < kGained * state.best.back();
    state.inVain = gained ? 0 : state.inVain + 1;
    state.best.push_back(*bestMs);
}

double TaskShare::fastest(int kind) const {
    double speed = 0;
    for (const State& state : states_)
        if (state.task.kind == kind && !state.best.empty())
            speed = std::max(speed, state.task.work / state.best.back());
    return speed;
}

double TaskShare::gain(std::size_t task) const {
    const State& state = states_[task];
    const double speed = fastest(state.task.kind), tries = static_cast<double>(std::max<std::size_t>(1, state.batches));
    const double reachable = speed > 0 ? kReach * state.task.work / speed : 0;
    if (state.best.empty()) // nothing ran: what it may take, with half the hope after each batch in vain
        return state.task.occurrences * reachable / std::exp2(tries);
    const double now = state.best.back();
    const std::size_t window = std::min(kWindow, state.best.size() - 1);
    const double past = window > 0 ? (state.best[state.best.size() - 1 - window] - now) / static_cast<double>(window) : 0;
    const double behind = reachable > 0 ? (now - reachable) / std::exp2(static_cast<double>(state.inVain)) : 0;
    const double ahead = std::max(now / tries, behind);
    return state.task.occurrences * (kPast * past + (1 - kPast) * ahead);
}

std::optional<std::size_t> TaskShare::next(const std::vector<bool>& open) const {
    std::optional<std::size_t> best;
    double most = -1;
    const bool anyFirst = std::ranges::any_of(states_, [&](const State& state) {
        return state.batches == 0 && open[static_cast<std::size_t>(&state - states_.data())];
    });
    for (std::size_t i = 0; i < states_.size(); ++i) {
        if (!open[i] || (anyFirst && !isFirst(i)))
            continue;
        const double promise = anyFirst ? states_[i].task.occurrences * states_[i].task.work : gain(i);
        if (promise > most) {
            best = i;
            most = promise;
        }
    }
    return best;
}

} // namespace tunesmith
