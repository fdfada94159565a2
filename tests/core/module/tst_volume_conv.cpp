// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <functional>

#include "core/module/volume_conv.h"
#include "plan_testing.h"
#include "reshaping.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Case {
    const char* name;
    std::function<Graph(ConvGraph&)> make;
    bool rewritten = true;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> table{
        {"plain", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 3, 5, 6, 7}), {4, 3, 3, 3, 3})}); }},
        {"pads", [](ConvGraph& l) { return l.graph({l.conv(l.input({2, 3, 4, 5, 6}), {4, 3, 3, 3, 3}, {{"pads", Ints{1, 0, 2, 2, 1, 0}}})}); }},
        {"strides", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 2, 9, 8, 7}), {3, 2, 3, 2, 1}, {{"strides", Ints{2, 3, 1}}, {"pads", Ints{1, 1, 1, 0, 0, 0}}})}); }},
        {"dilations", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 2, 9, 8, 7}), {3, 2, 3, 2, 3}, {{"dilations", Ints{3, 2, 1}}})}); }},
        {"automatic pads", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 2, 5, 5, 5}), {3, 2, 3, 3, 3}, {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 1, 2}}})}); }},
        {"windows of one slice", [](ConvGraph& l) { return l.graph({l.op("Relu", {l.conv(l.input({1, 3, 4, 5, 6}), {2, 3, 1, 3, 3})})}); }},
        {"in a row", [](ConvGraph& l) { return l.graph({l.conv(l.op("Relu", {l.conv(l.input({1, 2, 5, 5, 5}), {3, 2, 2, 2, 2})}), {2, 3, 3, 1, 1})}); }},
        {"groups", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 4, 3, 4, 5}), {4, 2, 2, 2, 2}, {{"group", std::int64_t{2}}})}); }, false},
        {"maps", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 4, 4, 5}), {4, 4, 2, 2})}); }, false},
    };
    return table;
}

bool hasVolumeConv(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [&](const auto& node) { return node->op == "Conv" && graph.value(node->inputs[1]).type.shape().size() == 5; });
}

} // namespace

class TestVolumeConv : public QObject {
    Q_OBJECT

private slots:
    void mapsComputeTheSame_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void mapsComputeTheSame() {
        QFETCH(int, index);
        const Case& kase = cases()[static_cast<std::size_t>(index)];
        ConvGraph made;
        const Graph before = kase.make(made), after = take(inferShapes(take(volumeConvsAsMapConvs(before))));
        QCOMPARE(hasVolumeConv(after), hasVolumeConv(before) && !kase.rewritten);
        compareReshaped(before, after);
    }

    // A pass writes today's operators into graphs of any opset, and kernels read them so.
    void kernelsOfOldOpsetsComputeTheSame_data() { mapsComputeTheSame_data(); }
    void kernelsOfOldOpsetsComputeTheSame() {
        QFETCH(int, index);
        ConvGraph made(8);
        compareWithReference(cases()[static_cast<std::size_t>(index)].make(made), take(hostTarget(1)));
    }
};

QTEST_GUILESS_MAIN(TestVolumeConv)
#include "tst_volume_conv.moc"
