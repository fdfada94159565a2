// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/module/build.h"
#include "core/ops/interpreter.h"
#include "core/ops/lower_node.h"
#include "core/te/graph.h"
#include "plan_testing.h"
#include "special_cases.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

constexpr std::int64_t kOpset = 20;
const std::vector<DType> kTypes{DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean};

// The nodes of a text tensor expression have tests of their own (tst_tensor_expression, tst_text_workloads).
bool isText(const Operator& op) { return op.domain == te::kDomain; }

// A graph of the one node; an Error where the operator does not take the case.
Result<Graph> graphOf(const Operator& op, const SpecialCase& c) {
    GraphBuilder builder("special");
    builder.setOpset("", c.opset == 0 ? kOpset : c.opset);
    if (!op.domain.empty())
        builder.setOpset(op.domain, 1);
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        const Tensor& input = c.inputs[i];
        const bool known = std::ranges::find(c.constants, i) != c.constants.end();
        inputs.push_back(input.absent() ? ValueId() : known ? builder.addConstant("", input) : builder.addInput("x" + std::to_string(i), TensorType(input.type(), input.shape())));
    }
    Node node;
    node.op = op.name;
    node.domain = op.domain;
    node.inputs = inputs;
    node.attributes = c.attributes;
    for (int i = 0; i < c.outputs; ++i)
        node.outputs.push_back(builder.addValue("y" + std::to_string(i)));
    builder.setOutputs(node.outputs);
    builder.addNode(node);
    TS_ASSIGN(const Graph bare, builder.build());
    TS_TRY(checkComputable(bare, NodeId(0)));
    TS_ASSIGN(Graph graph, inferShapes(bare));
    TS_TRY(checkLowerable(graph, NodeId(0)));
    return graph;
}

std::vector<Tensor> inputsOf(const SpecialCase& c) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
        if (!c.inputs[i].absent() && std::ranges::find(c.constants, i) == c.constants.end())
            inputs.push_back(c.inputs[i]);
    return inputs;
}

std::string textOf(const SpecialCase& c) {
    std::string text;
    for (const auto& [name, value] : c.attributes)
        text += " " + name + "=" + attributeText(value);
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        const bool known = std::ranges::find(c.constants, i) != c.constants.end();
        text += (known ? " constant " : " ") + (c.inputs[i].absent() ? "-" : TensorType(c.inputs[i].type(), c.inputs[i].shape()).text());
        if (!c.inputs[i].absent() && c.inputs[i].count() == 1)
            text += " of " + std::to_string(c.inputs[i].asDouble(0));
    }
    return text;
}

double relativeTolerance(DType type) { return type == DType::bf16 ? 1.6e-2 : type == DType::f16 ? 2e-3 : type == DType::f64 ? 1e-9 : 2e-5; }

// Where NaN, infinities, and integers stand must be the same; numbers may differ by rounding.
std::string difference(const Tensor& actual, const Tensor& expected, bool moves) {
    if (actual.type() != expected.type() || actual.shape() != expected.shape())
        return TensorType(actual.type(), actual.shape()).text() + " instead of " + TensorType(expected.type(), expected.shape()).text();
    const double tolerance = moves ? 0 : relativeTolerance(expected.type());
    for (std::int64_t i = 0; i < expected.count(); ++i) {
        const double a = actual.asDouble(i), e = expected.asDouble(i);
        const bool bothNan = std::isnan(a) && std::isnan(e);
        const bool same = !isFloat(expected.type()) ? actual.asInt(i) == expected.asInt(i)
                          : moves ? a == e && std::signbit(a) == std::signbit(e)
                                  : a == e || std::fabs(a - e) <= tolerance * (0.5 + std::fabs(e));
        if (!same && !bothNan)
            return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " + std::to_string(e);
    }
    return {};
}

// Empty when the compiled kernels agree with the reference engine.
std::string wrongWith(const Operator& op, const SpecialCase& c, const Graph& graph, Isa isa) {
    const std::vector<Tensor> inputs = inputsOf(c);
    const auto expected = Interpreter(graph).run(inputs);
    if (!expected.ok())
        return {}; // refused with a sentence, as the values are
    BuildOptions options;
    options.target.isa = isa;
    const auto prepared = prepareGraph(graph);
    if (!prepared.ok())
        return "not prepared: " + prepared.error().message;
    const auto plan = buildModule(*prepared, options);
    if (!plan.ok())
        return "not built: " + plan.error().message;
    const std::vector<Tensor> actual = runPlan(*plan, inputs);
    for (std::size_t i = 0; i < expected->size(); ++i)
        if (const std::string text = difference(actual[i], (*expected)[i], op.fusion == Fusion::injective && op.name != "Resize" && op.name != "Upsample"); !text.empty())
            return "output " + std::to_string(i) + ": " + text;
    return {};
}

// Floats have forms of their own for each.
std::vector<Isa> isas(DType type) {
    if (!hostSupports(Isa::avx512))
        return {Isa::avx2};
    return isFloat(type) ? std::vector{Isa::avx2, Isa::avx512} : std::vector{Isa::avx512};
}

SpecialCases compiledCases(const Operator& op, DType type) {
    SpecialCases cases;
    for (SpecialCase& each : specialCases(op.name, type))
        if (graphOf(op, each).ok())
            cases.push_back(std::move(each));
    return cases;
}

} // namespace

// Every operator that is compiled, with every element type that it takes, on special values: vectors with a remainder, single elements, empty tensors,
// operands known to the compiler. The arena and the outputs hold NaN before.
class SpecialValuesTest : public QObject {
    Q_OBJECT
private slots:
    void compiledAsReference_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("type");
        for (const Operator* op : allOperators())
            for (const DType type : kTypes)
                if (op->lower && !isText(*op) && !compiledCases(*op, type).empty())
                    QTest::newRow((op->name + " " + std::string(dtypeName(type))).c_str()) << QString::fromStdString((op->domain.empty() ? "" : op->domain + ":") + op->name) << static_cast<int>(type);
    }

    void compiledAsReference() {
        QFETCH(QString, op);
        QFETCH(int, type);
        const QStringList parts = op.split(':');
        const Operator& found = *findOperator(parts.back().toStdString(), parts.size() > 1 ? parts.front().toStdString() : "");
        std::string all;
        for (const SpecialCase& each : compiledCases(found, static_cast<DType>(type)))
            for (const Isa isa : isas(static_cast<DType>(type))) {
                const std::string wrong = wrongWith(found, each, *graphOf(found, each), isa);
                if (!wrong.empty())
                    all += "\n" + std::string(isaName(isa)) + textOf(each) + ": " + wrong;
            }
        QVERIFY2(all.empty(), all.c_str());
    }

    // A new operator with a lowering that the generic cases do not fit needs a row in one of the tables.
    void everyLoweringHasCases() {
        for (const Operator* op : allOperators()) {
            if (!op->lower || isText(*op))
                continue;
            const bool covered = std::ranges::any_of(kTypes, [&](DType type) { return !compiledCases(*op, type).empty(); });
            QVERIFY2(covered, op->name.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(SpecialValuesTest)
#include "tst_special_values.moc"
