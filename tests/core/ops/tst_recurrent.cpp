// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <limits>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)

// LSTM, GRU and RNN: steps worked out by hand with identity functions, the ways through the sequences, what is refused.
class RecurrentTest : public QObject {
    Q_OBJECT
private slots:
    void oneStep_data();
    void oneStep();
    void functions_data();
    void functions();
    void directions();
    void shortSequences();
    void batchFirstIsATransposition();
    void outputsAreOptional();
    void emptySequences();
    void halfPrecision();
    void notANumberStays();
    void symbolicDimensions();
    void refused_data();
    void refused();
};

namespace {

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;
using Attributes = std::map<std::string, Attribute>;

constexpr std::int64_t kOne = 1;
const Tensor kNone;

Strings identities(std::size_t count) {
    return Strings(count, "Affine");
}
Tensor lengths(const std::vector<std::int32_t>& values) {
    return Tensor::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}

// An RNN that reads digits: h = 10 h + x.
OpCase digits(const Shape& shape, const Floats& x, Attributes attributes = {}) {
    const std::int64_t directions =
        attributes.contains("direction") && std::get<std::string>(attributes["direction"]) == "bidirectional" ? 2 : 1;
    attributes["activations"] = identities(static_cast<std::size_t>(directions));
    const Floats ones(static_cast<std::size_t>(directions), 1.0F), tens(static_cast<std::size_t>(directions), 10.0F);
    return {"RNN",
            14,
            attributes,
            {floats(shape, x), floats({directions, 1, 1}, ones), floats({directions, 1, 1}, tens)},
            2};
}

// One step of x = 1 from h = 2 (and c = 3) with one hidden unit.
OpCase lstm(Attributes attributes, const Tensor& bias = kNone, const Tensor& peepholes = kNone) {
    attributes.try_emplace("activations", identities(3));
    return {"LSTM",
            14,
            attributes,
            {floats({1, 1, 1}, {1}), floats({1, 4, 1}, {1, 2, 3, 4}), floats({1, 4, 1}, {0.1F, 0.2F, 0.3F, 0.4F}), bias,
             kNone, floats({1, 1, 1}, {2}), floats({1, 1, 1}, {3}), peepholes},
            3};
}

OpCase gru(Attributes attributes) {
    attributes.try_emplace("activations", identities(2));
    return {"GRU",
            14,
            attributes,
            {floats({1, 1, 1}, {1}), floats({1, 3, 1}, {1, 2, 3}), floats({1, 3, 1}, {0.1F, 0.2F, 0.3F}),
             floats({1, 6}, {0, 0, 0, 0.01F, 0.02F, 0.03F}), kNone, floats({1, 1, 1}, {2})},
            2};
}

QString lastStateIs(const OpCase& c, double h) {
    const auto result = runKernel(c);
    if (!result.ok())
        return QString::fromStdString(result.error().message);
    const double got = (*result)[1].asDouble(0);
    return std::fabs(got - h) < 1e-5 * (1 + std::fabs(h)) ? QString()
                                                          : QStringLiteral("%1 instead of %2").arg(got).arg(h);
}

} // namespace

void RecurrentTest::oneStep_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<double>("h");
    // i = 1.2, o = 2.4, f = 3.6, candidate 4.8
    QTest::newRow("lstm") << lstm({}) << 2.4 * 16.56;
    QTest::newRow("lstm peepholes") << lstm({}, kNone, floats({1, 3}, {0.1F, 0.2F, 0.3F})) << 6.54 * 20.7;
    QTest::newRow("lstm input_forget") << lstm({{"input_forget", kOne}}) << 2.4 * 5.16;
    QTest::newRow("lstm clip") << lstm({{"clip", 2.0F}}) << 2.0 * 8.4;
    QTest::newRow("lstm bias") << lstm({}, floats({1, 8}, {1, 0, 0, 0, 1, 0, 0, 0})) << 2.4 * (10.8 + 3.2 * 4.8);
    // z = 1.21, r = 2.42
    QTest::newRow("gru") << gru({}) << -0.21 * 4.482 + 2.42;
    QTest::newRow("gru linear_before_reset") << gru({{"linear_before_reset", kOne}}) << -0.21 * 4.5246 + 2.42;
    QTest::newRow("gru clip") << gru({{"clip", 1.0F}}) << 2.0;
}

void RecurrentTest::oneStep() {
    QFETCH(OpCase, c);
    QFETCH(double, h);
    const QString wrong = lastStateIs(c, h);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
}

void RecurrentTest::functions_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("x");
    QTest::addColumn<QList<double>>("numbers"); // alpha, beta
    QTest::addColumn<double>("y");
    const QList<double> none;
    QTest::newRow("default") << "" << 0.5 << none << std::tanh(0.5);
    QTest::newRow("any case") << "SIGMOID" << 1.0 << none << 1 / (1 + std::exp(-1.0));
    QTest::newRow("relu") << "Relu" << -1.0 << none << 0.0;
    QTest::newRow("softsign") << "Softsign" << -1.0 << none << -0.5;
    QTest::newRow("softplus large") << "Softplus" << 1000.0 << none << 1000.0;
    QTest::newRow("affine") << "Affine" << 3.0 << QList<double>{2, 1} << 7.0;
    QTest::newRow("affine default") << "Affine" << 3.0 << none << 3.0;
    QTest::newRow("leaky default") << "LeakyRelu" << -1.0 << none << -0.01;
    QTest::newRow("leaky") << "LeakyRelu" << -1.0 << QList<double>{0.5, 0} << -0.5;
    QTest::newRow("thresholded default") << "ThresholdedRelu" << 1.0 << none << 0.0;
    QTest::newRow("scaled tanh") << "ScaledTanh" << 1.0 << QList<double>{2, 0.5} << 2 * std::tanh(0.5);
    QTest::newRow("hard sigmoid default") << "HardSigmoid" << 1.0 << none << 0.7;
    QTest::newRow("elu") << "Elu" << -1.0 << QList<double>{2, 0} << 2 * std::expm1(-1.0);
}

void RecurrentTest::functions() {
    QFETCH(QString, name);
    QFETCH(double, x);
    QFETCH(QList<double>, numbers);
    QFETCH(double, y);
    OpCase c{
        "RNN", 14, {}, {floats({1, 1, 1}, {static_cast<float>(x)}), floats({1, 1, 1}, {1}), floats({1, 1, 1}, {0})}, 2};
    if (!name.isEmpty())
        c.attributes["activations"] = Strings{name.toStdString()};
    if (!numbers.isEmpty()) {
        c.attributes["activation_alpha"] = Floats{static_cast<float>(numbers[0])};
        c.attributes["activation_beta"] = Floats{static_cast<float>(numbers[1])};
    }
    const QString wrong = lastStateIs(c, y);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
}

void RecurrentTest::directions() {
    const auto forward = runKernel(digits({3, 1, 1}, {1, 2, 3}));
    QVERIFY(forward.ok());
    QCOMPARE(difference((*forward)[0], floats({3, 1, 1, 1}, {1, 12, 123})), QString());
    QCOMPARE(difference((*forward)[1], floats({1, 1, 1}, {123})), QString());
    const auto reverse = runKernel(digits({3, 1, 1}, {1, 2, 3}, {{"direction", std::string("reverse")}}));
    QVERIFY(reverse.ok());
    QCOMPARE(difference((*reverse)[0], floats({3, 1, 1, 1}, {321, 32, 3})), QString());
    QCOMPARE(difference((*reverse)[1], floats({1, 1, 1}, {321})), QString());
    const auto both = runKernel(digits({3, 1, 1}, {1, 2, 3}, {{"direction", std::string("bidirectional")}}));
    QVERIFY(both.ok());
    QCOMPARE(difference((*both)[0], floats({3, 2, 1, 1}, {1, 321, 12, 32, 123, 3})), QString());
    QCOMPARE(difference((*both)[1], floats({2, 1, 1}, {123, 321})), QString());
}

void RecurrentTest::shortSequences() {
    OpCase c = digits({3, 3, 1}, {1, 4, 7, 2, 5, 8, 3, 6, 9}, {{"direction", std::string("bidirectional")}});
    c.inputs.insert(c.inputs.end(), {kNone, lengths({2, 0, 3}), floats({2, 3, 1}, {0, 5, 0, 0, 5, 0})});
    const auto result = runKernel(c);
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    QCOMPARE(
        difference((*result)[0], floats({3, 2, 3, 1}, {1, 0, 7, 21, 0, 987, 12, 0, 78, 2, 0, 98, 0, 0, 789, 0, 0, 9})),
        QString());
    QCOMPARE(difference((*result)[1], floats({2, 3, 1}, {12, 0, 789, 21, 0, 987})), QString());
}

void RecurrentTest::batchFirstIsATransposition() {
    Rng rng(3);
    OpCase c{"LSTM", 14, {{"direction", std::string("bidirectional")}}, {}, 3};
    c.inputs = {randomTensor(rng, DType::f32, {4, 3, 5}),
                randomTensor(rng, DType::f32, {2, 8, 5}),
                randomTensor(rng, DType::f32, {2, 8, 2}),
                randomTensor(rng, DType::f32, {2, 16}),
                lengths({4, 1, 3}),
                randomTensor(rng, DType::f32, {2, 3, 2}),
                randomTensor(rng, DType::f32, {2, 3, 2})};
    const auto plain = runKernel(c);
    QVERIFY(plain.ok());
    const auto swapped = [](const Tensor& tensor, const Ints& order) {
        return runKernel({"Transpose", 13, {{"perm", order}}, {tensor}})->front();
    };
    c.attributes["layout"] = kOne;
    for (const std::size_t i : {0U, 5U, 6U})
        c.inputs[i] = swapped(c.inputs[i], {1, 0, 2});
    const auto batchFirst = runKernel(c);
    QVERIFY2(batchFirst.ok(), batchFirst.ok() ? "" : batchFirst.error().message.c_str());
    QCOMPARE(difference((*batchFirst)[0], swapped((*plain)[0], {2, 0, 1, 3})), QString());
    QCOMPARE(difference((*batchFirst)[1], swapped((*plain)[1], {1, 0, 2})), QString());
    QCOMPARE(difference((*batchFirst)[2], swapped((*plain)[2], {1, 0, 2})), QString());
}

void RecurrentTest::outputsAreOptional() {
    OpCase c = lstm({});
    const auto all = runKernel(c);
    QVERIFY(all.ok());
    QCOMPARE(all->at(2).asDouble(0), 16.56F);
    for (std::size_t wanted = 0; wanted < 3; ++wanted) {
        Node node = nodeOf(c);
        for (std::size_t i = 0; i < 3; ++i)
            node.outputs[i] = i == wanted ? ValueId(100) : ValueId();
        const auto one = evaluateNode(node, c.opset, c.inputs);
        QVERIFY(one.ok());
        for (std::size_t i = 0; i < 3; ++i)
            QCOMPARE((*one)[i].absent(), i != wanted);
        QCOMPARE(difference((*one)[wanted], (*all)[wanted]), QString());
    }
}

void RecurrentTest::emptySequences() {
    const auto noTime = runKernel(digits({0, 2, 1}, {}));
    QVERIFY2(noTime.ok(), noTime.ok() ? "" : noTime.error().message.c_str());
    QCOMPARE((*noTime)[0].shape(), (Shape{0, 1, 2, 1}));
    QCOMPARE(difference((*noTime)[1], floats({1, 2, 1}, {0, 0})), QString());
    const auto noBatch = runKernel(digits({3, 0, 1}, {}));
    QVERIFY(noBatch.ok());
    QCOMPARE((*noBatch)[1].shape(), (Shape{1, 0, 1}));
    const OpCase noInput{"RNN", 14, {}, {floats({2, 1, 0}, {}), floats({1, 1, 0}, {}), floats({1, 1, 1}, {1})}, 2};
    const auto zero = runKernel(noInput);
    QVERIFY(zero.ok());
    QCOMPARE(difference((*zero)[0], floats({2, 1, 1, 1}, {0, 0})), QString());
}

void RecurrentTest::halfPrecision() {
    OpCase c = lstm({{"clip", 0.5F}});
    const auto single = runKernel(c);
    for (Tensor& input : c.inputs)
        input = input.absent() ? input : input.cast(DType::f16);
    const auto half = runKernel(c);
    QVERIFY(single.ok() && half.ok());
    QCOMPARE((*half)[0].type(), DType::f16);
    QCOMPARE(difference((*half)[0].cast(DType::f32), (*single)[0], 1e-3), QString());
    for (Tensor& input : c.inputs)
        input = input.absent() ? input : input.cast(DType::f64);
    QCOMPARE((*runKernel(c))[0].type(), DType::f64);
}

void RecurrentTest::notANumberStays() {
    const auto result = runKernel(digits({1, 1, 1}, {std::numeric_limits<float>::quiet_NaN()}, {{"clip", 1.0F}}));
    QVERIFY(result.ok());
    QVERIFY(std::isnan((*result)[1].asDouble(0)));
}

void RecurrentTest::symbolicDimensions() {
    const auto f = [](Dims dims) { return TensorType(DType::f32, std::move(dims)); };
    const std::vector<TensorType> types{f({Dim::named("time"), Dim(), 5}), f({1, 12, 5}), f({1, 12, 4})};
    const auto known = runRule("GRU", 14, {}, types, 2);
    QVERIFY(known.ok());
    QCOMPARE((*known)[0].text(), std::string("float32[time,1,?,4]"));
    QCOMPARE((*known)[1].text(), std::string("float32[1,?,4]"));
    const auto open = runRule("GRU", 14, {}, {f({Dim(), 3, 5}), DType::f32, DType::f32}, 2);
    QVERIFY(open.ok());
    QCOMPARE((*open)[0].text(), std::string("float32[?,1,3,?]"));
    const auto stated = runRule("GRU", 14, {{"hidden_size", std::int64_t{7}}, {"layout", kOne}},
                                {f({Dim(), 3, 5}), DType::f32, DType::f32}, 2);
    QCOMPARE((*stated)[0].text(), std::string("float32[?,3,1,7]"));
}

void RecurrentTest::refused_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* name, OpCase c, const char* words) {
        QTest::newRow(name) << std::move(c) << words;
    };
    const OpCase good = digits({3, 2, 1}, {1, 2, 3, 4, 5, 6});
    const auto with = [&](const char* key, const Attribute& value) {
        OpCase c = good;
        c.attributes[key] = value;
        return c;
    };
    const auto input = [&](std::size_t index, const Tensor& value) {
        OpCase c = good;
        c.inputs.resize(std::max(c.inputs.size(), index + 1));
        c.inputs[index] = value;
        return c;
    };
    row("direction", with("direction", std::string("backward")), "direction must be forward, reverse or bidirectional");
    row("layout", with("layout", std::int64_t{2}), "layout must be 0 or 1");
    row("clip", with("clip", 0.0F), "clip must be above 0");
    row("hidden_size", with("hidden_size", std::int64_t{2}), "must be [1,2,1]");
    row("hidden_size negative", with("hidden_size", std::int64_t{-2}), "hidden_size cannot be -2");
    row("hidden_size huge", with("hidden_size", std::numeric_limits<std::int64_t>::max()), "hidden_size cannot be");
    row("function", with("activations", Strings{"Gelu"}), "'Gelu', which is no activation");
    row("too many functions", with("activations", Strings{"Tanh", "Tanh"}), "names 2 functions where 1 are needed");
    row("function without numbers", with("activations", Strings{"ScaledTanh"}), "needs a value in activation_alpha");
    row("rank of x", input(0, floats({3, 2}, {1, 2, 3, 4, 5, 6})), "must be");
    row("input size", input(1, floats({1, 1, 2}, {1, 1})), "must be [1,1,1]");
    row("directions", input(2, floats({2, 1, 1}, {1, 1})), "must be [1,1,1]");
    row("bias", input(3, floats({1, 1}, {1})), "must be [1,2]");
    row("length", input(4, lengths({3, 4})), "a sequence has the length 4 of 3");
    row("negative length", input(4, lengths({-1, 3})), "a sequence has the length -1 of 3");
    row("lengths", input(4, lengths({3})), "must be [2]");
    row("type of lengths", input(4, Tensor::ofInts({3, 3})), "must be int32");
    row("initial state", input(5, floats({1, 1, 1}, {1})), "must be [1,2,1]");
    row("types", input(2, floats({1, 1, 1}, {1}).cast(DType::f64)), "must have the same element type");
    row("integers", input(0, Tensor::ofInts({1}).reshaped({1, 1, 1})), "floating-point");
    row("input of LSTM", input(6, floats({1, 1, 1}, {1})), "takes at most 6 inputs");
    OpCase missing = good;
    missing.inputs.pop_back();
    row("no recurrence", missing, "input 2 is missing");
    row("peepholes", lstm({}, kNone, floats({1, 4}, {1, 1, 1, 1})), "must be [1,3]");
}

void RecurrentTest::refused() {
    QFETCH(OpCase, c);
    QFETCH(QString, words);
    QCOMPARE(refusalDifference(c, words), QString());
}

QTEST_GUILESS_MAIN(RecurrentTest)
#include "tst_recurrent.moc"
