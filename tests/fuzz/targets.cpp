// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/targets.h"

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/coverage.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/settle_choices.h"
#include "tests/fuzz/promise.h"

namespace tunesmith::fuzz {
namespace {

// Results of small graphs only: an oracle, not a benchmark.
bool isSmall(const Graph& graph) {
    std::int64_t elements = 0;
    for (const auto& value : graph.values()) {
        if (!value->type.isStatic())
            return false;
        for (const std::int64_t extent : value->type.shape())
            if (extent > 4096)
                return false;
        elements += elementCount(value->type.shape());
    }
    return elements < 1 << 16 && graph.nodeCount() < 64;
}

// Without dead nodes a graph may run that fails with them.
enum class Failures { same, fewer };
void compareResults(const Graph& graph, const Graph& again, Failures failures = Failures::same) {
    const auto inputs = randomInputs(graph, 1);
    if (!inputs.ok())
        return;
    RunOptions options;
    options.memoryLimit = std::int64_t(64) << 20;
    const auto first = Interpreter(graph).run(*inputs, options), second = Interpreter(again).run(*inputs, options);
    require(first.ok() == second.ok() || (failures == Failures::fewer && second.ok()), "one of both graphs runs");
    if (!first.ok())
        return;
    const Status same = requireEquivalent(*first, *second);
    require(same.ok(), same.ok() ? "" : same.error().message);
}

} // namespace

void import(std::span<const std::byte> bytes) {
    const auto graph = importOnnxBytes(bytes);
    if (!graph.ok()) {
        require(isSentence(graph.error().message), "an error is one sentence: " + graph.error().message);
        return;
    }
    if (const auto typed = inferShapes(*graph); typed.ok())
        static_cast<void>(coverage(*typed));
}

void roundTrip(std::span<const std::byte> bytes) {
    const auto graph = importOnnxBytes(bytes);
    if (!graph.ok())
        return;
    const auto written = exportOnnxBytes(*graph);
    if (!written.ok())
        return; // said in a sentence; nothing was lost
    const auto again = importOnnxBytes(*written);
    require(again.ok(), again.ok() ? "" : "what was exported is imported: " + again.error().message);
    require(again->hash() == graph->hash(), "the structure comes back");
    const auto twice = exportOnnxBytes(*again);
    require(twice.ok() && *twice == *written, "the bytes come back");
    const auto typed = inferShapes(*graph), typedAgain = inferShapes(*again);
    require(typed.ok() == typedAgain.ok(), "the types come back");
    if (!typed.ok() || !isSmall(*typed))
        return;
    compareResults(*typed, *typedAgain);
    const auto settled = settleChoices(*typed);
    require(settled.ok(), settled.ok() ? "" : "choices are settled: " + settled.error().message);
    compareResults(*typed, *settled, Failures::fewer);
}

} // namespace tunesmith::fuzz
