// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/substitution/prime_value.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;
using Ints = std::vector<std::int64_t>;

namespace {

TermShape shape(std::initializer_list<std::uint16_t> extents) {
    TermShape made;
    made.rank = static_cast<std::uint8_t>(extents.size());
    std::ranges::copy(extents, made.extents.begin());
    return made;
}

// Small whole numbers, so that no sum reaches a prime: there the field computes what doubles do.
PrimeValue smallValue(const TermShape& of, std::uint64_t seed) {
    Rng rng(seed);
    PrimeValue value;
    for (int i = 0; i < of.count(); ++i)
        value.push_back(static_cast<std::uint32_t>(rng.below(7)));
    value.insert(value.end(), value.begin(), value.end());
    return value;
}

Tensor tensorOf(const TermShape& of, const PrimeValue& value) {
    Shape extents(of.extents.begin(), of.extents.begin() + of.rank);
    Tensor tensor = Tensor::zeros(DType::f64, extents);
    auto data = tensor.mutableData<double>();
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = value[i];
    return tensor;
}

// The operator of a model that a term stands for.
using Recipe = std::function<ValueId(GraphBuilder&, ValueId a, ValueId b)>;

struct Row {
    const char* name;
    Term term;
    TermShape a, b;
    Recipe recipe;
};

Recipe node(const char* op, std::map<std::string, Attribute> attributes = {}) {
    return [op, attributes](GraphBuilder& builder, ValueId a, ValueId b) {
        return builder.add(op, b.valid() ? std::vector<ValueId>{a, b} : std::vector<ValueId>{a}, attributes);
    };
}

Recipe conv(const Ints& pads, std::int64_t group) { return node("Conv", {{"pads", pads}, {"group", group}}); }

const std::vector<Row>& rows() {
    const TermShape image = shape({2, 4, 5, 5}), none;
    TermShape cut = shape({2, 7});
    cut.cuts[1] = 3;
    static const std::vector<Row> table{
        {"matmul", {TermOp::matmul}, shape({2, 4}), shape({4, 3}), node("MatMul")},
        {"add", {TermOp::add}, shape({2, 4}), shape({2, 4}), node("Add")},
        {"mul", {TermOp::mul}, image, image, node("Mul")},
        {"scale", {TermOp::scale}, image, shape({1}), node("Mul")},
        {"conv 3x3", {TermOp::conv}, image, shape({6, 4, 3, 3}), conv({1, 1, 1, 1}, 1)},
        {"conv 1x3", {TermOp::conv}, image, shape({4, 4, 1, 3}), conv({0, 1, 0, 1}, 1)},
        {"conv 3x1", {TermOp::conv}, image, shape({4, 4, 3, 1}), conv({1, 0, 1, 0}, 1)},
        {"conv 1x1", {TermOp::conv}, image, shape({3, 4, 1, 1}), conv({0, 0, 0, 0}, 1)},
        {"conv of two groups", {TermOp::conv}, shape({1, 8, 4, 3}), shape({6, 4, 3, 3}), conv({1, 1, 1, 1}, 2)},
        {"conv 3x3 of an image of one row", {TermOp::conv}, shape({2, 4, 1, 5}), shape({3, 4, 3, 3}), conv({1, 1, 1, 1}, 1)},
        {"depthwise conv", {TermOp::conv}, image, shape({4, 1, 3, 3}), conv({1, 1, 1, 1}, 4)},
        {"concat of rows", {TermOp::concat, 0}, shape({2, 4}), shape({3, 4}), node("Concat", {{"axis", std::int64_t(0)}})},
        {"concat of channels", {TermOp::concat, 1}, image, shape({2, 3, 5, 5}), node("Concat", {{"axis", std::int64_t(1)}})},
        {"transpose", {TermOp::transpose}, shape({2, 4}), none, node("Transpose")},
        {"first part", {TermOp::split, 1, 0}, cut, none,
         [](GraphBuilder& builder, ValueId a, ValueId) {
             const auto ints = [&](std::int64_t value) { return builder.addConstant("", Tensor::ofInts({value})); };
             return builder.add("Slice", {a, ints(0), ints(3), ints(1)});
         }},
        {"second part", {TermOp::split, 1, 1}, cut, none,
         [](GraphBuilder& builder, ValueId a, ValueId) {
             const auto ints = [&](std::int64_t value) { return builder.addConstant("", Tensor::ofInts({value})); };
             return builder.add("Slice", {a, ints(3), ints(7), ints(1)});
         }},
        {"enlarged 1x3", {TermOp::enlarge}, shape({2, 3, 1, 3}), none,
         [](GraphBuilder& builder, ValueId a, ValueId) { return builder.add("Pad", {a, builder.addConstant("", Tensor::ofInts({0, 0, 1, 0, 0, 0, 1, 0}))}); }},
        {"enlarged 1x1", {TermOp::enlarge}, shape({2, 3, 1, 1}), none,
         [](GraphBuilder& builder, ValueId a, ValueId) { return builder.add("Pad", {a, builder.addConstant("", Tensor::ofInts({0, 0, 1, 1, 0, 0, 1, 1}))}); }},
        {"conv with its identity", {TermOp::convIdentity, 3, 3}, none, none,
         [](GraphBuilder& builder, ValueId, ValueId) {
             Tensor tensor = Tensor::zeros(DType::f64, {4, 4, 3, 3});
             for (std::size_t c = 0; c < 4; ++c)
                 tensor.mutableData<double>()[(c * 4 + c) * 9 + 4] = 1;
             return builder.add("Identity", {builder.addConstant("", tensor)});
         }},
    };
    return table;
}

} // namespace

class PrimeValueTest : public QObject {
    Q_OBJECT

private slots:
    void agreesWithTheReferenceKernels_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < rows().size(); ++i)
            QTest::newRow(rows()[i].name) << static_cast<int>(i);
    }
    void agreesWithTheReferenceKernels() {
        QFETCH(int, row);
        const Row& r = rows()[static_cast<std::size_t>(row)];
        const PrimeValue a = smallValue(r.a, 1), b = smallValue(r.b, 2);
        const TermShape made = shapeOf(r.term, r.a, r.b);
        PrimeValue value;
        evaluateTerm(r.term, made, {r.a, a}, {r.b, b}, value);

        GraphBuilder builder("term");
        builder.setOpset("", 13);
        std::vector<Tensor> inputs;
        const auto operand = [&](const TermShape& of, const PrimeValue& from) {
            if (of.rank == 0)
                return ValueId();
            inputs.push_back(tensorOf(of, from));
            return builder.addInput("", TensorType(DType::f64, inputs.back().shape()));
        };
        const ValueId x = operand(r.a, a), y = operand(r.b, b);
        builder.setOutputs({r.recipe(builder, x, y)});
        const Tensor expected = take(Interpreter(take(inferShapes(take(builder.build())))).run(inputs))[0];
        QCOMPARE(expected.shape(), Shape(made.extents.begin(), made.extents.begin() + made.rank));
        for (std::int64_t i = 0; i < expected.count(); ++i)
            for (const std::size_t prime : {std::size_t(0), std::size_t(1)})
                QCOMPARE(static_cast<double>(value[prime * static_cast<std::size_t>(expected.count()) + static_cast<std::size_t>(i)]), expected.asDouble(i));
    }

    // The mean of a window times nine is its sum: nine has an inverse.
    void meansAreSumsOverNine() {
        const TermShape image = shape({1, 2, 4, 5});
        const PrimeValue x = smallValue(image, 3);
        PrimeValue mean, sum;
        evaluateTerm({TermOp::averagePool}, image, {image, x}, {}, mean);
        TermShape ones = shape({2, 1, 3, 3});
        const PrimeValue weights(2 * 18, 1);
        evaluateTerm({TermOp::conv}, image, {image, x}, {ones, weights}, sum);
        for (std::size_t i = 0; i < mean.size(); ++i)
            QCOMPARE(std::uint64_t(mean[i]) * 9 % kPrimes[i / (mean.size() / 2)], std::uint64_t(sum[i]));
    }

    // What does not fit has no shape.
    void shapesThatDoNotFit_data() {
        QTest::addColumn<int>("op");
        QTest::addColumn<QList<int>>("a");
        QTest::addColumn<QList<int>>("b");
        const auto row = [](const char* name, TermOp op, const QList<int>& a, const QList<int>& b) { QTest::newRow(name) << static_cast<int>(op) << a << b; };
        row("matrices whose inner extents differ", TermOp::matmul, {2, 4}, {3, 4});
        row("matmul of images", TermOp::matmul, {2, 4, 5, 5}, {2, 4, 5, 5});
        row("sum of different extents", TermOp::add, {2, 4}, {4, 4});
        row("sum of different ranks", TermOp::add, {2, 4}, {2, 4, 1, 1});
        row("channels that weights do not divide", TermOp::conv, {2, 4, 5, 5}, {4, 3, 3, 3});
        row("filters that groups do not divide", TermOp::conv, {2, 4, 5, 5}, {3, 1, 3, 3});
        row("even kernel", TermOp::conv, {2, 4, 5, 5}, {4, 4, 2, 2});
        row("enlarging what is large", TermOp::enlarge, {4, 4, 3, 3}, {});
        row("scaling by a vector", TermOp::scale, {2, 4}, {4});
        row("concat of different ranks", TermOp::concat, {2, 4}, {2, 4, 5, 5});
        row("splitting what was never put together", TermOp::split, {2, 4}, {});
        row("transposing an image", TermOp::transpose, {2, 4, 5, 5}, {});
        row("more than 512 elements", TermOp::concat, {2, 4, 8, 8}, {2, 4, 8, 8});
    }
    void shapesThatDoNotFit() {
        QFETCH(int, op);
        QFETCH(QList<int>, a);
        QFETCH(QList<int>, b);
        const auto made = [](const QList<int>& extents) {
            TermShape of;
            of.rank = static_cast<std::uint8_t>(extents.size());
            std::ranges::copy(extents, of.extents.begin());
            return of;
        };
        QCOMPARE(shapeOf({static_cast<TermOp>(op)}, made(a), made(b)).rank, std::uint8_t(0));
    }

    void fingerprintsSeeShapesAndBothPrimes() {
        const TermShape wide = shape({2, 6}), tall = shape({6, 2});
        PrimeValue value = smallValue(wide, 4);
        const std::uint64_t first = fingerprintOf(wide, value);
        QCOMPARE(fingerprintOf(wide, value), first);
        QVERIFY(fingerprintOf(tall, value) != first);
        value.back() += 1;
        QVERIFY(fingerprintOf(wide, value) != first);
    }
};

QTEST_GUILESS_MAIN(PrimeValueTest)
#include "tst_prime_value.moc"
