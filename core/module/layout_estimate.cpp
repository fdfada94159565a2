// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/layout_estimate.h"

#include <algorithm>

namespace tunesmith {
namespace {

constexpr double kCyclesPerMs = 3e6;
constexpr double kLanesPerCycle = 16;   // multiplied and added
constexpr double kGathered = 1.5;       // cycles for a value that is not read or written as part of a vector
constexpr double kMoved = 0.25;         // for one that is, beside what is computed with it

class CycleCount {
public:
    CycleCount(const Workload& workload, const Target& target)
        : workload_(workload), graph_(workload.graph), head_(*graph_.nodes().front()), target_(target), shape_(graph_.value(graph_.outputs()[0]).type.shape()) {
        elements_ = static_cast<double>(elementCount(shape_));
        block_ = channelBlock(workload.outputLayouts[0]);
        padded_ = block_ > 1 ? elements_ / static_cast<double>(shape_[1]) * static_cast<double>(busyLanes(shape_[1], block_, target_)) : elements_;
    }

    double conversion() const { return elements_ * (kGathered + kMoved); }

    double kernel() const {
        double cycles = padded_ * kMoved + gatheredOperands();
        if (head_.op == "Conv")
            cycles += isDepthwise() ? window(filterSize()) : convolution();
        else if (head_.op.ends_with("Pool") && head_.op.find("Global") == std::string::npos)
            cycles += window(16);
        return cycles;
    }

    bool isDepthwise() const {
        return head_.op == "Conv" && head_.intAttr("group", 1) > 1 && graph_.value(head_.inputs[1]).type.shape()[1] == 1;
    }

private:
    double filterSize() const { // products for each value
        const Shape& filter = graph_.value(head_.inputs[1]).type.shape();
        return static_cast<double>(elementCount(filter)) / static_cast<double>(filter[0]);
    }

    double convolution() const {
        const std::int64_t groups = head_.intAttr("group", 1);
        const bool vectors = block_ > 1 && (groups == 1 || shape_[1] / groups % block_ == 0);
        return vectors ? padded_ * filterSize() / kLanesPerCycle : elements_ * filterSize();
    }

    double window(double size) const {
        return block_ > 1 && blockOf(head_.inputs[0]) == block_ ? padded_ * size / kLanesPerCycle : elements_ * size / 2;
    }

    // Maps that are read value by value as they are written, in another layout.
    double gatheredOperands() const {
        double cycles = 0;
        for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
            const ValueId input = graph_.inputs()[i];
            if (input != head_.inputs[0] || !computesByWindow())
                if (!workload_.constantInputs[i] && graph_.value(input).type.shape() == shape_ && blockOf(input) != block_)
                    cycles += elements_ * kGathered;
        }
        return cycles;
    }

    bool computesByWindow() const { return head_.op == "Conv" || head_.op.ends_with("Pool"); }

    std::int64_t blockOf(ValueId input) const {
        for (std::size_t i = 0; i < graph_.inputs().size(); ++i)
            if (graph_.inputs()[i] == input)
                return channelBlock(workload_.inputLayouts[i]);
        return 1;
    }

    const Workload& workload_;
    const Graph& graph_;
    const Node& head_;
    const Target& target_;
    Shape shape_;
    double elements_ = 0, padded_ = 0;
    std::int64_t block_ = 1;
};

std::string kindOf(const Workload& workload, bool depthwise) {
    std::string kind = workload.op + (depthwise ? " by channel" : "");
    for (std::size_t i = 0; i < workload.inputLayouts.size(); ++i)
        if (!workload.constantInputs[i])
            kind += " " + std::to_string(channelBlock(workload.inputLayouts[i]));
    return kind + " > " + std::to_string(channelBlock(workload.outputLayouts[0]));
}

double medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace

LayoutEstimate::LayoutEstimate(const LayoutProblem& problem) : problem_(problem) {
    for (std::size_t i = 0; i < problem.workloads().size(); ++i) {
        const Workload& workload = problem.workloads()[i];
        const CycleCount count(workload, problem.target());
        cycles_.push_back(problem.isConversion(i) ? count.conversion() : count.kernel());
        kinds_.push_back((problem.isConversion(i) ? "layout " : "") + kindOf(workload, count.isDepthwise()));
    }
    greedy_ = problem.greedy(cycles_).workloads;
}

// ms for a cycle, of each workload: as its family's fastest workload of the greedy plan shows.
std::vector<double> LayoutEstimate::references(const std::vector<std::optional<double>>& measured) const {
    std::map<std::size_t, double> families;
    for (const std::size_t i : greedy_)
        if (measured[i] && !problem_.isConversion(i)) {
            const auto [place, fresh] = families.try_emplace(problem_.family(i), *measured[i] / cycles_[i]);
            place->second = std::min(place->second, *measured[i] / cycles_[i]);
        }
    std::vector<double> found;
    for (std::size_t i = 0; i < cycles_.size(); ++i) {
        const auto family = problem_.isConversion(i) ? families.end() : families.find(problem_.family(i));
        found.push_back(family != families.end() ? family->second : 1 / kCyclesPerMs / problem_.target().threads);
    }
    return found;
}

std::vector<double> LayoutEstimate::costs(const std::vector<std::optional<double>>& measured) const {
    std::vector<double> costs = references(measured);
    std::map<std::string, std::vector<double>> errors;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        costs[i] *= cycles_[i];
        if (measured[i] && !std::ranges::binary_search(greedy_, i))
            errors[kinds_[i]].push_back(*measured[i] / costs[i]);
    }
    for (std::size_t i = 0; i < costs.size(); ++i) {
        if (const auto known = errors.find(kinds_[i]); known != errors.end())
            costs[i] *= medianOf(known->second);
        if (measured[i])
            costs[i] = *measured[i];
    }
    return costs;
}

} // namespace tunesmith
