// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <map>

#include "core/search/bandit_technique.h"

namespace tunesmith {
namespace {

constexpr std::size_t kPopulation = 30;
constexpr double kCrossover = 0.2;
constexpr int kTries = 32; // until a child is allowed and new

// rand/1/bin: x1 + F (x2 - x3), F in [.5, 1), crossed into the member that waited longest; the better of the
// two stays. The best config of all techniques is among those that x1, x2 and x3 are taken from. The first
// population is random, or what nobody's trials have brought.
class DifferentialEvolution final : public Technique {
public:
    std::optional<Config> pick(const TechniqueView& view) override;
    void observed(const TechniqueView& view, const TechniqueOutcome& outcome) override;
    nlohmann::json save() const override;
    std::function<void()> read(const nlohmann::json& json, const UnitCube& cube) override;

private:
    struct Member {
        UnitCube::Point point;
        double cost = 0;
        std::uint64_t touched = 0; // by the clock
    };
    std::optional<Config> firstOnes(const TechniqueView& view) const;
    UnitCube::Point child(const TechniqueView& view, std::size_t target) const;

    std::vector<Member> population_;
    std::map<std::uint64_t, std::size_t> targets_; // of children under way
    std::uint64_t clock_ = 0;
};

std::optional<Config> DifferentialEvolution::firstOnes(const TechniqueView& view) const {
    for (int i = 0; i < kTries; ++i)
        if (Config config = view.space.sample(view.rng); view.fresh(view.space.hash(config)))
            return config;
    return std::nullopt;
}

std::optional<Config> DifferentialEvolution::pick(const TechniqueView& view) {
    if (population_.size() < kPopulation)
        return firstOnes(view);
    const auto oldest = std::ranges::min_element(population_, {}, &Member::touched);
    const auto target = static_cast<std::size_t>(oldest - population_.begin());
    oldest->touched = ++clock_;
    for (int i = 0; i < kTries; ++i) {
        auto config = view.cube.configAt(child(view, target));
        if (const std::uint64_t hash = config ? view.space.hash(*config) : 0; config && view.fresh(hash)) {
            targets_[hash] = target;
            return config;
        }
    }
    return std::nullopt;
}

UnitCube::Point DifferentialEvolution::child(const TechniqueView& view, std::size_t target) const {
    UnitCube::Point out = population_[target].point;
    if (out.empty())
        return out;
    const std::optional<UnitCube::Point> best =
        view.measured.best() ? std::optional(view.cube.pointOf(view.measured.best()->config)) : std::nullopt;
    std::vector<const UnitCube::Point*> pool;
    for (std::size_t i = 0; i < population_.size(); ++i)
        if (i != target)
            pool.push_back(&population_[i].point);
    if (best)
        pool.push_back(&*best);
    for (std::size_t i = 0; i < 3; ++i)
        std::swap(pool[i], pool[i + view.rng.below(pool.size() - i)]);
    const double weight = 0.5 + view.rng.uniform() / 2;
    const std::size_t must = view.rng.below(out.size());
    for (std::size_t d = 0; d < out.size(); ++d)
        if (d == must || view.rng.chance(kCrossover))
            out[d] = std::clamp((*pool[0])[d] + weight * ((*pool[1])[d] - (*pool[2])[d]), 0.0, 1.0);
    return out;
}

void DifferentialEvolution::observed(const TechniqueView& view, const TechniqueOutcome& outcome) {
    const auto target = targets_.extract(outcome.asked);
    if (!outcome.known || !outcome.known->cost)
        return;
    const MeasuredConfig& known = *outcome.known;
    if (target && *known.cost <= population_[target.mapped()].cost) {
        population_[target.mapped()] = {view.cube.pointOf(known.config), *known.cost, ++clock_};
    } else if (!outcome.byAnother && population_.size() < kPopulation) {
        population_.push_back({view.cube.pointOf(known.config), *known.cost, ++clock_});
    }
}

nlohmann::json DifferentialEvolution::save() const {
    nlohmann::json members = nlohmann::json::array();
    for (const Member& member : population_)
        members.push_back({member.point, member.cost, member.touched});
    return {{"population", members}, {"targets", targets_}, {"clock", clock_}};
}

std::function<void()> DifferentialEvolution::read(const nlohmann::json& json, const UnitCube& cube) {
    std::vector<Member> members;
    for (const auto& item : json.at("population")) {
        members.push_back(
            {item.at(0).get<UnitCube::Point>(), item.at(1).get<double>(), item.at(2).get<std::uint64_t>()});
        if (members.back().point.size() != cube.dimensions())
            throw nlohmann::json::other_error::create(501, "a member of another space", &item);
    }
    auto targets = json.at("targets").get<std::map<std::uint64_t, std::size_t>>();
    if (members.size() > kPopulation ||
        std::ranges::any_of(targets, [&](const auto& item) { return item.second >= members.size(); }))
        throw nlohmann::json::other_error::create(501, "its population does not fit together", &json);
    const auto clock = json.at("clock").get<std::uint64_t>();
    return [this, members, targets, clock] {
        population_ = members;
        targets_ = targets;
        clock_ = clock;
    };
}

} // namespace

std::unique_ptr<Technique> makeDifferentialEvolution() {
    return std::make_unique<DifferentialEvolution>();
}

} // namespace tunesmith
