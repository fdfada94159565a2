// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/graph/graph_builder.h"
#include "core/ops/fold_constants.h"
#include "op_case.h"

using namespace tunesmith;

// Operators that draw: what is random is tested by its statistics, what is not exactly.
class RandomOperatorsTest : public QObject {
    Q_OBJECT
private slots:
    void uniform();
    void normal();
    void typesAndShapes();
    void bernoulliDrawsTheGivenShare();
    void multinomialFollowsTheScores();
    void sameSeedSameNumbers();
    void nodesWithoutSeedDiffer();
    void neverFolded();
    void refused_data();
    void refused();
    void dropoutInTraining();
    void dropoutInInference_data();
    void dropoutInInference();
    void dropoutIsCompiledForInferenceOnly();
};

namespace {

const std::int64_t kDouble = 11, kInt64 = 7, kBool = 9, kString = 8;

Attribute seed(float value) { return value; }

struct Moments {
    double mean = 0, variance = 0, least = 1e30, most = -1e30;
    explicit Moments(const Tensor& tensor) {
        for (std::int64_t i = 0; i < tensor.count(); ++i) {
            const double value = tensor.asDouble(i);
            mean += value / static_cast<double>(tensor.count());
            least = std::min(least, value);
            most = std::max(most, value);
        }
        for (std::int64_t i = 0; i < tensor.count(); ++i)
            variance += std::pow(tensor.asDouble(i) - mean, 2) / static_cast<double>(tensor.count());
    }
};

Tensor drawn(const OpCase& c) {
    const auto outputs = runKernel(c);
    if (!outputs.ok())
        qFatal("%s", outputs.error().message.c_str());
    return (*outputs)[0];
}

Tensor filled(const Shape& shape, float value) {
    return floats(shape, std::vector<float>(static_cast<std::size_t>(elementCount(shape)), value));
}

} // namespace

void RandomOperatorsTest::uniform() {
    const Tensor y = drawn({"RandomUniform", 1, {{"shape", Ints{100, 100}}, {"low", -1.0F}, {"high", 3.0F}, {"seed", seed(1)}}});
    QCOMPARE(y.shape(), (Shape{100, 100}));
    const Moments of(y);
    QVERIFY2(of.least >= -1 && of.most < 3, qPrintable(QString::number(of.most)));
    QVERIFY(std::fabs(of.mean - 1) < 0.05 && std::fabs(of.variance - 16.0 / 12) < 0.05);
}

void RandomOperatorsTest::normal() {
    const Tensor y = drawn({"RandomNormal", 1, {{"shape", Ints{10000}}, {"mean", 2.0F}, {"scale", 0.5F}, {"dtype", kDouble}}});
    QCOMPARE(y.type(), DType::f64);
    const Moments of(y);
    QVERIFY(std::fabs(of.mean - 2) < 0.03 && std::fabs(of.variance - 0.25) < 0.02);
}

void RandomOperatorsTest::typesAndShapes() {
    const Tensor half = filled({2, 3}, 0.5F).cast(DType::f16), whole = filled({2, 3}, 1).cast(DType::i32);
    QCOMPARE(drawn({"RandomUniformLike", 1, {}, {half}}).type(), DType::f16);
    QCOMPARE(drawn({"RandomNormalLike", 1, {{"dtype", kDouble}}, {whole}}).type(), DType::f64);
    QCOMPARE(drawn({"Bernoulli", 15, {{"dtype", kBool}}, {half}}).type(), DType::boolean);
    QCOMPARE(drawn({"Bernoulli", 15, {}, {half}}).type(), DType::f16);
    QCOMPARE(drawn({"Multinomial", 7, {{"dtype", kInt64}, {"sample_size", std::int64_t{4}}}, {filled({2, 3}, 0)}}).shape(), (Shape{2, 4}));
    QCOMPARE(drawn({"RandomUniform", 1, {{"shape", Ints{0, 3}}}}).count(), std::int64_t{0});
    const Dim batch = Dim::named("N");
    QCOMPARE((*runRule("RandomNormalLike", 1, {}, {TensorType(DType::f32, Dims{batch, 2})}))[0].text(), std::string("float32[N,2]"));
    QCOMPARE((*runRule("Multinomial", 7, {}, {TensorType(DType::f32, Dims{batch, 9})}))[0].text(), std::string("int32[N,1]"));
}

void RandomOperatorsTest::bernoulliDrawsTheGivenShare() {
    const Tensor y = drawn({"Bernoulli", 15, {}, {filled({10000}, 0.3F)}});
    const Moments of(y);
    QVERIFY(of.least == 0 && of.most == 1 && std::fabs(of.mean - 0.3) < 0.02);
    QCOMPARE(Moments(drawn({"Bernoulli", 15, {}, {filled({100}, 0)}})).most, 0.0);
    QCOMPARE(Moments(drawn({"Bernoulli", 15, {}, {filled({100}, 1)}})).least, 1.0);
}

void RandomOperatorsTest::multinomialFollowsTheScores() {
    // Shares of 1/6, 2/6 and 3/6; the second row has only one class that can be drawn.
    const Tensor scores = floats({2, 3}, {0, 0.6931472F, 1.0986123F, -1e30F, 0, -1e30F});
    const Tensor y = drawn({"Multinomial", 7, {{"sample_size", std::int64_t{6000}}, {"seed", seed(3)}}, {scores}});
    std::vector<int> met(3);
    for (std::int64_t i = 0; i < 6000; ++i) {
        ++met[static_cast<std::size_t>(y.asInt(i))];
        QCOMPARE(y.asInt(6000 + i), std::int64_t{1});
    }
    for (int c = 0; c < 3; ++c)
        QVERIFY2(std::abs(met[static_cast<std::size_t>(c)] - 1000 * (c + 1)) < 150, qPrintable(QString::number(met[static_cast<std::size_t>(c)])));
}

void RandomOperatorsTest::sameSeedSameNumbers() {
    for (const char* op : {"RandomUniform", "RandomNormal"}) {
        const OpCase c{op, 1, {{"shape", Ints{50}}, {"seed", seed(7.5F)}}};
        QCOMPARE(drawn(c).hash(), drawn(c).hash());
        OpCase other = c;
        other.attributes["seed"] = seed(7.25F);
        QVERIFY(drawn(c).hash() != drawn(other).hash());
    }
}

void RandomOperatorsTest::nodesWithoutSeedDiffer() {
    Node first = nodeOf(OpCase{"RandomUniform", 1, {{"shape", Ints{50}}}}), second = first;
    second.name = "another";
    const auto a = evaluateNode(first, 17, {}), again = evaluateNode(first, 17, {}), b = evaluateNode(second, 17, {});
    QVERIFY(a.ok() && again.ok() && b.ok());
    QCOMPARE((*a)[0].hash(), (*again)[0].hash());
    QVERIFY((*a)[0].hash() != (*b)[0].hash());
}

void RandomOperatorsTest::neverFolded() {
    GraphBuilder builder;
    builder.setOpset({}, 17);
    builder.setOutputs({builder.add("RandomUniform", {}, {{"shape", Ints{2}}})});
    const auto folded = foldConstants(*builder.build());
    QVERIFY(folded.ok());
    QCOMPARE(folded->nodeCount(), std::size_t{1});
}

void RandomOperatorsTest::refused_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<QString>("key");
    QTest::addColumn<int>("value");
    QTest::addColumn<QString>("words");
    QTest::newRow("no shape") << "RandomUniform" << "seed" << 0 << "shape is missing";
    QTest::newRow("integers are not uniform") << "RandomUniformLike" << "dtype" << int(kInt64) << "floating-point";
    QTest::newRow("normal strings") << "RandomNormalLike" << "dtype" << int(kString) << "floating-point";
    QTest::newRow("bernoulli strings") << "Bernoulli" << "dtype" << int(kString) << "a number or bool";
    QTest::newRow("bernoulli of no type") << "Bernoulli" << "dtype" << 99 << "a number or bool";
    QTest::newRow("classes are indices") << "Multinomial" << "dtype" << 1 << "int32 or int64";
    QTest::newRow("fewer than none") << "Multinomial" << "sample_size" << -1 << "sample_size";
}

void RandomOperatorsTest::refused() {
    QFETCH(QString, op);
    QFETCH(QString, key);
    QFETCH(int, value);
    QFETCH(QString, words);
    OpCase c{op.toStdString(), 17, {{key.toStdString(), std::int64_t{value}}}};
    if (op != "RandomUniform")
        c.inputs = {filled({2, 2}, 0.5F)};
    const auto outputs = runKernel(c);
    QVERIFY(!outputs.ok());
    QVERIFY2(outputs.error().message.find(words.toStdString()) != std::string::npos, outputs.error().message.c_str());
    QVERIFY(!runKernel({"RandomUniformLike", 1, {}, {filled({2}, 1).cast(DType::i32)}}).ok()); // no type to draw in
    QVERIFY(!runKernel({"Multinomial", 7, {}, {filled({2, 0}, 1)}}).ok());
    QVERIFY(!runKernel({"RandomUniform", 1, {{"shape", Ints{-1}}}}).ok());
    QVERIFY(!runKernel({"RandomUniform", 1, {{"shape", Ints{std::int64_t(1) << 40, std::int64_t(1) << 10}}}}).ok());
}

void RandomOperatorsTest::dropoutInTraining() {
    Rng rng(5);
    for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
        const Tensor x = randomTensor(rng, type, {2000}, 1, 2), ratio = Tensor::scalar(0.25F), training = Tensor::scalar(true);
        const auto outputs = runKernel({"Dropout", 13, {{"seed", std::int64_t{3}}}, {x, ratio, training}, 2});
        QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
        const Tensor &y = (*outputs)[0], &mask = (*outputs)[1];
        QCOMPARE(mask.type(), DType::boolean);
        QVERIFY(Moments(x).least >= 1); // the data themselves stay
        double kept = 0;
        for (std::int64_t i = 0; i < x.count(); ++i) {
            const double expected = mask.asInt(i) ? x.asDouble(i) / 0.75 : 0;
            QVERIFY(std::fabs(y.asDouble(i) - expected) < (type == DType::bf16 ? 0.02 : 1e-6));
            kept += mask.asDouble(i) / 2000;
        }
        QVERIFY2(std::fabs(kept - 0.75) < 0.04, qPrintable(QString::number(kept)));
    }
    const auto halved = runKernel({"Dropout", 12, {}, {filled({1000}, 1), Tensor(), Tensor::scalar(true)}});
    QVERIFY(halved.ok());
    QCOMPARE(Moments((*halved)[0]).most, 2.0); // the ratio is 0.5 where none is given
    for (const float ratio : {-0.1F, 1.0F, std::nanf("")})
        QVERIFY(!runKernel({"Dropout", 12, {}, {filled({2}, 1), Tensor::scalar(ratio), Tensor::scalar(true)}}).ok());
    QVERIFY(!runKernel({"Dropout", 12, {}, {filled({2}, 1), floats({2}, {0.5F, 0.5F}), Tensor::scalar(true)}}).ok());
}

void RandomOperatorsTest::dropoutInInference_data() {
    QTest::addColumn<int>("opset");
    QTest::addColumn<int>("mode"); // -1: none given
    QTest::addColumn<int>("maskType");
    QTest::newRow("opset 7") << 7 << -1 << int(DType::f32);
    QTest::newRow("opset 10") << 10 << -1 << int(DType::boolean);
    QTest::newRow("no mode") << 13 << -1 << int(DType::boolean);
    QTest::newRow("inference mode") << 13 << 0 << int(DType::boolean);
}

void RandomOperatorsTest::dropoutInInference() {
    QFETCH(int, opset);
    QFETCH(int, mode);
    QFETCH(int, maskType);
    OpCase c{"Dropout", opset, {}, {floats({2}, {3, 4})}, 2};
    if (mode >= 0)
        c.inputs.insert(c.inputs.end(), {Tensor::scalar(0.9F), Tensor::scalar(mode != 0)});
    c.constants = {2};
    const auto outputs = runKernel(c);
    QVERIFY(outputs.ok());
    QCOMPARE(difference((*outputs)[0], c.inputs[0]), QString());
    QCOMPARE(difference((*outputs)[1], filled({2}, 1).cast(static_cast<DType>(maskType))), QString());
    QCOMPARE(compareLowering(c), QString());
}

void RandomOperatorsTest::dropoutIsCompiledForInferenceOnly() {
    OpCase c{"Dropout", 13, {}, {floats({2}, {3, 4}), Tensor::scalar(0.5F), Tensor::scalar(true)}, 1, {1, 2}};
    QCOMPARE(lowerCase(c).error().kind, ErrorKind::unsupported);
    c.constants = {};
    QCOMPARE(lowerCase(c).error().kind, ErrorKind::unsupported); // nobody knows yet
    c.constants = {1, 2};
    c.inputs[1] = Tensor::scalar(0.0F); // trains, but drops nothing
    QCOMPARE(compareLowering(c), QString());
}

QTEST_APPLESS_MAIN(RandomOperatorsTest)
#include "tst_random_operators.moc"
