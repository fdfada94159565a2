// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "one_kernel.h"
#include "package_of.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Attributes = std::map<std::string, Attribute>;

struct Row {
    const char* name;
    const char* expectedTemplate;
    Recipe recipe;
};

ValueId convRelu(Case& c, const Shape& x, const Shape& w, const Ints& pads, const Ints& strides, std::int64_t group = 1) {
    return c.builder.add("Relu", {c.conv(c.input(x), w, pads, strides, group)});
}

ValueId swish(Case& c, ValueId x) { return c.builder.add("Mul", {x, c.builder.add("Sigmoid", {x})}); }

const std::vector<Row>& rows() {
    static const std::vector<Row> table{
        {"conv 3x3 padded", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 16, 9, 11}, {32, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv 3x3 without epilogue", "conv2d_nchwc", [](Case& c) { return c.builder.add("Conv", {c.input({1, 8, 6, 6}), c.weights({16, 8, 3, 3})}); }},
        {"conv stem 7x7 stride 2", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 3, 21, 21}, {32, 3, 7, 7}, {3, 3, 3, 3}, {2, 2}); }},
        {"conv of a long window along one row", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 1, 1, 200}, {20, 1, 1, 40}, {0, 0, 0, 3}, {1, 16}); }},
        {"conv 1x1", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 32, 7, 7}, {64, 32, 1, 1}, {0, 0, 0, 0}, {1, 1}); }},
        {"conv 1x1 stride 2", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 16, 9, 9}, {24, 16, 1, 1}, {0, 0, 0, 0}, {2, 2}); }},
        {"conv asymmetric pads, batch 2", "conv2d_nchwc", [](Case& c) { return convRelu(c, {2, 16, 8, 10}, {16, 16, 3, 5}, {0, 2, 1, 0}, {2, 1}); }},
        {"conv dilated", "conv2d_nchwc", [](Case& c) { return c.conv(c.input({1, 8, 12, 12}), {8, 8, 3, 3}, {2, 2, 2, 2}, {1, 1}, 1, {2, 2}); }},
        {"conv groups of blocks", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 32, 6, 6}, {32, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}, 2); }},
        {"conv 3x3 of blocks", "conv2d_nchwc|winograd2|winograd4",
         [](Case& c) { return c.builder.add("Relu", {c.conv(c.blocked({1, 32, 28, 28}), {64, 32, 3, 3}, {1, 1, 1, 1}, {1, 1})}); }},
        {"conv 3x3 of blocks, two images", "conv2d_nchwc|winograd2|winograd4",
         [](Case& c) { return c.conv(c.blocked({2, 32, 13, 14}), {48, 32, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv 3x3 of blocks, uneven pads", "conv2d_nchwc|winograd2|winograd4",
         [](Case& c) { return c.conv(c.blocked({1, 16, 12, 21}), {16, 16, 3, 3}, {0, 2, 1, 0}, {1, 1}); }},
        {"conv 3x3 of blocks, wide pads, residual", "conv2d_nchwc|winograd2|winograd4",
         [](Case& c) {
             const ValueId sum = c.builder.add("Add", {c.conv(c.blocked({1, 16, 5, 6}), {32, 16, 3, 3}, {4, 3, 2, 5}, {1, 1}), c.input({1, 32, 9, 12})});
             return c.builder.add("Relu", {sum});
         }},
        {"conv 3x3 of blocks to blocks of another size", "conv2d_nchwc|winograd2|winograd4",
         [](Case& c) { return c.conv(c.blocked({1, 32, 9, 10}), {8, 32, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv 3x3 of blocks to a small image", "conv2d_nchwc|winograd2",
         [](Case& c) { return c.conv(c.blocked({1, 16, 4, 4}), {16, 16, 3, 3}, {0, 0, 0, 0}, {1, 1}); }},
        {"conv groups of three", "generic", [](Case& c) { return convRelu(c, {1, 9, 5, 5}, {9, 3, 3, 3}, {1, 1, 1, 1}, {1, 1}, 3); }},
        {"conv residual", "conv2d_nchwc",
         [](Case& c) {
             const ValueId x = c.input({1, 16, 8, 8}), other = c.input({1, 32, 8, 8});
             return c.builder.add("Relu", {c.builder.add("Add", {c.conv(x, {32, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}), other})});
         }},
        {"conv of blocks to one channel", "conv2d_few", [](Case& c) { return c.conv(c.blocked({1, 24, 9, 37}), {1, 24, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv of blocks to two channels, two images, rows skipped", "conv2d_few",
         [](Case& c) { return c.builder.add("Sigmoid", {c.conv(c.blocked({2, 32, 11, 40}), {2, 32, 3, 5}, {0, 2, 1, 1}, {2, 1})}); }},
        {"conv of blocks to three channels, dilated, residual", "conv2d_few",
         [](Case& c) { return c.builder.add("Add", {c.conv(c.blocked({1, 16, 12, 19}), {3, 16, 3, 3}, {2, 2, 2, 2}, {1, 1}, 1, {2, 2}), c.input({1, 3, 12, 19})}); }},
        {"depthwise of three channels", "conv2d_few", [](Case& c) { return convRelu(c, {1, 3, 9, 30}, {3, 1, 5, 5}, {2, 2, 2, 2}, {1, 1}, 3); }},
        {"conv of pixels of blocks to two channels", "conv2d_few", [](Case& c) { return c.conv(c.blocked({1, 40, 5, 33}), {2, 40, 1, 1}, {0, 0, 0, 0}, {1, 1}); }},
        {"conv of pixels to two channels", "columns", [](Case& c) { return convRelu(c, {1, 8, 5, 33}, {2, 8, 1, 1}, {0, 0, 0, 0}, {1, 1}); }},
        {"conv to four channels of a wide map", "conv2d_few", [](Case& c) { return convRelu(c, {1, 8, 8, 33}, {4, 8, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv to one channel, wide", "conv2d_few", [](Case& c) { return convRelu(c, {1, 40, 3, 700}, {1, 40, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv to three channels, columns skipped", "generic", [](Case& c) { return convRelu(c, {1, 4, 6, 6}, {3, 4, 3, 3}, {1, 1, 1, 1}, {2, 2}); }},
        {"conv to three channels", "conv2d_few", [](Case& c) { return convRelu(c, {1, 4, 6, 6}, {3, 4, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv to odd channels", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 4, 6, 6}, {5, 4, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv from and to channels that no block divides", "conv2d_nchwc",
         [](Case& c) {
             const ValueId x = c.blocked({1, 58, 7, 7});
             return c.builder.add("Relu", {c.builder.add("Add", {c.conv(x, {58, 58, 1, 1}, {0, 0, 0, 0}, {1, 1}), x})});
         }},
        {"conv of channels that a block does not divide, scaled by channel", "conv2d_nchwc",
         [](Case& c) {
             const ValueId y = c.conv(c.blocked({2, 24, 6, 9}), {40, 24, 5, 5}, {2, 2, 2, 2}, {2, 2});
             return c.builder.add("Mul", {y, c.input({2, 40, 1, 1})});
         }},
        {"conv of two odd channels, batch 3", "conv2d_nchwc", [](Case& c) { return c.conv(c.blocked({3, 29, 4, 5}), {17, 29, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"conv wider pad than kernel", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 4, 5, 5}, {16, 4, 2, 2}, {3, 3, 3, 3}, {1, 1}); }},
        {"conv and swish", "conv2d_nchwc", [](Case& c) { return swish(c, c.conv(c.input({1, 16, 9, 11}), {32, 16, 5, 5}, {1, 1, 1, 1}, {1, 1})); }},
        {"conv, residual and swish", "conv2d_nchwc|winograd2|winograd4",
         [](Case& c) {
             const ValueId y = c.conv(c.blocked({1, 16, 9, 9}), {16, 16, 3, 3}, {1, 1, 1, 1}, {1, 1});
             return swish(c, c.builder.add("Add", {y, c.input({1, 16, 9, 9})}));
         }},
        {"depthwise and swish", "window_nchwc",
         [](Case& c) { return swish(c, c.conv(c.blocked({1, 32, 10, 10}), {32, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 32)); }},
        {"dense and GELU", "matmul",
         [](Case& c) {
             const ValueId y = c.builder.add("Add", {c.builder.add("MatMul", {c.input({9, 24}), c.weights({24, 40})}), c.weights({40})});
             const ValueId curve = c.builder.add("Erf", {c.builder.add("Mul", {y, c.number(0.70710678F)})});
             return c.builder.add("Mul", {c.builder.add("Mul", {y, c.builder.add("Add", {curve, c.number(1)})}), c.number(0.5F)});
         }},
        {"swish of a sum", "generic", [](Case& c) { return swish(c, c.builder.add("Add", {c.input({3, 67}), c.input({3, 67})})); }},
        {"depthwise 3x3", "window_nchwc", [](Case& c) { return convRelu(c, {1, 32, 10, 10}, {32, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 32); }},
        {"depthwise, eight outputs a channel", "conv2d_nchwc", [](Case& c) { return convRelu(c, {1, 3, 9, 11}, {24, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 3); }},
        {"depthwise, two outputs a channel", "generic", [](Case& c) { return convRelu(c, {1, 8, 9, 11}, {16, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 8); }},
        {"depthwise stride 2", "window_nchwc", [](Case& c) { return convRelu(c, {1, 24, 11, 11}, {24, 1, 5, 5}, {2, 2, 2, 2}, {2, 2}, 24); }},
        {"depthwise of channels that no block divides", "window_nchwc",
         [](Case& c) { return c.builder.add("Relu", {c.conv(c.blocked({1, 58, 9, 9}), {58, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, 58)}); }},
        {"average pool of channels that no block divides", "window_nchwc",
         [](Case& c) { return c.builder.add("GlobalAveragePool", {c.blocked({1, 42, 7, 7})}); }},
        {"max pool", "window_nchwc",
         [](Case& c) {
             const ValueId y = c.conv(c.input({1, 3, 9, 9}), {16, 3, 3, 3}, {1, 1, 1, 1}, {1, 1});
             return c.builder.add("MaxPool", {y}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
         }},
        {"average pool, pads not counted", "window_nchwc",
         [](Case& c) {
             const ValueId y = c.conv(c.input({1, 3, 8, 8}), {16, 3, 1, 1}, {0, 0, 0, 0}, {1, 1});
             return c.builder.add("AveragePool", {y}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{1, 1}}, {"pads", Ints{1, 1, 1, 1}}});
         }},
        {"global average pool", "window_nchwc",
         [](Case& c) { return c.builder.add("GlobalAveragePool", {c.conv(c.input({1, 3, 7, 7}), {32, 3, 3, 3}, {1, 1, 1, 1}, {1, 1})}); }},
        {"global average pool of a large map", "generic", [](Case& c) { return c.builder.add("GlobalAveragePool", {c.blocked({2, 32, 70, 81})}); }},
        {"global average pool of a large map, channels that no block divides", "generic",
         [](Case& c) { return c.builder.add("GlobalAveragePool", {c.blocked({1, 42, 70, 81})}); }},
        {"max pool of rows", "generic", [](Case& c) { return c.builder.add("MaxPool", {c.input({1, 5, 8, 8})}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}); }},
        {"dense", "matmul", [](Case& c) { return c.builder.add("Relu", {c.builder.add("Gemm", {c.input({4, 40}), c.weights({48, 40}), c.weights({48})}, {{"transB", std::int64_t{1}}})}); }},
        {"dense of one row", "matmul", [](Case& c) { return c.builder.add("Gemm", {c.input({1, 33}), c.weights({33, 1000}), c.weights({1000})}); }},
        {"dense to two", "matmul", [](Case& c) { return c.builder.add("MatMul", {c.input({9, 33}), c.weights({33, 2})}); }},
        {"dense to seven", "matmul", [](Case& c) { return c.builder.add("MatMul", {c.input({2, 17, 33}), c.weights({33, 7})}); }},
        {"product by rows of what is computed", "matmul",
         [](Case& c) { return c.builder.add("Gemm", {c.input({21, 37}), c.input({50, 37}), c.weights({50})}, {{"transB", std::int64_t{1}}}); }},
        {"products by rows of a batch", "matmul", [](Case& c) { return c.builder.add("Einsum", {c.input({2, 3, 9, 20}), c.input({2, 3, 17, 20})}, {{"equation", std::string("bhid,bhjd->bhij")}}); }},
        {"products by rows that all share", "matmul", [](Case& c) { return c.builder.add("Einsum", {c.input({2, 9, 20}), c.input({33, 20})}, {{"equation", std::string("bid,jd->bij")}}); }},
        {"dense to five", "matmul", [](Case& c) { return c.builder.add("Gemm", {c.input({3, 33}), c.weights({33, 5}), c.weights({5})}); }},
        {"dense to ten", "matmul", [](Case& c) { return c.builder.add("Gemm", {c.input({1, 33}), c.weights({33, 10}), c.weights({10})}); }},
        {"dense of a prime number of rows to a prime number of columns", "matmul",
         [](Case& c) { return c.builder.add("Relu", {c.builder.add("Gemm", {c.input({23, 31}), c.weights({31, 53}), c.weights({53})})}); }},
        {"rows in front of a dimension of one", "matmul", [](Case& c) { return c.builder.add("MatMul", {c.input({29, 1, 24}), c.weights({24, 40})}); }},
        {"batched matmul of uneven sizes", "matmul", [](Case& c) { return c.builder.add("MatMul", {c.input({3, 19, 21}), c.input({3, 21, 37})}); }},
        {"batched matmul", "matmul", [](Case& c) { return c.builder.add("MatMul", {c.input({2, 3, 12, 20}), c.input({2, 3, 20, 32})}); }},
        {"matmul broadcast", "matmul", [](Case& c) { return c.builder.add("MatMul", {c.input({5, 6, 8}), c.input({8, 16})}); }},
        {"softmax", "rows", [](Case& c) { return c.builder.add("Softmax", {c.input({3, 4, 37})}, {{"axis", std::int64_t{-1}}}); }},
        {"softmax of an inner axis", "generic", [](Case& c) { return c.builder.add("Softmax", {c.input({3, 7, 5})}, {{"axis", std::int64_t{1}}}); }},
        {"mean of maps", "rows", [](Case& c) { return c.builder.add("GlobalAveragePool", {c.input({2, 5, 11, 37})}); }},
        {"mean of maps narrower than a vector", "rows", [](Case& c) { return c.builder.add("GlobalAveragePool", {c.input({1, 3, 29, 3})}); }},
        {"maximum of volumes", "rows", [](Case& c) { return c.builder.add("ReduceMax", {c.input({2, 3, 4, 5, 18})}, {{"axes", Ints{2, 3, 4}}}); }},
        {"mean of rows", "rows", [](Case& c) { return c.builder.add("ReduceMean", {c.input({6, 50})}, {{"axes", Ints{1}}}); }},
        {"layer normalization", "rows", [](Case& c) { return c.builder.add("LayerNormalization", {c.input({2, 5, 24}), c.weights({24}), c.weights({24})}); }},
        {"elementwise with broadcast", "generic",
         [](Case& c) { return c.builder.add("Sigmoid", {c.builder.add("Mul", {c.input({2, 5, 6, 7}), c.weights({5, 1, 1})})}); }},
        {"elementwise in a row", "generic", [](Case& c) { return c.builder.add("Tanh", {c.builder.add("Add", {c.input({3, 67}), c.input({3, 67})})}); }},
        {"transpose", "rearrange", [](Case& c) { return c.builder.add("Transpose", {c.input({2, 3, 17, 5})}, {{"perm", Ints{0, 2, 3, 1}}}); }},
        {"concat", "generic", [](Case& c) { return c.builder.add("Concat", {c.input({2, 3, 7}), c.input({2, 5, 7}), c.input({2, 1, 7})}, {{"axis", std::int64_t{1}}}); }},
        {"slice with a negative step", "generic",
         [](Case& c) { return c.builder.add("Slice", {c.input({6, 9}), c.ints({5, 1}), c.ints({-7, 8}), c.ints({0, 1}), c.ints({-2, 3})}); }},
        {"pad", "generic", [](Case& c) { return c.builder.add("Pad", {c.input({3, 5}), c.ints({1, 2, 0, 3})}); }},
        {"transposed convolution", "generic",
         [](Case& c) { return c.builder.add("ConvTranspose", {c.input({1, 4, 5, 5}), c.weights({4, 6, 3, 3})}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}); }},
        {"local response normalization", "generic", [](Case& c) { return c.builder.add("LRN", {c.input({1, 8, 4, 4})}, {{"size", std::int64_t{5}}}); }},
    };
    return table;
}

// The default and two configs drawn from the space, or one from each of its parts.
std::vector<Config> someConfigs(const ScheduleSpace& space) {
    std::vector<Config> configs{space.defaultConfig()};
    Rng rng(kSeed);
    const auto* several = dynamic_cast<const UnionSpace*>(&space.space());
    for (std::size_t part = 0; part < (several ? several->partCount() : 1); ++part)
        for (int i = 0; i < (several ? 1 : 2); ++i)
            configs.push_back(several ? several->widened(part, several->part(part).sample(rng)) : space.space().sample(rng));
    return configs;
}

} // namespace

class TestTemplates : public QObject {
    Q_OBJECT

private slots:
    void everyConfigComputesTheWorkload_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < rows().size(); ++i)
            QTest::newRow(rows()[i].name) << static_cast<int>(i);
    }
    void everyConfigComputesTheWorkload() {
        QFETCH(int, row);
        const Row& kase = rows()[static_cast<std::size_t>(row)];
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            Target target;
            target.isa = isa;
            const Workload workload = workloadOf(kase.recipe, target);
            const auto space = take(ScheduleSpace::make(workload, target));
            QCOMPARE(QString::fromStdString(space.space().name()), QString(kase.expectedTemplate));
            const auto reference = take(KernelCase::make(workload, kSeed));
            const auto one = take(PhaseRunner::make(1)), two = take(PhaseRunner::make(2));
            for (const Config& config : someConfigs(space)) {
                const auto kernel = take(BenchKernel::load(reference, packageOf(take(space.schedule(config)), target)));
                const std::string wrong = kernel->check(*one) + kernel->check(*two);
                QVERIFY2(wrong.empty(), (std::string(isaName(isa)) + ", " + space.space().describe(config) + ": " + wrong).c_str());
            }
        }
    }

    void workloadsSurviveTheirSerialization() {
        Target target;
        for (const Row& row : rows()) {
            const Workload workload = workloadOf(row.recipe, target);
            const Workload copy = take(Workload::deserialize(workload.serialize()));
            QCOMPARE(copy.key, workload.key);
            QCOMPARE(copy.name, workload.name);
            QCOMPARE(copy.flops, workload.flops);
        }
        QVERIFY(!Workload::deserialize("").ok());
        for (const char* damaged : {"{\"version\":1}\nrubbish", "{\"version\":\"1\"}\nrubbish", "{\"version\":{}}\nrubbish", "[1]\nrubbish", "1\nrubbish"})
            QVERIFY(!Workload::deserialize(damaged).ok());
        const std::string text = workloadOf(rows()[0].recipe, target).serialize();
        for (std::size_t size = 0; size < text.size(); size += 37)
            QVERIFY(!Workload::deserialize(std::string_view(text).substr(0, size)).ok());
    }

    void equalComputationsShareTheirKeyAndOthersDoNot() {
        Target target;
        const auto key = [&](const Shape& x, const Shape& w, const Ints& pads) {
            return workloadOf([&](Case& c) { return convRelu(c, x, w, pads, {1, 1}); }, target).key;
        };
        const std::string first = key({1, 16, 9, 11}, {32, 16, 3, 3}, {1, 1, 1, 1});
        QCOMPARE(key({1, 16, 9, 11}, {32, 16, 3, 3}, {1, 1, 1, 1}), first);
        QVERIFY(key({1, 16, 9, 10}, {32, 16, 3, 3}, {1, 1, 1, 1}) != first);
        QVERIFY(key({1, 16, 9, 11}, {32, 16, 3, 3}, {0, 1, 1, 1}) != first);
        QVERIFY(key({1, 16, 9, 11}, {16, 16, 3, 3}, {1, 1, 1, 1}) != first);
    }

    // Written out they would take seconds to compile.
    void longWindowsStayLoops() {
        const auto isUnrolled = [](std::int64_t width) {
            Target target;
            const auto recipe = [width](Case& c) { return convRelu(c, {1, 1, 1, 400}, {32, 1, 1, width}, {0, 0, 0, 0}, {1, 16}); };
            const auto space = take(ScheduleSpace::make(workloadOf(recipe, target), target));
            return std::ranges::any_of(someConfigs(space), [&](const Config& config) { return space.space().describe(config).find("unroll_kw 1") != std::string::npos; });
        };
        QVERIFY(isUnrolled(16));
        QVERIFY(!isUnrolled(17));
    }

    void foreignConfigsAreRefused() {
        Target target;
        const auto space = take(ScheduleSpace::make(workloadOf(rows()[0].recipe, target), target));
        Config config = space.defaultConfig();
        config.choices[0] = 1000;
        QVERIFY(!space.schedule(config).ok());
        config.choices.clear();
        QVERIFY(!space.schedule(config).ok());
    }
};

QTEST_GUILESS_MAIN(TestTemplates)
#include "tst_templates.moc"
