// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <unordered_map>

#include "core/optimize/draft_kernels.h"

namespace tunesmith::optimize {

// What a draft will cost as a module. Nothing that runs is free.
class DraftCost {
public:
    virtual ~DraftCost() = default;
    virtual double of(const Draft& draft) = 0;
    virtual std::string unit() const = 0; // "kernels", "ms"
    virtual bool countsWork() const { return true; } // what each kernel has to do

    // What a node adds to it, roughly: what shares a kernel with others cannot be told from the node alone. Never negative.
    double ofNode(const Draft& draft, NodeNo node);

protected:
    virtual double ofKernel(const Draft& draft, std::span<const NodeNo> kernel) = 0;

private:
    KernelFinder roles_;
};

// The sum over a draft's kernels, each remembered by what it computes.
class KernelSumCost : public DraftCost {
public:
    double of(const Draft& draft) override;

private:
    KernelFinder finder_;
    KernelFinder::Kernels kernels_;
    std::unordered_map<std::uint64_t, double> known_;
};

// The operators, operand types and inner edges of a kernel: equal ones cost the same.
std::uint64_t signatureOf(const Draft& draft, std::span<const NodeNo> kernel);

struct KernelWork {
    double flops = 0, bytes = 0; // every operand and result once
    double weightBytes = 0;      // of those
};
KernelWork workOf(const Draft& draft, std::span<const NodeNo> kernel);

// Bytes that the weights which run-time nodes read have more than the constants that they are made of: a merge that keeps its parts beside the
// whole, or that enlarges kernels, wants memory that the model did not.
double addedWeightBytes(const Draft& draft);
double addedWeightMs(const Draft& draft, double gigabytesPerSecond); // what reading them takes, but for the first MiB

// How many kernels are launched, where 7 MiB of added weights are worth a launch; of drafts that are equal in that, the one whose kernels read
// fewer bytes of weights is cheaper (1e-12 of a launch for each). The same on every machine.
class LaunchCost : public KernelSumCost {
public:
    double of(const Draft& draft) override;
    std::string unit() const override { return "kernels"; }
    bool countsWork() const override { return false; }

protected:
    double ofKernel(const Draft& draft, std::span<const NodeNo> kernel) override;
};

// Milliseconds after Williams et al., Roofline (2009): the larger of what arithmetic and memory take, and what a launch takes. Added weights
// are read once more, for they push others out of the caches.
struct MachineRates {
    double gflops = 50, gigabytesPerSecond = 10, launchMs = 0.002;
};
class RooflineCost : public KernelSumCost {
public:
    explicit RooflineCost(MachineRates rates = {}) : rates_(rates) {}
    double of(const Draft& draft) override { return KernelSumCost::of(draft) + addedWeightMs(draft, rates_.gigabytesPerSecond); }
    std::string unit() const override { return "ms"; }
    double kernel(const Draft& draft, std::span<const NodeNo> kernel) const;

protected:
    double ofKernel(const Draft& draft, std::span<const NodeNo> nodes) override { return kernel(draft, nodes); }

private:
    MachineRates rates_;
};

} // namespace tunesmith::optimize
