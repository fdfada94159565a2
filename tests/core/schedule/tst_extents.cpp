// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>

#include "core/schedule/autotvm_template.h"
#include "one_kernel.h"
#include "package_of.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// A kind of kernel whose shapes hang on some extents. Each is tried alone, the others as usual, and all are drawn together.
struct Kind {
    const char* name;
    Ints usual;
    std::function<ValueId(Case&, const Ints&)> recipe;
    std::int64_t most = 4096;
};

ValueId convOf(Case& c, ValueId x, const Shape& weights, const Ints& strides, std::int64_t group = 1, std::int64_t dilation = 1) {
    const std::int64_t rows = dilation * (weights[2] / 2), columns = dilation * (weights[3] / 2);
    return c.builder.add("Relu", {c.conv(x, weights, {rows, columns, rows, columns}, strides, group, {dilation, dilation})});
}

ValueId pooled(Case& c, const char* op, ValueId x) {
    return c.builder.add(op, {x}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
}

ValueId reduced(Case& c, const char* op, const Ints& shape, std::int64_t axis) { return c.builder.add(op, {c.input(shape)}, {{"axes", Ints{axis}}}); }

// Last in a list of extents, where an operand is one row or one column, come the batch or the groups.
const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{
        {"conv 3x3 of blocks", {16, 32, 11, 12, 1}, [](Case& c, const Ints& e) { return convOf(c, c.blocked({e[4], e[0], e[2], e[3]}), {e[1], e[0], 3, 3}, {1, 1}); }},
        {"conv 3x3 of rows", {3, 16, 9, 13, 1}, [](Case& c, const Ints& e) { return convOf(c, c.input({e[4], e[0], e[2], e[3]}), {e[1], e[0], 3, 3}, {1, 1}); }},
        {"conv 1x1", {24, 40, 7, 9, 1}, [](Case& c, const Ints& e) { return convOf(c, c.blocked({e[4], e[0], e[2], e[3]}), {e[1], e[0], 1, 1}, {1, 1}); }},
        {"conv 5x5 of stride 2", {8, 24, 12, 15, 1}, [](Case& c, const Ints& e) { return convOf(c, c.blocked({e[4], e[0], e[2], e[3]}), {e[1], e[0], 5, 5}, {2, 2}); }},
        {"conv dilated", {16, 16, 14, 17}, [](Case& c, const Ints& e) { return convOf(c, c.blocked({1, e[0], e[2], e[3]}), {e[1], e[0], 3, 3}, {1, 1}, 1, 3); }},
        {"conv of a long window", {1, 20, 64, 9}, [](Case& c, const Ints& e) { return convOf(c, c.input({1, e[0], 1, e[2]}), {e[1], e[0], 1, e[3]}, {1, 1}); }},
        {"conv in groups", {8, 8, 10, 11, 4}, [](Case& c, const Ints& e) { return convOf(c, c.input({1, e[0] * e[4], e[2], e[3]}), {e[1] * e[4], e[0], 3, 3}, {1, 1}, e[4]); }, 1024},
        {"conv to few channels", {24, 2, 7, 40, 3}, [](Case& c, const Ints& e) { return convOf(c, c.blocked({1, e[0], e[2], e[3]}), {1 + e[1] % 3, e[0], e[4], 3}, {1, 1}); }, 2048},
        {"depthwise", {32, 10, 13, 1}, [](Case& c, const Ints& e) { return convOf(c, c.blocked({e[3], e[0], e[1], e[2]}), {e[0], 1, 3, 3}, {1, 1}, e[0]); }},
        {"depthwise of rows, stride 2", {24, 9, 14, 1}, [](Case& c, const Ints& e) { return convOf(c, c.input({e[3], e[0], e[1], e[2]}), {e[0], 1, 5, 5}, {2, 2}, e[0]); }},
        {"depthwise, two outputs a channel", {16, 9, 14}, [](Case& c, const Ints& e) { return convOf(c, c.input({1, e[0], e[1], e[2]}), {2 * e[0], 1, 3, 3}, {1, 1}, e[0]); }},
        {"max pool of blocks", {32, 11, 12, 1}, [](Case& c, const Ints& e) { return pooled(c, "MaxPool", c.blocked({e[3], e[0], e[1], e[2]})); }},
        {"average pool of rows", {5, 11, 12, 1}, [](Case& c, const Ints& e) { return pooled(c, "AveragePool", c.input({e[3], e[0], e[1], e[2]})); }},
        {"global pool of blocks", {32, 7, 9}, [](Case& c, const Ints& e) { return c.builder.add("GlobalAveragePool", {c.blocked({1, e[0], e[1], e[2]})}); }},
        {"product by weights", {17, 40, 33}, [](Case& c, const Ints& e) { return c.builder.add("Relu", {c.builder.add("MatMul", {c.input({e[0], e[2]}), c.weights({e[2], e[1]})})}); }},
        {"products of a batch", {13, 24, 20, 3}, [](Case& c, const Ints& e) { return c.builder.add("MatMul", {c.input({e[3], e[0], e[2]}), c.input({e[3], e[2], e[1]})}); }},
        {"product by columns", {9, 24, 31}, [](Case& c, const Ints& e) { return c.builder.add("Gemm", {c.input({e[0], e[2]}), c.input({e[1], e[2]})}, {{"transB", std::int64_t{1}}}); }},
        {"softmax of rows", {5, 40}, [](Case& c, const Ints& e) { return c.builder.add("Softmax", {c.input({e[0], e[1]})}, {{"axis", std::int64_t{-1}}}); }},
        {"softmax of columns", {40, 5}, [](Case& c, const Ints& e) { return c.builder.add("Softmax", {c.input({e[0], e[1]})}, {{"axis", std::int64_t{0}}}); }},
        {"norm of rows", {6, 50}, [](Case& c, const Ints& e) { return c.builder.add("LayerNormalization", {c.input({e[0], e[1]}), c.weights({e[1]}), c.weights({e[1]})}); }},
        {"mean of rows", {6, 50}, [](Case& c, const Ints& e) { return reduced(c, "ReduceMean", {e[0], e[1]}, 1); }},
        {"mean of columns", {50, 33}, [](Case& c, const Ints& e) { return reduced(c, "ReduceMean", {e[0], e[1]}, 0); }},
        {"mean of a middle axis", {3, 20, 33}, [](Case& c, const Ints& e) { return reduced(c, "ReduceMax", {e[0], e[1], e[2]}, 1); }},
        {"means of maps", {5, 9, 11}, [](Case& c, const Ints& e) { return c.builder.add("GlobalAveragePool", {c.input({1, e[0], e[1], e[2]})}); }},
        {"transposition", {17, 40, 2}, [](Case& c, const Ints& e) { return c.builder.add("Transpose", {c.input({e[2], e[0], e[1]})}, {{"perm", Ints{0, 2, 1}}}); }},
        {"transposition that turns all round", {7, 9, 6}, [](Case& c, const Ints& e) { return c.builder.add("Transpose", {c.input({e[0], e[1], e[2]})}, {{"perm", Ints{2, 1, 0}}}); }},
        {"blocks to rows", {24, 5, 9}, [](Case& c, const Ints& e) { return c.builder.add("Transpose", {c.blocked({1, e[0], e[1], e[2]})}, {{"perm", Ints{0, 2, 3, 1}}}); }},
        {"elementwise, repeated", {5, 6, 7}, [](Case& c, const Ints& e) { return c.builder.add("Tanh", {c.builder.add("Mul", {c.input({e[0], e[1], e[2]}), c.weights({e[1], 1})})}); }},
        {"concatenation", {3, 5, 7}, [](Case& c, const Ints& e) { return c.builder.add("Concat", {c.input({e[0], e[2]}), c.input({e[1], e[2]})}, {{"axis", std::int64_t{0}}}); }},
        {"pad", {3, 20}, [](Case& c, const Ints& e) { return c.builder.add("Pad", {c.input({e[0], e[1]}), c.ints({1, 2, 0, 3})}); }},
    };
    return all;
}

// All that is small, and what lies around vectors, blocks and the sizes at which buffers are full; primes among them.
const Ints& extents() {
    static const Ints all{1,   2,   3,   4,   5,   6,   7,   8,   9,   11,  12,  13,  15,  16,  17,  19,  23,  24,  25,   29,   31,   32,   33,   47,
                          63,  64,  65,  97,  127, 128, 131, 224, 225, 226, 251, 255, 256, 257, 449, 509, 512, 519, 520, 521, 896,  1000, 1021, 1025, 2039, 2048, 2049, 3001, 4093, 4095, 4096};
    return all;
}

// The ends of the list, and others in turn: another kind or dimension tries those that this one leaves out.
std::vector<Ints> shapesOf(const Kind& kind, std::size_t turn, Rng& rng) {
    constexpr std::size_t kTurns = 8;
    std::vector<Ints> shapes;
    for (std::size_t i = 0; i < kind.usual.size(); ++i, turn += 3)
        for (std::size_t e = 0; e < extents().size(); ++e)
            if ((e % kTurns == turn % kTurns || e < 3 || extents()[e] == kind.most) && extents()[e] <= kind.most) {
                shapes.push_back(kind.usual);
                shapes.back()[i] = extents()[e];
            }
    for (int draw = 0; draw < 4; ++draw) {
        Ints shape = kind.usual;
        for (std::int64_t& extent : shape)
            extent = extents()[rng.below(30)];
        shapes.push_back(std::move(shape));
    }
    return shapes;
}

std::string textOf(const Ints& shape) {
    std::string text;
    for (const std::int64_t extent : shape)
        text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return text;
}

// Why a workload cannot be scheduled by the best guess of every way; empty when it can.
std::string wrongToSchedule(const Workload& workload, const Target& target) {
    const auto space = ScheduleSpace::make(workload, target);
    if (!space.ok())
        return space.error().message;
    for (const Config& config : space->guesses())
        if (const auto scheduled = space->schedule(config); !scheduled.ok())
            return space->space().describe(config) + ": " + scheduled.error().message;
    return {};
}

std::string wrongToCompute(const Workload& workload, const Target& target) {
    const auto space = take(ScheduleSpace::make(workload, target));
    const auto reference = take(KernelCase::make(workload, kSeed));
    const auto one = take(PhaseRunner::make(1)), two = take(PhaseRunner::make(2));
    for (const Config& config : space.guesses()) {
        const auto kernel = take(BenchKernel::load(reference, packageOf(take(space.schedule(config)), target)));
        if (const std::string wrong = kernel->check(*one) + kernel->check(*two); !wrong.empty())
            return space.space().describe(config) + ": " + wrong;
    }
    return {};
}

void addKinds() {
    QTest::addColumn<int>("kind");
    for (std::size_t i = 0; i < kinds().size(); ++i)
        QTest::newRow(kinds()[i].name) << static_cast<int>(i);
}

} // namespace

class TestExtents : public QObject {
    Q_OBJECT

private slots:
    void everyExtentHasASchedule_data() { addKinds(); }
    void everyExtentHasASchedule() {
        QFETCH(int, kind);
        const Kind& kase = kinds()[static_cast<std::size_t>(kind)];
        Rng rng(kSeed);
        auto turn = static_cast<std::size_t>(kind);
        for (const Ints& shape : shapesOf(kase, turn, rng)) {
            Target target; // each kind of target in turn
            target.isa = turn % 2 == 0 ? Isa::avx512 : Isa::avx2;
            target.threads = turn++ / 2 % 2 == 0 ? 1 : 2;
            const Workload workload = workloadOf([&](Case& c) { return kase.recipe(c, shape); }, target);
            std::string wrong = wrongToSchedule(workload, target);
            if (wrong.empty() && turn % 8 == 0 && hasAutotvmTemplate(workload))
                wrong = wrongToSchedule(inSpace(workload, SpaceKind::autotvm), target);
            QVERIFY2(wrong.empty(), (textOf(shape) + " for " + isaName(target.isa) + ": " + wrong).c_str());
        }
    }

    void whatIsDrawnComputesTheWorkload_data() { addKinds(); }
    void whatIsDrawnComputesTheWorkload() {
        QFETCH(int, kind);
        const Kind& kase = kinds()[static_cast<std::size_t>(kind)];
        Rng rng(kSeed + 1);
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            Target target;
            target.isa = isa;
            if (!hostSupports(isa))
                continue;
            Ints shape = kase.usual;
            for (std::int64_t& extent : shape)
                extent = extents()[rng.below(20)];
            const std::string wrong = wrongToCompute(workloadOf([&](Case& c) { return kase.recipe(c, shape); }, target), target);
            QVERIFY2(wrong.empty(), (textOf(shape) + " for " + isaName(isa) + ": " + wrong).c_str());
        }
    }

    // A row of tiles that the buffer does not hold is taken in parts.
    void winogradTakesWideRowsInParts_data() {
        QTest::addColumn<int>("width");
        for (const int width : {224, 225, 449, 521, 1201})
            QTest::addRow("%d", width) << width;
    }
    void winogradTakesWideRowsInParts() {
        QFETCH(int, width);
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            Target target;
            target.isa = isa;
            if (!hostSupports(isa))
                continue;
            const auto recipe = [&](Case& c) { return convOf(c, c.blocked({1, 16, 6, width}), {32, 16, 3, 3}, {1, 1}); };
            const Workload workload = workloadOf(recipe, target);
            QCOMPARE(QString::fromStdString(take(ScheduleSpace::make(workload, target)).space().name()), QString("conv2d_nchwc|winograd2|winograd4"));
            const std::string wrong = wrongToCompute(workload, target);
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }
};

QTEST_GUILESS_MAIN(TestExtents)
#include "tst_extents.moc"
