// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/loops/passes.h"
#include "core/loops/schedule.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

QString text(const Stmt& stmt) { return QString::fromStdString(toText(stmt)); }

// out[i] = sum over k of x[i + k - 1], the ends padded
Program paddedSum(std::int64_t length) {
    Program program;
    program.name = "sum";
    const auto x = makeTensor("x", DType::f32, {length});
    program.inputs = {x};
    program.stages.push_back(reduce("sum", DType::f32, {length}, Reduction::sum, {3}, [&](const Indices& i, const Indices& r) {
        const Expr at = i[0] + r[0] - 1;
        return ReductionBody{load(x, {at}), at >= 0 && at < Expr(length)};
    }));
    program.outputs = {program.stages[0].output};
    return program;
}

Program twiceOf37() {
    Program program;
    program.name = "copy";
    const auto x = makeTensor("x", DType::f32, {37});
    program.inputs = {x};
    program.stages.push_back(compute("y", DType::f32, {37}, [&](const Indices& i) { return load(x, i) * constantOf(DType::f32, 2); }));
    program.outputs = {program.stages[0].output};
    return program;
}

} // namespace

class TestPasses : public QObject {
    Q_OBJECT

private slots:
    void conditionsLeaveLoopsThatTheyDoNotDependOn() {
        const Var i = makeVar("i"), n = makeVar("n");
        const auto buffer = makeTensor("b", DType::f32, {8});
        const Stmt store = makeStore(buffer, Expr(i), constantOf(DType::f32, 1));
        const Stmt loop = makeLoop(LoopKind::serial, i, 0, 8, makeGuard(Expr(n) > 3 && Expr(i) < Expr(n), store));
        QCOMPARE(text(hoistGuards(loop)), QString("if (n > 3)\n  for i in [0, 8)\n    if (i < n)\n      b[i] = 1f\n"));
    }

    void prefetchesKeepNoConditionInside() {
        const Var i = makeVar("i"), n = makeVar("n");
        const auto buffer = makeTensor("b", DType::f32, {8}), weights = makeTensor("w", DType::f32, {8});
        const Stmt store = makeStore(buffer, Expr(i), constantOf(DType::f32, 1)), hint = makePrefetch(weights, Expr(i) * 2, 2);
        const auto hoisted = [&](std::vector<Stmt> body) { return text(hoistGuards(makeLoop(LoopKind::serial, i, 0, 8, makeBlock(std::move(body))))); };
        QCOMPARE(hoisted({hint, makeGuard(Expr(n) > 3, store)}), QString("if (n > 3)\n  for i in [0, 8)\n    prefetch w[(i*2)]\n    b[i] = 1f\n"));
        QCOMPARE(hoisted({store, makeGuard(Expr(n) > 3, store)}), QString("for i in [0, 8)\n  b[i] = 1f\n  if (n > 3)\n    b[i] = 1f\n"));
        QCOMPARE(hoisted({hint, hint}), QString("for i in [0, 8)\n  prefetch w[(i*2)]\n  prefetch w[(i*2)]\n"));
    }

    // Where it was asked for, in terms of the loops around, those of the consumer and split axes included; copied with unrolled loops.
    void prefetchesSeeTheLoopsAround() {
        Schedule schedule(paddedSum(64));
        const TensorRef out = schedule.program().outputs[0], x = schedule.program().inputs[0];
        const TensorRef sum = schedule.cacheWrite(out);
        auto& o = schedule[out];
        const Var axis = o.axes()[0];
        const auto [tile, inside] = o.split(axis, 8);
        o.parallel(tile);
        auto& s = schedule[sum];
        s.computeAt(out, tile);
        s.reorder({s.reduceAxes()[0], s.axes()[0]});
        s.unroll(s.reduceAxes()[0]);
        s.prefetch(s.reduceAxes()[0], x, (Expr(tile) + 1) * 8 + Expr(s.reduceAxes()[0]) * 100);
        const auto nest = schedule.lower();
        QVERIFY(nest.ok());
        const QString body = text(nest->phases[0].body);
        QCOMPARE(body.count("prefetch x["), 3 * 3); // the first tile, the last one and those between
        QVERIFY2(body.contains("prefetch x[((i0o*8) + 208)]"), qPrintable(body));
    }

    // One body for where all tests hold, one with the tests; each with small buffers of its own.
    void versionedLoopsTestOncePerIteration() {
        const Var i = makeVar("i"), k = makeVar("k");
        const auto x = makeTensor("x", DType::f32, {8}), b = makeTensor("b", DType::f32, {24});
        const Stmt store = makeStore(b, Expr(i) * 3 + Expr(k), load(x, {Expr(i) + Expr(k) - 1}));
        const Stmt inner = makeLoop(LoopKind::serial, k, 0, 3, makeGuard(Expr(i) + Expr(k) >= 1 && Expr(i) + Expr(k) < 9, store));
        VarRanges ranges;
        LocalBuffers locals;
        const QString made = text(partitionLoops(makeLoop(LoopKind::versioned, i, 0, 8, inner), ranges, locals));
        const qsizetype second = made.indexOf("if", made.indexOf("if") + 1);
        QCOMPARE(made.left(second), QString("for i in [0, 8)\n  if ((i >= 1) && (i < 7))\n    for k in [0, 3)\n"
                                            "      b[((i*3) + k)] = x[((i + k) - 1)]\n  "));
        QVERIFY2(made.mid(second).startsWith("if !") && made.mid(second).count("if") == 2, qPrintable(made));
    }

    void versionsWithBuffersOfTheirOwnTestNothingEither() {
        const Var i = makeVar("i"), k = makeVar("k");
        const auto x = makeTensor("x", DType::f32, {8}), patch = makeTensor("patch", DType::f32, {3});
        const Stmt store = makeStore(patch, Expr(k), load(x, {Expr(i) + Expr(k) - 1}));
        const Stmt inner = makeLoop(LoopKind::serial, k, 0, 3, makeGuard(Expr(i) + Expr(k) >= 1 && Expr(i) + Expr(k) < 9, store));
        VarRanges ranges;
        LocalBuffers locals;
        locals.add(patch, i);
        const QString made = text(partitionLoops(makeLoop(LoopKind::versioned, i, 0, 8, inner), ranges, locals));
        QCOMPARE(locals.buffers().size(), std::size_t(2));
        QVERIFY2(made.startsWith("for i in [0, 8)\n  if ((i >= 1) && (i < 7))\n    for k in [0, 3)\n      patch[k] = x[((i + k) - 1)]\n  if !"), qPrintable(made));
    }

    void versionedLoopsWithoutTestsStayOne() {
        const Var i = makeVar("i"), k = makeVar("k");
        const auto b = makeTensor("b", DType::f32, {24});
        const Stmt store = makeStore(b, Expr(i) * 3 + Expr(k), constantOf(DType::f32, 1));
        const Stmt always = makeGuard(Expr(i) + Expr(k) < 11, store); // holds for all i < 8, k < 3
        VarRanges ranges;
        LocalBuffers locals;
        const Stmt loop = makeLoop(LoopKind::versioned, i, 0, 8, makeLoop(LoopKind::serial, k, 0, 3, always));
        QCOMPARE(text(partitionLoops(loop, ranges, locals)), QString("for i in [0, 8)\n  for k in [0, 3)\n    b[((i*3) + k)] = 1f\n"));
    }

    void conditionsBecomeBounds() {
        const Var i = makeVar("i"), n = makeVar("n");
        const auto buffer = makeTensor("b", DType::f32, {8});
        const Stmt store = makeStore(buffer, Expr(i), constantOf(DType::f32, 1));
        const Stmt loop = makeLoop(LoopKind::serial, i, 0, 8, makeGuard(Expr(i) + Expr(n) >= 2 && Expr(i) * 2 < Expr(n), store));
        VarRanges ranges;
        ranges.set(n, {0, 100});
        QCOMPARE(text(tightenLoops(loop, ranges)), QString("for i in [max(0, ((n*-1) + 2)), min(8, ((n + 1)/2)))\n  b[i] = 1f\n"));
    }

    void paddingCostsNoBranchInside() {
        Schedule schedule(paddedSum(64));
        const TensorRef out = schedule.program().outputs[0];
        const TensorRef sum = schedule.cacheWrite(out);
        auto& o = schedule[out];
        const auto [tile, inside] = o.split(o.axes()[0], 8);
        o.unroll(inside);
        auto& s = schedule[sum];
        s.computeAt(out, tile);
        s.reorder({s.reduceAxes()[0], s.axes()[0]});
        s.unroll(s.axes()[0]);
        s.unroll(s.reduceAxes()[0]);
        const auto nest = schedule.lower();
        QVERIFY(nest.ok());
        QCOMPARE(nest->phases.size(), std::size_t{1});
        const QString body = text(nest->phases[0].body);
        QVERIFY2(!body.contains("if "), qPrintable(body));
        QVERIFY2(body.contains("for i0o in [1, 7)"), qPrintable(body));
    }

    void tailsAreSplitOff() {
        Schedule schedule(twiceOf37());
        auto& y = schedule[schedule.program().outputs[0]];
        const auto [outer, inner] = y.split(y.axes()[0], 8);
        y.vectorize(inner);
        const QString body = text(schedule.lower()->phases[0].body);
        QVERIFY2(!body.contains("if "), qPrintable(body));
        QVERIFY2(body.contains("for i0o in [0, 4)") && body.contains("vectorized i0i in [0, 5)"), qPrintable(body));
    }

    void stagesThatAreRoundedUpHaveNoTail() {
        Schedule schedule(twiceOf37());
        for (const TensorRef& tensor : {schedule.program().inputs[0], schedule.program().outputs[0]})
            schedule.setLayout(tensor, Layout::blocked(1, 0, 8));
        auto& y = schedule[schedule.program().outputs[0]];
        y.roundUp(y.axes()[0], 40);
        const auto [outer, inner] = y.split(y.axes()[0], 8);
        y.parallel(outer);
        y.vectorize(inner);
        const auto nest = schedule.lower();
        QCOMPARE(nest->phases[0].extent, std::int64_t{5});
        const QString body = text(nest->phases[0].body);
        QVERIFY2(!body.contains("if ") && body.contains("vectorized i0i in [0, 8)"), qPrintable(body));
        QCOMPARE(nest->arguments[1]->shape, (Shape{40}));
    }

    // What an attached stage must cover is found through readers that are attached further in.
    void attachedStagesCoverReadersFurtherIn() {
        Program program;
        program.name = "smooth";
        const auto x = makeTensor("x", DType::f32, {36});
        program.inputs = {x};
        program.stages.push_back(compute("twice", DType::f32, {34}, [&](const Indices& i) { return load(x, {i[0]}) + load(x, {i[0] + 2}); }));
        const TensorRef twice = program.stages[0].output;
        program.stages.push_back(compute("pairs", DType::f32, {33}, [&](const Indices& i) { return load(twice, {i[0]}) + load(twice, {i[0] + 1}); }));
        const TensorRef pairs = program.stages[1].output;
        program.stages.push_back(compute("y", DType::f32, {32}, [&](const Indices& i) { return load(pairs, {i[0]}) + load(pairs, {i[0] + 1}); }));
        program.outputs = {program.stages[2].output};
        Schedule schedule(program);
        auto& y = schedule[program.outputs[0]];
        const auto [rest, inner] = y.split(y.axes()[0], 2);
        const auto [outer, middle] = y.split(rest, 4);
        schedule[pairs].computeAt(program.outputs[0], middle);
        schedule[twice].computeAt(program.outputs[0], outer);
        const auto nest = schedule.lower();
        QVERIFY(nest.ok());
        QCOMPARE(nest->locals.size(), std::size_t{2});
        QCOMPARE(nest->locals[0]->shape, (Shape{10})); // twice: 8 outputs and two neighbours
        QCOMPARE(nest->locals[1]->shape, (Shape{3}));  // pairs: 2 outputs and a neighbour
    }

    // 37 columns in tiles of two vectors: the last tile is one vector of 5 lanes, with an accumulator of its own.
    void aLastTileOfFewerLanesStaysVectorized() {
        Program program;
        program.name = "sums";
        const auto x = makeTensor("x", DType::f32, {37, 9});
        program.inputs = {x};
        program.stages.push_back(reduce("sums", DType::f32, {37}, Reduction::sum, {9}, [&](const Indices& i, const Indices& r) {
            return ReductionBody{load(x, {i[0], r[0]}), {}};
        }));
        program.outputs = {program.stages[0].output};
        Schedule schedule(program);
        const TensorRef y = program.outputs[0], sums = schedule.cacheWrite(y);
        auto& o = schedule[y];
        const auto [tile, inside] = o.split(o.axes()[0], 16);
        const auto [vector, lane] = o.split(inside, 8);
        o.unroll(vector);
        o.vectorize(lane);
        auto& s = schedule[sums];
        s.computeAt(y, tile);
        const auto [sumVector, sumLane] = s.split(s.axes()[0], 8);
        s.reorder({s.reduceAxes()[0], sumVector, sumLane});
        s.unroll(sumVector);
        s.vectorize(sumLane);
        const auto nest = schedule.lower();
        QVERIFY(nest.ok());
        const QString body = text(nest->phases[0].body);
        QVERIFY2(!body.contains("if ") && body.contains("for i0o in [0, 2)"), qPrintable(body));
        QCOMPARE(body.count("[0, 5)"), 3); // the zeros, the sums and their copy
        QCOMPARE(nest->locals.size(), std::size_t{2});
    }

    void rfactorKeepsEveryTerm() {
        Program program;
        program.name = "total";
        const auto x = makeTensor("x", DType::f32, {2, 13});
        program.inputs = {x};
        program.stages.push_back(reduce("total", DType::f32, {2}, Reduction::sum, {13}, [&](const Indices& i, const Indices& r) {
            return ReductionBody{load(x, {i[0], r[0]}), {}};
        }));
        program.outputs = {program.stages[0].output};
        Schedule schedule(program);
        const TensorRef partial = schedule.rfactor(program.outputs[0], 0, 4);
        QCOMPARE(partial->shape, (Shape{2, 4}));
        QCOMPARE(schedule.program().stages.size(), std::size_t{2});
        QCOMPARE(schedule.program().stages[0].reduceAxes[0].extent, std::int64_t{4});
        QVERIFY(schedule.program().stages[0].guard.valid());
    }
};

QTEST_GUILESS_MAIN(TestPasses)
#include "tst_passes.moc"
