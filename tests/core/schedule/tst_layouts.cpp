// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/layouts.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;

Target wideTarget() {
    Target target;
    target.isa = Isa::avx512;
    return target;
}

struct Net {
    GraphBuilder builder{"net"};
    Net() { builder.setOpset("", 17); }
    ValueId image(std::int64_t channels) { return builder.addInput("", TensorType(DType::f32, Shape{1, channels, 6, 6})); }
    ValueId conv(ValueId x, std::int64_t from, std::int64_t to) {
        return builder.add("Conv", {x, builder.addConstant("", Tensor::zeros(DType::f32, {to, from, 1, 1}))});
    }
    ValueId concat(const std::vector<ValueId>& values) { return builder.add("Concat", values, {{"axis", std::int64_t{1}}}); }
    ValueId flat(ValueId x) { return builder.add("Reshape", {x, builder.addConstant("", Tensor::ofInts({-1}))}); }

    // The blocks in which these values are kept.
    Ints blocks(const std::vector<ValueId>& values, const std::vector<ValueId>& outputs) {
        builder.setOutputs(outputs);
        const Graph graph = take(inferShapes(take(builder.build())));
        const LayoutPlan plan = chooseLayouts(graph, groupNodes(graph), wideTarget());
        Ints found;
        for (const ValueId value : values)
            found.push_back(channelBlock(layoutOf(plan, graph, value)));
        return found;
    }
};

} // namespace

class LayoutsTest : public QObject {
    Q_OBJECT

    // A convolution with that many channels in and out, joined to another value, which is read by a convolution or in rows.
    static Ints joinedBlocks(std::int64_t in, std::int64_t out, bool rows) {
        Net net;
        const ValueId piece = net.conv(net.image(in), in, out), other = net.conv(net.image(64), 64, 64), whole = net.concat({piece, other});
        return net.blocks({piece, other, whole}, {rows ? net.flat(whole) : net.conv(whole, out + 64, 16)});
    }

private slots:
    void blocksOfConvolutions_data() {
        QTest::addColumn<int>("channels");
        QTest::addColumn<int>("block");
        QTest::newRow("whole vectors") << 64 << 16;
        QTest::newRow("rounded up") << 58 << 16;
        QTest::newRow("narrow") << 8 << 8;
        QTest::newRow("too few") << 3 << 1;
    }
    void blocksOfConvolutions() {
        QFETCH(int, channels);
        QFETCH(int, block);
        Net net;
        const ValueId y = net.conv(net.image(16), 16, channels);
        QCOMPARE(net.blocks({y}, {net.builder.add("Relu", {y})}), Ints{1}); // inside its group nobody keeps it
        Net alone;
        const ValueId z = alone.conv(alone.image(16), 16, channels);
        QCOMPARE(alone.blocks({z}, {z}), Ints{block});
    }

    // 24 channels are two vectors of 16 or three of 8; Winograd's algorithm needs the latter.
    void blocksThatWinogradNeeds_data() {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("kernel");
        QTest::addColumn<int>("channels");
        QTest::addColumn<Ints>("blocks"); // of what a 1x1 convolution makes and what one with this kernel makes of it
        QTest::newRow("it suits") << 40 << 3 << 24 << Ints{8, 8};
        QTest::newRow("whole vectors anyway") << 40 << 3 << 32 << Ints{16, 16};
        QTest::newRow("the map is small") << 7 << 3 << 24 << Ints{16, 16};
        QTest::newRow("another kernel") << 40 << 5 << 24 << Ints{16, 16};
        QTest::newRow("nothing of half a vector divides") << 40 << 3 << 58 << Ints{16, 16};
    }
    void blocksThatWinogradNeeds() {
        QFETCH(int, size);
        QFETCH(int, kernel);
        QFETCH(int, channels);
        QFETCH(Ints, blocks);
        Net net;
        const ValueId x = net.builder.addInput("", TensorType(DType::f32, Shape{1, 16, size, size}));
        const ValueId made = net.builder.add("Relu", {net.conv(x, 16, channels)});
        const ValueId filter = net.builder.addConstant("", Tensor::zeros(DType::f32, {channels, channels, kernel, kernel}));
        const ValueId read = net.builder.add("Conv", {made, filter}, {{"pads", Ints(4, kernel / 2)}});
        QCOMPARE(net.blocks({made, read}, {read}), blocks);
    }

    // Narrow blocks spare the copy into the whole, wide ones are faster to compute.
    void whatIsJoined_data() {
        QTest::addColumn<int>("in");
        QTest::addColumn<int>("out");
        QTest::addColumn<bool>("rows");
        QTest::addColumn<Ints>("blocks"); // of the piece, the other and the whole
        QTest::newRow("blocks divide both") << 16 << 32 << false << Ints{16, 16, 16};
        QTest::newRow("little work: a narrow part") << 8 << 24 << false << Ints{8, 16, 8};
        QTest::newRow("much work: wide, copied") << 256 << 24 << false << Ints{16, 16, 8};
        QTest::newRow("no block divides it") << 58 << 58 << false << Ints{16, 16, 1};
        QTest::newRow("read in rows") << 64 << 58 << true << Ints{16, 16, 1};
        QTest::newRow("parts, read in rows") << 64 << 32 << true << Ints{16, 16, 16};
    }
    void whatIsJoined() {
        QFETCH(int, in);
        QFETCH(int, out);
        QFETCH(bool, rows);
        QFETCH(Ints, blocks);
        QCOMPARE(joinedBlocks(in, out, rows), blocks);
    }

    // Windows over channels that lie apart are computed in blocks all the same, if half a vector divides them in none with lanes to spare.
    void windowsOverWhatLiesApart_data() {
        QTest::addColumn<int>("channels");
        QTest::addColumn<Ints>("blocks"); // of a depthwise convolution and of a pool
        QTest::newRow("whole vectors") << 32 << Ints{16, 16};
        QTest::newRow("halves of vectors") << 24 << Ints{8, 8};
        QTest::newRow("quarters") << 20 << Ints{16, 1};
        QTest::newRow("too few") << 3 << Ints{1, 1};
    }
    void windowsOverWhatLiesApart() {
        QFETCH(int, channels);
        QFETCH(Ints, blocks);
        Net net;
        const ValueId x = net.image(channels), filter = net.builder.addConstant("", Tensor::zeros(DType::f32, {channels, 1, 3, 3}));
        const ValueId window = net.builder.add("Conv", {x, filter}, {{"group", std::int64_t{channels}}}), pool = net.builder.add("AveragePool", {x}, {{"kernel_shape", Ints{3, 3}}});
        QCOMPARE(net.blocks({window, pool}, {window, pool}), blocks);
    }

    // A copy in blocks is worth it where every value of a map is read many times.
    void longWindowsReadACopyInBlocks_data() {
        QTest::addColumn<int>("window");
        QTest::addColumn<int>("channels"); // of a filter
        QTest::addColumn<bool>("ofBlocks");
        QTest::addColumn<int>("block"); // of the copy
        QTest::newRow("short window") << 3 << 1 << false << 0;
        QTest::newRow("long window") << 7 << 1 << false << 16;
        QTest::newRow("long window over blocks") << 7 << 1 << true << 0;
        QTest::newRow("long window over all channels") << 7 << 32 << false << 0;
        QTest::newRow("pool") << 5 << 0 << false << 16;
        QTest::newRow("small pool") << 3 << 0 << false << 0;
    }
    void longWindowsReadACopyInBlocks() {
        QFETCH(int, window);
        QFETCH(int, channels);
        QFETCH(bool, ofBlocks);
        QFETCH(int, block);
        Net net;
        ValueId x = net.builder.addInput("x", TensorType(DType::f32, Shape{1, 32, 9, 9}));
        if (ofBlocks)
            x = net.conv(x, 32, 32);
        const ValueId y = channels == 0 ? net.builder.add("MaxPool", {x}, {{"kernel_shape", Ints{window, window}}})
                                        : net.builder.add("Conv", {x, net.builder.addConstant("", Tensor::zeros(DType::f32, {32, channels, window, window}))},
                                                          {{"group", std::int64_t{32 / channels}}});
        net.builder.setOutputs({y});
        const Graph graph = take(inferShapes(take(net.builder.build())));
        const LayoutPlan plan = chooseLayouts(graph, groupNodes(graph), wideTarget());
        QCOMPARE(plan.reads.size(), std::size_t(block > 0 ? 1 : 0));
        if (block > 0)
            QCOMPARE(channelBlock(plan.reads.begin()->second), std::int64_t(block));
    }

    void aPoolThatIsJoinedIsAPart() {
        Net net;
        const ValueId pooled = net.builder.add("MaxPool", {net.conv(net.image(16), 16, 24)}, {{"kernel_shape", Ints{1, 1}}});
        const ValueId whole = net.concat({pooled, net.image(8)});
        QCOMPARE(net.blocks({pooled, whole}, {whole}), (Ints{8, 8}));
    }
};

QTEST_GUILESS_MAIN(LayoutsTest)
#include "tst_layouts.moc"
