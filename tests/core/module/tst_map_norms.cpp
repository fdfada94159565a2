// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <functional>

#include "core/module/map_norms.h"
#include "reshaping.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Case {
    const char* name;
    std::function<Graph(ConvGraph&)> make;
    int reshapes; // into rows and back
};

ValueId norm(ConvGraph& l, ValueId x, std::int64_t channels) { return l.op("InstanceNormalization", {x, l.constant({channels}), l.constant({channels})}); }

const std::vector<Case>& cases() {
    static const std::vector<Case> table{
        {"of maps", [](ConvGraph& l) { return l.graph({norm(l, l.input({2, 3, 5, 7}), 3)}); }, 2},
        {"of volumes", [](ConvGraph& l) { return l.graph({norm(l, l.input({2, 3, 4, 5, 2}), 3)}); }, 2},
        {"of one element", [](ConvGraph& l) { return l.graph({l.op("Relu", {norm(l, l.input({1, 1, 1, 1}), 1)})}); }, 2},
        {"of one element in five dimensions", [](ConvGraph& l) { return l.graph({norm(l, l.input({1, 1, 1, 1, 1}), 1)}); }, 2},
        {"of rows", [](ConvGraph& l) { return l.graph({norm(l, l.input({2, 3, 9}), 3)}); }, 0},
        {"and what is done to its result", [](ConvGraph& l) {
             ValueId y = norm(l, l.input({2, 4, 5, 3}), 4);
             for (const Shape& shape : {Shape{}, Shape{1}, Shape{4, 1, 1}, Shape{5, 3}, Shape{2, 4, 5, 3}})
                 y = l.op("Mul", {y, l.constant(shape)});
             return l.graph({l.op("Relu", {y})});
         }, 2},
        {"and a residual", [](ConvGraph& l) {
             const ValueId x = l.input({1, 4, 6, 6});
             return l.graph({l.op("Add", {x, norm(l, x, 4)})});
         }, 2},
        {"before what is repeated along one side of the map", [](ConvGraph& l) { return l.graph({l.op("Add", {norm(l, l.input({1, 4, 5, 3}), 4), l.constant({3})})}); }, 2},
        {"before a normalization that knows its channels", [](ConvGraph& l) {
             const ValueId y = norm(l, l.input({1, 4, 1, 4}), 4);
             return l.graph({l.op("BatchNormalization", {y, l.constant({4}), l.constant({4}), l.constant({4}), l.builder().addConstant("", Tensor::of<float>({4}, std::vector<float>(4, 2.0F)))})});
         }, 2},
        {"read as maps as well", [](ConvGraph& l) {
             const ValueId y = norm(l, l.input({1, 3, 6, 8}), 3);
             return l.graph({l.op("Relu", {y}), l.op("MaxPool", {y}, {{"kernel_shape", Ints{2, 2}}})});
         }, 3},
        {"of nothing", [](ConvGraph& l) { return l.graph({norm(l, l.input({0, 3, 5, 7}), 3)}); }, 0},
    };
    return table;
}

} // namespace

class TestMapNorms : public QObject {
    Q_OBJECT

private slots:
    void rowsComputeTheSame_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void rowsComputeTheSame() {
        QFETCH(int, index);
        const Case& kase = cases()[static_cast<std::size_t>(index)];
        ConvGraph made;
        const Graph before = kase.make(made), after = take(mapNormsAsRowNorms(before));
        QCOMPARE(static_cast<int>(std::ranges::count_if(after.nodes(), [](const auto& node) { return node->op == "Reshape"; })), kase.reshapes);
        compareReshaped(before, after);
    }
};

QTEST_GUILESS_MAIN(TestMapNorms)
#include "tst_map_norms.moc"
