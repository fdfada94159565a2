// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "rewritten_model.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

// conv(x, w) or x w of one type, then what a rule folds into the weights.
Graph modelOf(const QString& rule, DType type, float weight, float factor) {
    GraphBuilder builder("net");
    builder.setOpset("", 17);
    const auto constant = [&](const Shape& shape, float value) {
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        std::ranges::fill(tensor.mutableData<float>(), value);
        return builder.addConstant("", tensor.cast(type));
    };
    const bool conv = rule == "scale-conv-weights" || rule == "fold-batch-norm";
    const ValueId x = builder.addInput("x", TensorType(type, conv ? Shape{1, 2, 4, 4} : Shape{3, 2}));
    ValueId y = conv ? builder.add("Conv", {x, constant({3, 2, 1, 1}, weight), constant({3}, weight)}) : builder.add("MatMul", {x, constant({2, 3}, weight)});
    if (rule.startsWith("scale"))
        y = builder.add("Mul", {y, constant({}, factor)});
    else
        y = builder.add("BatchNormalization", {y, constant({3}, factor), constant({3}, 0), constant({3}, 0), constant({3}, 1)}, {{"epsilon", 0.0F}});
    builder.setOutputs({y});
    return take(builder.build());
}

} // namespace

// Weights that are computed anew stay within what their type holds, or the factor stays where it is.
class TestHeldWeights : public QObject {
    Q_OBJECT

private slots:
    void foldsWhereTheTypeHoldsIt_data() {
        QTest::addColumn<QString>("rule");
        QTest::addColumn<int>("type");
        QTest::addColumn<float>("weight");
        QTest::addColumn<float>("factor");
        QTest::addColumn<bool>("folds");
        for (const char* rule : {"scale-conv-weights", "scale-matmul-weights", "fold-batch-norm", "fold-batch-norm-into-matmul"}) {
            const auto row = [rule](const char* what, DType type, float weight, float factor, bool folds) {
                QTest::addRow("%s, %s", rule, what) << rule << int(type) << weight << factor << folds;
            };
            row("half, in range", DType::f16, 0.5F, 3, true);
            row("half, too large", DType::f16, 30, 30000, false);
            row("half, to the largest", DType::f16, 2, 30000, true);
            row("half, subnormal", DType::f16, 0.01F, 0.001F, false);
            row("half, to zero", DType::f16, 1e-4F, 1e-4F, false);
            row("half, zeros stay", DType::f16, 0, 30000, true);
            row("bfloat, as single", DType::bf16, 30, 30000, true);
            row("bfloat, too large", DType::bf16, 1e30F, 1e20F, false);
            row("single", DType::f32, 30, 30000, true);
        }
    }
    void foldsWhereTheTypeHoldsIt() {
        QFETCH(QString, rule);
        QFETCH(int, type);
        QFETCH(float, weight);
        QFETCH(float, factor);
        QFETCH(bool, folds);
        const Graph graph = modelOf(rule, DType(type), weight, factor);
        const ModelDraft model = take(draftOf(graph));
        const SubstitutionPtr substitution = ruleNamed(rule.toStdString());
        const std::vector<Match> matches = matchesOf(model.draft, *substitution);
        QCOMPARE(matches.size(), std::size_t(1));
        for (int again = 0; again < 2; ++again) { // the second time by memory
            const Applied made = applied(model.draft, *substitution, matches[0]);
            QCOMPARE(made.draft.has_value(), folds);
            if (!folds)
                QCOMPARE(std::string(made.refusal), std::string("the type of the weights cannot hold what they become"));
            else if (const Graph after = take(foldConstants(take(graphOf(model, *made.draft)), FoldOptions::weights())); DType(type) != DType::bf16)
                QCOMPARE(differenceBetween(graph, after, {2e-3, 1e-3}), std::string());
        }
    }

    // Elements that are nothing beside others of their row and column may lose digits.
    void smallElementsMayLoseDigits() {
        GraphBuilder builder("net");
        builder.setOpset("", 17);
        Tensor weights = Tensor::of<float>({2, 2}, {1, 1e-3F, 1e-3F, 1});
        const ValueId x = builder.addInput("x", TensorType(DType::f16, Shape{3, 2}));
        const ValueId product = builder.add("MatMul", {x, builder.addConstant("w", weights.cast(DType::f16))});
        builder.setOutputs({builder.add("Mul", {product, builder.addConstant("c", Tensor::scalar(0.01F).cast(DType::f16))})});
        const ModelDraft model = take(draftOf(take(builder.build())));
        const SubstitutionPtr rule = ruleNamed("scale-matmul-weights");
        const Applied made = applied(model.draft, *rule, matchesOf(model.draft, *rule).at(0));
        QVERIFY2(made.draft.has_value(), std::string(made.refusal).c_str());
    }

    // As sums of large terms, half precision loses what the normalization keeps.
    void normalizationsOfHalvesStay() {
        for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
            GraphBuilder builder("net");
            builder.setOpset("", 17);
            const auto constant = [&](float value) { return builder.addConstant("", Tensor::of<float>({2}, {value, value}).cast(type)); };
            const ValueId x = builder.addInput("x", TensorType(type, Shape{1, 2, 4, 4}));
            builder.setOutputs({builder.add("BatchNormalization", {x, constant(1), constant(0), constant(100), constant(1e-4F)})});
            const ModelDraft model = take(draftOf(take(builder.build())));
            QCOMPARE(matchesOf(model.draft, *ruleNamed("batch-norm-as-arithmetic")).empty(), type != DType::f32);
        }
    }
};

QTEST_APPLESS_MAIN(TestHeldWeights)
#include "tst_held_weights.moc"
