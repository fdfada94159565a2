// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/cost/measured_space.h"
#include "tests/take.h"

#include <QFile>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace tunesmith {
namespace {

std::shared_ptr<const KnobSpace> readPart(const nlohmann::json& part, const std::vector<double>& ms) {
    std::vector<Knob> knobs;
    for (const auto& knob : part.at("knobs"))
        knobs.push_back(Knob::ofNumbers(knob.at("name").get<std::string>(), knob.at("values").get<std::vector<std::int64_t>>()));
    const auto measured = [ms](const KnobSpace& space, const Config& config) { return ms[space.indexOf(config)] > 0; };
    return std::make_shared<const KnobSpace>(take(KnobSpace::make(part.at("name").get<std::string>(), std::move(knobs), measured)));
}

} // namespace

MeasuredSpace MeasuredSpace::read(const std::string& path) {
    QFile file(QString::fromStdString(path));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", path.c_str());
    const auto table = nlohmann::json::parse(file.readAll().toStdString());
    MeasuredSpace made;
    std::vector<std::shared_ptr<const KnobSpace>> parts;
    made.optimum_ = std::numeric_limits<double>::infinity();
    for (const auto& part : table.at("parts")) {
        made.ms_.push_back(part.at("ms").get<std::vector<double>>());
        for (const double ms : made.ms_.back())
            made.optimum_ = ms > 0 ? std::min(made.optimum_, ms) : made.optimum_;
        parts.push_back(readPart(part, made.ms_.back()));
    }
    made.space_ = std::make_shared<const UnionSpace>(take(UnionSpace::make(std::move(parts))));
    return made;
}

std::size_t MeasuredSpace::size() const {
    std::size_t count = 0;
    for (const auto& part : ms_)
        count += static_cast<std::size_t>(std::ranges::count_if(part, [](double ms) { return ms > 0; }));
    return count;
}

double MeasuredSpace::ms(const Config& config) const {
    const std::size_t part = UnionSpace::partOf(config);
    return ms_[part][space_->part(part).indexOf(space_->within(config))];
}

Evaluate MeasuredSpace::evaluate() const {
    return [this](std::span<const Config> configs) -> Result<std::vector<Trial>> {
        std::vector<Trial> trials;
        for (const Config& config : configs) {
            Trial trial;
            trial.asked = trial.effective = config;
            trial.objectives = {{"latency", ms(config), "ms"}};
            trials.push_back(std::move(trial));
        }
        return trials;
    };
}

} // namespace tunesmith
