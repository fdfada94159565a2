// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/module/build.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/schedule/in_place.h"
#include "plan_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Recipe = std::function<ValueId(Net&)>;

Graph graphOf(const Recipe& recipe) {
    Net net;
    net.builder.setOutputs({recipe(net)});
    return take(inferShapes(take(net.builder.build())));
}

// Of the last kernel's arguments, as many as lie in memory of their own.
std::vector<bool> overwritableOfLast(const Recipe& recipe) {
    Target target;
    const Graph graph = take(prepareGraph(graphOf(recipe)));
    const auto groups = groupNodes(graph);
    const Workload workload = take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))).workload;
    const LoweredWorkload lowered = take(lowerWorkload(workload));
    std::vector<bool> inputs;
    for (std::size_t i = 0; i < lowered.arguments.size(); ++i)
        if (!lowered.constantArguments[i] && !workload.graph.value(lowered.arguments[i]).isConstant())
            inputs.push_back(overwritable(lowered)[i]);
    return inputs;
}

ModulePlan checkedPlan(const Graph& model) {
    BuildOptions options;
    options.target = take(hostTarget(1));
    ModulePlan plan = take(buildModule(take(prepareGraph(model)), options));
    const auto inputs = take(randomInputs(model, 3));
    const Status same = requireEquivalent(take(Interpreter(model).run(inputs)), runPlan(plan, inputs));
    if (!same.ok())
        qFatal("%s", same.error().message.c_str());
    return plan;
}

// Steps whose output lies where one of their inputs lay.
int stepsInPlace(const ModulePlan& plan) {
    int count = 0;
    for (const PlanStep& step : plan.steps) {
        const auto inArena = [&](std::size_t argument) { return plan.buffers[argument].place == PlanBuffer::Place::arena; };
        const std::size_t last = step.arguments.back();
        if (inArena(last) && std::ranges::any_of(step.arguments, [&](std::size_t other) {
                return other != last && inArena(other) && plan.buffers[other].offset == plan.buffers[last].offset;
            }))
            ++count;
    }
    return count;
}

ValueId relu(Net& n, ValueId x) { return n.builder.add("Relu", {x}); }
ValueId sum(Net& n, ValueId a, ValueId b) { return n.builder.add("Add", {a, b}); }

} // namespace

class InPlaceTest : public QObject {
    Q_OBJECT

private slots:
    void onlyWhatIsReadInPlaceIsOverwritable() {
        using Flags = std::vector<bool>;
        const Shape rows{4, 24};
        const auto input = [](Net& n, const Shape& shape) { return n.builder.addInput("", TensorType(DType::f32, shape)); };
        QCOMPARE(overwritableOfLast([&](Net& n) { return relu(n, input(n, rows)); }), Flags{true});
        QCOMPARE(overwritableOfLast([&](Net& n) { return sum(n, input(n, rows), input(n, rows)); }), (Flags{true, true}));
        QCOMPARE(overwritableOfLast([&](Net& n) { return sum(n, input(n, rows), input(n, {24})); }), (Flags{true, false}));
        QCOMPARE(overwritableOfLast([&](Net& n) { return n.builder.add("Softmax", {input(n, rows)}); }), Flags{false});
        QCOMPARE(overwritableOfLast([&](Net& n) { return n.builder.add("Transpose", {input(n, {24, 24})}); }), Flags{false});
        QCOMPARE(overwritableOfLast([&](Net& n) { return n.builder.add("Cast", {input(n, rows)}, {{"to", std::int64_t(7)}}); }), Flags{false});
    }

    void aConvolutionOverwritesItsResidualOnly() {
        const auto block = [](Net& n) {
            const ValueId a = relu(n, n.conv(n.image(3), 3, 16));
            return relu(n, sum(n, n.conv(a, 16, 16), relu(n, n.conv(a, 16, 16))));
        };
        const auto flags = overwritableOfLast(block);
        QCOMPARE(std::ranges::count(flags, true), 1);
        QCOMPARE(std::ranges::count(flags, false), 1);
    }

    // a + conv(relu(conv(a))), several times: every sum takes the place of the residual that it ends.
    void chainsOfResidualsTakeTurns() {
        const Graph model = graphOf([](Net& n) {
            ValueId a = relu(n, n.conv(n.image(3), 3, 16));
            for (int i = 0; i < 4; ++i)
                a = relu(n, sum(n, n.conv(relu(n, n.conv(a, 16, 16)), 16, 16), a));
            return n.conv(a, 16, 8);
        });
        const ModulePlan plan = checkedPlan(model);
        QCOMPARE(stepsInPlace(plan), 4);
        const std::int64_t map = 16 * 6 * 6 * 4; // a multiple of 64
        QCOMPARE(plan.arenaBytes, 2 * map);
    }

    // The convolution reads around each place what its sum would overwrite.
    void whatIsReadAroundIsKept() {
        const Graph model = graphOf([](Net& n) {
            const ValueId a = relu(n, n.conv(n.image(3), 3, 16));
            return n.conv(relu(n, sum(n, n.conv(a, 16, 16), a)), 16, 8);
        });
        QCOMPARE(stepsInPlace(checkedPlan(model)), 0);
    }

    void whatIsReadLaterIsKept() {
        const Graph model = graphOf([](Net& n) {
            const ValueId a = relu(n, n.conv(n.image(3), 3, 16));
            const ValueId b = relu(n, sum(n, n.conv(relu(n, n.conv(a, 16, 16)), 16, 16), a));
            return n.concat({n.conv(b, 16, 16), n.conv(a, 16, 16)});
        });
        QCOMPARE(stepsInPlace(checkedPlan(model)), 0);
    }

    void inputsAndPiecesAreKept() {
        const Graph pieces = graphOf([](Net& n) { // what is joined lies in the whole
            const ValueId x = n.image(3), a = relu(n, n.conv(x, 3, 16)), b = relu(n, n.conv(x, 3, 16));
            const ValueId joined = n.concat({a, b});
            return sum(n, n.conv(joined, 32, 16), a);
        });
        checkedPlan(pieces);
        const Graph input = graphOf([](Net& n) { return n.conv(relu(n, n.image(16)), 16, 8); });
        QCOMPARE(stepsInPlace(checkedPlan(input)), 0);
    }
};

QTEST_GUILESS_MAIN(InPlaceTest)
#include "tst_in_place.moc"
