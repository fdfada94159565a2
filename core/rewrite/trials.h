// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/stop_token.h"
#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

// What one attempt came to.
struct Attempt {
    enum : std::uint8_t { unfit, refused, equal, different } outcome = unfit;
    std::string text; // why not, or the counter-example
    bool compared() const { return outcome == equal || outcome == different; }
};

// Random models of a substitution, in which it is applied wherever it is found.
class Trials {
public:
    Trials(const Substitution& substitution, std::uint64_t seed) : substitution_(substitution), rng_(seed) {}

    // Told of each attempt at a match; the match is empty where none was found. False: that is enough.
    using Seen = std::function<bool(const Draft*, const Match&, const Attempt&)>;

    // Until `seen` has enough, or so many were compared, or too few of the models are any good: the attempts run out at 40 times
    // as many, and at 4000 if none of those was good.
    void run(std::int64_t trials, const StopToken& stop, const Seen& seen);

private:
    bool next(const Seen& seen, std::int64_t& compared);
    Attempt attempt(const Draft& draft, const Match& match);

    const Substitution& substitution_;
    Rng rng_;
    std::shared_ptr<OperatorTable> table_;
    int used_ = 0;
};

} // namespace tunesmith::rewrite
