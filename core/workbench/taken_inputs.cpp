// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/taken_inputs.h"

#include <algorithm>
#include <limits>

#include "core/ops/interpreter.h"

namespace tunesmith {
namespace {

Result<TakenInputs> drawBelow(const Graph& graph, std::vector<WantedInput> wanted, std::int64_t bound, const InputChoice& choice, const StopToken& stop) {
    for (WantedInput& input : wanted)
        input.bounds.most = std::max(input.bounds.least, std::min(input.bounds.most, bound - 1));
    TakenInputs taken;
    TS_ASSIGN(taken.inputs, readInputs(wanted, choice));
    RunOptions options;
    options.stop = stop;
    TS_ASSIGN(taken.outputs, Interpreter(graph).run(taken.inputs, options));
    return taken;
}

bool drawsIntegers(const std::vector<WantedInput>& wanted) {
    return std::ranges::any_of(wanted, [](const WantedInput& input) { return input.fallback.absent() && isInteger(input.type.dtype); });
}

} // namespace

Result<TakenInputs> drawTakenInputs(const Graph& graph, const InputChoice& choice, const StopToken& stop) {
    const std::vector<WantedInput> wanted = wantedInputs(graph);
    auto taken = drawBelow(graph, wanted, std::numeric_limits<std::int64_t>::max(), choice, stop);
    if (taken.ok() || taken.error().kind != ErrorKind::input || !drawsIntegers(wanted))
        return taken;
    for (const std::int64_t bound : {2, 1})
        if (auto smaller = drawBelow(graph, wanted, bound, choice, stop); smaller.ok() || smaller.error().kind != ErrorKind::input)
            return smaller;
    return inputError(taken.error().message + "; it was computed with random inputs: give some that the model takes with --input NAME=FILE.npy");
}

} // namespace tunesmith
