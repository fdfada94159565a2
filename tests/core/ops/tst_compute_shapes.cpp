// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "op_case.h"

using namespace tunesmith;

namespace {
struct Rule {
    std::string op;
    std::map<std::string, Attribute> attributes = {};
    std::vector<TensorType> types = {};
    std::int64_t opset = 17;
};
} // namespace
Q_DECLARE_METATYPE(Rule)

// Shape rules of the compute operators: what passes through, what stays unknown, and what is refused with which words.
class ComputeShapesTest : public QObject {
    Q_OBJECT
private slots:
    void accepted_data();
    void accepted();
    void refused_data();
    void refused();
    void inputsAndOutputsAreCounted();
};

namespace {

const DType f = DType::f32;
const Dim batch = Dim::named("N");

TensorType t(const Dims& dims, DType type = f) { return TensorType(type, dims); }
TensorType noRank(DType type = f) { return TensorType(type); }

} // namespace

void ComputeShapesTest::accepted_data() {
    QTest::addColumn<Rule>("rule");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const Rule& rule, const char* expected) {
        QTest::newRow(name) << rule << QString(expected);
    };
    const TensorType weights = t({8, 3, 3, 3});
    row("relu keeps names", {"Relu", {}, {t({batch, Dim(), 4})}}, "float32[N,?,4]");
    row("relu without rank", {"Relu", {}, {noRank()}}, "float32[...]");
    row("add broadcasts", {"Add", {}, {t({batch, 1, 4}), t({5, 1})}}, "float32[N,5,4]");
    row("add same name", {"Add", {}, {t({batch}), t({batch})}}, "float32[N]");
    row("add two names", {"Add", {}, {t({batch}), t({Dim::named("M")})}}, "float32[?]");
    row("add name and 1", {"Add", {}, {t({batch}), t({1})}}, "float32[N]");
    row("add name and 7", {"Add", {}, {t({batch}), t({7})}}, "float32[7]");
    row("add empty and 1", {"Add", {}, {t({0}), t({1})}}, "float32[0]");
    row("add rank unknown", {"Add", {}, {t({2}), noRank()}}, "float32[...]");
    row("less is bool", {"Less", {}, {t({2}, DType::i64), t({2}, DType::i64)}}, "bool[2]");
    row("pow mixed", {"Pow", {}, {t({2}), t({}, DType::i64)}}, "float32[2]");
    row("where", {"Where", {}, {t({2, 1}, DType::boolean), t({3}), t({})}}, "float32[2,3]");
    row("conv", {"Conv", {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}, {t({batch, 3, 224, 225}), weights}},
        "float32[N,8,112,113]");
    row("conv keeps names", {"Conv", {{"pads", Ints{1, 1, 1, 1}}}, {t({1, 3, Dim::named("H"), 7}), weights}},
        "float32[1,8,H,7]");
    row("conv loses names", {"Conv", {}, {t({1, 3, Dim::named("H"), 7}), weights}}, "float32[1,8,?,5]");
    row("conv same", {"Conv", {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}},
                      {t({1, 3, 7, 8}), weights}}, "float32[1,8,4,4]");
    row("conv weights unknown", {"Conv", {}, {t({1, 3, 7, 8}), t({8, 3, Dim(), Dim()})}}, "float32[1,8,?,?]");
    row("conv kernel from attribute", {"Conv", {{"kernel_shape", Ints{3, 3}}}, {t({1, 3, 7, 8}), t({8, 3, Dim(), Dim()})}},
        "float32[1,8,5,6]");
    row("conv transpose", {"ConvTranspose", {{"strides", Ints{2, 2}}}, {t({batch, 8, 4, 4}), t({8, 2, 3, 3})}},
        "float32[N,2,9,9]");
    row("conv transpose shape", {"ConvTranspose", {{"strides", Ints{2, 2}}, {"output_shape", Ints{8, 8}}},
                                 {t({1, 8, 4, 4}), t({8, 2, 3, 3})}}, "float32[1,2,8,8]");
    row("max pool ceil", {"MaxPool", {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", std::int64_t{1}}},
                          {t({1, 2, 112, 7})}}, "float32[1,2,56,3]");
    row("ceil ignores a window behind the input",
        {"MaxPool", {{"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"ceil_mode", std::int64_t{1}}}, {t({1, 2, 4})}},
        "float32[1,2,2]");
    row("det", {"Det", {}, {t({batch, 3, 3})}}, "float32[N]");
    row("max unpool", {"MaxUnpool", {{"kernel_shape", Ints{2}}, {"strides", Ints{3}}}, {t({batch, 2, 5}), t({batch, 2, 5}, DType::i64)}},
        "float32[N,2,14]");
    row("max unpool unknown", {"MaxUnpool", {{"kernel_shape", Ints{2}}}, {t({batch, 2, Dim()}), t({batch, 2, Dim()}, DType::i64)}},
        "float32[N,2,?]");
    row("global pool", {"GlobalAveragePool", {}, {t({batch, 5, Dim(), 3})}}, "float32[N,5,1,1]");
    row("gemm", {"Gemm", {{"transB", std::int64_t{1}}}, {t({batch, 4}), t({10, 4}), t({10})}}, "float32[N,10]");
    row("matmul batched", {"MatMul", {}, {t({batch, 1, 4, 5}), t({3, 5, 6})}}, "float32[N,3,4,6]");
    row("matmul vector", {"MatMul", {}, {t({5}), t({3, 5, 6})}}, "float32[3,6]");
    row("matmul dot", {"MatMul", {}, {t({5}), t({5})}}, "float32[]");
    row("reduce keeps", {"ReduceMean", {{"axes", Ints{-1}}}, {t({batch, 4, 5})}}, "float32[N,4,1]");
    row("reduce drops", {"ReduceMean", {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}}, {t({batch, 4, 5})}}, "float32[N,5]");
    row("reduce all", {"ReduceSum", {}, {t({batch, 4})}}, "float32[1,1]");
    row("reduce nothing", {"ReduceSum", {{"noop_with_empty_axes", std::int64_t{1}}}, {t({batch, 4})}}, "float32[N,4]");
    row("reduce unknown axes", {"ReduceSum", {}, {t({batch, 4}), t({1}, DType::i64)}}, "float32[?,?]");
    row("argmax", {"ArgMax", {{"axis", std::int64_t{1}}}, {t({batch, 4})}}, "int64[N,1]");
    row("softmax", {"Softmax", {}, {t({batch, 4})}}, "float32[N,4]");
    row("batch norm", {"BatchNormalization", {}, {t({batch, 3, 4}), t({3}), t({3}), t({3}), t({3})}}, "float32[N,3,4]");
    row("layer norm", {"LayerNormalization", {}, {t({batch, 3, 4}), t({4})}}, "float32[N,3,4]");
}

void ComputeShapesTest::accepted() {
    QFETCH(Rule, rule);
    QFETCH(QString, expected);
    const auto types = runRule(rule.op, rule.opset, rule.attributes, rule.types);
    QVERIFY2(types.ok(), types.ok() ? "" : types.error().message.c_str());
    QCOMPARE(QString::fromStdString((*types)[0].text()), expected);
}

void ComputeShapesTest::refused_data() {
    QTest::addColumn<Rule>("rule");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const Rule& rule, const char* expected) {
        QTest::newRow(name) << rule << QString(expected);
    };
    const TensorType x = t({1, 3, 7, 7}), w = t({8, 3, 3, 3});
    row("add", {"Add", {}, {t({2, 3}), t({2, 4})}}, "inputs float32[2,3] and float32[2,4] cannot be broadcast together");
    row("add types", {"Add", {}, {t({2}), t({2}, DType::i64)}}, "must have the same element type");
    row("add bool", {"Add", {}, {t({2}, DType::boolean), t({2}, DType::boolean)}}, "input 0 is bool but must be numeric");
    row("third of sum", {"Sum", {}, {t({2}), t({2}), t({3})}}, "input float32[3] cannot be broadcast to float32[2]");
    row("exp of integers", {"Exp", {}, {t({2}, DType::i32)}}, "must be a floating-point type");
    row("and of floats", {"And", {}, {t({2}), t({2})}}, "must be bool");
    row("mod of floats", {"Mod", {}, {t({2}), t({2})}}, "needs fmod = 1");
    row("shift", {"BitShift", {{"direction", std::string("UP")}}, {t({2}, DType::u8), t({2}, DType::u8)}}, "LEFT or RIGHT");
    row("where condition", {"Where", {}, {t({2}), t({2}), t({2})}}, "input 0 is float32 but must be bool");
    row("prelu slope", {"PRelu", {}, {t({2, 3}), t({2})}}, "the slope must broadcast to the input");
    row("clip limit", {"Clip", {}, {t({2, 3}), t({2})}}, "a limit must be a scalar");
    row("conv channels", {"Conv", {}, {x, t({8, 4, 3, 3})}}, "1 groups need 4 input channels");
    row("conv rank", {"Conv", {}, {x, t({8, 3, 3})}}, "inputs float32[1,3,7,7] and float32[8,3,3] do not fit");
    row("conv group 0", {"Conv", {{"group", std::int64_t{0}}}, {x, w}}, "group must be at least 1, not 0");
    row("conv group odd", {"Conv", {{"group", std::int64_t{3}}}, {x, t({8, 1, 3, 3})}}, "cannot be split into 3 groups");
    row("conv bias", {"Conv", {}, {x, w, t({7})}}, "the bias must have one value per output channel");
    row("conv too large a window", {"Conv", {}, {t({1, 3, 2, 7}), w}}, "does not fit into an extent of 2");
    row("conv stride 0", {"Conv", {{"strides", Ints{0, 1}}}, {x, w}}, "strides [0, 1] has a value out of range");
    row("conv stride count", {"Conv", {{"strides", Ints{1}}}, {x, w}}, "strides has 1 values but 2 are needed");
    row("conv huge pads", {"Conv", {{"pads", Ints{INT64_MAX, 0, 0, 0}}}, {x, w}}, "has a value out of range");
    row("conv huge dilation", {"Conv", {{"dilations", Ints{INT64_MAX, 1}}}, {x, w}}, "has a value out of range");
    row("conv auto_pad", {"Conv", {{"auto_pad", std::string("SOME")}}, {x, w}}, "auto_pad must be");
    row("conv kernel_shape", {"Conv", {{"kernel_shape", Ints{5, 5}}}, {x, w}}, "kernel_shape [5, 5] does not fit the weights");
    row("conv integers", {"Conv", {}, {t({1, 3, 7, 7}, DType::i32), w}}, "must be a floating-point type");
    row("conv huge group", {"Conv", {{"group", INT64_MAX}}, {x, t({Dim(), 3, 3, 3})}}, "do not fit");
    row("transpose channels", {"ConvTranspose", {}, {x, t({4, 2, 3, 3})}}, "the weights must have the input's channels first");
    row("transpose nothing left", {"ConvTranspose", {{"pads", Ints{9, 9, 9, 9}}}, {x, t({3, 2, 3, 3})}}, "output extent of -9");
    row("transpose output_shape", {"ConvTranspose", {{"output_shape", Ints{1}}}, {x, t({3, 2, 3, 3})}}, "needs 2 values");
    row("pool without kernel", {"MaxPool", {}, {x}}, "kernel_shape [] needs 2 values");
    row("pool pads", {"AveragePool", {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}}, {x}}, "pads must be smaller");
    row("pool of a matrix", {"MaxPool", {{"kernel_shape", Ints{}}}, {t({2, 3})}}, "no spatial dimensions");
    row("gemm inner", {"Gemm", {}, {t({2, 3}), t({4, 5})}}, "the inner dimensions differ");
    row("gemm rank", {"Gemm", {}, {t({2, 3, 1}), t({4, 5})}}, "is not a matrix");
    row("gemm bias", {"Gemm", {}, {t({2, 3}), t({3, 5}), t({4})}}, "does not broadcast to the product float32[2,5]");
    row("matmul inner", {"MatMul", {}, {t({2, 3}), t({4, 5})}}, "inputs float32[2,3] and float32[4,5] do not fit");
    row("matmul batch", {"MatMul", {}, {t({2, 2, 3}), t({3, 3, 5})}}, "cannot be broadcast");
    row("matmul scalar", {"MatMul", {}, {t({}), t({4, 5})}}, "a scalar cannot be multiplied");
    row("reduce axis", {"ReduceSum", {{"axes", Ints{2}}}, {t({2, 3})}, 11}, "axis 2 is out of range for rank 2");
    row("reduce axis twice", {"ReduceMax", {{"axes", Ints{1, -1}}}, {t({2, 3})}}, "name an axis twice");
    row("argmax of nothing", {"ArgMax", {}, {t({0, 3})}}, "has no elements along axis 0");
    row("softmax axis", {"Softmax", {{"axis", std::int64_t{2}}}, {t({2, 3})}}, "axis 2 is out of range");
    row("softmax of a scalar", {"Softmax", {}, {t({})}}, "axis -1 is out of range for rank 0");
    row("batch norm", {"BatchNormalization", {}, {t({2, 3}), t({3}), t({3}), t({3}), t({4})}}, "one value per channel");
    row("batch norm per position", {"BatchNormalization", {{"spatial", std::int64_t{0}}},
                                    {t({2, 3}), t({3}), t({3}), t({3}), t({3})}, 7}, "spatial = 0");
    row("det", {"Det", {}, {t({2, 3})}}, "no square matrices");
    row("det of a vector", {"Det", {}, {t({3})}}, "no square matrices");
    row("layer norm scale", {"LayerNormalization", {}, {t({2, 3}), t({2})}}, "must broadcast to the input");
    row("lrn size", {"LRN", {}, {x}}, "needs the attribute size");
    row("lp norm p", {"LpNormalization", {{"p", std::int64_t{3}}}, {x}}, "p must be 1 or 2");
}

void ComputeShapesTest::refused() {
    QFETCH(Rule, rule);
    QFETCH(QString, expected);
    const auto types = runRule(rule.op, rule.opset, rule.attributes, rule.types);
    QVERIFY(!types.ok());
    const QString message = QString::fromStdString(types.error().message);
    QVERIFY2(message.startsWith(QString("node 'n' (%1): ").arg(rule.op.c_str())), qPrintable(message));
    QVERIFY2(message.contains(expected), qPrintable(message));
}

void ComputeShapesTest::inputsAndOutputsAreCounted() {
    for (const char* name : {"Relu", "Add", "Sum", "Equal", "Conv", "MaxPool", "Gemm", "MatMul", "ReduceSum", "Softmax"}) {
        const Node bare = nodeOf(name, {}, {}, 0);
        InferContext context(bare, 17, {}, {});
        QVERIFY2(!findOperator(name)->infer(context).ok(), name);
    }
    QVERIFY(!runRule("Relu", 17, {}, {t({2}), t({2})}).ok());
    QVERIFY(!runRule("Relu", 17, {}, {t({2})}, 2).ok());
    const Node withoutWeights = nodeOf("Conv", {}, {true, false});
    QVERIFY(!runRule(withoutWeights, 17, {t({1, 3, 7, 7}), TensorType()}, {Tensor(), Tensor()}).ok());
}

QTEST_APPLESS_MAIN(ComputeShapesTest)
#include "tst_compute_shapes.moc"
