// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "op_case.h"

using namespace tunesmith;

// Lowerings against kernels on random shapes, attributes and types. (Convolutions and pools: tst_conv.)
class ComputeLoweringsTest : public QObject {
    Q_OBJECT
private slots:
    void unary_data();
    void unary();
    void broadcasting();
    void reductions();
    void softmaxes();
    void products();
    void normalizations();
    void scalarConstantsAreBurntIn();
};

namespace {

const std::vector<std::string> kUnary{
    "Abs",  "Acos",    "Acosh", "Asin",  "Asinh",     "Atan",            "Atanh",      "Ceil", "Celu", "Clip",
    "Cos",  "Cosh",    "Elu",   "Erf",   "Exp",       "Floor",           "Gelu",       "HardSigmoid", "HardSwish",
    "IsInf", "IsNaN",  "LeakyRelu", "Log", "Mish",    "Neg",             "Reciprocal", "Relu", "Round", "Selu", "Shrink",
    "Sigmoid", "Sign", "Sin",   "Sinh",  "Softplus",  "Softsign",        "Sqrt",       "Tan",  "Tanh", "ThresholdedRelu"};
const std::vector<std::string> kArithmetic{"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean", "Pow", "PRelu"};
const std::vector<std::string> kComparison{"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
const std::vector<std::string> kBits{"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod"};
const std::vector<std::string> kLogic{"And", "Or", "Xor"};
const std::vector<std::string> kReductions{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                                           "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
const std::vector<std::string> kSoftmaxes{"Softmax", "LogSoftmax", "Hardmax"};

Shape randomShape(Rng& rng, std::size_t rank) {
    Shape shape;
    for (std::size_t d = 0; d < rank; ++d)
        shape.push_back(1 + static_cast<std::int64_t>(rng.below(4)));
    return shape;
}

// A shape that broadcasts with `shape`.
Shape partnerOf(Rng& rng, const Shape& shape) {
    Shape partner(shape.begin() + static_cast<std::ptrdiff_t>(rng.below(shape.size() + 1)), shape.end());
    for (std::int64_t& extent : partner)
        extent = rng.chance(0.3) ? 1 : extent;
    return partner;
}

template <class T> const T& pick(Rng& rng, const std::vector<T>& from) { return from[rng.below(from.size())]; }

#define COMPARE_LOWERING(c, tolerance)                                                                                 \
    do {                                                                                                               \
        const QString text = compareLowering(c, tolerance);                                                            \
        QVERIFY2(text.isEmpty(), (describe(c) + ": " + text.toStdString()).c_str());                                   \
    } while (false)

} // namespace

void ComputeLoweringsTest::unary_data() {
    QTest::addColumn<QString>("name");
    for (const std::string& name : kUnary)
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

void ComputeLoweringsTest::unary() {
    QFETCH(QString, name);
    Rng rng(7);
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        const double tolerance = type == DType::f16 || type == DType::bf16 ? 0.02 : 1e-5;
        const bool fromZero = name == "Log" || name == "Sqrt", fromOne = name == "Acosh";
        const bool unit = name == "Asin" || name == "Acos" || name == "Atanh" || name == "Tan";
        const double low = fromOne ? 1 : fromZero ? 0.1 : unit ? -0.9 : -4, high = unit ? 0.9 : 4;
        OpCase c{name.toStdString(), 20, {}, {randomTensor(rng, type, {3, 5}, low, high)}};
        if (name == "Clip")
            c.inputs.insert(c.inputs.end(), {randomTensor(rng, type, {}, -1, 0), randomTensor(rng, type, {}, 0, 1)});
        COMPARE_LOWERING(c, tolerance);
        c.attributes = {{"alpha", 0.3F}, {"beta", 0.4F}, {"gamma", 1.5F}, {"lambd", 1.2F}, {"bias", 0.6F}, {"approximate", std::string("tanh")}};
        COMPARE_LOWERING(c, tolerance);
    }
}

void ComputeLoweringsTest::broadcasting() {
    Rng rng(8);
    for (int round = 0; round < 400; ++round) {
        const int family = static_cast<int>(rng.below(5));
        const std::string name = family == 0   ? pick(rng, kArithmetic)
                                 : family == 1 ? pick(rng, kComparison)
                                 : family == 2 ? pick(rng, kBits)
                                 : family == 3 ? pick(rng, kLogic)
                                               : "BitShift";
        const DType integer = pick(rng, std::vector<DType>{DType::i32, DType::i64, DType::u8, DType::i8});
        DType type = rng.chance(0.7) ? DType::f32 : integer;
        if (name == "Mean")
            type = DType::f32;
        if (family == 2)
            type = integer;
        if (family == 3)
            type = DType::boolean;
        if (family == 4)
            type = pick(rng, std::vector<DType>{DType::u8, DType::u32, DType::u64});
        const Shape shape = randomShape(rng, rng.below(4));
        const bool positive = name == "Pow" || name == "Div" || name == "Mod" || !isSigned(type);
        OpCase c{name, 18, {}, {}};
        c.inputs.push_back(randomTensor(rng, type, shape, positive ? 1 : -3, 4));
        c.inputs.push_back(randomTensor(rng, type, partnerOf(rng, shape), positive ? 1 : -3, 4));
        if (rng.chance(0.5) && name != "PRelu")
            std::swap(c.inputs[0], c.inputs[1]);
        if (name == "BitShift")
            c.attributes["direction"] = std::string(rng.chance(0.5) ? "LEFT" : "RIGHT");
        if (rng.chance(0.3))
            c.constants.insert(1);
        COMPARE_LOWERING(c, 1e-5);
    }
    const OpCase where{"Where", 16, {}, {randomTensor(rng, DType::boolean, {3, 1}, 0, 2), randomTensor(rng, DType::f32, {4}),
                                         randomTensor(rng, DType::f32, {2, 1, 1})}};
    COMPARE_LOWERING(where, 0);
    for (const char* name : {"Not", "BitwiseNot"}) {
        const DType type = name == std::string("Not") ? DType::boolean : DType::i16;
        const OpCase c{name, 18, {}, {randomTensor(rng, type, {7}, 0, 2)}};
        COMPARE_LOWERING(c, 0);
    }
}

void ComputeLoweringsTest::reductions() {
    Rng rng(9);
    for (int round = 0; round < 300; ++round) {
        const bool arg = rng.chance(0.2);
        const std::string name = arg ? (rng.chance(0.5) ? "ArgMax" : "ArgMin") : pick(rng, kReductions);
        const Shape shape = randomShape(rng, 1 + rng.below(4));
        const auto rank = static_cast<std::int64_t>(shape.size());
        OpCase c{name, 18, {{"keepdims", static_cast<std::int64_t>(rng.below(2))}}, {}};
        const bool integers = rng.chance(0.2) && (arg || name == "ReduceSum" || name == "ReduceMax" || name == "ReduceMin");
        const bool positive = name == "ReduceLogSum";
        c.inputs = {randomTensor(rng, integers ? DType::i32 : DType::f32, shape, positive ? 0.1 : -2, 2)};
        if (arg) {
            c.inputs[0] = c.inputs[0].cast(DType::i32).cast(c.inputs[0].type()); // so that there are ties
            c.attributes["axis"] = static_cast<std::int64_t>(rng.below(shape.size())) - (rng.chance(0.5) ? rank : 0);
            c.attributes["select_last_index"] = static_cast<std::int64_t>(rng.below(2));
        } else {
            Ints axes;
            for (std::int64_t d = 0; d < rank; ++d)
                if (rng.chance(0.5))
                    axes.push_back(rng.chance(0.5) ? d : d - rank);
            c.attributes["noop_with_empty_axes"] = static_cast<std::int64_t>(rng.below(2));
            if (rng.chance(0.5)) {
                c.inputs.push_back(Tensor::ofInts(axes));
                c.constants = {1};
            } else if (!axes.empty())
                c.attributes["axes"] = axes;
        }
        COMPARE_LOWERING(c, 1e-4);
    }
}

void ComputeLoweringsTest::softmaxes() {
    Rng rng(10);
    for (int round = 0; round < 100; ++round) {
        const Shape shape = randomShape(rng, 1 + rng.below(4));
        OpCase c{pick(rng, kSoftmaxes), rng.chance(0.5) ? 11 : 13, {}, {randomTensor(rng, DType::f32, shape, -5, 5)}};
        c.attributes["axis"] = static_cast<std::int64_t>(rng.below(shape.size()));
        COMPARE_LOWERING(c, 1e-5);
    }
}

void ComputeLoweringsTest::products() {
    Rng rng(11);
    for (int round = 0; round < 120; ++round) {
        const Shape mkn = randomShape(rng, 3);
        const DType type = rng.chance(0.2) ? DType::i32 : rng.chance(0.2) ? DType::f16 : DType::f32;
        OpCase c{"MatMul", 13, {}, {}};
        if (rng.chance(0.5)) {
            const Shape batch = randomShape(rng, rng.below(3));
            Shape a = rng.chance(0.5) ? batch : partnerOf(rng, batch), b = rng.chance(0.5) ? batch : partnerOf(rng, batch);
            const bool rowVector = a.empty() && rng.chance(0.5), columnVector = b.empty() && rng.chance(0.5);
            if (!rowVector)
                a.push_back(mkn[0]);
            a.push_back(mkn[1]);
            b.push_back(mkn[1]);
            if (!columnVector)
                b.push_back(mkn[2]);
            c.inputs = {randomTensor(rng, type, a), randomTensor(rng, type, b)};
        } else {
            const bool transA = rng.chance(0.5), transB = rng.chance(0.5);
            c.op = "Gemm";
            c.attributes = {{"transA", std::int64_t{transA}}, {"transB", std::int64_t{transB}}};
            if (isFloat(type) && rng.chance(0.5))
                c.attributes.insert({{"alpha", 0.5F}, {"beta", 2.0F}});
            c.inputs = {randomTensor(rng, type, transA ? Shape{mkn[1], mkn[0]} : Shape{mkn[0], mkn[1]}),
                        randomTensor(rng, type, transB ? Shape{mkn[2], mkn[1]} : Shape{mkn[1], mkn[2]})};
            if (rng.chance(0.7))
                c.inputs.push_back(randomTensor(rng, type, partnerOf(rng, {mkn[0], mkn[2]})));
        }
        COMPARE_LOWERING(c, type == DType::f16 ? 0.01 : 1e-5);
    }
}

void ComputeLoweringsTest::normalizations() {
    Rng rng(12);
    for (int round = 0; round < 40; ++round) {
        const Shape shape = randomShape(rng, 4);
        const DType type = rng.chance(0.3) ? DType::f64 : DType::f32;
        const Tensor x = randomTensor(rng, type, shape), scale = randomTensor(rng, type, {shape[1]});
        const Tensor bias = randomTensor(rng, type, {shape[1]});
        COMPARE_LOWERING((OpCase{"BatchNormalization", 15, {}, {x, scale, bias, bias, randomTensor(rng, type, {shape[1]}, 0.1, 2)}}), 1e-4);
        COMPARE_LOWERING((OpCase{"InstanceNormalization", 6, {{"epsilon", 0.1F}}, {x, scale, bias}}), 1e-4);
        const auto axis = static_cast<std::int64_t>(rng.below(4));
        const Shape tail(shape.begin() + axis, shape.end());
        COMPARE_LOWERING((OpCase{"LayerNormalization", 17, {{"epsilon", 0.1F}, {"axis", axis}},
                                 {x, randomTensor(rng, type, tail), rng.chance(0.5) ? randomTensor(rng, type, tail) : Tensor()}, 3}), 1e-4);
        COMPARE_LOWERING((OpCase{"LRN", 13, {{"size", static_cast<std::int64_t>(1 + rng.below(4))}, {"alpha", 0.5F}}, {x}}), 1e-4);
        COMPARE_LOWERING((OpCase{"LpNormalization", 1, {{"p", static_cast<std::int64_t>(1 + rng.below(2))}, {"axis", axis}}, {x}}), 1e-4);
    }
    const OpCase mvn{"MeanVarianceNormalization", 13, {}, {randomTensor(rng, DType::f64, {2, 3, 2, 2})}};
    COMPARE_LOWERING(mvn, 1e-6);
    COMPARE_LOWERING((OpCase{"MeanVarianceNormalization", 8, {}, mvn.inputs}), 1e-6);
    for (const char* name : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
        for (const DType type : {DType::f32, DType::f16}) {
            const OpCase c{name, 13, {}, {randomTensor(rng, type, {2, 3, 2, 4})}};
            COMPARE_LOWERING(c, type == DType::f16 ? 0.01 : 1e-5);
        }
}

void ComputeLoweringsTest::scalarConstantsAreBurntIn() {
    const Tensor x = floats({2}, {1, 2});
    OpCase c{"Pow", 13, {}, {x, floats({}, {2})}, 1, {1}};
    QCOMPARE(loops::toText(lowerCase(c)->stages[0].body), std::string("(x0[i0]*x0[i0])"));
    c.constants.clear();
    QCOMPARE(loops::toText(lowerCase(c)->stages[0].body), std::string("pow(x0[i0], x1[])"));
}

QTEST_APPLESS_MAIN(ComputeLoweringsTest)
#include "tst_compute_lowerings.moc"
