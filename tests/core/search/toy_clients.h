// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/hash.h"
#include "core/search/environment.h"
#include "core/search/knob_space.h"
#include "core/search/problem.h"

// Small clients of the search interfaces, shaped like what has to fit later: a compiler's inliner, a plan of
// checkpoints, a program with snapshots; and a made-up convolution whose every point is known.
namespace toy {

using namespace tunesmith;

inline Trial okTrial(const std::vector<Objective>& objectives) {
    Trial trial;
    trial.objectives = objectives;
    trial.samples = {static_cast<float>(objectives[0].value)};
    return trial;
}

// A tree of call sites: a decision below a call that is not inlined does not exist. Configs are the sorted
// names of the inlined sites, e.g. "0/1 0/2": no integer index, and the size of the space is not known.
struct Site {
    int parent;       // index, -1 for the root's calls
    double gain;      // seconds won by inlining it
    double interplay; // ... more when the parent's other child is inlined, too
    bool refused;     // the compiler never inlines it, whatever is asked
};

inline const std::vector<Site>& sites() {
    static const std::vector<Site> kSites = {
        {-1, 0.10, 0.00, false}, {-1, -0.05, 0.00, false}, {-1, 0.00, 0.00, true},  {0, 0.08, 0.05, false},
        {0, -0.06, 0.16, false}, {1, 0.20, 0.00, false},   {1, -0.02, 0.00, false}, {2, 0.30, 0.00, false},
        {3, 0.04, 0.00, false},  {4, -0.03, 0.00, false},  {5, 0.05, 0.07, false},  {5, -0.04, 0.10, false},
        {5, -0.01, 0.00, false}, {8, 0.03, 0.00, false},
    };
    return kSites;
}

class InliningSpace : public Space {
public:
    static std::vector<bool> decode(const Config& config) {
        std::vector<bool> out(sites().size(), false);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = (" " + config.payload + " ").find(" s" + std::to_string(i) + " ") != std::string::npos;
        return out;
    }
    static Config encode(std::vector<bool> inlined, bool asCompiled = false) {
        Config config;
        for (std::size_t i = 0; i < inlined.size(); ++i) {
            const Site& site = sites()[i];
            if (site.parent >= 0 && !inlined[static_cast<std::size_t>(site.parent)])
                inlined[i] = false;
            if (asCompiled && site.refused)
                inlined[i] = false;
            if (inlined[i])
                config.payload += (config.payload.empty() ? "s" : " s") + std::to_string(i);
        }
        return config;
    }

    std::string name() const override { return "inlining"; }
    std::optional<double> size() const override { return std::nullopt; }
    Config sample(Rng& rng) const override {
        std::vector<bool> inlined(sites().size());
        for (std::size_t i = 0; i < inlined.size(); ++i)
            inlined[i] = rng.chance(0.5);
        return encode(inlined);
    }
    Config neighbour(const Config& config, Rng& rng) const override {
        std::vector<bool> inlined = decode(config);
        std::size_t site = rng.below(inlined.size());
        inlined[site] = !inlined[site];
        for (int parent = sites()[site].parent; inlined[site] && parent >= 0;
             parent = sites()[static_cast<std::size_t>(parent)].parent)
            inlined[static_cast<std::size_t>(parent)] = true;
        return encode(inlined);
    }
    Config canonical(const Config& config) const override { return encode(decode(config)); }
    Status validate(const Config& config) const override {
        return config == canonical(config) ? Status()
                                           : Status(inputError("no tree of decisions: " + config.text()));
    }
    int featureVersion() const override { return 3; }
    FeatureMatrix features(std::span<const Config> configs) const override {
        FeatureMatrix out(configs.size(), sites().size(), featureVersion());
        for (std::size_t i = 0; i < configs.size(); ++i)
            std::ranges::copy(decode(configs[i]), out.row(i).begin());
        return out;
    }
    std::string describe(const Config& config) const override { return "inline " + config.payload; }
};

class InliningProblem : public Problem {
public:
    std::string name() const override { return "inlining"; }
    const Space& space() const override { return space_; }
    std::vector<ObjectiveInfo> objectives() const override { return {{"time", "s", false}}; }
    Result<Built> build(const Config& config, const StopToken&) override {
        const Config taken = InliningSpace::encode(InliningSpace::decode(config), true);
        return Built{{taken.payload, {}, Hasher().add(std::string_view(taken.payload)).value()}, taken};
    }
    Trial profile(const Artifact& artifact, const ProfileLimits&) override {
        return okTrial({{"time", timeOf(InliningSpace::decode({{}, artifact.bytes})), "s"}});
    }
    std::vector<Description> describe() const override {
        TreePart tree;
        for (std::size_t i = 0; i < sites().size(); ++i)
            tree.items.push_back(
                {"s" + std::to_string(i), sites()[i].parent, sites()[i].refused ? "refused" : ""});
        return {{"call sites", tree}};
    }
    static double timeOf(const std::vector<bool>& inlined) {
        double time = 1.0;
        for (std::size_t i = 0; i < inlined.size(); ++i) {
            if (!inlined[i])
                continue;
            time -= sites()[i].gain;
            for (std::size_t j = 0; j < inlined.size(); ++j)
                if (j != i && inlined[j] && sites()[j].parent == sites()[i].parent)
                    time -= sites()[i].interplay / 2;
        }
        return time;
    }
    // By trying every subset of what the compiler accepts.
    static double optimum() {
        double best = 1e9;
        for (std::uint64_t bits = 0; bits < (1ull << sites().size()); ++bits) {
            std::vector<bool> inlined(sites().size());
            for (std::size_t i = 0; i < inlined.size(); ++i)
                inlined[i] = (bits >> i) & 1;
            best = std::min(best, timeOf(InliningSpace::decode(InliningSpace::encode(inlined, true))));
        }
        return best;
    }

private:
    InliningSpace space_;
};

// Checkpoint schemes: per call none, taping or a snapshot; time against peak tape, and a call count to
// maximise nothing.
class CheckpointProblem : public Problem {
public:
    static constexpr std::size_t kCalls = 6;
    CheckpointProblem() : space_(makeSpace()) {}

    std::string name() const override { return "checkpoints"; }
    const Space& space() const override { return space_; }
    std::vector<ObjectiveInfo> objectives() const override {
        return {{"time", "s", false}, {"free tape", "MB", true}};
    }
    Result<Built> build(const Config& config, const StopToken&) override {
        return Built{{config.text(), {}, config.hash()}, config};
    }
    Trial profile(const Artifact& artifact, const ProfileLimits&) override {
        const Config config = Config::parse(artifact.bytes).value();
        double time = 1, tape = 0;
        for (std::size_t i = 0; i < kCalls; ++i) {
            const double weight = 1.0 + static_cast<double>(i);
            time += config.choices[i] == 0 ? 0.0 : config.choices[i] == 1 ? 0.4 * weight : weight;
            tape += config.choices[i] == 0 ? 8 * weight : config.choices[i] == 1 ? 4 * weight : weight;
        }
        return okTrial({{"time", time, "s"}, {"free tape", 200 - tape, "MB"}});
    }

private:
    static KnobSpace makeSpace() {
        std::vector<Knob> knobs;
        for (std::size_t i = 0; i < kCalls; ++i)
            knobs.push_back(
                {"call " + std::to_string(i), {{"none", {0}}, {"big-TBR", {1}}, {"big-snapshot", {2}}}});
        return KnobSpace::make("checkpoints", std::move(knobs)).value();
    }
    KnobSpace space_;
};

// A walk on a 5 x 4 grid from a corner to the other one, around walls; slippery: now and then a step costs
// double.
class GridWalk : public Environment {
public:
    std::string name() const override { return "grid walk"; }
    Action actionCount() const override { return 4; } // right, down, left, up
    Status reset(std::uint64_t seed) override {
        rng_ = Rng(seed);
        x_ = y_ = steps_ = 0;
        return {};
    }
    Result<StepResult> step(Action action) override {
        if (action < 0 || action >= actionCount() || !actionMask()[static_cast<std::size_t>(action)])
            return inputError("action " + std::to_string(action) + " is not possible here");
        x_ += kDx[action];
        y_ += kDy[action];
        ++steps_;
        return StepResult{done() ? 10.0 : rng_.chance(0.25) ? -2.0 : -1.0, done()};
    }
    std::vector<bool> actionMask() const override {
        std::vector<bool> mask(4, false);
        for (std::size_t i = 0; i < 4 && !done(); ++i)
            mask[i] = open(x_ + kDx[i], y_ + kDy[i]);
        return mask;
    }
    Observation observation() const override {
        return {{{"position", {2}, {static_cast<float>(x_), static_cast<float>(y_)}}}};
    }
    Result<Snapshot> snapshot() const override {
        std::string out = std::to_string(x_) + " " + std::to_string(y_) + " " + std::to_string(steps_);
        for (const std::uint64_t word : rng_.state())
            out += " " + std::to_string(word);
        return Snapshot{out};
    }
    Status restore(const Snapshot& snapshot) override {
        std::array<std::uint64_t, 4> s{};
        int x = 0, y = 0, steps = 0;
        unsigned long long a = 0, b = 0, c = 0, d = 0;
        if (std::sscanf(snapshot.bytes.c_str(), "%d %d %d %llu %llu %llu %llu", &x, &y, &steps, &a, &b, &c,
                        &d) != 7)
            return inputError("this is no snapshot of a grid walk");
        s = {a, b, c, d};
        rng_.setState(s);
        x_ = x, y_ = y, steps_ = steps;
        return {};
    }
    int steps() const { return steps_; }
    bool done() const { return x_ == 4 && y_ == 3; }

private:
    static constexpr int kDx[] = {1, 0, -1, 0};
    static constexpr int kDy[] = {0, 1, 0, -1};
    static bool open(int x, int y) {
        return x >= 0 && x < 5 && y >= 0 && y < 4 && !(x == 1 && y < 3) && !(x == 3 && y > 0);
    }
    Rng rng_{0};
    int x_ = 0, y_ = 0, steps_ = 0;
};

// 1008 points like a convolution's: vector remainders, registers that spill, caches that overflow, and
// ruggedness that no feature explains. Costs are seconds.
inline std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 1; i <= n; ++i)
        if (n % i == 0)
            out.push_back(i);
    return out;
}

inline KnobSpace convSpace() {
    return KnobSpace::make("conv", {Knob::ofNumbers("ic", divisors(64)),
                                    Knob::ofNumbers("oc", {1, 2, 4, 8, 16, 32, 64, 96, 128}),
                                    Knob::ofNumbers("ow", divisors(56)), Knob::ofNumbers("unroll", {0, 1})})
        .value();
}

inline double convSeconds(const KnobSpace& space, const Config& config) {
    const auto at = [&](std::size_t knob) {
        return static_cast<double>(space.value(config, knob).numbers[0]);
    };
    const double ic = at(0), oc = at(1), ow = at(2);
    const double vectors = std::ceil(oc / 16);
    double speed = oc / (16 * vectors); // lanes in use
    const double accumulators = vectors * ow;
    speed *= std::min(1.0, accumulators / 10); // latency hidden
    if (accumulators > 28)
        speed *= 0.25 + 0.4 * 28 / accumulators; // spills
    speed *= 1 / (1 + 0.6 / ic);                 // loop overhead
    if (ic * oc * 9 * 4 > 32768)
        speed *= 0.8; // weights leave L1
    if (at(3) > 0)
        speed *= ow <= 14 ? 1.04 : 0.9; // unrolling
    const double noise =
        static_cast<double>(Hasher().add(std::uint64_t{77}).add(config.hash()).value() % 1000) / 1000;
    return 1e-3 / (150 * speed * (0.97 + 0.03 * noise));
}

inline double convOptimum(const KnobSpace& space) {
    double best = 1e9;
    for (std::uint64_t i = 0; i < space.indexCount(); ++i)
        best = std::min(best, convSeconds(space, *space.at(i)));
    return best;
}

inline Trial convTrial(const KnobSpace& space, const Config& config) {
    Trial trial = okTrial({{"time", convSeconds(space, config), "s"}});
    trial.asked = trial.effective = config;
    return trial;
}

} // namespace toy
