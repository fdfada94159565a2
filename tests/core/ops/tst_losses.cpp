// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <limits>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: answers worked out by hand, lowerings against kernels.
class LossesTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void logProbabilities();
    void crossEntropyIsLikelihoodOfLogSoftmax();
    void ignoredInfinityDoesNotCount();
    void nothingCounts();
    void shapes();
    void refused_data();
    void refused();
    void classesOutOfRange();
    void noClasses();
    void lowerings();
};

namespace {

const char* const kNll = "NegativeLogLikelihoodLoss";
const char* const kCrossEntropy = "SoftmaxCrossEntropyLoss";
const std::int64_t one = 1;

Tensor classes(const Shape& shape, const std::vector<std::int64_t>& values) { return Tensor::of<std::int64_t>(shape, values); }
Attribute text(const char* value) { return std::string(value); }

} // namespace

void LossesTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("op");
    QTest::addColumn<Tensor>("expected");
    const Tensor x = floats({2, 3}, {-1, -2, -3, -4, -5, -6}), target = classes({2}, {2, 0});
    const Tensor weight = floats({3}, {1, 10, 3});
    QTest::newRow("mean by default") << OpCase{kNll, 13, {}, {x, target}} << floats({}, {3.5F});
    QTest::newRow("none") << OpCase{kNll, 13, {{"reduction", text("none")}}, {x, target}} << floats({2}, {3, 4});
    QTest::newRow("sum") << OpCase{kNll, 13, {{"reduction", text("sum")}}, {x, target}} << floats({}, {7});
    QTest::newRow("weighted none") << OpCase{kNll, 13, {{"reduction", text("none")}}, {x, target, weight}} << floats({2}, {9, 4});
    QTest::newRow("weighted mean") << OpCase{kNll, 13, {}, {x, target, weight}} << floats({}, {13.0F / 4});
    QTest::newRow("ignored none") << OpCase{kNll, 13, {{"reduction", text("none")}, {"ignore_index", std::int64_t{0}}}, {x, target}}
                                  << floats({2}, {3, 0});
    QTest::newRow("ignored mean") << OpCase{kNll, 13, {{"ignore_index", std::int64_t{0}}}, {x, target, weight}} << floats({}, {3});
    QTest::newRow("ignored class outside")
        << OpCase{kNll, 13, {{"ignore_index", std::int64_t{-7}}}, {x, classes({2}, {-7, 1})}} << floats({}, {5});
    QTest::newRow("ignored class above")
        << OpCase{kNll, 13, {{"reduction", text("sum")}, {"ignore_index", std::int64_t{9}}}, {x, classes({2}, {9, 1})}} << floats({}, {5});
    QTest::newRow("int32 classes") << OpCase{kNll, 13, {{"reduction", text("sum")}}, {x, target.cast(DType::i32)}} << floats({}, {7});
    QTest::newRow("float16") << OpCase{kNll, 13, {{"reduction", text("sum")}}, {x.cast(DType::f16), target}}
                             << floats({}, {7}).cast(DType::f16);
    QTest::newRow("positions") << OpCase{kNll, 13, {{"reduction", text("none")}},
                                         {floats({1, 2, 3}, {-1, -2, -3, -4, -5, -6}), classes({1, 3}, {0, 1, 0})}}
                               << floats({1, 3}, {1, 5, 3});
    QTest::newRow("no examples") << OpCase{kNll, 13, {{"reduction", text("sum")}}, {floats({0, 3}, {}), classes({0}, {})}} << floats({}, {0});
    QTest::newRow("cross entropy") << OpCase{kCrossEntropy, 13, {}, {floats({1, 2}, {1000, 1000}), classes({1}, {1})}}
                                   << floats({}, {0.6931472F});
    QTest::newRow("cross entropy of huge scores") << OpCase{kCrossEntropy, 13, {}, {floats({1, 2}, {1e20F, 1e20F}), classes({1}, {1})}}
                                   << floats({}, {0.6931472F});
    QTest::newRow("cross entropy of positions")
        << OpCase{kCrossEntropy, 13, {{"reduction", text("none")}}, {floats({1, 2, 2}, {0, 0, 0, 1.0986123F}), classes({1, 2}, {0, 0})}}
        << floats({1, 2}, {0.6931472F, 1.3862944F});
}

void LossesTest::knownAnswers() {
    QFETCH(OpCase, op);
    QFETCH(Tensor, expected);
    QCOMPARE(answerDifference(op, expected), QString());
    QCOMPARE(compareLowering(op), QString());
}

void LossesTest::logProbabilities() {
    const Tensor x = floats({1, 2, 2}, {0, 0, 0, 1.0986123F});
    const OpCase c{kCrossEntropy, 13, {}, {x, classes({1, 2}, {0, 1})}, 2};
    const auto outputs = runKernel(c);
    QVERIFY(outputs.ok());
    const auto expected = runKernel({"LogSoftmax", 13, {{"axis", one}}, {x}});
    QCOMPARE(difference((*outputs)[1], (*expected)[0]), QString());
    QCOMPARE(compareLowering(c), QString());
}

void LossesTest::crossEntropyIsLikelihoodOfLogSoftmax() {
    Rng rng(3);
    const Tensor x = randomTensor(rng, DType::f32, {3, 4, 2}, -5, 5), weight = randomTensor(rng, DType::f32, {4}, 0.1, 2);
    const Tensor target = randomTensor(rng, DType::i64, {3, 2}, 0, 4);
    const Tensor logs = (*runKernel({"LogSoftmax", 13, {{"axis", one}}, {x}}))[0];
    for (const char* reduction : {"none", "sum", "mean"}) {
        const std::map<std::string, Attribute> attributes{{"reduction", text(reduction)}, {"ignore_index", one}};
        const auto direct = runKernel({kCrossEntropy, 13, attributes, {x, target, weight}});
        const auto composed = runKernel({kNll, 13, attributes, {logs, target, weight}});
        QCOMPARE(difference((*direct)[0], (*composed)[0]), QString());
    }
}

void LossesTest::ignoredInfinityDoesNotCount() {
    const float infinite = std::numeric_limits<float>::infinity();
    const OpCase c{kNll, 13, {{"ignore_index", std::int64_t{0}}}, {floats({2, 2}, {-infinite, 1, 1, -2}), classes({2}, {0, 1})}};
    QCOMPARE(difference((*runKernel(c))[0], floats({}, {2})), QString());
    QCOMPARE(compareLowering(c), QString());
}

// The mean over no weight is not a number, as in numpy.
void LossesTest::nothingCounts() {
    const OpCase c{kNll, 13, {{"ignore_index", one}}, {floats({1, 2}, {1, 1}), classes({1}, {1})}};
    QVERIFY(std::isnan((*runKernel(c))[0].asDouble(0)));
    QCOMPARE(compareLowering(c), QString());
}

void LossesTest::shapes() {
    const Dim batch = Dim::named("N");
    const TensorType x(DType::f32, Dims{batch, 5, Dim()}), target(DType::i64, Dims{Dim(), 7});
    const std::map<std::string, Attribute> none{{"reduction", text("none")}};
    QCOMPARE((*runRule(kNll, 13, none, {x, target}))[0].text(), std::string("float32[N,7]"));
    QCOMPARE((*runRule(kNll, 13, {}, {x, target}))[0].text(), std::string("float32[scalar]").substr(0, 7) + "[]");
    QCOMPARE((*runRule(kNll, 13, none, {x, TensorType(DType::i64)}))[0].text(), std::string("float32[...]"));
    const auto two = runRule(kCrossEntropy, 13, none, {x, target}, 2);
    QCOMPARE((*two)[1].text(), std::string("float32[N,5,?]"));
}

void LossesTest::refused_data() {
    QTest::addColumn<QString>("reduction");
    QTest::addColumn<int>("scores");
    QTest::addColumn<int>("target");
    QTest::addColumn<int>("weights");
    QTest::addColumn<QString>("words");
    QTest::newRow("reduction") << "max" << 2 << 1 << 3 << "reduction must be";
    QTest::newRow("rank") << "sum" << 2 << 2 << 3 << "do not fit";
    QTest::newRow("no classes at all") << "sum" << 1 << 0 << 3 << "do not fit";
    QTest::newRow("weights") << "sum" << 2 << 1 << 4 << "one weight per class";
}

void LossesTest::refused() {
    QFETCH(QString, reduction);
    QFETCH(int, scores);
    QFETCH(int, target);
    QFETCH(int, weights);
    QFETCH(QString, words);
    const TensorType x(DType::f32, Dims(static_cast<std::size_t>(scores), Dim(3)));
    const TensorType y(DType::i64, Dims(static_cast<std::size_t>(target), Dim(3))), w(DType::f32, Dims{weights});
    for (const char* op : {kNll, kCrossEntropy}) {
        const auto types = runRule(op, 13, {{"reduction", reduction.toStdString()}}, {x, y, w});
        QVERIFY(!types.ok());
        QVERIFY2(types.error().message.find(words.toStdString()) != std::string::npos, types.error().message.c_str());
    }
    QVERIFY(!runRule(kNll, 13, {}, {TensorType(DType::i32, Dims{2, 2}), TensorType(DType::i64, Dims{2})}).ok());
    QVERIFY(!runRule(kNll, 13, {}, {TensorType(DType::f32, Dims{2, 2}), TensorType(DType::f32, Dims{2})}).ok());
}

void LossesTest::classesOutOfRange() {
    for (const std::int64_t target : {-1, 2}) {
        const auto outputs = runKernel({kNll, 13, {}, {floats({1, 2}, {1, 1}), classes({1}, {target})}});
        QVERIFY(!outputs.ok());
        QVERIFY2(outputs.error().message.find("out of range for 2 classes") != std::string::npos, outputs.error().message.c_str());
    }
}

void LossesTest::noClasses() {
    const OpCase c{kNll, 13, {}, {floats({1, 0}, {}), classes({1}, {0})}};
    QVERIFY(!runKernel(c).ok());
    QCOMPARE(lowerCase(c).error().kind, ErrorKind::unsupported);
}

void LossesTest::lowerings() {
    Rng rng(4);
    for (int round = 0; round < 150; ++round) {
        Shape x{1 + static_cast<std::int64_t>(rng.below(3)), 1 + static_cast<std::int64_t>(rng.below(5))};
        for (std::uint64_t d = rng.below(4); d > 0; --d)
            x.push_back(1 + static_cast<std::int64_t>(rng.below(3)));
        Shape target = x;
        target.erase(target.begin() + 1);
        const DType type = rng.chance(0.2) ? DType::f16 : rng.chance(0.2) ? DType::f64 : DType::f32;
        OpCase c{rng.chance(0.5) ? kNll : kCrossEntropy, 13, {}, {}};
        c.inputs = {randomTensor(rng, type, x), randomTensor(rng, rng.chance(0.5) ? DType::i64 : DType::i32, target, 0,
                                                             static_cast<double>(x[1]))};
        if (rng.chance(0.5))
            c.inputs.push_back(randomTensor(rng, type, {x[1]}, 0.1, 1));
        const auto kind = rng.below(3);
        c.attributes["reduction"] = text(kind == 0 ? "none" : kind == 1 ? "sum" : "mean");
        if (rng.chance(0.5))
            c.attributes["ignore_index"] = static_cast<std::int64_t>(rng.below(6));
        c.outputs = c.op == kCrossEntropy && rng.chance(0.5) ? 2 : 1;
        const QString text = compareLowering(c, type == DType::f16 ? 0.02 : 1e-5);
        QVERIFY2(text.isEmpty(), (describe(c) + ": " + text.toStdString()).c_str());
    }
}

QTEST_APPLESS_MAIN(LossesTest)
#include "tst_losses.moc"
