// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <optional>

#include "core/codegen/target.h"
#include "core/optimize/draft_cost.h"
#include "core/schedule/workload.h"

namespace tunesmith::optimize {

// What the kernels that the compiler would make of a draft take: their workloads, with the layouts that they would read and write, by times
// from outside. The compiler's own steps are gone through for every draft, which takes milliseconds; values of weights do not matter to them
// and are not computed. Where no time can be had, for conversions between layouts and for added weights, the roofline stands in.
class MeasuredCost : public DraftCost {
public:
    // Milliseconds of a workload; nothing where its kernel could not be built or run.
    using Times = std::function<std::optional<double>(const Workload&)>;
    MeasuredCost(Target target, MachineRates rates, Times times) : target_(std::move(target)), rates_(rates), times_(std::move(times)), roofline_(rates) {}

    double of(const Draft& draft) override;
    std::string unit() const override { return "ms"; }

protected:
    double ofKernel(const Draft& draft, std::span<const NodeNo> kernel) override { return roofline_.kernel(draft, kernel); }
    // Of all kernels of a prepared graph.
    virtual Result<double> ofKernels(const Graph& part);

    const Target& target() const { return target_; }
    std::optional<double> timeOf(const Workload& workload); // asks for it once
    bool isTimed(const Workload& workload) const { return known_.contains(workload.key); }
    double guess(const Workload& workload) const;

private:
    Result<double> compute(const Draft& draft);
    double ofConversion(const TensorType& type) const;

    Target target_;
    MachineRates rates_;
    Times times_;
    RooflineCost roofline_; // for what cannot be compiled
    std::unordered_map<std::string, std::optional<double>> known_; // by the workload's key
    std::unordered_map<std::uint64_t, double> ofDraft_;
};

// The draft as the compiler sees it, with weights of the right shapes and any values.
Result<Graph> graphToCompile(const Draft& draft);

} // namespace tunesmith::optimize
