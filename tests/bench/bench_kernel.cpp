// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/bench_kernel.h"

#include "core/graph/graph_builder.h"
#include "core/measure/timing.h"
#include "core/ops/infer_shapes.h"
#include "core/search/search_session.h"
#include "core/search/started_space.h"
#include "core/search/strategy_table.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

struct ModelOfOne {
    GraphBuilder builder{"bench"};
    Rng rng{1};

    ModelOfOne() { builder.setOpset("", 17); }
    ValueId input(const Shape& shape) { return builder.addInput("x", TensorType(DType::f32, shape)); }
    ValueId constant(const Shape& shape) {
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        for (float& value : tensor.mutableData<float>())
            value = rng.uniform(-1.0f, 1.0f);
        return builder.addConstant("", tensor);
    }
    Workload lastKernel(ValueId output, const Target& target) {
        builder.setOutputs({output});
        const Graph graph = take(inferShapes(take(builder.build())));
        const auto groups = groupNodes(graph);
        return take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))).workload;
    }
};

} // namespace

KernelLab::KernelLab(Workload workload, const Target& target)
    : target_(target), workload_(std::move(workload)), space_(take(ScheduleSpace::make(workload_, target))),
      case_(take(KernelCase::make(workload_, 1))), runner_(take(PhaseRunner::make(target.threads))) {}

KernelLab KernelLab::convolution(const ConvShape& c, int threads) {
    const Target target = take(hostTarget(threads));
    ModelOfOne model;
    ValueId x = model.input({1, c.channels, c.size, c.size});
    if (c.channels > 3)
        x = model.builder.add("Conv", {x, model.constant({c.channels, c.channels, 1, 1})});
    const ValueId weights = model.constant({c.outputs, c.channels / c.groups, c.kernel, c.kernel});
    const ValueId y = model.builder.add("Conv", {x, weights, model.constant({c.outputs})},
                                        {{"pads", Ints(4, c.pad())}, {"strides", Ints(2, c.stride)}, {"group", c.groups}});
    return KernelLab(model.lastKernel(model.builder.add("Relu", {y}), target), target);
}

KernelLab KernelLab::product(const ProductShape& p, int threads) {
    const Target target = take(hostTarget(threads));
    ModelOfOne model;
    const ValueId x = model.input({p.rows, p.depth});
    const ValueId y = model.builder.add("Gemm", {x, model.constant({p.depth, p.columns}), model.constant({p.columns})});
    return KernelLab(model.lastKernel(y, target), target);
}

std::function<void()> KernelLab::kernel(const Config& config, BenchMemory memory) {
    return take(loaded(take(space_.schedule(config)), memory));
}

Result<std::function<void()>> KernelLab::loaded(const ScheduledKernel& scheduled, BenchMemory memory) {
    KernelPackage package;
    TS_ASSIGN(const CompiledKernel compiled, compileKernel(scheduled.nest, target_, {"candidate", false}));
    package.kernel = compiled.kernel;
    package.argumentLayouts = scheduled.lowered.argumentLayouts;
    package.argumentTransforms = scheduled.lowered.argumentTransforms;
    package.outputLayouts = scheduled.lowered.outputLayouts;
    const std::shared_ptr<BenchKernel> kernel = take(BenchKernel::load(case_, package, memory));
    if (const std::string wrong = kernel->check(*runner_); !wrong.empty())
        qFatal("%s: %s", workload_.name.c_str(), wrong.c_str());
    return std::function<void()>([kernel, runner = runner_] { kernel->run(*runner); });
}

std::optional<double> KernelLab::lowMs(const Config& config) {
    const auto scheduled = space_.schedule(config);
    const auto call = scheduled.ok() ? loaded(*scheduled, BenchMemory::asInModule) : Result<std::function<void()>>(scheduled.error());
    if (!call.ok())
        return {};
    TimingLimits limits;
    limits.incumbentMs = bestMs_;
    limits.maxSeconds = 1;
    const Timing timing = timeCalls(*call, limits, probe_);
    bestMs_ = std::min(bestMs_.value_or(timing.lowMs), timing.lowMs);
    return timing.lowMs;
}

Trial KernelLab::tried(const Config& config) {
    const auto ms = lowMs(config);
    if (!ms)
        return Trial::failure(config, TrialStatus::buildError, "the kernel cannot be built");
    Trial trial;
    trial.asked = trial.effective = config;
    trial.objectives = {{"latency", *ms, "ms"}};
    return trial;
}

Config KernelLab::tuned(std::size_t trials) {
    const StartedSpace space(space_.space(), space_.guesses());
    const auto strategy = take(makeStrategy("coordinate", space, {}));
    SearchOptions options;
    options.budget.trials = trials;
    const auto evaluate = [&](std::span<const Config> configs) -> Result<std::vector<Trial>> {
        std::vector<Trial> made;
        for (const Config& config : configs)
            made.push_back(tried(config));
        return made;
    };
    const SearchResult result = runSearch(space, *strategy, evaluate, options);
    return result.trials.at(result.best.value()).effective;
}

} // namespace tunesmith
