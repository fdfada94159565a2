// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

Applied applied(const Draft& draft, const Substitution& substitution, const Match& match) {
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

} // namespace tunesmith::rewrite
