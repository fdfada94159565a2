// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/schedule/stage_gate.h"

namespace tunesmith::testing {

// Turns come at once, but for a thread that has one, which a board would let wait for itself; what was told is remembered, to be read when the run has ended.
class ToldGate : public StageGate {
public:
    Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed&, const StopToken&) override {
        if (ToldTurn::held > 0)
            return internalError("asks for a turn to " + kind + " within another turn");
        const std::lock_guard lock(mutex_);
        entered.push_back(kind);
        return std::unique_ptr<Turn>(std::make_unique<ToldTurn>());
    }
    std::unique_ptr<Chain> chain(std::vector<Link> links, const Chain*) override {
        std::string all;
        for (const Link& link : links)
            all += (all.empty() ? "" : " ") + link.kind;
        const std::lock_guard lock(mutex_);
        planned.push_back(std::move(all));
        return std::make_unique<ToldChain>(*this);
    }
    void expect(const std::string& kind, std::int64_t stages) override {
        const std::lock_guard lock(mutex_);
        expected[kind].push_back(stages);
    }

    std::vector<std::string> entered; // in chains or not
    std::vector<std::string> planned; // chains
    std::map<std::string, std::vector<std::int64_t>> expected;

private:
    struct ToldTurn : Turn {
        ToldTurn() { ++held; }
        ~ToldTurn() override { --held; }
        static inline thread_local int held = 0;
    };
    struct ToldChain : Chain {
        explicit ToldChain(ToldGate& of) : gate(of) {}
        Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override { return gate.enter(kind, need, stop); }
        ToldGate& gate;
    };
    std::mutex mutex_; // guards what is told
};

} // namespace tunesmith::testing
