// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <utility>

#include "core/rewrite/pattern.h"

namespace tunesmith::rewrite {

// Where the tensors of a bound pattern were put together: what its splits undo. Known from the extents of what is concatenated and from
// the splits of the side that was found; carried through the operators to where the other side splits.
class Cuts {
public:
    Cuts(const Pattern& pattern, const Draft& draft, const Binding& binding);

    // Whether each split that was found undoes the concat below it.
    bool consistent() const { return consistent_; }

    // The extent of the first part along a term's axis; nothing where it is in one piece. `values` has what was built so far.
    std::optional<std::int64_t> of(TermId term, std::uint8_t axis, const std::vector<ValueNo>& values) const;

private:
    bool put(TermId term, std::uint8_t axis, std::int64_t extent);
    std::optional<std::int64_t> extent(ValueNo value, std::uint8_t axis) const;

    const Pattern& pattern_;
    const Draft& draft_;
    const Binding& binding_;
    std::map<std::pair<TermId, std::uint8_t>, std::int64_t> ofVariable_;
    bool consistent_ = true;
};

} // namespace tunesmith::rewrite
