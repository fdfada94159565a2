// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/search/space.h"

namespace tunesmith {

// One named parameter of a program: a number, one of several choices (a flag is one of two), or an order of items.
struct Parameter {
    enum class Kind { number, choice, order };
    // It counts only where an earlier parameter, which is no order, counts and has one of these values.
    struct Condition {
        std::size_t parameter = 0;
        std::vector<bool> holds; // for each of that parameter's values
    };

    std::string name;
    Kind kind = Kind::choice;
    std::vector<std::string> values; // the candidates, those of a number growing; of an order its items
    std::vector<double> numbers;     // of a number: as many
    std::size_t standard = 0;        // the value by default; of an order: its items as they are listed
    std::vector<Condition> conditions; // all must hold
};

// The product of parameters of which some count only under conditions: what does not count has its default in the canonical form, and configs
// that differ in nothing else are one. An order of n items has n - 1 choices (its Lehmer code), so that every config is numbers within radices.
// The starting point is the default of all. Features: numbers on a logarithmic scale, one-hot choices, the place of each item; 0 where
// the parameter does not count.
class ParameterSpace : public Space, public IndexedSpace, public CrossoverSpace, public ChoiceSpace {
public:
    // Refuses a space without parameters, two of one name, one without values, and conditions on what does not come before.
    static Result<ParameterSpace> make(std::string name, std::vector<Parameter> parameters);

    const std::vector<Parameter>& parameters() const { return parameters_; }
    // What the config says of a parameter, as places in its values: nothing where it does not count, one, or all items of an order.
    std::vector<std::size_t> chosen(const Config& config, std::size_t parameter) const;
    std::optional<std::size_t> find(std::string_view name) const;
    std::vector<bool> active(const Config& config) const; // which parameters count

    std::string name() const override { return name_; }
    std::optional<double> size() const override { return size_; } // exact up to 2^16 points, else without regard to conditions
    Config sample(Rng& rng) const override;
    Config neighbour(const Config& config, Rng& rng) const override;
    Config canonical(const Config& config) const override;
    Status validate(const Config& config) const override;
    std::vector<Config> startingPoints() const override { return {default_}; }
    int featureVersion() const override { return 1; }
    FeatureMatrix features(std::span<const Config> configs) const override;
    std::string describe(const Config& config) const override;
    const IndexedSpace* indexed() const override { return count_ > 0 ? this : nullptr; } // more than 2^63 points have no index
    const CrossoverSpace* crossover() const override { return this; }
    const ChoiceSpace* choices() const override { return this; }

    std::uint64_t indexCount() const override { return count_; }
    std::optional<Config> at(std::uint64_t index) const override; // none for what is not canonical
    std::uint64_t indexOf(const Config& config) const override;
    Config cross(const Config& mother, const Config& father, Rng& rng) const override;
    std::vector<std::uint64_t> radices() const override { return radices_; }

private:
    ParameterSpace() = default;
    Status add(const Parameter& parameter);
    void count();
    Config decode(std::uint64_t index) const;
    std::size_t choiceCount(std::size_t parameter) const { return first_[parameter + 1] - first_[parameter]; }
    std::vector<std::size_t> orderOf(const Config& config, std::size_t parameter) const;
    void setOrder(Config& config, std::size_t parameter, const std::vector<std::size_t>& order) const;
    std::size_t columnsOf(const Parameter& parameter) const;
    void writeFeatures(const Config& config, std::size_t parameter, std::span<float> columns) const;

    std::string name_;
    std::vector<Parameter> parameters_;
    std::vector<std::size_t> first_{0}; // choice of each parameter, and their number
    std::vector<std::uint64_t> radices_;
    Config default_;
    std::uint64_t count_ = 0;
    double size_ = 1;
    std::size_t columns_ = 0;
};

} // namespace tunesmith
