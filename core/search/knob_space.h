// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/search/space.h"

namespace tunesmith {

struct KnobValue {
    std::string text;                  // "4x16"
    std::vector<std::int64_t> numbers; // {4, 16}; every value of one knob has as many
};

struct Knob {
    std::string name;
    std::vector<KnobValue> values; // the candidates, at least one

    static Knob ofNumbers(std::string name, const std::vector<std::int64_t>& numbers);
};

// The product of named knobs, less what a filter across knobs forbids. A config's choice i is the index of
// the value of knob i; its integer index is mixed-radix with the first knob running fastest (as AutoTVM's,
// for its records). The default features are sign(x) * log2(|x| + 1) of every number, then a one-hot of the
// choice for knobs of few values; templates that know more about their kernels override features().
class KnobSpace : public Space, public IndexedSpace, public CrossoverSpace, public ChoiceSpace {
public:
    using Filter =
        std::function<bool(const KnobSpace&, const Config&)>; // true: allowed; pure and thread-safe

    // Refuses a space without knobs, with an empty or ragged knob, with two knobs of one name, with nothing
    // allowed or with more than 2^63 points. A filter over at most 2^20 points is evaluated once for all of
    // them.
    static Result<KnobSpace> make(std::string name, std::vector<Knob> knobs, Filter filter = {});

    const std::vector<Knob>& knobs() const { return knobs_; }
    const KnobValue& value(const Config& config, std::size_t knob) const {
        return knobs_[knob].values[static_cast<std::size_t>(config.choices[knob])];
    }
    std::optional<std::size_t> knobIndex(std::string_view name) const;

    std::string name() const override { return name_; }
    std::optional<double>
    size() const override; // exact up to 2^20 points before the filter, else before the filter
    Config sample(Rng& rng) const override;
    Config neighbour(const Config& config, Rng& rng) const override;
    Status validate(const Config& config) const override;
    int featureVersion() const override { return 1; }
    FeatureMatrix features(std::span<const Config> configs) const override;
    std::string describe(const Config& config) const override;
    const IndexedSpace* indexed() const override { return this; }
    const CrossoverSpace* crossover() const override { return this; }
    const ChoiceSpace* choices() const override { return this; }

    std::uint64_t indexCount() const override { return count_; }
    std::optional<Config> at(std::uint64_t index) const override;
    std::uint64_t indexOf(const Config& config) const override;
    Config cross(const Config& mother, const Config& father, Rng& rng) const override;
    std::vector<std::uint64_t> radices() const override;

protected:
    KnobSpace() = default;

private:
    Config decode(std::uint64_t index) const;
    bool allowed(const Config& config) const { return !filter_ || filter_(*this, config); }
    Config scan(std::uint64_t from) const;
    Status countAllowed();
    void prepareFeatures();

    std::string name_;
    std::vector<Knob> knobs_;
    Filter filter_;
    std::uint64_t count_ = 0;
    std::vector<std::uint64_t> allowed_;                  // indices, sorted; only when filtered and countable
    std::vector<std::vector<std::vector<float>>> blocks_; // [knob][choice] -> its columns
    std::size_t columns_ = 0;
};

} // namespace tunesmith
