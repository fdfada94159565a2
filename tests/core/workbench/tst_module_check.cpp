// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/workbench/module_check.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

Tensor filled(const Shape& shape, float first, float step) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& element : tensor.mutableData<float>())
        element = first = first > 0.9F ? first - 1.7F + step : first + step;
    return tensor;
}

// x -> op -> product with a matrix -> what comes after it -> y.
struct Net {
    GraphBuilder builder{"net"};
    ValueId value;

    explicit Net(const std::string& op) {
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{8, 16}));
        const ValueId small = builder.add("Mul", {x, constant(0.1F)});
        value = builder.add("MatMul", {builder.add(op, {small}), builder.addConstant("w", filled({16, 16}, -0.7F, 0.37F))});
    }
    ValueId constant(float number) { return builder.addConstant("", Tensor::scalar(number)); }

    // z = 3.9 z (1 - z), so often that a rounding error becomes as large as the values.
    Net& chaotic() {
        value = builder.add("Sigmoid", {value});
        for (int i = 0; i < 60; ++i)
            value = builder.add("Mul", {builder.add("Mul", {constant(3.9F), value}), builder.add("Sub", {constant(1), value})});
        value = builder.add("MatMul", {value, builder.addConstant("last", filled({16, 4}, 0.1F, 0.3F))});
        return *this;
    }
    // Hardly anything of it is left beside a one.
    Net& damped() {
        value = builder.add("Add", {builder.add("Mul", {value, constant(1e-6F)}), constant(1)});
        value = builder.add("MatMul", {value, builder.addConstant("last", filled({16, 4}, 0.1F, 0.3F))});
        return *this;
    }
    Graph graph() {
        builder.setOutputs({value});
        return take(builder.build());
    }
};

Graph netOf(const QString& end, const std::string& op = "Tanh") {
    Net net(op);
    return end == "chaotic" ? net.chaotic().graph() : end == "damped" ? net.damped().graph() : net.graph();
}

} // namespace

class TestModuleCheck : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    Model modelOf(const Graph& graph) const {
        const std::string file = folder_.filePath("net.onnx").toStdString();
        take(exportOnnx(graph, file));
        return take(openModel(file));
    }

    static PlannedModel plannedOf(const Model& model) { return take(planModel(model, {{}, 1, 1, true})); }

    // Checks what a plan is made to.
    Result<ModuleCheck> checked(const Model& model, const PlannedModel& planned, double accepted = 0) const {
        const std::filesystem::path folder = folder_.filePath("module").toStdString();
        take(exportPlanned(planned, folder, {.probes = true}));
        CompileRequest request;
        request.acceptDifference = accepted;
        return checkModule(model, planned, folder, request);
    }

    // Sin instead of Tanh, of numbers up to 0.1: wrong by two thousandths.
    PlannedModel withWrongKernel(const Model& model, const QString& end) const {
        PlannedModel planned = plannedOf(model);
        const PlannedModel other = plannedOf(modelOf(netOf(end, "Sin")));
        for (std::size_t step = 0; step < planned.plan.steps.size(); ++step) {
            PlanStep& right = planned.plan.steps[step];
            const PlanStep& wrong = other.plan.steps[step];
            if (right.workload == wrong.workload)
                continue;
            planned.plan.kernels[right.kernel] = other.plan.kernels[wrong.kernel];
        }
        return planned;
    }

private slots:
    void rightKernelsPass_data() {
        QTest::addColumn<QString>("end");
        QTest::addColumn<QString>("says");
        QTest::newRow("plain") << "" << "outputs agree with the reference engine; largest error";
        QTest::newRow("damped") << "damped" << "outputs agree with the reference engine; largest error";
        QTest::newRow("chaotic") << "chaotic" << "as the model amplifies rounding: moving its inputs and weights by";
    }
    void rightKernelsPass() {
        QFETCH(QString, end);
        QFETCH(QString, says);
        const Model model = modelOf(netOf(end));
        const PlannedModel planned = plannedOf(model);
        const ModuleCheck check = take(checked(model, planned));
        QVERIFY(check.passed);
        QVERIFY2(QString::fromStdString(check.text).contains(says), check.text.c_str());
        QCOMPARE(check.kernels, planned.plan.steps.size());
        QVERIFY(check.kernelError < 1e-5);
        QCOMPARE(check.draws, end == "chaotic" ? 3 : 1);
        QCOMPARE(check.nudged > 0.01, end == "chaotic");
        QVERIFY(toJson(check).at("passed").get<bool>());
        QCOMPARE(toJson(check).at("steps").at("judged").get<std::size_t>(), check.kernels);
    }

    void wrongKernelsAreCaught_data() {
        QTest::addColumn<QString>("end");
        QTest::newRow("as the outputs show") << "";
        QTest::newRow("where later layers hide it") << "damped";
        QTest::newRow("where amplification hides it") << "chaotic";
    }
    void wrongKernelsAreCaught() {
        QFETCH(QString, end);
        const Model model = modelOf(netOf(end));
        const auto check = checked(model, withWrongKernel(model, end));
        QVERIFY(!check.ok());
        const QString text = QString::fromStdString(check.error().message);
        QVERIFY2(text.contains("differs from the reference on the same inputs") && text.contains("of 'Mul_0 + Tanh_0'") && text.contains("is not written"), qPrintable(text));
        QVERIFY2(text.contains("--accept-difference"), qPrintable(text));
    }

    void usersMayAcceptMore() {
        const Model model = modelOf(netOf(""));
        const PlannedModel wrong = withWrongKernel(model, "");
        QVERIFY(!checked(model, wrong, 1e-6).ok());
        const ModuleCheck check = take(checked(model, wrong, 0.1));
        QVERIFY(!check.passed);
        QCOMPARE(check.accepted, 0.1);
        QVERIFY(!toJson(check).at("passed").get<bool>());
    }

    // Steps that are right alone and tread on each other's memory.
    void stepsMustFitTogether_data() {
        QTest::addColumn<QString>("end");
        QTest::newRow("plain") << "";
        QTest::newRow("chaotic") << "chaotic";
    }
    void stepsMustFitTogether() {
        QFETCH(QString, end);
        const Model model = modelOf(netOf(end));
        PlannedModel planned = plannedOf(model);
        std::size_t last = planned.plan.buffers.size();
        for (const std::size_t argument : planned.plan.steps.back().arguments)
            if (planned.plan.buffers[argument].place == PlanBuffer::Place::arena)
                last = argument;
        QVERIFY(last < planned.plan.buffers.size());
        PlanBuffer copy = planned.plan.buffers[last];
        copy.offset = planned.plan.arenaBytes;
        planned.plan.arenaBytes += (copy.bytes + 63) / 64 * 64;
        planned.plan.buffers.push_back(copy); // the step before writes to another place than the last one reads
        for (std::size_t& argument : planned.plan.steps.back().arguments)
            if (argument == last)
                argument = planned.plan.buffers.size() - 1;
        const auto check = checked(model, planned);
        QVERIFY(!check.ok());
        const QString text = QString::fromStdString(check.error().message);
        QVERIFY2(text.contains("' in memory as it was left there, while each of its") && text.contains("steps agrees with the reference engine alone"), qPrintable(text));
    }
};

QTEST_GUILESS_MAIN(TestModuleCheck)
#include "tst_module_check.moc"
