// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/module/build.h"
#include "core/ops/interpreter.h"
#include "plan_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using loops::Layout;

namespace {

struct Maker : Net {
    ValueId depthwise(ValueId x, std::int64_t channels) {
        return builder.add("Conv", {x, constant({channels, 1, 3, 3}), constant({channels})}, {{"pads", Ints{1, 1, 1, 1}}, {"group", channels}});
    }
    ValueId pool(const char* op, ValueId x) {
        return builder.add(op, {x}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
    }
    ValueId add(ValueId a, ValueId b) { return builder.add("Add", {a, b}); }
    ValueId unary(const char* op, ValueId x) { return builder.add(op, {x}); }
    ValueId shaped(ValueId x, const std::vector<std::int64_t>& dims) {
        return builder.add("Reshape", {x, builder.addConstant("", Tensor::ofInts(dims))});
    }
};

Tensor twice() { // along height and width
    Tensor scales = Tensor::zeros(DType::f32, {4});
    std::ranges::copy(std::array{1.0f, 1.0f, 2.0f, 2.0f}, scales.mutableData<float>().begin());
    return scales;
}

using Values = std::vector<ValueId>;
using Recipe = std::function<Values(Maker&)>;

const std::vector<std::pair<const char*, Recipe>>& nets() {
    static const std::vector<std::pair<const char*, Recipe>> table{
        {"residual", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 24), b = n.unary("Relu", n.add(n.conv(a, 24, 24), a));
             return Values{n.add(n.conv(b, 24, 24), b), a};
         }},
        {"concat", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 16), b = n.conv(a, 16, 32), ab = n.concat({a, b}), c = n.conv(ab, 48, 16);
             return Values{n.conv(n.concat({ab, c, a}), 80, 8), n.concat({c, c})};
         }},
        {"concat of odd channels", [](Maker& n) {
             const ValueId x = n.image(5), a = n.conv(x, 5, 22), b = n.conv(a, 22, 5);
             return Values{n.conv(n.unary("Relu", n.concat({a, b, x})), 32, 7)};
         }},
        {"concat of rows", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 12), b = n.conv(a, 12, 12);
             return Values{n.conv(n.builder.add("Concat", {a, b}, {{"axis", std::int64_t{2}}}), 12, 12)};
         }},
        {"depthwise", [](Maker& n) {
             const ValueId a = n.depthwise(n.conv(n.image(3), 3, 20), 20), b = n.conv(n.unary("Relu", a), 20, 36);
             return Values{n.depthwise(b, 36)};
         }},
        {"pools", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 18), b = n.pool("MaxPool", a), c = n.pool("AveragePool", a);
             return Values{n.add(b, c), n.unary("GlobalAveragePool", a)};
         }},
        {"squeeze and excite", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 40), mean = n.unary("GlobalAveragePool", a);
             const ValueId narrow = n.builder.add("Conv", {mean, n.constant({10, 40, 1, 1})});
             const ValueId wide = n.unary("Sigmoid", n.builder.add("Conv", {n.unary("Relu", narrow), n.constant({40, 10, 1, 1})}));
             return Values{n.conv(n.builder.add("Mul", {a, wide}), 40, 8)};
         }},
        {"shuffled channels", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 16), joined = n.concat({n.conv(a, 16, 14), n.conv(a, 16, 14)});
             const ValueId turned = n.builder.add("Transpose", {n.shaped(joined, {1, 2, 14, 6, 6})}, {{"perm", Ints{0, 2, 1, 3, 4}}});
             Node split;
             split.op = "Split";
             split.inputs = {n.shaped(turned, {1, 28, 6, 6})};
             split.attributes = {{"axis", std::int64_t{1}}};
             split.outputs = {n.builder.addValue(""), n.builder.addValue("")};
             n.builder.addNode(split);
             return Values{n.concat({split.outputs[0], n.conv(split.outputs[1], 14, 14)})};
         }},
        {"groups and upsampling", [](Maker& n) {
             const ValueId a = n.conv(n.image(4), 4, 32);
             const ValueId grouped = n.builder.add("Conv", {a, n.constant({32, 8, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}, {"group", std::int64_t{4}}});
             const ValueId scales = n.builder.addConstant("", twice());
             return Values{n.conv(n.builder.add("Resize", {grouped, ValueId(), scales}, {{"mode", std::string("nearest")}}), 32, 6)};
         }},
        {"flattened", [](Maker& n) {
             const ValueId a = n.conv(n.image(3), 3, 20);
             return Values{n.builder.add("Gemm", {n.unary("Flatten", a), n.constant({720, 8}), n.constant({8})}), n.unary("Softmax", a)};
         }},
    };
    return table;
}

// Any layout for any value that may have one, and copies in any layout for readers of maps.
LayoutPlan randomPlan(const Graph& graph, const std::vector<KernelGroup>& groups, const Target& target, Rng& rng) {
    const auto any = [&] {
        const std::int64_t block = std::int64_t{2} << rng.below(target.isa == Isa::avx512 ? 4 : 3); // 2 stands for rows
        return block == 2 ? Layout::rowMajor(4) : Layout::blocked(4, 1, block);
    };
    LayoutPlan plan;
    for (const KernelGroup& group : groups) {
        if (mayChooseLayout(graph, group))
            plan.values[group.outputs[0]] = any();
        for (const ValueId input : group.inputs)
            if (group.kind == KernelGroup::Kind::kernel && isFeatureMap(graph.value(input)) && rng.chance(0.3))
                plan.reads[{group.nodes.front(), input}] = any();
    }
    return plan;
}

} // namespace

class LayoutPlansTest : public QObject {
    Q_OBJECT

    static void compareWithReference(const Graph& model, const Target& target, std::uint64_t seed) {
        const Graph prepared = take(prepareGraph(model));
        Rng rng(seed);
        BuildOptions options;
        options.target = target;
        options.layouts = randomPlan(prepared, groupNodes(prepared), target, rng);
        const auto plan = buildModule(prepared, options);
        QVERIFY2(plan.ok(), plan.ok() ? "" : plan.error().message.c_str());
        const auto inputs = take(randomInputs(model, seed));
        const Status same = requireEquivalent(take(Interpreter(model).run(inputs)), runPlan(*plan, inputs));
        QVERIFY2(same.ok(), same.ok() ? "" : (std::to_string(seed) + ": " + same.error().message).c_str());
    }

private slots:
    void anyPlanComputesTheModel_data() {
        QTest::addColumn<int>("net");
        QTest::addColumn<int>("isa");
        for (std::size_t i = 0; i < nets().size(); ++i)
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                if (hostSupports(isa))
                    QTest::addRow("%s, %s", nets()[i].first, isaName(isa)) << static_cast<int>(i) << static_cast<int>(isa);
    }
    void anyPlanComputesTheModel() {
        QFETCH(int, net);
        QFETCH(int, isa);
        Target target;
        target.isa = static_cast<Isa>(isa);
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            Maker n;
            n.builder.setOutputs(nets()[static_cast<std::size_t>(net)].second(n));
            compareWithReference(take(inferShapes(take(n.builder.build()))), target, seed);
        }
    }

    void theGreedyPlanIsTheDefault() {
        Maker n;
        n.builder.setOutputs(nets()[0].second(n));
        const Graph prepared = take(prepareGraph(take(inferShapes(take(n.builder.build())))));
        BuildOptions options;
        const ModulePlan own = take(buildModule(prepared, options));
        options.layouts = chooseLayouts(prepared, groupNodes(prepared), options.target);
        const ModulePlan given = take(buildModule(prepared, options));
        QCOMPARE(given.steps.size(), own.steps.size());
        for (std::size_t i = 0; i < own.steps.size(); ++i)
            QCOMPARE(given.steps[i].workload, own.steps[i].workload);
        const auto tasks = take(modelWorkloads(prepared, options.target)), same = take(modelWorkloads(prepared, options.target, options.layouts));
        QCOMPARE(tasks.size(), same.size());
    }

    // Several readers in one layout share a copy.
    void copiesAreShared() {
        Maker n;
        const ValueId x = n.image(16), a = n.conv(x, 16, 16), b = n.conv(x, 16, 16);
        n.builder.setOutputs({a, b});
        const Graph prepared = take(prepareGraph(take(inferShapes(take(n.builder.build())))));
        BuildOptions options;
        const std::size_t before = take(buildModule(prepared, options)).steps.size();
        options.layouts.emplace(chooseLayouts(prepared, groupNodes(prepared), options.target));
        for (std::int64_t node = 0; node < 2; ++node)
            options.layouts->reads[{NodeId(node), prepared.inputs()[0]}] = Layout::blocked(4, 1, 8);
        QCOMPARE(take(buildModule(prepared, options)).steps.size(), before + 1);
    }

    void wrongPlansAreRefused() {
        Maker n;
        const ValueId x = n.image(16);
        n.builder.setOutputs({n.conv(x, 16, 16), n.builder.add("Flatten", {x})});
        const Graph prepared = take(prepareGraph(take(inferShapes(take(n.builder.build())))));
        const ValueId conv = prepared.outputs()[0], flat = prepared.outputs()[1], input = prepared.inputs()[0];
        const Layout eight = Layout::blocked(4, 1, 8);
        const auto refused = [&](const LayoutPlan& plan) {
            BuildOptions options; // AVX2: eight lanes
            options.layouts = plan;
            const auto built = buildModule(prepared, options);
            return !built.ok() && built.error().message.find("layout plan") != std::string::npos && !modelWorkloads(prepared, {}, plan).ok();
        };
        QVERIFY(!refused({{{conv, eight}}, {{{NodeId(0), input}, eight}}}));
        QVERIFY(refused({{{input, eight}}, {}}));                             // of the caller
        QVERIFY(refused({{{flat, eight}}, {}}));                              // no map
        QVERIFY(refused({{{conv, Layout::blocked(4, 1, 16)}}, {}}));          // wider than a vector
        QVERIFY(refused({{{conv, Layout::blocked(4, 2, 8)}}, {}}));           // not of channels
        QVERIFY(refused({{{conv, Layout::permuted({0, 2, 3, 1})}}, {}}));
        QVERIFY(refused({{}, {{{NodeId(0), conv}, eight}}}));                 // does not read it
        QVERIFY(refused({{}, {{{NodeId(1), input}, eight}}}));                // an alias reads rows
        QVERIFY(refused({{{ValueId(9999), eight}}, {}}));
    }
};

QTEST_GUILESS_MAIN(LayoutPlansTest)
#include "tst_layout_plans.moc"
