// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace tunesmith {

// How a budget that the workloads of a model share is spent: every batch goes to the workload that promises the model the most
// time for it. What a workload promises is estimated as Ansor's task scheduler does (Zheng et al., OSDI'20, section 6): from what its
// last batches gained, from how little it was tried yet, and from how far it is behind workloads of its kind, by its work per second.
// The last of these halves with every batch in vain: that a convolution of three channels stays behind those that Winograd's
// algorithm suits is no reason to try nothing else.
//
// Depends on what was reported only, in the order of the batches, so that a resumed run decides as it did before. One thread.
class TaskShare {
public:
    struct Task {
        double occurrences = 1;
        double work = 0; // operations of one run; 0: unknown
        int kind = 0;    // workloads of one kind can be compared by their work per second
    };
    explicit TaskShare(const std::vector<Task>& tasks);

    // Which of the open tasks gets the next batch: first each one once, the largest before the others. Nothing is open: none.
    std::optional<std::size_t> next(const std::vector<bool>& open) const;
    void begun(std::size_t task) { ++states_[task].batches; }
    void delivered(std::size_t task, std::optional<double> bestMs); // best of all its batches so far; none: nothing ran

    bool isFirst(std::size_t task) const { return states_[task].batches == 0; }
    double gain(std::size_t task) const; // expected of another batch, in ms of the model

private:
    struct State {
        Task task;
        std::size_t batches = 0;
        std::vector<double> best; // ms after each batch that was delivered, from the first success on
        std::size_t inVain = 0;   // batches since the last gain
    };
    double fastest(int kind) const; // work per ms; 0: unknown

    std::vector<State> states_;
};

} // namespace tunesmith
