// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>

#include "core/base/rng.h"
#include "core/codegen/kernel.h"
#include "core/loops/evaluate.h"
#include "core/loops/schedule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

Target targetOf(Isa isa) {
    Target target;
    target.isa = isa;
    return target;
}

// y = x + 1 in vectors.
Schedule addOne(const Shape& shape, std::int64_t lanes) {
    Program program;
    program.name = "add";
    const auto x = makeTensor("x", DType::f32, shape);
    program.inputs = {x};
    program.stages.push_back(compute("y", DType::f32, shape, [&](const Indices& i) { return load(x, i) + constantOf(DType::f32, 1); }));
    program.outputs = {program.stages[0].output};
    Schedule schedule(program);
    auto& y = schedule[program.outputs[0]];
    y.vectorize(y.split(y.axes().back(), lanes).second);
    return schedule;
}

bool streams(const Schedule& schedule, Isa isa) {
    const auto compiled = take(compileKernel(take(schedule.lower()), targetOf(isa), {"add", true}));
    const auto has = [&](const char* instruction) { return compiled.assembly.find(instruction) != std::string::npos; };
    return has("vmovntps") && has("sfence");
}

// What is wrong when the output begins so many floats after a cache line.
std::string wrongAt(const Schedule& schedule, Isa isa, std::size_t shift) {
    const Shape shape = schedule.program().outputs[0]->shape;
    const auto count = static_cast<std::size_t>(elementCount(shape));
    const auto kernel = take(LoadedKernel::load(take(compileKernel(take(schedule.lower()), targetOf(isa), {"add", false})).kernel));
    std::vector<float> x(count), room(count + 64, -1.0F);
    for (std::size_t i = 0; i < count; ++i)
        x[i] = static_cast<float>(i) * 0.5F;
    auto* line = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(room.data()) + 63) / 64 * 64);
    float* y = line + shift;
    void* arguments[]{x.data(), y};
    kernel->run(arguments);
    for (std::size_t i = 0; i < count; ++i)
        if (y[i] != x[i] + 1)
            return "element " + std::to_string(i);
    return (y > room.data() && y[-1] != -1.0F) || y[count] != -1.0F ? "written outside" : "";
}

// One element for each row: op over the last dimension, folded in vectors of `lanes`.
Schedule folded(DType type, Reduction reduction, std::int64_t rows, std::int64_t lanes) {
    Program program;
    program.name = "fold";
    const auto x = makeTensor("x", type, {rows, lanes});
    program.inputs = {x};
    program.stages.push_back(reduce("y", type, {rows}, reduction, {lanes}, [&](const Indices& i, const Indices& r) {
        return ReductionBody{load(x, {i[0], r[0]}) * constantOf(type, 3), {}};
    }));
    program.outputs = {program.stages[0].output};
    Schedule schedule(program);
    auto& y = schedule[program.outputs[0]];
    y.vectorize(y.reduceAxes()[0]);
    return schedule;
}

std::string wrongFold(const Schedule& schedule, Isa isa) {
    const Program& program = schedule.program();
    Rng rng(5);
    Tensor x = Tensor::zeros(program.inputs[0]->type, program.inputs[0]->shape);
    visitDType(x.type(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
            for (T& value : x.mutableData<T>())
                value = static_cast<T>(rng.uniform(-2.0f, 2.0f));
    });
    Tensor y = Tensor::zeros(program.outputs[0]->type, program.outputs[0]->shape);
    const auto kernel = take(LoadedKernel::load(take(compileKernel(take(schedule.lower()), targetOf(isa), {"fold", false})).kernel));
    void* arguments[]{x.mutableBytes().data(), y.mutableBytes().data()};
    kernel->run(arguments);
    const Tensor expected = take(evaluate(program, {x}))[0];
    for (std::int64_t i = 0; i < y.count(); ++i)
        if (!(std::abs(y.asDouble(i) - expected.asDouble(i)) <= 1e-5 * std::max(1.0, std::abs(expected.asDouble(i)))))
            return "row " + std::to_string(i) + ": " + std::to_string(y.asDouble(i)) + " instead of " + std::to_string(expected.asDouble(i));
    return {};
}

} // namespace

class VectorStoresTest : public QObject {
    Q_OBJECT

private slots:
    void streamedOutputs_data() {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("columns");
        QTest::addColumn<int>("lanes");
        QTest::addColumn<bool>("streamed");
        QTest::newRow("lines") << 6 << 64 << 16 << true;
        QTest::newRow("quarters of lines") << 6 << 20 << 4 << true;
        QTest::newRow("two vectors at once") << 6 << 64 << 32 << true;
        QTest::newRow("rows that begin within a vector") << 6 << 36 << 16 << false;
        QTest::newRow("a tail of single elements") << 6 << 65 << 16 << false;
        QTest::newRow("less than can be streamed") << 6 << 64 << 2 << false;
    }
    void streamedOutputs() {
        QFETCH(int, rows);
        QFETCH(int, columns);
        QFETCH(int, lanes);
        QFETCH(bool, streamed);
        Schedule schedule = addOne({rows, columns}, lanes);
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            QVERIFY(!streams(schedule, isa));
            Schedule asked = schedule;
            asked.stream(asked.program().outputs[0]);
            QCOMPARE(streams(asked, isa), streamed);
            for (const std::size_t shift : {std::size_t(0), std::size_t(1), std::size_t(8)})
                QCOMPARE(wrongAt(asked, isa, shift), std::string());
        }
    }

    void foldsOfLanes_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("lanes");
        for (const DType type : {DType::f32, DType::f64, DType::i32})
            for (const int lanes : {1, 2, 4, 6, 8, 16, 31, 32, 64})
                QTest::addRow("%s, %d", std::string(dtypeName(type)).c_str(), lanes) << static_cast<int>(type) << lanes;
    }
    void foldsOfLanes() {
        QFETCH(int, type);
        QFETCH(int, lanes);
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const Reduction reduction : {Reduction::sum, Reduction::max, Reduction::min})
                if (hostSupports(isa))
                    QCOMPARE(wrongFold(folded(static_cast<DType>(type), reduction, 5, lanes), isa), std::string());
    }

    // Pairs of lanes instead of one lane after the other.
    void foldsAreTrees() {
        const auto compiled = take(compileKernel(take(folded(DType::f32, Reduction::sum, 5, 16).lower()), targetOf(Isa::avx2), {"fold", true}));
        QVERIFY(QString::fromStdString(compiled.assembly).count("add") < 12);
    }
};

QTEST_GUILESS_MAIN(VectorStoresTest)
#include "tst_vector_stores.moc"
