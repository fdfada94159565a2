// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>

#include "core/search/measured.h"
#include "core/search/state_json.h"
#include "core/search/unit_cube.h"

namespace tunesmith {

// For the sources of strategies only: what a technique of the bandit sees of the search.
struct TechniqueView {
    const Space& space;
    const UnitCube& cube; // the space in numbers
    const Measured& measured;
    std::function<bool(std::uint64_t hash)> fresh;    // never proposed
    std::function<bool(std::uint64_t hash)> underWay; // proposed, by whomever, and not yet observed
    Rng& rng;
};

struct TechniqueOutcome {
    std::uint64_t asked = 0;
    const MeasuredConfig* known = nullptr; // null: the trial says nothing
    bool byAnother = false; // another technique proposed it; starting points and earlier runs are nobody's
};

// One of the techniques that a bandit chooses from. It is asked only when it deserves a trial, hears of every
// outcome, and may have nothing to propose for now.
class Technique {
public:
    virtual ~Technique() = default;
    virtual std::optional<Config> pick(const TechniqueView& view) = 0; // a fresh one
    virtual void observed(const TechniqueView& /*view*/, const TechniqueOutcome& /*outcome*/) {}
    virtual nlohmann::json save() const { return nullptr; }
    // What is restored in two steps, so that a broken state changes nothing: read() throws a json exception
    // or returns what puts it into force.
    virtual std::function<void()> read(const nlohmann::json&, const UnitCube&) {
        return [] {};
    }
};

// The four of OpenTuner's AUCBanditMetaTechniqueA, with its settings.
std::unique_ptr<Technique>
makeDifferentialEvolution();                      // DifferentialEvolutionAlt: population 30, crossover .2
std::unique_ptr<Technique> makeUniformMutation(); // UniformGreedyMutation: rate .1
std::unique_ptr<Technique> makeNormalMutation();  // NormalGreedyMutation: rate .3, deviation .1
std::unique_ptr<Technique> makeNelderMead();      // RandomNelderMead

} // namespace tunesmith
