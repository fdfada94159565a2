// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <limits>

#include "rewritten_model.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

ValueId norm(Model& model, ValueId x, std::int64_t channels, float epsilon, const Attributes& more = {}, int outputs = 1) {
    Attributes attributes{{"epsilon", epsilon}};
    attributes.insert(more.begin(), more.end());
    const ValueId scale = model.weight({channels}), bias = model.weight({channels}), mean = model.weight({channels});
    return model.add("BatchNormalization", {x, scale, bias, mean, model.weight({channels}, 0.0005, 0.002)}, attributes, outputs);
}

ValueId conv(Model& model, std::int64_t group = 1) {
    return model.add("Conv", {model.input({2, 4, 5, 6}), model.weight({4, 4 / group, 3, 3})}, {{"group", group}, {"pads", Ints{1, 1, 1, 1}}});
}

} // namespace

#define COMPARE_APPLIED(result)               \
    QCOMPARE((result).found, std::size_t(1)); \
    QCOMPARE((result).problem, std::string())

class WrittenFolding : public QObject {
    Q_OBJECT

private slots:
    // The variances are as small as the epsilons, so another epsilon would show.
    void batchNormKeepsItsEpsilon_data() {
        QTest::addColumn<float>("epsilon");
        QTest::addColumn<int>("group");
        QTest::newRow("1e-5") << 1e-5F << 1;
        QTest::newRow("1e-3") << 1e-3F << 1;
        QTest::newRow("1e-3, groups") << 1e-3F << 2;
        QTest::newRow("0.1, depthwise") << 0.1F << 4;
    }
    void batchNormKeepsItsEpsilon() {
        QFETCH(float, epsilon);
        QFETCH(int, group);
        Model model;
        const ValueId x = conv(model, group);
        const Rewritten result = rewritten(model.build({norm(model, x, 4, epsilon)}), "fold-batch-norm");
        COMPARE_APPLIED(result);
        QCOMPARE(result.graph->nodeCount(), std::size_t(1));
    }

    void batchNormFoldsIntoConvTransposeOfGroups() {
        Model model;
        const ValueId x = model.add("ConvTranspose", {model.input({1, 4, 5, 5}), model.weight({4, 3, 3, 3}), model.weight({6})},
                                    {{"group", std::int64_t(2)}, {"strides", Ints{2, 2}}});
        const Rewritten result = rewritten(model.build({norm(model, x, 6, 1e-3F)}), "fold-batch-norm");
        COMPARE_APPLIED(result);
        QCOMPARE(result.graph->nodeCount(), std::size_t(1));
    }

    // 16 bits outside, 32 inside: the folded weights are rounded once.
    void batchNormFoldsInHalfPrecision() {
        Model model;
        const auto half = [&](const Shape& shape, std::uint64_t seed, double low) { return model.graph.addConstant("", someNumbers(shape, seed, low, 2).cast(DType::f16)); };
        const ValueId x = model.graph.addInput("x", TensorType(DType::f16, Shape{1, 2, 4, 4}));
        const ValueId y = model.add("Conv", {x, half({3, 2, 3, 3}, 1, -2)});
        const ValueId z = model.add("BatchNormalization", {y, half({3}, 2, -2), half({3}, 3, -2), model.weight({3}), model.weight({3}, 1, 2)}, {{"epsilon", 1e-3F}});
        const Rewritten result = rewritten(model.build({z}), "fold-batch-norm", {1e-2, 1e-2});
        COMPARE_APPLIED(result);
        QCOMPARE(result.graph->nodeCount(), std::size_t(1));
    }

    void batchNormIsLeftAlone_data() {
        QTest::addColumn<QString>("why");
        for (const char* why : {"conv is a result", "conv is read twice", "training", "statistics are read", "statistics of an old opset are read",
                                "statistics are inputs", "weights are an input"})
            QTest::newRow(why) << why;
    }
    void batchNormIsLeftAlone() {
        QFETCH(QString, why);
        Model model(why.contains("old opset") ? 9 : 17);
        const ValueId data = model.input({2, 4, 5, 5});
        const ValueId x = model.add("Conv", {data, why.startsWith("weights") ? model.input({4, 4, 1, 1}) : model.weight({4, 4, 1, 1})});
        std::vector<ValueId> outputs;
        const bool trains = why == "training" || why == "statistics are read", reads = why.endsWith("are read");
        if (why == "statistics are inputs")
            outputs = {model.add("BatchNormalization", {x, model.input({4}), model.weight({4}), model.weight({4}), model.weight({4}, 1, 2)})};
        else
            outputs = {norm(model, x, 4, 1e-3F, trains ? Attributes{{"training_mode", std::int64_t(1)}} : Attributes(), !reads ? 1 : trains ? 3 : 5)};
        if (reads)
            outputs.push_back(ValueId(static_cast<std::int64_t>(outputs[0].index()) + 1));
        if (why == "conv is a result")
            outputs.push_back(x);
        if (why == "conv is read twice")
            outputs.push_back(model.add("Relu", {x}));
        const Graph graph = model.build(outputs);
        QCOMPARE(rewritten(graph, "fold-batch-norm").found, std::size_t(0));
        const Rewritten spelled = rewritten(graph, "batch-norm-as-arithmetic"); // which is possible where the conv is in somebody else's way
        QCOMPARE(spelled.found, std::size_t(why.startsWith("conv") || why.startsWith("weights") ? 1 : 0));
        QCOMPARE(spelled.problem, std::string());
    }

    void biasIsForChannels_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<int>("found");
        QTest::newRow("1 4 1 1") << QList<int>{1, 4, 1, 1} << 1;
        QTest::newRow("4 1 1") << QList<int>{4, 1, 1} << 1;
        QTest::newRow("one number") << QList<int>{} << 1;
        QTest::newRow("columns") << QList<int>{6} << 0;
        QTest::newRow("batch") << QList<int>{2, 1, 1, 1} << 0;
        QTest::newRow("full tensor") << QList<int>{2, 4, 5, 6} << 0;
        QTest::newRow("one rank more") << QList<int>{1, 1, 4, 1, 1} << 0;
    }
    void biasIsForChannels() {
        QFETCH(QList<int>, shape);
        QFETCH(int, found);
        for (const auto& [op, rule] : {std::pair("Add", "put-bias-in"), std::pair("Mul", "scale-conv-weights")}) {
            Model model;
            const ValueId x = conv(model, 2);
            const Rewritten result = rewritten(model.build({model.add(op, {model.weight(Shape(shape.begin(), shape.end())), x})}), rule);
            QCOMPARE(result.found, std::size_t(found));
            QCOMPARE(result.problem, std::string());
            if (found)
                QCOMPARE(result.graph->nodeCount(), std::size_t(1));
        }
    }
    void biasIsForChannelsOfTheSameExtent() { // also those that look like columns
        Model model;
        const ValueId x = model.add("Conv", {model.input({1, 3, 4, 4}), model.weight({4, 3, 1, 1})});
        QCOMPARE(rewritten(model.build({model.add("Add", {x, model.weight({4})})}), "put-bias-in").found, std::size_t(0));
    }

    void whatIsNotConstantIsNoWeight() {
        for (const auto& [op, rule] : {std::pair("Add", "put-bias-in"), std::pair("Mul", "scale-conv-weights")}) {
            Model model;
            const ValueId x = conv(model);
            QCOMPARE(rewritten(model.build({model.add(op, {x, model.input({4, 1, 1})})}), rule).found, std::size_t(0));
        }
        Model product;
        const ValueId x = product.add("MatMul", {product.input({3, 4}), product.weight({4, 5})});
        QCOMPARE(rewritten(product.build({product.add("Mul", {x, product.input({5})})}), "scale-matmul-weights").found, std::size_t(0));
    }

    void aResultThatIsReadTwiceIsNotScaled() {
        Model model;
        const ValueId x = conv(model), scaled = model.add("Mul", {x, model.weight({4, 1, 1})});
        QCOMPARE(rewritten(model.build({scaled, x}), "scale-conv-weights").found, std::size_t(0));
    }

    void columnsOfProductsAreScaled_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<int>("found");
        QTest::newRow("columns") << QList<int>{5} << 1;
        QTest::newRow("columns, in rows") << QList<int>{1, 1, 5} << 1;
        QTest::newRow("number") << QList<int>{1} << 1;
        QTest::newRow("rows") << QList<int>{3, 1} << 0;
        QTest::newRow("full") << QList<int>{3, 5} << 0;
    }
    void columnsOfProductsAreScaled() {
        QFETCH(QList<int>, shape);
        QFETCH(int, found);
        Model model;
        const ValueId x = model.add("MatMul", {model.input({2, 3, 4}), model.weight({4, 5})});
        const Rewritten result = rewritten(model.build({model.add("Div", {x, model.weight(Shape(shape.begin(), shape.end()), 1, 2)})}), "scale-matmul-weights");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
    }

    void gemmKeepsAlphaAndBeta_data() {
        QTest::addColumn<float>("alpha");
        QTest::addColumn<float>("beta");
        QTest::addColumn<int>("transA");
        QTest::addColumn<int>("found");
        QTest::newRow("plain") << 1.0F << 1.0F << 0 << 1;
        QTest::newRow("alpha") << 0.5F << 1.0F << 0 << 1;
        QTest::newRow("beta") << 1.0F << 0.25F << 0 << 1;
        QTest::newRow("no summand") << 3.0F << 0.0F << 0 << 1;
        QTest::newRow("transposed activation") << 1.0F << 1.0F << 1 << 0;
    }
    void gemmKeepsAlphaAndBeta() {
        QFETCH(float, alpha);
        QFETCH(float, beta);
        QFETCH(int, transA);
        QFETCH(int, found);
        Model model;
        const ValueId x = model.input(transA ? Shape{4, 3} : Shape{3, 4});
        const ValueId y = model.add("Gemm", {x, model.weight({5, 4}), model.weight({5})},
                                    {{"alpha", alpha}, {"beta", beta}, {"transA", std::int64_t(transA)}, {"transB", std::int64_t(1)}});
        const Rewritten result = rewritten(model.build({y}), "gemm-to-matmul");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
        if (found) {
            QCOMPARE(result.count("MatMul"), 1);
            QCOMPARE(result.graph->nodeCount(), std::size_t(beta == 0 ? 1 : 2));
        }
    }
    void gemmOfActivationsWithAlphaStays() {
        Model model;
        const ValueId y = model.add("Gemm", {model.input({3, 4}), model.input({4, 5})}, {{"alpha", 0.5F}});
        QCOMPARE(rewritten(model.build({y}), "gemm-of-activations-to-matmul").found, std::size_t(0));
    }

    // Asymmetric, dilated, of one position: pads are added to, never recomputed.
    void padsBecomeTheConvs_data() {
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("kernel");
        QTest::addColumn<int>("dilation");
        for (const int opset : {9, 12, 18}) {
            QTest::addRow("opset %d", opset) << opset << 3 << 1;
            QTest::addRow("opset %d, dilated", opset) << opset << 2 << 2;
            QTest::addRow("opset %d, 1x1", opset) << opset << 1 << 1;
        }
    }
    void padsBecomeTheConvs() {
        QFETCH(int, opset);
        QFETCH(int, kernel);
        QFETCH(int, dilation);
        Model model(opset);
        const ValueId x = model.input({1, 2, 5, 6});
        const Ints pads{0, 0, 1, 0, 0, 0, 2, 3};
        const ValueId padded = opset < 11    ? model.add("Pad", {x}, {{"pads", pads}})
                               : opset == 18 ? model.add("Pad", {x, model.ints({1, 0, 2, 3}), model.number(0), model.ints({2, -1})})
                                             : model.add("Pad", {x, model.ints(pads)});
        const ValueId y = model.add("Conv", {padded, model.weight({3, 2, kernel, kernel})},
                                    {{"pads", Ints{0, 1, 1, 0}}, {"dilations", Ints{dilation, dilation}}, {"strides", Ints{2, 1}}});
        const Rewritten result = rewritten(model.build({y, model.add("Relu", {padded})}), "pad-conv");
        COMPARE_APPLIED(result);
        QCOMPARE(result.node("Conv").intsAttr("pads"), (Ints{1, 1, 3, 3}));
        QCOMPARE(result.count("Pad"), 1); // somebody else reads it
    }

    void otherPadsStay_data() {
        QTest::addColumn<QString>("mode");
        QTest::addColumn<float>("value");
        QTest::addColumn<QList<int>>("pads");
        QTest::newRow("reflected") << "reflect" << 0.0F << QList<int>{0, 0, 1, 1, 0, 0, 1, 1};
        QTest::newRow("ones") << "constant" << 1.0F << QList<int>{0, 0, 1, 1, 0, 0, 1, 1};
        QTest::newRow("channels") << "constant" << 0.0F << QList<int>{0, 1, 1, 1, 0, 1, 1, 1};
        QTest::newRow("cut") << "constant" << 0.0F << QList<int>{0, 0, -1, 1, 0, 0, 1, 1};
    }
    void otherPadsStay() {
        QFETCH(QString, mode);
        QFETCH(float, value);
        QFETCH(QList<int>, pads);
        Model model;
        const ValueId padded = model.add("Pad", {model.input({1, 2, 5, 5}), model.ints(Ints(pads.begin(), pads.end())), model.number(value)}, {{"mode", mode.toStdString()}});
        const std::int64_t channels = pads[1] == 0 ? 2 : 4;
        QCOMPARE(rewritten(model.build({model.add("Conv", {padded, model.weight({3, channels, 3, 3})})}), "pad-conv").found, std::size_t(0));
    }

    // Zeros count in an average only where the pool says so; and they are no part of a maximum.
    void padsOfPools_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<float>("value");
        QTest::addColumn<QList<int>>("own");
        QTest::addColumn<int>("counts");
        QTest::addColumn<int>("ceil");
        QTest::addColumn<int>("found");
        const float infinity = std::numeric_limits<float>::infinity();
        QTest::newRow("average, no pads") << "AveragePool" << 0.0F << QList<int>{0, 0, 0, 0} << 0 << 0 << 1;
        QTest::newRow("average, counted pads") << "AveragePool" << 0.0F << QList<int>{1, 0, 0, 1} << 1 << 0 << 1;
        QTest::newRow("average, pads not counted") << "AveragePool" << 0.0F << QList<int>{1, 0, 0, 1} << 0 << 0 << 0;
        QTest::newRow("average, rounded up") << "AveragePool" << 0.0F << QList<int>{0, 0, 0, 0} << 1 << 1 << 0;
        QTest::newRow("average, pads as large as the window") << "AveragePool" << 0.0F << QList<int>{2, 0, 0, 0} << 1 << 0 << 0;
        QTest::newRow("average, of ones") << "AveragePool" << 1.0F << QList<int>{0, 0, 0, 0} << 1 << 0 << 0;
        QTest::newRow("maximum, zeros") << "MaxPool" << 0.0F << QList<int>{0, 0, 0, 0} << 0 << 0 << 0;
        QTest::newRow("maximum, nothing") << "MaxPool" << -infinity << QList<int>{0, 1, 1, 0} << 0 << 0 << 1;
        QTest::newRow("maximum, everything") << "MaxPool" << infinity << QList<int>{0, 0, 0, 0} << 0 << 0 << 0;
    }
    void padsOfPools() {
        QFETCH(QString, op);
        QFETCH(float, value);
        QFETCH(QList<int>, own);
        QFETCH(int, counts);
        QFETCH(int, ceil);
        QFETCH(int, found);
        Model model;
        const ValueId padded = model.add("Pad", {model.input({1, 2, 6, 7}), model.ints({0, 0, 1, 1, 0, 0, 1, 1}), model.number(value)});
        Attributes attributes{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 1}}, {"pads", Ints(own.begin(), own.end())}, {"ceil_mode", std::int64_t(ceil)}};
        if (op == "AveragePool")
            attributes["count_include_pad"] = std::int64_t(counts);
        const Rewritten result = rewritten(model.build({model.add(op.toStdString(), {padded}, attributes)}), op == "MaxPool" ? "pad-max-pool" : "pad-average-pool");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
    }
    void padsStayWhereSomebodyAsksForTheMaximasPlaces() {
        Model model;
        const ValueId padded = model.add("Pad", {model.input({1, 2, 6, 7}), model.ints({0, 0, 1, 1, 0, 0, 1, 1}), model.number(-std::numeric_limits<float>::infinity())});
        const ValueId y = model.add("MaxPool", {padded}, {{"kernel_shape", Ints{3, 3}}}, 2);
        QCOMPARE(rewritten(model.build({y, ValueId(static_cast<std::int64_t>(y.index()) + 1)}), "pad-max-pool").found, std::size_t(0));
    }
};

QTEST_APPLESS_MAIN(WrittenFolding)
#include "tst_written_folding.moc"
