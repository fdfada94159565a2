// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/split.h"

#include <algorithm>

#include "core/autotvm/hash_order.h"

namespace tunesmith::autotvm {
namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 31;
constexpr std::size_t kMostCandidates = 1'000'000;

// Depth first over the parts from the innermost out.
class Enumeration {
public:
    Enumeration(std::int64_t extent, const SplitOptions& options)
        : extent_(extent), filter_(options.filter),
          noTail_(options.noTail.value_or(options.policy == SplitPolicy::factors)),
          sizes_(static_cast<std::size_t>(options.parts), -1) {
        for (const std::int64_t factor : splitFactors(extent, options.policy))
            if (factor <= options.maxFactor)
                factors_.push_back(factor);
    }

    bool run() { return descend(sizes_.size() - 1, 1); } // false: too many
    std::vector<Sizes> take() { return std::move(found_); }

private:
    bool descend(std::size_t part, std::int64_t product) {
        if (part == 0) {
            if (!filter_ || filter_(sizes_))
                found_.push_back(sizes_);
            return found_.size() <= kMostCandidates;
        }
        for (const std::int64_t factor : factors_) {
            if (factor > extent_ / product || (noTail_ && extent_ % (product * factor) != 0))
                continue;
            sizes_[part] = factor;
            if (!descend(part - 1, product * factor))
                return false;
        }
        return true;
    }

    const std::int64_t extent_;
    const std::function<bool(const Sizes&)>& filter_;
    const bool noTail_;
    Sizes sizes_;
    std::vector<std::int64_t> factors_;
    std::vector<Sizes> found_;
};

Result<std::vector<Sizes>> givenCandidates(const SplitOptions& options) {
    std::vector<Sizes> out;
    for (const Sizes& sizes : options.candidates) {
        if (sizes.size() != static_cast<std::size_t>(options.parts))
            return inputError("the split " + sizesText(sizes) + " does not have " +
                              std::to_string(options.parts) + " parts");
        if (std::any_of(sizes.begin() + 1, sizes.end(), [](std::int64_t size) { return size < 1; }))
            return inputError("the split " + sizesText(sizes) + " has a part of no size");
        if (!options.filter || options.filter(sizes))
            out.push_back(sizes);
    }
    return out;
}

} // namespace

std::vector<std::int64_t> divisorsOf(std::int64_t extent) {
    std::vector<std::int64_t> low, high;
    for (std::int64_t i = 1; i * i <= extent; ++i)
        if (extent % i == 0) {
            low.push_back(i);
            if (i != extent / i)
                high.push_back(extent / i);
        }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

std::vector<std::int64_t> powersOfTwoUpTo(std::int64_t extent) {
    std::vector<std::int64_t> out;
    for (std::int64_t power = 1; power <= extent; power *= 2)
        out.push_back(power);
    return out;
}

std::vector<std::int64_t> splitFactors(std::int64_t extent, SplitPolicy policy) {
    switch (policy) {
    case SplitPolicy::factors:
        return divisorsOf(extent);
    case SplitPolicy::power2:
        return powersOfTwoUpTo(extent);
    case SplitPolicy::verbose:
        return unionInHashOrder(divisorsOf(extent), powersOfTwoUpTo(extent));
    case SplitPolicy::candidate:
        break;
    }
    return {};
}

Result<std::vector<Sizes>> splitCandidates(std::int64_t extent, const SplitOptions& options) {
    if (extent < 1 || extent > kLargestExtent)
        return inputError("a loop of " + std::to_string(extent) +
                          " steps cannot be split: the extent must be in 1..2^31");
    if (options.parts < 2)
        return inputError("a split into " + std::to_string(options.parts) + " parts is none");
    if (options.policy == SplitPolicy::candidate)
        return givenCandidates(options);
    Enumeration enumeration(extent, options);
    if (!enumeration.run())
        return inputError("a loop of " + std::to_string(extent) +
                          " steps has more than a million splits into " + std::to_string(options.parts) +
                          " parts; limit the largest factor");
    return enumeration.take();
}

Result<Knob> splitKnob(std::string name, std::int64_t extent, const SplitOptions& options) {
    auto candidates = splitCandidates(extent, options);
    if (!candidates.ok())
        return candidates.error().within("knob " + name);
    Knob knob{std::move(name), {}};
    for (Sizes& sizes : *candidates) {
        std::string text = sizesText(sizes);
        knob.values.push_back({std::move(text), std::move(sizes)});
    }
    return knob;
}

std::string sizesText(const Sizes& sizes) {
    std::string out = "[";
    for (std::size_t i = 0; i < sizes.size(); ++i)
        out += (i ? "," : "") + std::to_string(sizes[i]);
    return out + "]";
}

} // namespace tunesmith::autotvm
