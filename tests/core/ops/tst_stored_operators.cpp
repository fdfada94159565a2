// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"
#include "core/graph/stored_types.h"
#include "core/ops/fold_constants.h"

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

using namespace tunesmith;

// Elements of 8 bits of float and of 4 and 2 bits: cast, moved, quantised, dequantised, and not widened by folding.
namespace {

constexpr DType kAll[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1, DType::u4, DType::i4, DType::u2, DType::i2};

QByteArray named(const char* what, DType type) { return QByteArray(what) + " " + QByteArray(dtypeName(type).data(), static_cast<int>(dtypeName(type).size())); }

Tensor drawn(DType type, const Shape& shape) {
    static Rng rng(9);
    Tensor codes = randomTensor(rng, DType::u8, shape, 0, 256);
    return packCodes(type, codes);
}

Tensor scales(const Shape& shape, DType type = DType::f32) {
    static Rng rng(10);
    return randomTensor(rng, type, shape, 0.1, 1);
}

OpCase dequantize(DType type, const Shape& x, const Shape& scale, bool zero, std::map<std::string, Attribute> attributes, DType real = DType::f32) {
    OpCase c{"DequantizeLinear", 25, std::move(attributes), {drawn(type, x), scales(scale, real)}};
    if (zero)
        c.inputs.push_back(widenedType(type) == DType::f32 ? Tensor::zeros(type, scale) : drawn(type, scale));
    c.constants = {0, 1, 2};
    return c;
}

} // namespace

class TestStoredOperators : public QObject {
    Q_OBJECT
private slots:
    // What compiles gives the kernel's numbers: the constant stays packed and is taken apart by a node of its own.
    void dequantizing_data() {
        QTest::addColumn<OpCase>("c");
        const auto blocked = std::map<std::string, Attribute>{{"axis", std::int64_t{0}}, {"block_size", std::int64_t{4}}};
        for (const DType type : kAll) {
            QTest::newRow(named("one scale", type)) << dequantize(type, {3, 7}, {}, false, {});
            QTest::newRow(named("by axis", type)) << dequantize(type, {5, 3}, {3}, true, {{"axis", std::int64_t{1}}});
            QTest::newRow(named("by block", type)) << dequantize(type, {8, 5}, {2, 5}, true, blocked);
            QTest::newRow(named("float16", type)) << dequantize(type, {8, 5}, {2, 5}, true, blocked, DType::f16);
        }
        OpCase stated = dequantize(DType::i4, {4, 4}, {}, true, {{"output_dtype", std::int64_t{10}}});
        QTest::newRow("stated type") << stated;
    }
    void dequantizing() {
        QFETCH(const OpCase, c);
        const bool packed = isPacked(c.inputs[0].type());
        const auto expected = runKernel(c);
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
        if (!packed) {
            const QString text = compareLowering(c, 1e-6);
            QVERIFY2(text.isEmpty(), qPrintable(text));
            return;
        }
        const auto model = graphOf(c);
        QVERIFY(model.ok());
        GraphBuilder builder(*model);
        const auto expanded = expandNodes(*model);
        QVERIFY2(expanded.ok(), expanded.ok() ? "" : expanded.error().message.c_str());
        const auto actual = Interpreter(*expanded).run(std::vector<Tensor>());
        QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
        const QString text = difference(actual->front(), expected->front(), 1e-6);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }

    void unpackingCompiles_data() {
        QTest::addColumn<OpCase>("c");
        for (const DType type : {DType::u4, DType::i4, DType::u2, DType::i2, DType::f4e2m1})
            for (const Shape& shape : {Shape{16}, Shape{3, 5}, Shape{}})
                QTest::addRow("%s of %s", dtypeName(type).data(), shapeText(shape).c_str())
                    << OpCase{.op = "Unpack", .attributes = {{"type", static_cast<std::int64_t>(type)}, {"shape", shape}}, .inputs = {drawn(type, shape).packedBytes()}, .domain = "tunesmith"};
    }
    void unpackingCompiles() {
        QFETCH(const OpCase, c);
        const auto expected = runKernel(c), actual = runLowered(c);
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
        QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
        QCOMPARE(actual->front().hash(), expected->front().hash());
    }

    void moving_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<Tensor>("indices");
        for (const DType type : kAll) {
            const Tensor x = drawn(type, {3, 5});
            QTest::newRow(named("transpose", type)) << OpCase{"Transpose", 25, {}, {x}} << Tensor();
            QTest::newRow(named("reshape", type)) << OpCase{"Reshape", 25, {}, {x, Tensor::ofInts({5, 3})}} << Tensor();
            QTest::newRow(named("gather", type)) << OpCase{"Gather", 25, {}, {x, Tensor::ofInts({2, 0})}} << Tensor();
            QTest::newRow(named("slice", type)) << OpCase{"Slice", 25, {}, {x, Tensor::ofInts({1}), Tensor::ofInts({4}), Tensor::ofInts({1})}} << Tensor();
            QTest::newRow(named("concat", type)) << OpCase{"Concat", 25, {{"axis", std::int64_t{1}}}, {x, x}} << Tensor();
            QTest::newRow(named("squeeze", type)) << OpCase{"Identity", 25, {}, {x}} << Tensor();
        }
    }
    // The same movement of the elements widened.
    void moving() {
        QFETCH(const OpCase, c);
        OpCase wide = c;
        for (Tensor& input : wide.inputs)
            if (isStored(input.type()))
                input = unpackCodes(input);
        const auto actual = runKernel(c), expected = runKernel(wide);
        QVERIFY2(actual.ok() && expected.ok(), actual.ok() ? "" : actual.error().message.c_str());
        QCOMPARE(actual->front().type(), c.inputs[0].type());
        QCOMPARE(unpackCodes(actual->front()).hash(), expected->front().hash());
    }

    void knownAnswers_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<Tensor>("expected");
        const Tensor x = floats({6}, {-9, -2.5F, 0, 2.5F, 3.4F, 100}), one = Tensor::scalar(1.0F);
        const auto quantized = [&](DType type, const Ints& values) {
            QTest::newRow(named("quantize to", type)) << OpCase{"QuantizeLinear", 25, {{"output_dtype", static_cast<std::int64_t>(type)}}, {x, one}} << Tensor::ofInts(values).cast(type);
        };
        quantized(DType::i4, {-8, -2, 0, 2, 3, 7});
        quantized(DType::u4, {0, 0, 0, 2, 3, 15});
        quantized(DType::i2, {-2, -2, 0, 1, 1, 1});
        quantized(DType::u2, {0, 0, 0, 2, 3, 3});
        QTest::newRow("quantize to float8") << OpCase{"QuantizeLinear", 25, {{"output_dtype", std::int64_t{17}}}, {floats({2}, {1000, 1.06F}), one}} << floats({2}, {448, 1}).cast(DType::f8e4m3fn);
        QTest::newRow("precision of float16") << OpCase{"QuantizeLinear", 25, {{"output_dtype", std::int64_t{4}}, {"precision", std::int64_t{10}}}, {floats({1}, {4097}), one}} << Tensor::of<std::uint16_t>({1}, {4096});
        const Tensor half = floats({1}, {3000}).cast(DType::f16), step = Tensor::scalar(1.0009765625F).cast(DType::f16); // 2997.07
        const auto shortOf = [](std::uint16_t value) { return Tensor::of<std::uint16_t>({1}, {value}); };
        QTest::newRow("scale of float16") << OpCase{"QuantizeLinear", 23, {{"output_dtype", std::int64_t{4}}}, {half, step}} << shortOf(2998);
        QTest::newRow("scale of float16 before opset 23") << OpCase{"QuantizeLinear", 21, {{"output_dtype", std::int64_t{4}}}, {half, step}} << shortOf(2997);
        QTest::newRow("scale of float16, precision of float32") << OpCase{"QuantizeLinear", 23, {{"output_dtype", std::int64_t{4}}, {"precision", std::int64_t{1}}}, {half, step}} << shortOf(2997);
        QTest::newRow("scale of float16, float32 input") << OpCase{"QuantizeLinear", 25, {{"output_dtype", std::int64_t{4}}}, {floats({1}, {3001}), step}} << shortOf(2998);
        QTest::newRow("scale of bfloat16") << OpCase{"QuantizeLinear", 25, {{"output_dtype", std::int64_t{4}}}, {floats({1}, {301}), Tensor::scalar(1.0F).cast(DType::bf16)}} << shortOf(300);
        QTest::newRow("cast up") << OpCase{"Cast", 25, {{"to", std::int64_t{24}}}, {floats({2}, {3, 4})}} << floats({2}, {4, 4}).cast(DType::f8e8m0);
        QTest::newRow("cast down") << OpCase{"Cast", 25, {{"to", std::int64_t{24}}, {"round_mode", std::string("down")}}, {floats({1}, {3})}} << floats({1}, {2}).cast(DType::f8e8m0);
        QTest::newRow("cast int4 to text") << OpCase{"Cast", 25, {{"to", std::int64_t{8}}}, {Tensor::ofInts({-3}).cast(DType::i4)}} << Tensor::ofStrings({1}, {"-3"});
        QTest::newRow("bits of a float") << OpCase{"BitCast", 26, {{"to", std::int64_t{6}}}, {floats({1}, {1})}} << Tensor::of<std::int32_t>({1}, {0x3f800000});
        QTest::newRow("bits of an int4") << OpCase{"BitCast", 26, {{"to", std::int64_t{21}}}, {Tensor::ofInts({-1, 2, 3}).cast(DType::i4)}} << Tensor::ofInts({15, 2, 3}).cast(DType::u4);
    }
    void knownAnswers() {
        QFETCH(const OpCase, c);
        QFETCH(const Tensor, expected);
        const auto actual = runKernel(c);
        QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
        QCOMPARE(actual->front().type(), expected.type());
        QCOMPARE(actual->front().hash(), expected.hash());
    }

    void filling_data() {
        QTest::addColumn<OpCase>("c");
        for (const DType type : kAll) {
            const Tensor one = Tensor::scalar(1.0F).cast(type), x = drawn(type, {2, 3});
            QTest::newRow(named("constant of shape", type)) << OpCase{.op = "ConstantOfShape", .opset = 25, .attributes = {{"value", one.reshaped({1})}}, .inputs = {Tensor::ofInts({3, 5})}, .constants = {0}};
            QTest::newRow(named("pad", type)) << OpCase{.op = "Pad", .opset = 25, .inputs = {x, Tensor::ofInts({1, 0, 0, 2}), one}, .constants = {1, 2}};
        }
    }
    // What is filled in is a one, and what is moved is what it was.
    void filling() {
        QFETCH(const OpCase, c);
        const auto actual = runKernel(c);
        QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
        QCOMPARE(actual->front().asDouble(actual->front().count() - 1), 1.0);
        if (c.op == "Pad")
            QVERIFY(std::isnan(c.inputs[0].asDouble(0)) || actual->front().asDouble(5) == c.inputs[0].asDouble(0));
        if (isPacked(actual->front().type()))
            return;
        const auto lowered = runLowered(c);
        QVERIFY2(lowered.ok(), lowered.ok() ? "" : lowered.error().message.c_str());
        QCOMPARE(lowered->front().hash(), actual->front().hash());
    }

    void bitsOfAnotherWidth() {
        const QString text = refusalDifference({"BitCast", 26, {{"to", std::int64_t{11}}}, {floats({1}, {1})}}, "not as wide");
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }

    // Weights stay in the type that the model has them in.
    void foldingWidensNothing() {
        const OpCase c = dequantize(DType::i4, {4096, 1024}, {}, false, {});
        const Graph model = *graphOf(c);
        const auto countOf = [](const Graph& graph) { return graph.nodeCount(); };
        QCOMPARE(countOf(*foldConstants(model)), std::size_t(1));
        FoldOptions tight = FoldOptions::weights();
        tight.widening = std::int64_t(1) << 20;
        QCOMPARE(countOf(*foldConstants(model, tight)), std::size_t(1));
        QCOMPARE(countOf(*foldConstants(model, FoldOptions::weights())), std::size_t(0));
    }

    // Shapes behind a quantised product are no elements of it.
    void shapesBehindQuantisedWeightsAreFolded() {
        GraphBuilder builder;
        builder.setOpset("", 21);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 4}));
        const ValueId w = builder.addConstant("w", drawn(DType::i8, {4, 8})), scale = builder.addConstant("scale", Tensor::scalar(0.5F));
        const ValueId product = builder.add("MatMul", {x, builder.add("DequantizeLinear", {w, scale})});
        const ValueId extents = builder.add("Concat", {builder.add("Shape", {product}), builder.addConstant("one", Tensor::ofInts({1}))}, {{"axis", std::int64_t{0}}});
        builder.setOutputs({builder.add("Reshape", {product, extents})});
        const Graph folded = *foldConstants(*builder.build());
        QCOMPARE(folded.nodeCount(), std::size_t(3)); // DequantizeLinear, MatMul, Reshape
    }

    // However few they are: shape inference knows the values of small tensors, too.
    void quantisedWeightsStay() {
        for (const std::int64_t rows : {2, 4096}) {
            const Graph model = *graphOf(dequantize(DType::i8, {rows, 8}, {}, false, {}));
            for (const FoldOptions& options : {FoldOptions(), FoldOptions::rewriting()})
                QCOMPARE(foldConstants(model, options)->nodeCount(), std::size_t(1));
            QCOMPARE(foldConstants(model, FoldOptions::weights())->nodeCount(), std::size_t(0));
        }
    }

    // Element types that attributes name by their numbers: complex64, those between and behind the known ones, what wraps around to one.
    void unknownTypes_data() {
        QTest::addColumn<OpCase>("c");
        const Tensor x = floats({2, 2}, {1, 2, 3, 4}), one = floats({}, {1}), counts = Tensor::of<std::int32_t>({}, {4});
        const std::tuple<const char*, const char*, std::vector<Tensor>> operators[] = {
            {"EyeLike", "dtype", {x}},          {"Cast", "to", {x}},                          {"BitCast", "to", {x}},
            {"RandomNormal", "dtype", {}},      {"RandomUniformLike", "dtype", {x}},          {"Bernoulli", "dtype", {x}},
            {"Multinomial", "dtype", {x}},      {"QuantizeLinear", "output_dtype", {x, one}}, {"DequantizeLinear", "output_dtype", {x.cast(DType::u8), one}},
            {"SequenceEmpty", "dtype", {}},     {"HannWindow", "output_datatype", {counts}},
        };
        for (const auto& [op, attribute, inputs] : operators)
            for (const std::int64_t number : {std::int64_t{14}, std::int64_t{27}, std::int64_t{255}, std::int64_t{257}, std::int64_t{-1}, (std::int64_t{1} << 40) + 1})
                QTest::addRow("%s %lld", op, static_cast<long long>(number)) << OpCase{op, 26, {{attribute, number}, {"shape", Shape{2}}}, inputs};
        QTest::newRow("EyeLike without") << OpCase{"EyeLike", 26, {{"dtype", std::int64_t{0}}}, {x}};
    }
    void unknownTypes() {
        QFETCH(OpCase, c);
        std::vector<TensorType> types;
        for (const Tensor& input : c.inputs)
            types.emplace_back(input.type(), input.shape());
        const auto inferred = runRule(c.op, c.opset, c.attributes, types);
        QVERIFY(!inferred.ok());
        QVERIFY2(QString::fromStdString(inferred.error().message).contains("type"), inferred.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestStoredOperators)
#include "tst_stored_operators.moc"
