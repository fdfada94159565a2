// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/rule_verification.h"

namespace tunesmith {

struct RuleImport {
    std::size_t imported = 0; // rules of the file
    std::size_t distinct = 0; // of those; names of variables do not tell rules apart, shapes do
    std::size_t added = 0;    // that the store did not have
    std::vector<RuleCounterExample> unsound; // of the file's, with the file's names
};

// Rules of a text (core/substitution/stored_rule.h) or of TASO's graph_subst.pb, whichever the file is. A rule that is there keeps its name and origin,
// and what is known of it unless the file knows more. One without a name gets the file's and its number, one whose name is taken the next free number.
//
// All are tried as TASO reads rules: one that fails there, under the conditions that the file states, is unsound. Those that nothing is
// known of are verified for models then (rule_verification.h). What is done when the work is stopped is kept.
Result<RuleImport> importRules(const std::string& store, const std::string& file, const RuleTrialOptions& options, const Work& work = {});

} // namespace tunesmith
