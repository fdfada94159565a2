// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <limits>

#include "core/base/rng.h"
#include "core/loops/layout.h"
#include "core/loops/simplify.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

std::int64_t valueOf(const Expr& e, const std::vector<std::pair<Var, std::int64_t>>& values) {
    const Expr known = substitute(e, [&](const Var& var) {
        for (const auto& [v, value] : values)
            if (v == var)
                return Expr(value);
        return Expr();
    });
    const auto value = constantValue(known);
    if (!value)
        qFatal("%s is no constant", toText(known).c_str());
    return *value;
}

Expr randomExpr(Rng& rng, const std::vector<Var>& vars, int depth) {
    if (depth == 0 || rng.chance(0.2))
        return rng.chance(0.6) ? Expr(vars[rng.below(vars.size())]) : Expr(static_cast<std::int64_t>(rng.below(20)) - 5);
    const Expr a = randomExpr(rng, vars, depth - 1), b = randomExpr(rng, vars, depth - 1);
    const Expr k(static_cast<std::int64_t>(rng.below(7)) + 1);
    switch (rng.below(7)) {
    case 0: return a - b;
    case 1: return a * k;
    case 2: return a / k;
    case 3: return a % k;
    case 4: return min(a, b);
    case 5: return max(a, b);
    default: return a + b;
    }
}

} // namespace

class TestSimplify : public QObject {
    Q_OBJECT

private slots:
    void knownForms_data() {
        QTest::addColumn<int>("form");
        QTest::addColumn<QString>("text");
        QTest::newRow("block") << 0 << "co";
        QTest::newRow("lane") << 1 << "ci";
        QTest::newRow("fused back together") << 2 << "f";
        QTest::newRow("nested quotients") << 3 << "(f/56)";
        QTest::newRow("true comparison") << 4 << "1";
        QTest::newRow("false comparison") << 5 << "0";
        QTest::newRow("min of ordered") << 6 << "ci";
        QTest::newRow("cancelled") << 7 << "3";
        QTest::newRow("half a block") << 8 << "(co/2)";
        QTest::newRow("lane of half a block") << 9 << "(((co%2)*16) + ci)";
    }
    void knownForms() {
        QFETCH(int, form);
        QFETCH(QString, text);
        const Var co = makeVar("co"), ci = makeVar("ci"), f = makeVar("f");
        VarRanges ranges;
        ranges.set(co, {0, 3});
        ranges.set(ci, {0, 15});
        ranges.set(f, {0, 783});
        const Expr c = Expr(co) * 16 + ci;
        const std::vector<Expr> forms{c / 16, c % 16, Expr(f) / 28 * 28 + Expr(f) % 28, Expr(f) / 7 / 8, c < Expr(64), c >= Expr(64),
                                      min(Expr(ci), Expr(15)), c - (Expr(ci) + Expr(co) * 16) + 3,
                                      c / 32, c % 32};
        QCOMPARE(QString::fromStdString(toText(simplify(forms[static_cast<std::size_t>(form)], ranges))), text);
    }

    // Whatever the rules do, the value stays, and ranges hold it.
    void simplifiedExpressionsHaveTheSameValue() {
        Rng rng(7);
        const std::vector<Var> vars{makeVar("a"), makeVar("b"), makeVar("c")};
        for (int round = 0; round < 3000; ++round) {
            VarRanges ranges;
            std::vector<Range> bounds;
            for (const Var& var : vars) {
                const auto low = static_cast<std::int64_t>(rng.below(10)) - 5;
                bounds.push_back({low, low + static_cast<std::int64_t>(rng.below(30))});
                ranges.set(var, bounds.back());
            }
            const Expr e = randomExpr(rng, vars, 4);
            const Expr simple = simplify(e, ranges);
            const Range range = rangeOf(e, ranges);
            for (int point = 0; point < 10; ++point) {
                std::vector<std::pair<Var, std::int64_t>> values;
                for (std::size_t v = 0; v < vars.size(); ++v)
                    values.emplace_back(vars[v], bounds[v].min + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bounds[v].max - bounds[v].min + 1))));
                const std::int64_t value = valueOf(e, values);
                QVERIFY2(valueOf(simple, values) == value, (toText(e) + " became " + toText(simple)).c_str());
                QVERIFY2(range.min <= value && value <= range.max, ("range of " + toText(e)).c_str());
            }
        }
    }

    // The loops over a tensor fused into one and split again, as elementwise kernels do: whatever its extents, the offset is that of the one loop.
    void fusedLoopsAreOneOffset() {
        Rng rng(9);
        for (int round = 0; round < 400; ++round) {
            const std::int64_t lanes = 16, steps = 1 + static_cast<std::int64_t>(rng.below(256));
            const Var chunk = makeVar("chunk"), step = makeVar("step"), lane = makeVar("lane");
            std::vector<std::int64_t> shape(1 + rng.below(5));
            std::int64_t count = 1;
            for (std::int64_t& extent : shape) {
                extent = 1 + static_cast<std::int64_t>(rng.below(2) == 0 ? rng.below(8) * 10 : rng.below(90));
                count *= extent;
            }
            VarRanges ranges;
            ranges.set(chunk, {0, (count - 1) / (lanes * steps)});
            ranges.set(step, {0, steps - 1});
            ranges.set(lane, {0, lanes - 1});
            const Expr all = Expr(chunk) * (lanes * steps) + Expr(step) * lanes + Expr(lane) + static_cast<std::int64_t>(rng.below(3)) * 4096;
            std::vector<Expr> indices(shape.size());
            Expr rest = all;
            for (std::size_t d = shape.size(); d-- > 1; rest = rest / shape[d])
                indices[d] = rest % shape[d];
            indices[0] = rest;
            const std::string offset = toText(simplify(Layout::rowMajor(shape.size()).offset(shape, indices), ranges));
            QVERIFY2(offset.find('/') == std::string::npos && offset.find('%') == std::string::npos, offset.c_str());
        }
    }

    // Indices of a tensor without elements divide by 0, and are never computed.
    // Takes a moment, not 2^depth steps.
    void depthIsNoPower_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("remainders") << 0;
        QTest::newRow("quotients of remainders") << 1;
        QTest::newRow("minima") << 2;
        QTest::newRow("minima and maxima of what tensors hold") << 3;
    }
    void depthIsNoPower() {
        QFETCH(int, kind);
        const Var i = makeVar("i"), j = makeVar("j");
        VarRanges ranges;
        ranges.set(i, {0, 63});
        ranges.set(j, {0, 1000});
        const TensorRef held = makeTensor("held", DType::i64, {64});
        const Expr x = kind == 3 ? load(held, {i}) : Expr(i), y = kind == 3 ? load(held, {Expr(std::int64_t{3})}) : Expr(j);
        Expr e = x;
        for (std::int64_t depth = 0; depth < 60; ++depth) {
            if (kind < 2)
                e = (e % Expr(200 - 3 * depth)) / Expr(kind == 1 && depth % 8 == 7 ? 2 : 1) + y;
            else
                e = depth % 2 == 1 && kind == 3 ? max(e, y) : min(e, depth % 2 == 0 ? y : x);
        }
        const Expr simple = simplify(e, ranges);
        for (const std::int64_t value : {0, 5, 63})
            if (kind < 3)
                QCOMPARE(valueOf(simple, {{i, value}, {j, 7 * value}}), valueOf(e, {{i, value}, {j, 7 * value}}));
    }

    void quotientsByZeroStay() {
        const VarRanges ranges;
        const Var x = makeVar("x");
        for (const std::int64_t outer : {3, 1 << 20})
            for (const std::int64_t inner : {std::int64_t(0), std::int64_t(-3), std::numeric_limits<std::int64_t>::max()})
                for (const Expr& e : {Expr(x) / inner / outer, Expr(x) / inner % outer, Expr(x) % inner / outer})
                    QVERIFY2(toText(simplify(e, ranges)).find(std::to_string(inner)) != std::string::npos, toText(simplify(e, ranges)).c_str());
    }

    void unknownVariablesStayOpen() {
        const VarRanges ranges;
        const Var x = makeVar("x");
        QCOMPARE(QString::fromStdString(toText(simplify(Expr(x) < Expr(5), ranges))), QString("(x < 5)"));
        QVERIFY(rangeOf(Expr(x) * 2, ranges).max >= kUnbounded);
    }
};

QTEST_GUILESS_MAIN(TestSimplify)
#include "tst_simplify.moc"
