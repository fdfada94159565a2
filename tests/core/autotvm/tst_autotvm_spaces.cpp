// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>

#include "core/autotvm/hash_order.h"
#include "core/autotvm/template_spaces.h"
#include "core/base/rng.h"
#include "tasks.h"

using namespace tunesmith;
using namespace tunesmith::autotvm;
using namespace tunesmith::testing;

namespace {

const Vintage kFactorsOnly{.tails = false};

struct Named {
    const char* name;
    ConvShape shape;
};
// ResNet-18, the layers of table 2 of the TVM paper (OSDI 2018).
const std::vector<Named> kResnet{
    {"C1", {3, 224, 64, 7, 2}},    {"C2", {64, 56, 64, 3, 1}},    {"C3", {64, 56, 64, 1, 1}},
    {"C4", {64, 56, 128, 3, 2}},   {"C5", {64, 56, 128, 1, 2}},   {"C6", {128, 28, 128, 3, 1}},
    {"C7", {128, 28, 256, 3, 2}},  {"C8", {128, 28, 256, 1, 2}},  {"C9", {256, 14, 256, 3, 1}},
    {"C10", {256, 14, 512, 3, 2}}, {"C11", {256, 14, 512, 1, 2}}, {"C12", {512, 7, 512, 3, 1}}};

ConfigSpace gemm(std::int64_t size, KnobSpace::Filter filter = {}) {
    ConfigSpaceBuilder builder("gemm");
    auto space = builder.split("tile_y", size, 2).split("tile_x", size, 2).finish(0, std::move(filter));
    return std::move(space).value();
}

} // namespace

class TestAutotvmSpaces : public QObject {
    Q_OBJECT

    static void row(const char* name, const Task& task, std::int64_t points, const Vintage& vintage = {}) {
        QTest::newRow(name) << QString::fromStdString(task.name) << QString::fromStdString(task.args)
                            << points << vintage.tails;
    }

    static void convRows() {
        const std::vector<std::int64_t> factors{252, 784, 784, 672, 672, 768, 576, 576, 648, 360, 360, 400},
            verbose{308, 980, 980, 896, 896, 1024, 864, 864, 972, 720, 720, 800},
            cuda{79'027'200, 90'316'800, 22'579'200, 32'256'000, 8'064'000, 36'864'000,
                 8'110'080,  2'027'520,  9'123'840,  760'320,    190'080,   844'800},
            winograd{0, 352'800, 0, 0, 0, 576'000, 0, 0, 89'100, 0, 0, 462'000};
        for (std::size_t i = 0; i < kResnet.size(); ++i) {
            const auto& [name, shape] = kResnet[i];
            const std::string label = name;
            row((label + " x86 factors").c_str(), convTask("conv2d_NCHWc.x86", shape), factors[i],
                kFactorsOnly);
            row((label + " x86 verbose").c_str(), convTask("conv2d_NCHWc.x86", shape), verbose[i]);
            row((label + " cuda").c_str(), convTask("conv2d_nchw.cuda", shape), cuda[i]);
            if (winograd[i] != 0)
                row((label + " winograd").c_str(), convTask("conv2d_nchw_winograd.cuda", shape), winograd[i]);
        }
    }

    static void mobilenetRows() {
        const std::vector<std::vector<std::int64_t>> depthwise{
            {32, 112, 1, 648}, {64, 112, 2, 784}, {128, 56, 1, 1024}, {128, 56, 2, 768}, {256, 28, 1, 972},
            {256, 28, 2, 648}, {512, 14, 1, 800}, {512, 14, 2, 400},  {1024, 7, 1, 484}};
        for (std::size_t i = 0; i < depthwise.size(); ++i) {
            const auto& d = depthwise[i];
            row(("D" + std::to_string(i + 1)).c_str(),
                convTask("depthwise_conv2d_NCHWc.x86", {d[0], d[1], d[0], 3, d[2]}, true), d[3]);
        }
        const std::vector<std::vector<std::int64_t>> pointwise{
            {32, 112, 64, 924},   {64, 56, 128, 1120},  {128, 56, 128, 1280},
            {128, 28, 256, 1152}, {256, 28, 256, 1296}, {256, 14, 512, 1080},
            {512, 14, 512, 1200}, {512, 7, 1024, 880},  {1024, 7, 1024, 968}};
        for (const auto& p : pointwise)
            row(("pointwise " + std::to_string(p[0]) + "x" + std::to_string(p[1]) + " to " +
                 std::to_string(p[2]))
                    .c_str(),
                convTask("conv2d_NCHWc.x86", {p[0], p[1], p[2], 1, 1}), p[3]);
        row("first of MobileNet", convTask("conv2d_NCHWc.x86", {3, 224, 32, 3, 2}), 264);
    }

    static void matmulRows() {
        const std::vector<std::vector<std::int64_t>> dense{{1, 1000, 512, 1000, 160},
                                                           {128, 768, 768, 437'400, 2592},
                                                           {128, 3072, 768, 641'520, 3168},
                                                           {128, 768, 3072, 534'600, 3168},
                                                           {1024, 1024, 1024, 239'580, 1331}};
        for (const auto& d : dense) {
            const std::string label =
                std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
            row(("dense_pack " + label).c_str(), denseTask("dense_pack.x86", d[0], d[1], d[2]), d[3]);
            row(("dense_nopack " + label).c_str(), denseTask("dense_nopack.x86", d[0], d[1], d[2]), d[4]);
        }
        row("dense_nopack 1x768x768", denseTask("dense_nopack.x86", 1, 768, 768), 324);
        row("batch_matmul", batchMatmulTask("batch_matmul.x86", 12, 128, 128, 64), 448);
    }

    static void tables() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<std::int64_t>("points");
        QTest::addColumn<bool>("tails");
        convRows();
        mobilenetRows();
        matmulRows();
    }

    static Result<ConfigSpace> fetched() {
        const auto name = *static_cast<QString*>(QTest::qData("name", qMetaTypeId<QString>()));
        const auto arguments = *static_cast<QString*>(QTest::qData("arguments", qMetaTypeId<QString>()));
        const bool tails = *static_cast<bool*>(QTest::qData("tails", qMetaTypeId<bool>()));
        return spaceOf({name.toStdString(), arguments.toStdString()}, {.tails = tails});
    }

private slots:
    void sizes_data() { tables(); }
    void sizes() {
        QFETCH(std::int64_t, points);
        const auto space = fetched();
        QVERIFY2(space.ok(), space.ok() ? "" : space.error().message.c_str());
        QCOMPARE(static_cast<std::int64_t>(space.value().knobs.indexCount()), points);
    }

    void roundTrip_data() { tables(); }
    void roundTrip() {
        const auto made = fetched();
        QVERIFY(made.ok());
        const ConfigSpace& space = made.value();
        const std::uint64_t count = space.knobs.indexCount();
        Rng rng(17);
        const bool all = count < 100'000;
        for (std::uint64_t i = 0; i < (all ? count : 1000); ++i) {
            const std::uint64_t index = all ? i : rng.below(count);
            const auto config = space.knobs.at(index);
            QVERIFY(config.has_value());
            if (space.knobs.indexOf(*config) != index || !space.agrees(*config, space.entityOf(*config)))
                QFAIL(qPrintable(QString("index %1 does not come back").arg(index)));
        }
        QVERIFY(!space.knobs.at(count).has_value());
    }

    void flops() {
        const std::vector<double> gflop{.2360, .2312, .0257, .1156, .0128, .2312,
                                        .1156, .0128, .2312, .1156, .0128, .2312};
        for (std::size_t i = 0; i < gflop.size(); ++i) {
            const auto space = spaceOf(convTask("conv2d_NCHWc.x86", kResnet[i].shape));
            QVERIFY2(std::abs(space.value().flops / 1e9 - gflop[i]) < 5e-5, kResnet[i].name);
        }
        QCOMPARE(spaceOf(denseTask("dense_pack.x86", 128, 768, 3072)).value().flops, 2.0 * 128 * 768 * 3072);
        QCOMPARE(spaceOf(convTask("depthwise_conv2d_NCHWc.x86", {32, 112, 32, 3, 1}, true)).value().flops,
                 2.0 * 32 * 112 * 112 * 9);
    }

    // TVM's tutorial of conv2d on CUDA splits its reductions three ways.
    void tutorial() {
        ConfigSpaceBuilder builder("tutorial");
        builder.split("tile_f", 512, 4).split("tile_y", 7, 4).split("tile_x", 7, 4);
        builder.split("tile_rc", 512, 3).split("tile_ry", 3, 3).split("tile_rx", 3, 3);
        const auto space = builder.numbers("auto_unroll_max_step", {0, 512, 1500})
                               .numbers("unroll_explicit", {0, 1})
                               .finish(0);
        QCOMPARE(space.value().knobs.indexCount(), std::uint64_t{10'454'400});
    }

    void filterAcrossKnobs() {
        QCOMPARE(gemm(128).knobs.size(), 64.0);
        const ConfigSpace filtered = gemm(128, [](const KnobSpace& space, const Config& config) {
            const std::int64_t product =
                space.value(config, 0).numbers.back() * space.value(config, 1).numbers.back();
            return product >= 32 && product < 1024;
        });
        QCOMPARE(filtered.knobs.size(), 34.0);
        QCOMPARE(filtered.knobs.indexCount(), std::uint64_t{64}); // indices stay as they are
        int allowed = 0;
        for (std::uint64_t i = 0; i < 64; ++i)
            if (const auto config = filtered.knobs.at(i)) {
                ++allowed;
                QCOMPARE(filtered.knobs.indexOf(*config), i);
            }
        QCOMPARE(allowed, 34);
    }

    // By hand, in the order of the indices.
    void candidates() {
        const auto list = [](std::int64_t extent, SplitOptions options) {
            QStringList out;
            const auto candidates = splitCandidates(extent, options);
            for (const Sizes& sizes : candidates.value())
                out << QString::fromStdString(sizesText(sizes));
            return out.join(" ");
        };
        QCOMPARE(list(6, {}), QString("[-1,1] [-1,2] [-1,3] [-1,6]"));
        QCOMPARE(list(4, {.parts = 3}), QString("[-1,1,1] [-1,2,1] [-1,4,1] [-1,1,2] [-1,2,2] [-1,1,4]"));
        QCOMPARE(list(6, {.policy = SplitPolicy::power2}), QString("[-1,1] [-1,2] [-1,4]"));
        QCOMPARE(list(6, {.policy = SplitPolicy::verbose}), QString("[-1,1] [-1,2] [-1,3] [-1,4] [-1,6]"));
        QCOMPARE(list(6, {.policy = SplitPolicy::verbose, .noTail = true}),
                 QString("[-1,1] [-1,2] [-1,3] [-1,6]"));
        QCOMPARE(list(6, {.policy = SplitPolicy::power2, .noTail = true}), QString("[-1,1] [-1,2]"));
        QCOMPARE(list(12, {.maxFactor = 4}), QString("[-1,1] [-1,2] [-1,3] [-1,4]"));
        QCOMPARE(list(12, {.filter = [](const Sizes& s) { return s.back() > 3; }}),
                 QString("[-1,4] [-1,6] [-1,12]"));
        QCOMPARE(list(12, {.policy = SplitPolicy::candidate, .candidates = {{-1, 5}, {-1, 2}}}),
                 QString("[-1,5] [-1,2]"));
        QCOMPARE(list(1, {.parts = 4}), QString("[-1,1,1,1]"));
        QCOMPARE(list(1, {.policy = SplitPolicy::verbose}), QString("[-1,1]"));
    }

    // What CPython 3.11 prints for list(set(divisors) | set(powers)).
    void hashOrder() {
        const auto order = [](std::int64_t extent) {
            QStringList out;
            for (const std::int64_t factor : splitFactors(extent, SplitPolicy::verbose))
                out << QString::number(factor);
            return out.join(" ");
        };
        QCOMPARE(order(7), QString("1 2 4 7"));
        QCOMPARE(order(14), QString("1 2 4 7 8 14"));
        QCOMPARE(order(56), QString("32 1 2 4 7 8 14 16 56 28"));
        QCOMPARE(order(112), QString("32 1 2 64 4 7 8 14 16 112 56 28"));
        QCOMPARE(order(224), QString("64 1 2 128 4 7 8 14 16 28 32 224 112 56"));
        QCOMPARE(order(1000),
                 QString("64 1 2 128 4 5 256 512 8 200 10 16 20 25 32 100 40 1000 50 500 250 125"));
        QCOMPARE(unionInHashOrder({}, {}), std::vector<std::int64_t>{});
        QCOMPARE(unionInHashOrder({5}, {5}), std::vector<std::int64_t>{5});
    }

    void refused_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<QString>("part");
        const QString conv = "conv2d_nchw.cuda", t = R"(["TENSOR",[1,8,9,9],"float32"])",
                      k = R"(["TENSOR",[8,8,3,3],"float32"])";
        QTest::newRow("unknown template") << "conv2d_hwcn.arm"
                                          << "[]"
                                          << "conv2d_hwcn.arm";
        QTest::newRow("no arguments") << conv << "[]"
                                      << "argument 1 is not a tensor";
        QTest::newRow("no list") << conv << "7"
                                 << "no list of arguments";
        QTest::newRow("broken list") << conv << "[7"
                                     << "no list of arguments";
        QTest::newRow("rank") << conv << R"([["TENSOR",[1,8,9],"float32"]])"
                              << "4 dimensions";
        QTest::newRow("no dimension") << conv << R"([["TENSOR",[1,0,9,9],"float32"]])"
                                      << "4 dimensions";
        QTest::newRow("huge dimension") << conv << R"([["TENSOR",[1,8,18446744073709551615,9],"float32"]])"
                                        << "4 dimensions";
        QTest::newRow("stride 0") << conv << "[" + t + "," + k + ",[0,1],[1,1],[1,1]]"
                                  << "argument 3";
        QTest::newRow("negative padding") << conv << "[" + t + "," + k + ",[1,1],[-1,1],[1,1]]"
                                          << "argument 4";
        QTest::newRow("named padding") << conv << "[" + t + "," + k + R"(,[1,1],"SAME",[1,1]])"
                                       << "argument 4";
        QTest::newRow("no dilation") << conv << "[" + t + "," + k + ",[1,1],[1,1]]"
                                     << "argument 5";
        QTest::newRow("kernel too large") << conv << "[" + t + "," + k + ",[1,1],[0,0],[9,9]]"
                                          << "fits into";
        QTest::newRow("too many tiles")
            << "conv2d_nchw_winograd.cuda"
            << R"([["TENSOR",[2147483648,8,2147483648,9],"float32"],)" + k + ",[1,1],[1,1],[1,1]]"
            << "argument 1";
        QTest::newRow("depthwise") << "depthwise_conv2d_nchw.cuda"
                                   << "[" + t + R"(,["TENSOR",[4,1,3,3],"float32"],[1,1],[1,1],[1,1]])"
                                   << "8 channels";
        QTest::newRow("columns") << "dense_pack.x86"
                                 << R"([["TENSOR",[4,8],"float32"],["TENSOR",[4,9],"float32"]])"
                                 << "8 columns";
        QTest::newRow("too many splits")
            << "batch_matmul.cuda"
            << R"([["TENSOR",[1,735134400,8],"float32"],["TENSOR",[1,735134400,8],"float32"]])"
            << "";
    }
    void refused() {
        QFETCH(QString, name);
        QFETCH(QString, arguments);
        QFETCH(QString, part);
        const auto space = spaceOf({name.toStdString(), arguments.toStdString()});
        if (part.isEmpty()) { // large, but it can be counted
            QVERIFY(space.ok());
            return;
        }
        QVERIFY(!space.ok());
        QVERIFY2(QString::fromStdString(space.error().message).contains(part), space.error().message.c_str());
    }

    void refusedSplits() {
        for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{-4}, (std::int64_t{1} << 31) + 1})
            QVERIFY(!splitCandidates(extent, {}).ok());
        QVERIFY(!splitCandidates(8, {.parts = 1}).ok());
        QVERIFY(!splitCandidates(735'134'400, {.parts = 4}).ok());
        QVERIFY(!splitCandidates(8, {.policy = SplitPolicy::candidate, .candidates = {{-1, 2, 2}}}).ok());
        QVERIFY(!splitCandidates(8, {.policy = SplitPolicy::candidate, .candidates = {{-1, 0}}}).ok());
        ConfigSpaceBuilder empty("empty"); // a filter that lets nothing through
        QVERIFY(!empty.split("a", 8, {.filter = [](const Sizes&) { return false; }}).finish(0).ok());
        ConfigSpaceBuilder twice("twice");
        QVERIFY(!twice.split("a", 8, 2).split("a", 8, 2).finish(0).ok());
    }
};

QTEST_GUILESS_MAIN(TestAutotvmSpaces)
#include "tst_autotvm_spaces.moc"
