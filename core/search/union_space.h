// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/search/knob_space.h"

namespace tunesmith {

// Several spaces side by side: ways of doing the same that have different knobs, such as algorithms for one
// computation. A config's first choice names the part, the rest is a config of that part; indices of the
// parts follow one another. Features: which part it is, then the features of every part, all zero but those
// of its own.
class UnionSpace : public Space, public IndexedSpace, public CrossoverSpace {
public:
    // Refuses an empty union, two parts of one name and more than 2^63 points.
    static Result<UnionSpace> make(std::vector<std::shared_ptr<const KnobSpace>> parts);

    std::size_t partCount() const { return parts_.size(); }
    const KnobSpace& part(std::size_t index) const { return *parts_[index]; }
    static std::size_t partOf(const Config& config) { return static_cast<std::size_t>(config.choices[0]); }
    static Config within(const Config& config);                     // as a config of its part
    static Config widened(std::size_t part, const Config& config);  // the inverse

    std::string name() const override; // of the parts, joined by '|'
    std::optional<double> size() const override;
    Config sample(Rng& rng) const override;                                  // each part as likely as any other
    Config neighbour(const Config& config, Rng& rng) const override;         // now and then in another part
    Status validate(const Config& config) const override;
    int featureVersion() const override { return 1; }
    FeatureMatrix features(std::span<const Config> configs) const override;
    std::string describe(const Config& config) const override;
    const IndexedSpace* indexed() const override { return this; }
    const CrossoverSpace* crossover() const override { return this; }

    std::uint64_t indexCount() const override { return count_; }
    std::optional<Config> at(std::uint64_t index) const override;
    std::uint64_t indexOf(const Config& config) const override;
    Config cross(const Config& mother, const Config& father, Rng& rng) const override;

private:
    UnionSpace() = default;

    std::vector<std::shared_ptr<const KnobSpace>> parts_;
    std::vector<std::size_t> columns_; // of each part's features
    std::uint64_t count_ = 0;
};

} // namespace tunesmith
