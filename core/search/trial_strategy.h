// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <set>

#include "core/search/measured.h"
#include "core/search/state_json.h"
#include "core/search/strategy.h"
#include "core/search/unseen.h"

namespace tunesmith {

// For the sources of strategies only: what those have in common that go by measured costs and no model. A
// strategy says which config it wants next, and hears what became of each; that nothing is proposed twice,
// that a space is tried to its last config, that what others tried is known and that all of it can be saved
// is done here. One config is picked at a time, so no strategy can depend on how many are asked for at once.
class TrialStrategy : public Strategy {
public:
    std::vector<Config> propose(std::size_t count) final;
    void observe(std::span<const Trial> trials) final;
    std::string saveState() const final;
    Status restoreState(std::string_view state) final;

protected:
    struct Outcome {
        std::uint64_t asked = 0; // hash of the config that was asked for
        const MeasuredConfig* known =
            nullptr; // what was built; null: the trial says nothing (skipped, cancelled)
        bool newBest = false;
    };

    TrialStrategy(const Space& space, std::uint64_t seed, TrialCost cost);

    // A fresh() config to try next, or none: then one is drawn at random. Must not wait for outcomes: they
    // come in batches, later than the next proposals.
    virtual std::optional<Config> pick() = 0;
    // A config that pick() has not chosen is proposed: a starting point of the space or a random one.
    virtual void drawn(std::uint64_t /*hash*/) {}
    virtual void observed(const Outcome& outcome) = 0;

    // What the strategy knows beyond this class. restoreOwn() throws a json exception before it changes
    // anything.
    virtual nlohmann::json saveOwn() const = 0;
    virtual void restoreOwn(const nlohmann::json& json) = 0;

    bool fresh(const Config& config) const { return isFresh(space_.hash(config)); }
    bool isFresh(std::uint64_t hash) const { return !unseen_.contains(hash); }
    bool underWay(std::uint64_t hash) const { return underWay_.contains(hash); } // proposed, not yet observed
    const Measured& measured() const { return measured_; }
    std::size_t seen() const { return unseen_.count(); } // proposed here or tried by others
    const Space& space() const { return space_; }
    Rng& rng() { return rng_; }

    static nlohmann::json jsonOf(const MeasuredConfig& known);
    MeasuredConfig
    measuredFrom(const nlohmann::json& json) const; // throws unless its config is of this space

private:
    void learn(const Trial& trial, Outcome& outcome);
    Measured measuredFromState(const nlohmann::json& json) const;

    const Space& space_;
    TrialCost cost_;
    Rng rng_;
    Unseen unseen_;
    Measured measured_;
    std::set<std::uint64_t> underWay_;
};

} // namespace tunesmith
