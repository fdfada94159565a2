// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include <QTest>

#include "core/loops/evaluate_nest.h"
#include "core/loops/schedule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

struct Sum { // y[i] = sum over k of x[i, k]
    TensorRef x = makeTensor("x", DType::f32, {6, 5});
    Program program;
    Sum() {
        program.name = "sum";
        program.inputs = {x};
        program.stages = {reduce("y", DType::f32, {6}, Reduction::sum, {5}, [&](const Indices& i, const Indices& k) { return ReductionBody{load(x, {i[0], k[0]}), {}}; })};
        program.outputs = {program.stages[0].output};
    }
    static Tensor input() {
        std::vector<float> values(30);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i);
        return Tensor::of({6, 5}, values);
    }
};

// One loop that stores `value` at `offset`.
LoopNest storing(const TensorRef& buffer, const Var& var, Expr offset, Expr value) {
    LoopNest nest;
    nest.name = "nest";
    nest.arguments = {buffer};
    nest.outputCount = 1;
    Phase phase;
    phase.parallelVar = var;
    phase.extent = 4;
    phase.body = makeStore(buffer, std::move(offset), std::move(value));
    nest.phases = {phase};
    return nest;
}

} // namespace

// Loop nests as they stand.
class TestEvaluateNest : public QObject {
    Q_OBJECT
private slots:
    void schedulesComputeTheirProgram() {
        const Sum sum;
        Schedule schedule(sum.program);
        const TensorRef output = sum.program.outputs[0], block = schedule.cacheWrite(output);
        auto& o = schedule[output];
        const auto [outer, inner] = o.split(o.axes()[0], 4); // leaves a tail
        o.parallel(outer);
        o.vectorize(inner);
        schedule[block].computeAt(output, outer);
        const auto made = take(evaluate(take(schedule.lower()), {Sum::input()}));
        QCOMPARE(made.size(), std::size_t(1));
        for (std::int64_t i = 0; i < 6; ++i)
            QCOMPARE(made[0].asDouble(i), static_cast<double>(25 * i + 10));
    }

    void whatNobodyWroteIsNoNumber() {
        const TensorRef y = makeTensor("y", DType::f32, {5});
        const Var i = makeVar("i");
        const auto made = take(evaluate(storing(y, i, Expr(i), constantOf(DType::f32, 1)), {}));
        QCOMPARE(made[0].asDouble(3), 1.0);
        QVERIFY(std::isnan(made[0].asDouble(4)));
    }

    // A result that depends on the order of parallel iterations is not what a serial loop gives.
    void parallelLoopsRunBackwards() {
        const TensorRef y = makeTensor("y", DType::i64, {1});
        const Var i = makeVar("i");
        QCOMPARE(take(evaluate(storing(y, i, Expr(0), Expr(i)), {}))[0].asInt(0), std::int64_t(0));
    }

    void outsideOfABuffer() {
        const TensorRef y = makeTensor("y", DType::f32, {3});
        const Var i = makeVar("i");
        const auto written = evaluate(storing(y, i, Expr(i), constantOf(DType::f32, 1)), {});
        QVERIFY(!written.ok());
        QCOMPARE(written.error().message, std::string("nest: a write at 3 of a buffer of 3"));
        const auto read = evaluate(storing(y, i, Expr(0), load(y, {Expr(i) - Expr(2)})), {});
        QVERIFY(!read.ok() && read.error().message.starts_with("nest: "));
    }
};

QTEST_APPLESS_MAIN(TestEvaluateNest)
#include "tst_evaluate_nest.moc"
