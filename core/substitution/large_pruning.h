// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <deque>
#include <functional>
#include <span>

#include "core/base/stop_token.h"
#include "core/substitution/consequence.h"
#include "core/substitution/ranked_rule.h"

namespace tunesmith::substitution {

// Leaves out of the candidates in a folder what follows: first, each for itself, what follows from the base rules, then what follows from those and
// earlier candidates, last what follows from later ones. Each step keeps its parts in the folder.
class LargePruning {
public:
    LargePruning(const std::vector<Rule>& base, PartFolder& folder);

    Status judge(std::size_t part, const StopToken& stop); // of the candidates, unless it is there; for several threads at once
    Status load(std::size_t parts); // what is left when all are judged

    using Observer = std::function<void(std::size_t done, std::size_t of, std::size_t kept)>; // from the calling thread
    Status prune(int threads, const StopToken& stop, const Observer& observer);
    Status dropWhatLaterOnesSay(int threads, const StopToken& stop, const Observer& observer);

    std::vector<Rule> kept() const;

private:
    using Flags = std::vector<std::byte>; // one for each of some rules
    std::size_t countKept() const;
    Result<Flags> saidByOthers(const std::string& part, std::span<const std::size_t> rules, int threads, const StopToken& stop);
    Result<Flags> flagsIn(const std::string& part, std::size_t count) const;
    Result<Flags> keptOfBatch(std::size_t begin, std::size_t end, int threads, const StopToken& stop);

    PartFolder& folder_;
    KnownRewrites base_, known_; // known: the kept ones, too
    std::deque<Rule> rules_;     // rewrites refer to them, so they stay where they are
    std::vector<char> isKept_;
};

} // namespace tunesmith::substitution
