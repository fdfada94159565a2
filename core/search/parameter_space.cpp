// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/parameter_space.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tunesmith {
namespace {

using Kind = Parameter::Kind;
constexpr std::uint64_t kCountable = 1u << 16;
constexpr double kIndexable = 9223372036854775808.0; // 2^63
constexpr std::size_t kOneHotLimit = 32;             // more values than this are described by their place alone

std::size_t another(std::size_t value, std::size_t count, Rng& rng) { return (value + 1 + rng.below(count - 1)) % count; }

// A number goes to the next or the last one half of the time: there, neighbours are alike.
std::size_t nearby(const Parameter& parameter, std::size_t value, Rng& rng) {
    const std::size_t count = parameter.values.size();
    if (parameter.kind != Kind::number || rng.chance(0.5))
        return another(value, count, rng);
    return value + 1 == count || (value > 0 && rng.chance(0.5)) ? value - 1 : value + 1;
}

} // namespace

Result<ParameterSpace> ParameterSpace::make(std::string name, std::vector<Parameter> parameters) {
    ParameterSpace space;
    space.name_ = std::move(name);
    if (parameters.empty())
        return inputError("space " + space.name_ + " has no parameters");
    for (const Parameter& parameter : parameters)
        TS_TRY(space.add(parameter));
    space.count();
    return space;
}

Status ParameterSpace::add(const Parameter& parameter) {
    const std::string where = "space " + name_ + ": parameter " + parameter.name;
    const bool isOrder = parameter.kind == Kind::order;
    if (std::ranges::find(parameters_, parameter.name, &Parameter::name) != parameters_.end())
        return inputError("space " + name_ + " has two parameters named " + parameter.name);
    if (parameter.values.empty() || (!isOrder && parameter.standard >= parameter.values.size()))
        return inputError(where + " has no values, or another default");
    if (parameter.kind == Kind::number && parameter.numbers.size() != parameter.values.size())
        return inputError(where + " does not say what its numbers are");
    for (const Parameter::Condition& condition : parameter.conditions)
        if (condition.parameter >= parameters_.size() || parameters_[condition.parameter].kind == Kind::order ||
            condition.holds.size() != parameters_[condition.parameter].values.size())
            return inputError(where + " has a condition on what is no number or choice before it");
    for (std::size_t i = isOrder ? 1 : 0; i < (isOrder ? parameter.values.size() : 1); ++i) {
        radices_.push_back(isOrder ? parameter.values.size() - i + 1 : parameter.values.size());
        default_.choices.push_back(isOrder ? 0 : static_cast<std::int64_t>(parameter.standard));
    }
    first_.push_back(radices_.size());
    columns_ += columnsOf(parameter);
    parameters_.push_back(parameter);
    return {};
}

void ParameterSpace::count() {
    for (const std::uint64_t radix : radices_)
        size_ *= static_cast<double>(radix);
    if (size_ >= kIndexable)
        return;
    count_ = std::accumulate(radices_.begin(), radices_.end(), std::uint64_t(1), std::multiplies<>());
    if (count_ > kCountable)
        return;
    size_ = 0;
    for (std::uint64_t i = 0; i < count_; ++i)
        size_ += at(i).has_value();
}

std::vector<bool> ParameterSpace::active(const Config& config) const {
    std::vector<bool> active(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        active[i] = std::ranges::all_of(parameters_[i].conditions, [&](const Parameter::Condition& condition) {
            return active[condition.parameter] && condition.holds[static_cast<std::size_t>(config.choices[first_[condition.parameter]])];
        });
    return active;
}

Config ParameterSpace::canonical(const Config& config) const {
    Config result = config;
    const std::vector<bool> counts = active(config);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (!counts[i])
            for (std::size_t choice = first_[i]; choice < first_[i + 1]; ++choice)
                result.choices[choice] = default_.choices[choice];
    return result;
}

std::vector<std::size_t> ParameterSpace::chosen(const Config& config, std::size_t parameter) const {
    if (!active(config)[parameter])
        return {};
    if (parameters_[parameter].kind == Kind::order)
        return orderOf(config, parameter);
    return {static_cast<std::size_t>(config.choices[first_[parameter]])};
}

std::optional<std::size_t> ParameterSpace::find(std::string_view name) const {
    const auto found = std::ranges::find(parameters_, name, &Parameter::name);
    return found == parameters_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - parameters_.begin()));
}

// Each choice is the place of the next item among those that are left.
std::vector<std::size_t> ParameterSpace::orderOf(const Config& config, std::size_t parameter) const {
    std::vector<std::size_t> left(parameters_[parameter].values.size()), order;
    std::iota(left.begin(), left.end(), std::size_t(0));
    for (std::size_t choice = first_[parameter]; choice < first_[parameter + 1]; ++choice) {
        const auto next = left.begin() + config.choices[choice];
        order.push_back(*next);
        left.erase(next);
    }
    order.push_back(left.front());
    return order;
}

void ParameterSpace::setOrder(Config& config, std::size_t parameter, const std::vector<std::size_t>& order) const {
    for (std::size_t i = 0; i < choiceCount(parameter); ++i)
        config.choices[first_[parameter] + i] =
            std::count_if(order.begin() + static_cast<std::ptrdiff_t>(i) + 1, order.end(), [&](std::size_t later) { return later < order[i]; });
}

Config ParameterSpace::sample(Rng& rng) const {
    Config config;
    for (const std::uint64_t radix : radices_)
        config.choices.push_back(static_cast<std::int64_t>(rng.below(radix)));
    return canonical(config);
}

Config ParameterSpace::neighbour(const Config& config, Rng& rng) const {
    std::vector<std::size_t> open;
    const std::vector<bool> counts = active(config);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (counts[i] && parameters_[i].values.size() > 1)
            open.push_back(i);
    if (open.empty())
        return canonical(config);
    Config next = config;
    const std::size_t chosen = open[rng.below(open.size())];
    if (parameters_[chosen].kind == Kind::order) {
        std::vector<std::size_t> order = orderOf(config, chosen);
        const std::size_t item = rng.below(order.size());
        std::swap(order[item], order[another(item, order.size(), rng)]);
        setOrder(next, chosen, order);
    } else {
        std::int64_t& choice = next.choices[first_[chosen]];
        choice = static_cast<std::int64_t>(nearby(parameters_[chosen], static_cast<std::size_t>(choice), rng));
    }
    return canonical(next);
}

Config ParameterSpace::cross(const Config& mother, const Config& father, Rng& rng) const {
    Config child = mother;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (rng.chance(0.5))
            for (std::size_t choice = first_[i]; choice < first_[i + 1]; ++choice)
                child.choices[choice] = father.choices[choice];
    return canonical(child);
}

Status ParameterSpace::validate(const Config& config) const {
    bool fits = config.choices.size() == radices_.size() && config.payload.empty();
    for (std::size_t i = 0; fits && i < radices_.size(); ++i)
        fits = config.choices[i] >= 0 && static_cast<std::uint64_t>(config.choices[i]) < radices_[i];
    if (fits)
        return {};
    return inputError(configInMessage(config.text()) + " does not fit space " + name_ + ", which has " + std::to_string(radices_.size()) + " choices");
}

Config ParameterSpace::decode(std::uint64_t index) const {
    Config config;
    for (const std::uint64_t radix : radices_) {
        config.choices.push_back(static_cast<std::int64_t>(index % radix));
        index /= radix;
    }
    return config;
}

std::optional<Config> ParameterSpace::at(std::uint64_t index) const {
    if (index >= count_)
        return std::nullopt;
    Config config = decode(index);
    return canonical(config) == config ? std::optional(std::move(config)) : std::nullopt;
}

std::uint64_t ParameterSpace::indexOf(const Config& config) const {
    const Config one = canonical(config);
    std::uint64_t index = 0;
    for (std::size_t i = radices_.size(); i-- > 0;)
        index = index * radices_[i] + static_cast<std::uint64_t>(one.choices[i]);
    return index;
}

std::size_t ParameterSpace::columnsOf(const Parameter& parameter) const {
    const bool asPlace = parameter.kind == Kind::number || (parameter.kind == Kind::choice && parameter.values.size() > kOneHotLimit);
    return (parameter.conditions.empty() ? 0 : 1) + (asPlace ? 1 : parameter.values.size());
}

void ParameterSpace::writeFeatures(const Config& config, std::size_t parameter, std::span<float> columns) const {
    const Parameter& asked = parameters_[parameter];
    if (!asked.conditions.empty()) {
        columns[0] = 1;
        columns = columns.subspan(1);
    }
    if (asked.kind == Kind::order) {
        const std::vector<std::size_t> order = orderOf(config, parameter);
        for (std::size_t place = 0; place < order.size(); ++place)
            columns[order[place]] = static_cast<float>(place);
        return;
    }
    const auto value = static_cast<std::size_t>(config.choices[first_[parameter]]);
    if (asked.kind == Kind::number)
        columns[0] = static_cast<float>(std::copysign(std::log2(std::abs(asked.numbers[value]) + 1), asked.numbers[value]));
    else if (columns.size() == 1)
        columns[0] = static_cast<float>(value);
    else
        columns[value] = 1;
}

FeatureMatrix ParameterSpace::features(std::span<const Config> configs) const {
    FeatureMatrix out(configs.size(), columns_, featureVersion());
    for (std::size_t row = 0; row < configs.size(); ++row) {
        const std::vector<bool> counts = active(configs[row]);
        std::span<float> columns = out.row(row);
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            const std::size_t own = columnsOf(parameters_[i]);
            if (counts[i])
                writeFeatures(configs[row], i, columns.first(own));
            columns = columns.subspan(own);
        }
    }
    return out;
}

std::string ParameterSpace::describe(const Config& config) const {
    std::string out;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const std::vector<std::size_t> values = chosen(config, i);
        if (!values.empty())
            out += (out.empty() ? "" : ", ") + parameters_[i].name;
        for (const std::size_t value : values)
            out += " " + parameters_[i].values[value];
    }
    return out;
}

} // namespace tunesmith
