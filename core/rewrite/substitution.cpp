// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/substitution.h"

#include <cassert>

#include "core/base/log.h"
#include "core/rewrite/application_check.h"

namespace tunesmith::rewrite {

Applied appliedOnTrial(const Draft& draft, const Substitution& substitution, const Match& match) {
    Applied result{draft, {}};
    result.refusal = substitution.apply(*result.draft, match);
    if (result.refusal.empty() && !result.draft->settle())
        result.refusal = "a node would depend on itself";
    else if (result.refusal.empty() && result.draft->hash() == draft.hash())
        result.refusal = "it changes nothing here";
    if (!result.refusal.empty())
        result.draft.reset();
    return result;
}

Applied applied(const Draft& draft, const Substitution& substitution, const Match& match) {
    Applied result = appliedOnTrial(draft, substitution, match);
#ifndef NDEBUG
    if (result.draft && isInCheckedSample(draft, *result.draft))
        if (const auto mistake = mistakeOf(substitution, draft, *result.draft)) {
            logMessage(LogLevel::error, "a substitution changed what a model computes: " + *mistake);
            assert(!"a substitution changed what a model computes; the log says which");
        }
#endif
    return result;
}

} // namespace tunesmith::rewrite
