// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/codegen/kernel.h"
#include "core/codegen/listing.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/template.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;

Workload lastKernel(GraphBuilder& builder, ValueId output, const Target& target) {
    builder.setOutputs({output});
    const Graph graph = *inferShapes(*builder.build());
    const auto groups = groupNodes(graph);
    return extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))->workload;
}

Workload convWorkload(const Shape& x, const Shape& w, std::int64_t pad, std::int64_t stride, std::int64_t group, bool blocked, const Target& target) {
    GraphBuilder builder("conv");
    builder.setOpset("", 17);
    ValueId input = builder.addInput("x", TensorType(DType::f32, x));
    if (blocked)
        input = builder.add("Conv", {input, builder.addConstant("p", Tensor::zeros(DType::f32, {x[1], x[1], 1, 1}))});
    const ValueId conv = builder.add("Conv", {input, builder.addConstant("w", Tensor::zeros(DType::f32, w)), builder.addConstant("b", Tensor::zeros(DType::f32, {w[0]}))},
                                     {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}, {"group", group}});
    return lastKernel(builder, builder.add("Relu", {conv}), target);
}

Workload packedProduct(std::int64_t bits, std::int64_t rows, std::int64_t size, const Target& target) {
    constexpr std::int64_t kBlock = 32;
    GraphBuilder builder("packed");
    builder.setOpset("", 17);
    builder.setOpset("com.microsoft", 1);
    Node node;
    node.op = "MatMulNBits";
    node.domain = "com.microsoft";
    node.attributes = {{"K", size}, {"N", size}, {"bits", bits}, {"block_size", kBlock}};
    node.inputs = {builder.addInput("a", TensorType(DType::f32, Shape{rows, size})), builder.addConstant("w", Tensor::zeros(DType::u8, {size, size / kBlock, kBlock * bits / 8})),
                   builder.addConstant("s", Tensor::zeros(DType::f32, {size * size / kBlock}))};
    node.outputs = {builder.addValue("y")};
    const ValueId y = node.outputs[0];
    builder.addNode(std::move(node));
    return lastKernel(builder, y, target);
}

std::string defaultListing(const Workload& workload, const Target& target) {
    const auto space = ScheduleSpace::make(workload, target);
    const auto scheduled = space->schedule(space->defaultConfig());
    return compileKernel(scheduled->nest, target, {"kernel", true})->assembly;
}

} // namespace

class TestSpills : public QObject {
    Q_OBJECT

private slots:
    // The main convolution templates as they are used untuned, on both instruction sets: accumulators never leave
    // the registers inside a loop that multiplies.
    void hotLoopsKeepTheirRegisters_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<bool>("blocked"); // the input; then Winograd's is the default, whose transforms may spill, but not its product
        QTest::newRow("3x3") << QList<int>{64, 56, 64, 3, 1, 1, 1} << false;
        QTest::newRow("1x1") << QList<int>{256, 56, 64, 1, 0, 1, 1} << false;
        QTest::newRow("7x7 stem") << QList<int>{3, 224, 64, 7, 3, 2, 1} << false;
        QTest::newRow("depthwise") << QList<int>{96, 56, 96, 3, 1, 1, 96} << false;
        QTest::newRow("3x3 of 7x7") << QList<int>{512, 7, 512, 3, 1, 1, 1} << false;
        QTest::newRow("3x3, Winograd") << QList<int>{64, 56, 64, 3, 1, 1, 1} << true;
        QTest::newRow("3x3 of 14x14, Winograd") << QList<int>{256, 14, 256, 3, 1, 1, 1} << true;
        QTest::newRow("3x3 stride 2") << QList<int>{128, 28, 256, 3, 1, 2, 1} << false;
    }
    void hotLoopsKeepTheirRegisters() {
        QFETCH(QList<int>, shape);
        QFETCH(bool, blocked);
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            Target target;
            target.isa = isa;
            const Workload workload = convWorkload({1, shape[0], shape[1], shape[1]}, {shape[2], shape[0] / shape[6], shape[3], shape[3]},
                                                   shape[4], shape[5], shape[6], blocked, target);
            const auto space = ScheduleSpace::make(workload, target);
            QVERIFY(space.ok());
            const auto scheduled = space->schedule(space->defaultConfig());
            QVERIFY(scheduled.ok());
            const auto compiled = compileKernel(scheduled->nest, target, {"conv", true});
            QVERIFY(compiled.ok());
            int multiplying = 0;
            for (const ListedLoop& loop : innermostLoops(compiled->assembly)) {
                const bool hot = loop.multiplyAdds >= 4 && (!blocked || loop.broadcasts > 0);
                multiplying += hot ? 1 : 0;
                if (hot)
                    QVERIFY2(loop.stackVectors == 0, qPrintable(QString("%1: %2 vector accesses to the stack beside %3 multiply-adds (%4)")
                        .arg(isaName(isa)).arg(loop.stackVectors).arg(loop.multiplyAdds).arg(QString::fromStdString(space->space().describe(space->defaultConfig())))));
            }
            QVERIFY2(multiplying > 0, "no loop with multiply-adds was found: does the test still read the listing?");
        }
    }

    // The sums of a tile stay in registers while packed weights are multiplied: less than one load goes with a multiply-add.
    void packedWeightsKeepTheirSums() {
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const std::int64_t bits : {2, 4, 8}) {
                Target target;
                target.isa = isa;
                const std::vector<ListedLoop> loops = innermostLoops(defaultListing(packedProduct(bits, 128, 512, target), target));
                const auto hot = std::ranges::max_element(loops, {}, &ListedLoop::multiplyAdds);
                QVERIFY(hot != loops.end() && hot->multiplyAdds >= 16);
                QVERIFY2(hot->instructions <= 2 * hot->multiplyAdds, qPrintable(QString("%1, %2 bits: %3 instructions with %4 multiply-adds")
                    .arg(isaName(isa)).arg(bits).arg(hot->instructions).arg(hot->multiplyAdds)));
            }
    }
};

QTEST_GUILESS_MAIN(TestSpills)
#include "tst_spills.moc"
