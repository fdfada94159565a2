// SPDX-License-Identifier: GPL-3.0-or-later
#include <QRegularExpression>
#include <QTest>

#include "core/codegen/kernel.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/template.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;

Workload convWorkload(const Shape& x, const Shape& w, std::int64_t pad, std::int64_t stride, std::int64_t group, bool blocked, const Target& target) {
    GraphBuilder builder("conv");
    builder.setOpset("", 17);
    ValueId input = builder.addInput("x", TensorType(DType::f32, x));
    if (blocked)
        input = builder.add("Conv", {input, builder.addConstant("p", Tensor::zeros(DType::f32, {x[1], x[1], 1, 1}))});
    const ValueId conv = builder.add("Conv", {input, builder.addConstant("w", Tensor::zeros(DType::f32, w)), builder.addConstant("b", Tensor::zeros(DType::f32, {w[0]}))},
                                     {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}, {"group", group}});
    builder.setOutputs({builder.add("Relu", {conv})});
    const Graph graph = *inferShapes(*builder.build());
    const auto groups = *groupNodes(graph);
    return extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))->workload;
}

struct Loop {
    int fmas = 0, stackVectors = 0;
    int broadcasts = 0; // of inputs, not of constants in the code
};

// Innermost loops of an assembly listing: from a label to a backward jump to it with no other such pair inside.
QList<Loop> innermostLoops(const QString& assembly) {
    const QStringList lines = assembly.split('\n');
    QHash<QString, int> labels;
    QList<Loop> loops;
    static const QRegularExpression label("^(\\.LBB\\S+):"), jump("^\\s+j\\w+\\s+(\\.LBB\\S+)"), stack("[xyz]mm.*\\(%rsp|\\(%rsp.*[xyz]mm");
    int lastLoopBegin = -1;
    for (int i = 0; i < lines.size(); ++i) {
        if (const auto match = label.match(lines[i]); match.hasMatch())
            labels[match.captured(1)] = i;
        const auto match = jump.match(lines[i]);
        if (!match.hasMatch() || !labels.contains(match.captured(1)))
            continue;
        const int begin = labels[match.captured(1)];
        if (begin <= lastLoopBegin)
            continue; // encloses a loop that was seen
        lastLoopBegin = begin;
        Loop loop;
        for (int l = begin; l <= i; ++l) {
            loop.fmas += lines[l].contains("vfmadd") ? 1 : 0;
            loop.broadcasts += !lines[l].contains("%rip") && (lines[l].contains("vbroadcastss") || lines[l].contains("{1to")) ? 1 : 0;
            loop.stackVectors += stack.match(lines[l]).hasMatch() ? 1 : 0;
        }
        loops.append(loop);
    }
    return loops;
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
            for (const Loop& loop : innermostLoops(QString::fromStdString(compiled->assembly))) {
                const bool hot = loop.fmas >= 4 && (!blocked || loop.broadcasts > 0);
                multiplying += hot ? 1 : 0;
                if (hot)
                    QVERIFY2(loop.stackVectors == 0, qPrintable(QString("%1: %2 vector accesses to the stack beside %3 multiply-adds (%4)")
                        .arg(isaName(isa)).arg(loop.stackVectors).arg(loop.fmas).arg(QString::fromStdString(space->space().describe(space->defaultConfig())))));
            }
            QVERIFY2(multiplying > 0, "no loop with multiply-adds was found: does the test still read the listing?");
        }
    }

    void spillsWouldBeSeen() {
        const auto loops = innermostLoops(".LBB0_1:\n\tvmovups\t%zmm3, 64(%rsp)\n\tvfmadd231ps\t%zmm1, %zmm2, %zmm3\n\tjne\t.LBB0_1\n");
        QCOMPARE(loops.size(), 1);
        QCOMPARE(loops[0].stackVectors, 1);
        QCOMPARE(loops[0].fmas, 1);
    }
};

QTEST_GUILESS_MAIN(TestSpills)
#include "tst_spills.moc"
