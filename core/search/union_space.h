// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/search/knob_space.h"

namespace tunesmith {

// Several spaces side by side: ways of doing the same that have different knobs, such as algorithms for one
// computation. A config's first choice names the part; the knobs of all parts follow, of which only those of
// its own part count: they are 0 in the canonical form. Indices of the parts follow one another. Features:
// which part it is, then the features of every part, all zero but those of its own.
class UnionSpace : public Space, public IndexedSpace, public CrossoverSpace, public ChoiceSpace {
public:
    // Refuses an empty union, two parts of one name and more than 2^63 points.
    static Result<UnionSpace> make(std::vector<std::shared_ptr<const KnobSpace>> parts);

    std::size_t partCount() const { return parts_.size(); }
    const KnobSpace& part(std::size_t index) const { return *parts_[index]; }
    static std::size_t partOf(const Config& config) { return static_cast<std::size_t>(config.choices[0]); }
    Config within(const Config& config) const;                    // as a config of its part
    Config widened(std::size_t part, const Config& config) const; // the inverse

    std::string name() const override; // of the parts, joined by '|'
    std::optional<double> size() const override;
    Config sample(Rng& rng) const override;                                  // each part as likely as any other
    Config neighbour(const Config& config, Rng& rng) const override;         // now and then in another part
    Config canonical(const Config& config) const override;
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
    std::vector<std::uint64_t> radices() const override { return radices_; }

private:
    UnionSpace() = default;

    std::vector<std::shared_ptr<const KnobSpace>> parts_;
    std::vector<std::size_t> columns_;     // of each part's features
    std::vector<std::size_t> first_;       // choice of each part
    std::vector<std::uint64_t> radices_;   // of all choices
    std::uint64_t count_ = 0;
};

} // namespace tunesmith
