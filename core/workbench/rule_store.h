// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/workbench/rules.h"

namespace tunesmith {

// Rules that are kept in the trial database. An empty path of a store means the default one in the user's data folder.

struct KeptRule {
    std::string name; // "generated/17", "taso/98": no other rule of the store has it
    RuleEquation equation;
    std::string text; // the equation as a line
    std::string origin;
    std::string status; // untested, tested, proved or refuted
    std::int64_t trials = 0;
    std::vector<std::string> preconditions;
    std::string counterExample;
    std::vector<std::string> proofConditions; // under which it is proved of terms
    std::string whyNotProved;                 // empty: it is, or nobody has tried
};
struct KeptRules {
    std::vector<KeptRule> rules;         // in the order in which they came
    std::vector<std::string> unreadable; // of the others, a sentence that names each and says why
};
Result<KeptRules> keptRules(const std::string& store);
Result<KeptRule> keptRule(const std::string& store, const std::string& name);

Result<std::size_t> exportRules(const std::string& store, const std::string& file); // as text, all that can be read (others are logged); gives how many
Result<std::size_t> keepRules(const std::string& store, const GeneratedRules& rules); // gives how many were new

} // namespace tunesmith
