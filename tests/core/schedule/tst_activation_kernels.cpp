// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <array>

#include "core/loops/free_selects.h"
#include "one_kernel.h"
#include "package_of.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// What is done to each value of a tensor with so many channels (or columns) in `channels`' shape.
struct Activation {
    const char* name;
    std::function<ValueId(Case&, ValueId, const Shape& channels)> apply;
};

ValueId unaryOf(Case& c, const char* op, ValueId x, std::map<std::string, Attribute> attributes = {}) { return c.builder.add(op, {x}, std::move(attributes)); }

const std::vector<Activation>& activations() {
    static const std::vector<Activation> all{
        {"Relu", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "Relu", x); }},
        {"PRelu", [](Case& c, ValueId x, const Shape& s) { return c.builder.add("PRelu", {x, c.weights(s)}); }},
        {"PRelu of one slope", [](Case& c, ValueId x, const Shape&) { return c.builder.add("PRelu", {x, c.weights({1})}); }},
        {"LeakyRelu", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "LeakyRelu", x, {{"alpha", 0.2F}}); }},
        {"ThresholdedRelu", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "ThresholdedRelu", x, {{"alpha", 0.1F}}); }},
        {"Elu", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "Elu", x); }},
        {"Celu", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "Celu", x, {{"alpha", 0.7F}}); }},
        {"Selu", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "Selu", x); }},
        {"Shrink", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "Shrink", x, {{"lambd", 0.1F}, {"bias", 0.05F}}); }},
        {"HardSwish", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "HardSwish", x); }},
        {"HardSigmoid", [](Case& c, ValueId x, const Shape&) { return unaryOf(c, "HardSigmoid", x); }},
        {"Clip", [](Case& c, ValueId x, const Shape&) { return c.builder.add("Clip", {x, c.builder.addInput("", TensorType(DType::f32, Shape{})), c.number(0.5F)}); }},
        {"Where", [](Case& c, ValueId x, const Shape& s) {
             return c.builder.add("Where", {c.builder.add("Greater", {x, c.number(0.1F)}), x, c.builder.add("Mul", {x, c.weights(s)})});
         }},
        {"two in a row", [](Case& c, ValueId x, const Shape& s) { return unaryOf(c, "Elu", c.builder.add("PRelu", {x, c.weights(s)})); }},
    };
    return all;
}

struct Place {
    const char* name;
    std::function<ValueId(Case&)> before;
    Shape channels; // of whatever is by channel or column
};

const std::array<Place, 5>& places() {
    static const std::array<Place, 5> all{{
        {"after a convolution", [](Case& c) { return c.conv(c.input({1, 16, 8, 8}), {32, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}); }, {32, 1, 1}},
        {"after Winograd's", [](Case& c) { return c.conv(c.blocked({1, 16, 24, 24}), {16, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}); }, {16, 1, 1}},
        {"after a depthwise one", [](Case& c) { return c.conv(c.blocked({1, 32, 8, 8}), {32, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 32); }, {32, 1, 1}},
        {"after a product", [](Case& c) { return c.builder.add("Add", {c.builder.add("MatMul", {c.input({8, 24}), c.weights({24, 32})}), c.weights({32})}); }, {32}},
        {"alone", [](Case& c) { return c.input({1, 8, 4, 32}); }, {8, 1, 1}},
    }};
    return all;
}

// Arithmetic on single floats in a listing.
bool hasScalars(const std::string& assembly) {
    static constexpr std::array<const char*, 6> instructions{"vmulss", "vaddss", "vsubss", "vucomiss", "vcomiss", "vfmadd213ss"};
    return std::ranges::any_of(instructions, [&](const char* instruction) { return assembly.find(instruction) != std::string::npos; });
}

} // namespace

class TestActivationKernels : public QObject {
    Q_OBJECT

private slots:
    // A condition on values parts no lanes: whatever their sign, they are computed in vectors.
    void stayInVectors_data() {
        QTest::addColumn<int>("place");
        QTest::addColumn<int>("activation");
        for (std::size_t p = 0; p < places().size(); ++p)
            for (std::size_t a = 0; a < activations().size(); ++a)
                QTest::addRow("%s %s", activations()[a].name, places()[p].name) << static_cast<int>(p) << static_cast<int>(a);
    }
    void stayInVectors() {
        QFETCH(int, place);
        QFETCH(int, activation);
        const Place& where = places()[static_cast<std::size_t>(place)];
        const Activation& what = activations()[static_cast<std::size_t>(activation)];
        Target target;
        target.isa = activation % 2 == 0 && hostSupports(Isa::avx512) ? Isa::avx512 : Isa::avx2;
        const Workload workload = workloadOf([&](Case& c) { return what.apply(c, where.before(c), where.channels); }, target);
        const auto space = take(ScheduleSpace::make(workload, target));
        const ScheduledKernel scheduled = take(space.schedule(space.defaultConfig()));
        const auto compiled = take(compileKernel(scheduled.nest, target, {"kernel", true}));
        QVERIFY2(!hasScalars(compiled.assembly), compiled.assembly.c_str());
        const auto kernel = take(BenchKernel::load(take(KernelCase::make(workload, kSeed)), packageOf(scheduled, target)));
        const std::string wrong = kernel->check(*take(PhaseRunner::make(1)));
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    // The smallest and the largest number of a whole tensor, whose rows may be short or its channels in blocks.
    void rangesStayInVectors_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::newRow("a vector") << QList<int>{100};
        QTest::newRow("rows") << QList<int>{2, 9, 130};
        QTest::newRow("a map of short rows") << QList<int>{1, 6, 7, 7};
        QTest::newRow("a volume") << QList<int>{1, 5, 3, 4, 5};
        QTest::newRow("channels in blocks") << QList<int>{1, 32, 8, 8};
    }
    void rangesStayInVectors() {
        QFETCH(QList<int>, shape);
        const bool blocks = shape.size() > 1 && shape[1] == 32;
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            Target target;
            target.isa = isa;
            const Workload workload = workloadOf([&](Case& c) { return unaryOf(c, "DynamicQuantizeLinear", blocks ? c.blocked({shape.begin(), shape.end()}) : c.input({shape.begin(), shape.end()})); }, target);
            const auto space = take(ScheduleSpace::make(workload, target));
            const ScheduledKernel scheduled = take(space.schedule(space.defaultConfig()));
            const std::string text = toText(scheduled.nest);
            for (const char* range : {"range_min.partial", "range_max.partial"})
                QVERIFY2(text.find(range) != std::string::npos, text.c_str());
            QVERIFY2(blocks || text.find('%') == std::string::npos, text.c_str());
            const auto kernel = take(BenchKernel::load(take(KernelCase::make(workload, kSeed)), packageOf(scheduled, target)));
            const std::string wrong = kernel->check(*take(PhaseRunner::make(2)));
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }

    // Outside of what they guard they would read other memory.
    void conditionsOnIndicesStayBranches() {
        const loops::TensorRef x = loops::makeTensor("x", DType::f32, {8});
        const auto isFree = [&](const loops::Expr& body, const loops::Stage& like) {
            loops::Stage stage = like;
            stage.body = body;
            loops::markFreeSelects(stage);
            return stage.body->isFree;
        };
        const loops::Stage stage = loops::compute("y", DType::f32, {12}, [](const loops::Indices&) { return loops::constantOf(DType::f32, 0); });
        const loops::Expr i(stage.axes[0].var), zero = loops::constantOf(DType::f32, 0), front = loops::load(x, {i - loops::Expr(2)});
        const loops::Expr padded = loops::select(i >= loops::Expr(2) && i < loops::Expr(10), front, zero);
        const loops::Expr some = loops::load(x, {loops::Expr(3)}), none = loops::load(x, {loops::Expr(8)});
        QVERIFY(!isFree(padded, stage));
        QVERIFY(!isFree(loops::select(i < loops::Expr(8), loops::load(x, {i}), zero), stage));
        QVERIFY(!isFree(loops::select(some > zero, none, zero), stage));
        QVERIFY(!isFree(loops::select(some > zero, front, zero), stage));
        QVERIFY(!isFree(loops::select(i >= loops::Expr(2), loops::select(i < loops::Expr(10), front, zero), zero), stage)); // each guards one end
        QVERIFY(isFree(loops::select(some > zero, some * some, zero), stage));
        QVERIFY(isFree(loops::select(padded > zero, padded, padded * some), stage)); // guarded further in
        QVERIFY(isFree(loops::select(i < loops::Expr(4), some, zero), stage));
    }

    // Only what a branch around it lets in may be assumed.
    void aGuardFurtherOutCounts() {
        const loops::TensorRef x = loops::makeTensor("x", DType::f32, {8});
        loops::Stage stage = loops::compute("y", DType::f32, {12}, [&](const loops::Indices& i) {
            const loops::Expr zero = loops::constantOf(DType::f32, 0), value = loops::load(x, i);
            return loops::select(i[0] < loops::Expr(8), loops::select(value > zero, value, zero - value), zero);
        });
        loops::markFreeSelects(stage);
        QVERIFY(!stage.body->isFree);
        QVERIFY(stage.body->args[1]->isFree);
    }
};

QTEST_GUILESS_MAIN(TestActivationKernels)
#include "tst_activation_kernels.moc"
