// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <limits>

#include "core/search/bandit_technique.h"

namespace tunesmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The downhill simplex (Nelder and Mead, 1965) with a random first simplex: reflect by 1, expand by 2,
// contract and shrink by 1/2. One trial at a time: while it waits for one it has nothing to propose. Corners
// that are known cost no trial; forbidden and failed ones are infinitely bad. A simplex that meets nothing
// new starts again.
class NelderMead final : public Technique {
public:
    std::optional<Config> pick(const TechniqueView& view) override;
    void observed(const TechniqueView& view, const TechniqueOutcome& outcome) override;
    nlohmann::json save() const override;
    std::function<void()> read(const nlohmann::json& json, const UnitCube& cube) override;

private:
    struct Corner {
        UnitCube::Point point;
        double cost = kInfinity;
    };
    enum class Phase { fill, reflect, expand, contract, shrink };

    UnitCube::Point next(const TechniqueView& view) const;
    UnitCube::Point fromCentre(double factor) const; // centre + factor (centre - worst), clipped
    void take(double cost);                          // of asked_, which next() gave
    void takeContracted(double cost);
    void begin(Phase phase);
    bool fits(std::size_t dimensions) const;

    std::vector<Corner> simplex_; // best first but while it is filled or shrunk
    Phase phase_ = Phase::fill;
    UnitCube::Point asked_;
    Corner reflected_;
    std::size_t shrunk_ = 0; // corners that are done with
    std::optional<std::uint64_t> waiting_;
};

std::optional<Config> NelderMead::pick(const TechniqueView& view) {
    if (waiting_)
        return std::nullopt;
    const std::size_t freeSteps = 32 + 4 * view.cube.dimensions();
    for (std::size_t i = 0; i < freeSteps; ++i) {
        asked_ = next(view);
        std::optional<Config> config = view.cube.configAt(asked_);
        const std::uint64_t hash = config ? view.space.hash(*config) : 0;
        const MeasuredConfig* known = config ? view.measured.find(hash) : nullptr;
        if (config && view.fresh(hash)) {
            waiting_ = hash;
            return config;
        }
        if (config && view.underWay(hash)) { // another's trial tells
            waiting_ = hash;
            return std::nullopt;
        }
        take(known && known->cost ? *known->cost : kInfinity);
    }
    begin(Phase::fill);
    return std::nullopt;
}

void NelderMead::observed(const TechniqueView&, const TechniqueOutcome& outcome) {
    if (waiting_ != outcome.asked)
        return;
    waiting_.reset();
    take(outcome.known && outcome.known->cost ? *outcome.known->cost : kInfinity);
}

UnitCube::Point NelderMead::fromCentre(double factor) const {
    UnitCube::Point out(simplex_[0].point.size(), 0.0);
    const auto& worst = simplex_.back().point;
    for (std::size_t d = 0; d < out.size(); ++d) {
        double centre = 0;
        for (std::size_t i = 0; i + 1 < simplex_.size(); ++i)
            centre += simplex_[i].point[d] / static_cast<double>(simplex_.size() - 1);
        out[d] = std::clamp(centre + factor * (centre - worst[d]), 0.0, 1.0);
    }
    return out;
}

UnitCube::Point NelderMead::next(const TechniqueView& view) const {
    switch (phase_) {
    case Phase::fill:
        return view.cube.pointOf(view.space.sample(view.rng));
    case Phase::reflect:
        return fromCentre(1);
    case Phase::expand:
        return fromCentre(2);
    case Phase::contract:
        return fromCentre(reflected_.cost < simplex_.back().cost ? 0.5 : -0.5);
    case Phase::shrink:
        break;
    }
    UnitCube::Point out = simplex_[shrunk_].point;
    for (std::size_t d = 0; d < out.size(); ++d)
        out[d] = (out[d] + simplex_[0].point[d]) / 2;
    return out;
}

void NelderMead::begin(Phase phase) {
    if (phase == Phase::fill)
        simplex_.clear();
    if (phase == Phase::reflect)
        std::ranges::stable_sort(simplex_, {}, &Corner::cost);
    shrunk_ = 1;
    phase_ = phase;
}

void NelderMead::take(double cost) {
    switch (phase_) {
    case Phase::fill:
        simplex_.push_back({asked_, cost});
        if (simplex_.size() == asked_.size() + 1)
            begin(simplex_.size() > 1 ? Phase::reflect : Phase::fill);
        return;
    case Phase::reflect:
        reflected_ = {asked_, cost};
        if (cost < simplex_.front().cost)
            return begin(Phase::expand);
        if (cost >= simplex_[simplex_.size() - 2].cost)
            return begin(Phase::contract);
        simplex_.back() = reflected_;
        return begin(Phase::reflect);
    case Phase::expand:
        simplex_.back() = cost < reflected_.cost ? Corner{asked_, cost} : reflected_;
        return begin(Phase::reflect);
    case Phase::contract:
        return takeContracted(cost);
    case Phase::shrink:
        simplex_[shrunk_++] = {asked_, cost};
        if (shrunk_ == simplex_.size())
            begin(Phase::reflect);
        return;
    }
}

void NelderMead::takeContracted(double cost) {
    if (cost >= std::min(reflected_.cost, simplex_.back().cost))
        return begin(Phase::shrink);
    simplex_.back() = {asked_, cost};
    begin(Phase::reflect);
}

nlohmann::json NelderMead::save() const {
    const auto jsonOf = [](const Corner& corner) -> nlohmann::json { // infinity is no number in JSON
        return {corner.point, corner.cost < kInfinity ? nlohmann::json(corner.cost) : nlohmann::json()};
    };
    nlohmann::json simplex = nlohmann::json::array();
    for (const Corner& corner : simplex_)
        simplex.push_back(jsonOf(corner));
    return {{"simplex", simplex}, {"phase", static_cast<int>(phase_)},
            {"asked", asked_},    {"reflected", jsonOf(reflected_)},
            {"shrunk", shrunk_},  {"waiting", waiting_ ? nlohmann::json(*waiting_) : nlohmann::json()}};
}

std::function<void()> NelderMead::read(const nlohmann::json& json, const UnitCube& cube) {
    const auto corner = [](const nlohmann::json& item) -> Corner {
        return {item.at(0).get<UnitCube::Point>(),
                item.at(1).is_null() ? kInfinity : item.at(1).get<double>()};
    };
    NelderMead read;
    for (const auto& item : json.at("simplex"))
        read.simplex_.push_back(corner(item));
    const int phase = json.at("phase").get<int>();
    read.phase_ = static_cast<Phase>(phase);
    read.asked_ = json.at("asked").get<UnitCube::Point>();
    read.reflected_ = corner(json.at("reflected"));
    read.shrunk_ = json.at("shrunk").get<std::size_t>();
    if (!json.at("waiting").is_null())
        read.waiting_ = json.at("waiting").get<std::uint64_t>();
    if (phase < 0 || phase > static_cast<int>(Phase::shrink) || !read.fits(cube.dimensions()))
        throw nlohmann::json::other_error::create(501, "its simplex does not fit together", &json);
    return [this, read] { *this = read; };
}

bool NelderMead::fits(std::size_t dimensions) const {
    const auto isPoint = [&](const UnitCube::Point& point) { return point.size() == dimensions; };
    const bool filling = phase_ == Phase::fill;
    return std::ranges::all_of(simplex_, isPoint, &Corner::point) && (!waiting_ || isPoint(asked_)) &&
           (filling ? simplex_.size() <= dimensions : simplex_.size() == dimensions + 1) &&
           ((phase_ != Phase::expand && phase_ != Phase::contract) || isPoint(reflected_.point)) &&
           (filling || (shrunk_ > 0 && shrunk_ < simplex_.size()));
}

} // namespace

std::unique_ptr<Technique> makeNelderMead() {
    return std::make_unique<NelderMead>();
}

} // namespace tunesmith
