// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/rewrite/model_draft.h"
#include "core/rewrite/written/near_misses.h"
#include "core/rewrite/written/written.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

// A model in the making: x is 1x4x6x6, m is 6x4.
struct Place {
    Place() { builder.setOpset({}, 13); }
    ValueId input(Shape shape) { return builder.addInput("in" + std::to_string(++count), TensorType(DType::f32, std::move(shape))); }
    ValueId weight(Shape shape) {
        Tensor tensor = Tensor::zeros(DType::f32, std::move(shape));
        for (float& each : tensor.mutableData<float>())
            each = 0.25F + 0.125F * static_cast<float>(++count % 7);
        return builder.addConstant({}, tensor);
    }
    ValueId conv(ValueId data, ValueId weights, std::int64_t stride = 1, std::int64_t group = 1) {
        return builder.add("Conv", {data, weights}, {{"strides", std::vector<std::int64_t>{stride, stride}}, {"group", group}});
    }
    ValueId norm(ValueId data, ValueId mean) { return builder.add("BatchNormalization", {data, weight({4}), weight({4}), mean, weight({4})}); }

    GraphBuilder builder{"place"};
    int count = 0;
    ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 4, 6, 6})), m = builder.addInput("m", TensorType(DType::f32, Shape{6, 4}));
};

using Made = std::vector<ValueId> (*)(Place&);

struct Row {
    const char *name, *rule, *reason;
    int places;
    Made made;
};

const Row kRows[] = {
    {"convolutions that fit", "", "", 0, [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 4, 1, 1})), p.conv(p.x, p.weight({4, 4, 1, 1}))}; }},
    {"a convolution alone", "", "", 0, [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 2, 1, 1}), 1, 2)}; }},
    {"groups", "merge-convolutions", "the convolution has groups", 2,
     [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 2, 1, 1}), 1, 2), p.conv(p.x, p.weight({4, 2, 1, 1}), 1, 2)}; }},
    {"the other has groups", "merge-convolutions", "the other convolution of its input has groups, or weights that are not constants", 1,
     [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 2, 1, 1}), 1, 2), p.conv(p.x, p.weight({4, 4, 1, 1}))}; }},
    {"strides", "merge-convolutions", "strides, dilations or pads of the two convolutions differ", 2,
     [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 4, 1, 1})), p.conv(p.x, p.weight({4, 4, 1, 1}), 2)}; }},
    {"kernels", "merge-convolutions", "of the kernels of the two convolutions one is odd, one even", 2,
     [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 4, 1, 1})), p.conv(p.x, p.weight({4, 4, 2, 2}))}; }},
    {"weights from outside", "merge-convolutions", "the convolution's weights are not constants", 1,
     [](Place& p) { return std::vector{p.conv(p.x, p.weight({4, 4, 1, 1})), p.conv(p.x, p.input({4, 4, 1, 1}))}; }},
    {"products that fit", "", "", 0, [](Place& p) { return std::vector{p.builder.add("MatMul", {p.m, p.weight({4, 3})}), p.builder.add("MatMul", {p.m, p.weight({4, 5})})}; }},
    {"products of values", "merge-products", "the product's right side is not a constant", 1,
     [](Place& p) { return std::vector{p.builder.add("MatMul", {p.m, p.weight({4, 3})}), p.builder.add("MatMul", {p.m, p.input({4, 5})})}; }},
    {"products of batches", "merge-products", "the product's right side is not one matrix", 2,
     [](Place& p) { return std::vector{p.builder.add("MatMul", {p.m, p.weight({2, 4, 3})}), p.builder.add("MatMul", {p.m, p.weight({2, 4, 5})})}; }},
    {"a normalization that fits", "", "", 0, [](Place& p) { return std::vector{p.norm(p.conv(p.x, p.weight({4, 4, 1, 1})), p.weight({4}))}; }},
    {"a normalization of no convolution", "", "", 0, [](Place& p) { return std::vector{p.norm(p.x, p.weight({4}))}; }},
    {"statistics from outside", "fold-batch-norm", "the normalization's statistics are not constants", 1,
     [](Place& p) { return std::vector{p.norm(p.conv(p.x, p.weight({4, 4, 1, 1})), p.input({4}))}; }},
    {"a normalized result that is read", "fold-batch-norm", "something else reads the convolution's result", 1,
     [](Place& p) {
         const ValueId conv = p.conv(p.x, p.weight({4, 4, 1, 1}));
         return std::vector{p.norm(conv, p.weight({4})), conv};
     }},
    {"a scale that fits", "", "", 0, [](Place& p) { return std::vector{p.builder.add("Mul", {p.weight({4, 1, 1}), p.conv(p.x, p.weight({4, 4, 1, 1}))})}; }},
    {"a scale by place", "scale-conv-weights", "the factor is neither one number nor one for each channel", 1,
     [](Place& p) { return std::vector{p.builder.add("Mul", {p.conv(p.x, p.weight({4, 4, 1, 1})), p.weight({6})})}; }},
    {"a scaled result that is read", "scale-conv-weights", "something else reads the convolution's result", 1,
     [](Place& p) {
         const ValueId conv = p.conv(p.x, p.weight({4, 4, 1, 1}));
         return std::vector{p.builder.add("Div", {conv, p.weight({4, 1, 1})}), conv};
     }},
    {"a scaled product of values", "scale-matmul-weights", "neither side of the product is a constant", 1,
     [](Place& p) { return std::vector{p.builder.add("Mul", {p.builder.add("MatMul", {p.m, p.input({4, 5})}), p.weight({5})})}; }},
    {"a product scaled by rows", "scale-matmul-weights", "the factor is neither one number nor one for each column or row of the constant", 1,
     [](Place& p) { return std::vector{p.builder.add("Mul", {p.builder.add("MatMul", {p.m, p.weight({4, 5})}), p.weight({6, 1})})}; }},
    {"a scaled product that is read", "scale-matmul-weights", "something else reads the product", 1,
     [](Place& p) {
         const ValueId product = p.builder.add("MatMul", {p.m, p.weight({4, 5})});
         return std::vector{p.builder.add("Mul", {product, p.weight({5})}), product};
     }},
};

} // namespace

// What is said of places where a rule nearly fits, and that the rule itself does not fit there.
class TstNearMisses : public QObject {
    Q_OBJECT
private slots:
    void saysWhyNot_data() {
        QTest::addColumn<int>("row");
        for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i)
            QTest::newRow(kRows[i].name) << i;
    }
    void saysWhyNot() {
        QFETCH(int, row);
        const Row& expected = kRows[row];
        Place place;
        place.builder.setOutputs(expected.made(place));
        const ModelDraft model = take(draftOf(take(place.builder.build())));
        const std::vector<SubstitutionPtr> rules = writtenSubstitutions();
        int places = 0;
        for (const NearMiss& miss : nearMisses(model.draft)) {
            std::vector<Match> found;
            for (const SubstitutionPtr& rule : rules)
                if (rule->card().name == miss.rule)
                    rule->find(model.draft, miss.anchor, found);
            QVERIFY2(found.empty(), miss.rule.c_str());
            QVERIFY(std::ranges::any_of(rules, [&](const SubstitutionPtr& rule) { return rule->card().name == miss.rule; }));
            if (miss.rule == expected.rule && miss.reason == expected.reason)
                ++places;
            else
                QVERIFY2(expected.places > 0, std::string(miss.reason).c_str());
        }
        QCOMPARE(places, expected.places);
    }
};

QTEST_GUILESS_MAIN(TstNearMisses)
#include "tst_near_misses.moc"
