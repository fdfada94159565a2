// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// Einsum: answers by hand, a plain loop over all labels as the referee of random equations, the lowering, what is
// refused.
class EinsumTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void matchesMatMul();
    void integersWrap();
    void loweringAgrees_data();
    void loweringAgrees();
    void shapes_data();
    void shapes();
    void refused_data();
    void refused();
};

namespace {

OpCase einsum(const std::string& equation, std::vector<Tensor> inputs) {
    return {"Einsum", 12, {{"equation", equation}}, std::move(inputs)};
}

const Tensor kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6}), kSquare = floats({2, 2}, {1, 2, 3, 4});
const Tensor kCube = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), kPair = floats({2}, {10, 100});

} // namespace

void EinsumTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<Tensor>("y");
    QTest::newRow("transposed") << einsum("ij->ji", {kMatrix}) << floats({3, 2}, {1, 4, 2, 5, 3, 6});
    QTest::newRow("implicit is alphabetical") << einsum("ba", {kMatrix}) << floats({3, 2}, {1, 4, 2, 5, 3, 6});
    QTest::newRow("upper case comes first") << einsum("aB", {kMatrix}) << floats({3, 2}, {1, 4, 2, 5, 3, 6});
    QTest::newRow("sum of all") << einsum("ij->", {kMatrix}) << floats({}, {21});
    QTest::newRow("row sums") << einsum(" i j -> i ", {kMatrix}) << floats({2}, {6, 15});
    QTest::newRow("trace") << einsum("ii", {kSquare}) << floats({}, {5});
    QTest::newRow("diagonal") << einsum("ii->i", {kSquare}) << floats({2}, {1, 4});
    QTest::newRow("batch diagonal") << einsum("...ii->...i", {kCube}) << floats({2, 2}, {1, 4, 5, 8});
    QTest::newRow("triple diagonal") << einsum("iii->i", {kCube}) << floats({2}, {1, 8});
    QTest::newRow("inner product") << einsum("i,i", {kPair, kPair}) << floats({}, {10100});
    QTest::newRow("outer product") << einsum("i,j", {kPair, floats({2}, {1, 2})}) << floats({2, 2}, {10, 20, 100, 200});
    QTest::newRow("matrix and vector") << einsum("ij,i->j", {kMatrix, kPair}) << floats({3}, {410, 520, 630});
    QTest::newRow("three factors") << einsum("i,ij,j->", {kPair, kSquare, kPair})
                                   << floats({}, {100 + 2000 + 3000 + 40000});
    QTest::newRow("scalars") << einsum(",->", {floats({}, {3}), floats({}, {4})}) << floats({}, {12});
    QTest::newRow("scalar and vector") << einsum("i,->i", {kPair, floats({}, {2})}) << floats({2}, {20, 200});
    QTest::newRow("ellipsis broadcasts") << einsum("...i,...i->...", {kCube, floats({1, 2, 2}, {1, 0, 0, 1})})
                                         << floats({2, 2}, {1, 4, 5, 8});
    QTest::newRow("ellipses of two lengths")
        << einsum("...i,i...->...", {kCube, kPair}) << floats({2, 2}, {210, 430, 650, 870});
    QTest::newRow("ellipsis in the middle")
        << einsum("a...b->b...a", {kCube}) << floats({2, 2, 2}, {1, 5, 3, 7, 2, 6, 4, 8});
    QTest::newRow("ellipsis of nothing") << einsum("...ij->...ji", {kSquare}) << floats({2, 2}, {1, 3, 2, 4});
    QTest::newRow("implicit ellipsis") << einsum("...ij,...jk", {kCube, kSquare})
                                       << floats({2, 2, 2}, {7, 10, 15, 22, 23, 34, 31, 46});
    QTest::newRow("one repeats") << einsum("i,i->", {kPair, floats({1}, {2})}) << floats({}, {220});
    QTest::newRow("nothing to sum") << einsum("ij->i", {floats({2, 0}, {})}) << floats({2}, {0, 0});
    QTest::newRow("nothing at all") << einsum("ij->i", {floats({0, 2}, {})}) << floats({0}, {});
}

void EinsumTest::knownAnswers() {
    QFETCH(OpCase, c);
    QFETCH(Tensor, y);
    QCOMPARE(answerDifference(c, y), QString());
    const QString lowered = compareLowering(c);
    QVERIFY2(lowered.isEmpty(), qPrintable(lowered));
}

void EinsumTest::matchesMatMul() {
    Rng rng(11);
    const Tensor a = randomTensor(rng, DType::f32, {3, 1, 4, 5}), b = randomTensor(rng, DType::f32, {2, 5, 6});
    const auto product = runKernel({"MatMul", 13, {}, {a, b}});
    const auto sum = runKernel(einsum("...mk,...kn->...mn", {a, b}));
    QVERIFY(product.ok() && sum.ok());
    QCOMPARE(difference(sum->front(), product->front()), QString());
}

void EinsumTest::integersWrap() {
    const Tensor bytes = Tensor::of<std::int8_t>({2}, std::vector<std::int8_t>{100, 100});
    const auto result = runKernel(einsum("i->", {bytes}));
    QVERIFY(result.ok());
    QCOMPARE(result->front().type(), DType::i8);
    QCOMPARE(result->front().asInt(0), std::int64_t(-56));
}

void EinsumTest::loweringAgrees_data() {
    QTest::addColumn<OpCase>("c");
    Rng rng(7);
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i32}) {
        const auto random = [&](const Shape& shape) { return randomTensor(rng, type, shape); };
        const std::string name(dtypeName(type));
        const auto row = [&](const std::string& equation, std::vector<Tensor> inputs) {
            QTest::newRow((name + " " + equation).c_str()) << einsum(equation, std::move(inputs));
        };
        row("bhqd,bhkd->bhqk", {random({2, 3, 4, 5}), random({2, 3, 6, 5})});
        row("ij,jk,kl->il", {random({2, 3}), random({3, 4}), random({4, 2})});
        row("...ii,...j->j...", {random({2, 3, 3}), random({1, 4})});
        row("ij->ij", {random({2, 3})});
    }
}

void EinsumTest::loweringAgrees() {
    QFETCH(OpCase, c);
    const QString wrong = compareLowering(c, c.inputs[0].type() == DType::f16 ? 2e-2 : 1e-4);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
}

void EinsumTest::shapes_data() {
    QTest::addColumn<QString>("equation");
    QTest::addColumn<QString>("type");
    QTest::newRow("names stay") << "bij,bjk->bik"
                                << "float32[batch,?,4]";
    QTest::newRow("sum") << "bij,bjk->"
                         << "float32[]";
    QTest::newRow("ellipsis") << "...ij,...jk->...ik"
                              << "float32[batch,?,4]";
}

void EinsumTest::shapes() {
    QFETCH(QString, equation);
    QFETCH(QString, type);
    const std::map<std::string, Attribute> attributes{{"equation", equation.toStdString()}};
    const TensorType a(DType::f32, Dims{Dim::named("batch"), Dim(), 3}), b(DType::f32, Dims{Dim::named("batch"), 3, 4});
    const auto known = runRule("Einsum", 12, attributes, {a, b});
    QVERIFY2(known.ok(), known.ok() ? "" : known.error().message.c_str());
    QCOMPARE(QString::fromStdString(known->front().text()), type);
    const auto open = runRule("Einsum", 12, attributes, {a, DType::f32});
    QVERIFY(open.ok() && !open->front().dims);
}

void EinsumTest::refused_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* name, const OpCase& c, const char* words) { QTest::newRow(name) << c << words; };
    row("no equation", {"Einsum", 12, {}, {kMatrix}}, "has no equation");
    row("digit", einsum("i1->i", {kMatrix}), "'i1' must be letters and at most one ellipsis");
    row("two dots", einsum("i..->i", {kMatrix}), "must be letters");
    row("two ellipses", einsum("...i...->i", {kMatrix}), "must be letters");
    row("two arrows", einsum("i->j->k", {kPair}), "must be letters");
    row("terms", einsum("i,j->ij", {kPair}), "has 2 terms for 1 inputs");
    row("rank", einsum("ijk->i", {kMatrix}), "names 3 dimensions of input 0, which has 2");
    row("rank and ellipsis", einsum("...ijk->i", {kMatrix}), "names 3 dimensions of input 0, which has 2");
    row("extents", einsum("ij,i->j", {kMatrix, floats({3}, {1, 2, 3})}), "extents 2 and 3 of input 1");
    row("diagonal", einsum("ii->i", {kMatrix}), "takes a diagonal of input 0");
    row("unknown output", einsum("ij->ik", {kMatrix}), "'k' in its output but in no input");
    row("output twice", einsum("ij->ii", {kMatrix}), "'i' in its output twice");
    row("lost ellipsis", einsum("...i->i", {kMatrix}), "none in its output");
    row("types", einsum("ij,ij->", {kMatrix, kMatrix.cast(DType::f64)}), "must have the same element type");
    const Tensor many = Tensor::zeros(DType::u8, {20000});
    row("too much work", einsum("a,b,c->", {many, many, many}), "multiplies more than 2^40 times");
    row("bool", einsum("i->i", {kPair.cast(DType::boolean)}), "must be numeric");
}

void EinsumTest::refused() {
    QFETCH(OpCase, c);
    QFETCH(QString, words);
    const auto result = runKernel(c);
    QVERIFY(!result.ok());
    const QString message = QString::fromStdString(result.error().message);
    QVERIFY2(message.startsWith("node 'n' (Einsum): ") && message.contains(words), qPrintable(message));
}

QTEST_GUILESS_MAIN(EinsumTest)
#include "tst_einsum.moc"
