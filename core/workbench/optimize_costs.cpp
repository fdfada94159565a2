// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/optimize_costs.h"

#include <algorithm>
#include <limits>

#include "core/workbench/kernel_times.h"
#include "core/workbench/machine.h"

namespace tunesmith {
namespace {

struct Cost {
    NamedText info;
    std::function<Result<GraphJudge>(const OptimizeRequest&, StageTurns&, const Work&)> make;
};

Result<MachineReport> machineOf(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    if (auto known = knownMachine(request.store))
        return std::move(*known);
    const StageTurns::Rest rest(turns);
    TS_TRY(turns.enter("profile", {usableCores()}));
    auto measured = machineReport(request.store, false, work);
    turns.leave();
    return measured;
}

Result<optimize::MachineRates> ratesOf(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(const MachineReport machine, machineOf(request, turns, work));
    optimize::MachineRates rates;
    rates.gflops = machine.peakGflops(threadsOf(request));
    for (const CeilingsAt& at : machine.threads)
        rates.gigabytesPerSecond = at.threads <= threadsOf(request) ? at.memoryGbs : rates.gigabytesPerSecond;
    return rates;
}

Result<GraphJudge> rooflineCost(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(const optimize::MachineRates rates, ratesOf(request, turns, work));
    return GraphJudge{std::make_unique<optimize::RooflineCost>(rates)};
}

// After a stop the times that are missing are guesses, which look cheaper than anything that was measured: such a draft costs more than all others.
template <typename Measured> class UntilStopped : public Measured {
public:
    UntilStopped(const Target& target, const optimize::MachineRates& rates, std::shared_ptr<KernelTimes> times)
        : Measured(target, rates, [times](const Workload& workload) { return times->ms(workload); }), times_(std::move(times)) {}

    double of(const rewrite::Draft& draft) override {
        const double cost = Measured::of(draft);
        return times_->gaveUp() ? std::numeric_limits<double>::infinity() : cost;
    }

private:
    std::shared_ptr<KernelTimes> times_;
};

template <typename Measured>
Result<std::unique_ptr<UntilStopped<Measured>>> measuring(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(const optimize::MachineRates rates, ratesOf(request, turns, work));
    TS_ASSIGN(const Target target, hostTarget(threadsOf(request)));
    TS_ASSIGN(std::shared_ptr<KernelTimes> times, KernelTimes::open({request.store, target, {}, request.seed, turns, work}));
    return std::make_unique<UntilStopped<Measured>>(target, rates, std::move(times));
}

Result<GraphJudge> measuredCost(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(auto cost, measuring<optimize::MeasuredCost>(request, turns, work));
    return GraphJudge{std::move(cost), true};
}

Result<GraphJudge> plannedCost(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(auto cost, measuring<optimize::PlannedCost>(request, turns, work));
    GraphJudge judge{nullptr, true, [cost = cost.get()](const Graph& prepared) { return cost->plan(prepared); }};
    judge.cost = std::move(cost);
    return judge;
}

const std::vector<Cost>& costs() {
    static const std::vector<Cost> all{
        {{"kernels", "kernel launches, 7 MiB of added weights for one, then bytes of weights that are read: the same on every machine"},
         [](const OptimizeRequest&, StageTurns&, const Work&) -> Result<GraphJudge> { return GraphJudge{std::make_unique<optimize::LaunchCost>()}; }},
        {{"roofline", "time by this machine's measured ceilings of arithmetic and memory"}, rooflineCost},
        {{"measured", "time of the kernels that are compiled: records of the store, untuned kernels measured where there are none"}, measuredCost},
        {{"planned", "as measured, in the layouts that are best for each graph: graphs and layouts are chosen at once"}, plannedCost},
    };
    return all;
}

} // namespace

int threadsOf(const OptimizeRequest& request) { return request.threads > 0 ? request.threads : usableCores(); }

std::vector<NamedText> graphCosts() {
    std::vector<NamedText> all;
    std::ranges::transform(costs(), std::back_inserter(all), &Cost::info);
    return all;
}

Result<GraphJudge> makeJudge(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    std::string known;
    for (const Cost& cost : costs()) {
        if (cost.info.name == request.cost)
            return cost.make(request, turns, work);
        known += (known.empty() ? "" : ", ") + cost.info.name;
    }
    return inputError("there is no cost '" + request.cost + "'; there are " + known);
}

} // namespace tunesmith
