// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/jobs/stage.h"

namespace tunesmith {

// Runs a small graph of stages on a few threads: select and build of batch n + 1 go on while batch n is
// profiled, because they load other resources. In order: of the stages that could begin, the one added first
// begins; a stage that waits for a resource holds it against later ones, so that an exclusive stage is never
// starved. A stage may add further stages while it runs (update n adds select n + 2): a job need not know its
// length beforehand.
class Job {
public:
    explicit Job(std::vector<Resource> resources);

    // From any thread, before or during run(). `after` names stages that were added before, so there are no
    // cycles. Refuses a resource that the job does not have and an amount that it never has: such a stage
    // would wait forever.
    Result<StageId> add(Stage stage);

    // Runs all stages on `threads` threads of its own and returns when none is running. The first stage that
    // fails (in the order of adding) ends the job: what runs is let finish, the rest is skipped, its error is
    // returned. A stop likewise, with a cancelled error. Once only.
    Status run(int threads, const StopToken& stop = {});

    std::vector<StageRecord> records() const; // of all stages, in the order of adding; from any thread

private:
    struct Load {
        int amount = 0; // in all
        int used = 0;
        bool held = false; // by an exclusive stage
    };
    struct Entry {
        Stage stage;
        StageRecord record;
    };

    void work(int thread, const StopToken& stop);
    std::optional<std::size_t> pick() const;
    bool fits(const Stage& stage, const std::map<std::string, Load>& loads) const;
    void take(const Stage& stage, std::map<std::string, Load>& loads) const;
    void finish(std::size_t index, const Status& status);
    Status outcome(const StopToken& stop);
    double now() const;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Load> loads_; // guarded by mutex_, as all below
    std::vector<Entry> entries_;
    std::size_t firstWaiting_ = 0; // none before it is waiting
    int running_ = 0;
    bool failed_ = false;
    std::chrono::steady_clock::time_point begun_{};
    std::map<std::size_t, Error> errors_;
};

} // namespace tunesmith
