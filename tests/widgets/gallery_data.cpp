// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/gallery_data.h"
#include "core/base/rng.h"
#include "core/graph/layered_layout.h"
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

class NetworkDrawing {
public:
    int add(const QString& title, GraphCategory category, const QString& shape, QVector<int> inputs,
            QVector<GraphDetail> details = {}) {
        GraphNode node;
        node.id = scene_.nodes.size();
        node.title = title;
        node.subtitle = shape;
        node.category = category;
        node.details = std::move(details);
        scene_.nodes.push_back(node);
        for (const int input : inputs) {
            GraphEdge edge;
            edge.from = input;
            edge.to = static_cast<int>(node.id);
            edge.tooltip = QStringLiteral("float32 ") + scene_.nodes[input].subtitle;
            scene_.edges.push_back(edge);
        }
        return static_cast<int>(node.id);
    }

    GraphScene finish(const QFont& font) {
        std::vector<LayoutNode> nodes;
        std::vector<LayoutEdge> edges;
        for (const auto& node : scene_.nodes) {
            const auto size = cardSize(node, font);
            nodes.push_back({static_cast<float>(size.width()), static_cast<float>(size.height())});
        }
        for (const auto& edge : scene_.edges)
            edges.push_back({edge.from, edge.to, 0});
        const auto layout = layeredLayout(nodes, edges).value();
        for (int i = 0; i < scene_.nodes.size(); ++i)
            scene_.nodes[i].rect = {layout.nodes[i].x, layout.nodes[i].y, layout.nodes[i].width,
                                    layout.nodes[i].height};
        for (int i = 0; i < scene_.edges.size(); ++i) {
            for (const auto& point : layout.edges[i].points)
                scene_.edges[i].points.push_back({point.x, point.y});
            for (const auto& point : layout.edges[i].arrival)
                scene_.edges[i].arrival.push_back({point.x, point.y});
        }
        scene_.size = {layout.width, layout.height};
        return std::move(scene_);
    }

private:
    GraphScene scene_;
};

QString shape(int channels, int side) {
    return QStringLiteral("1 × %1 × %2 × %2").arg(channels).arg(side);
}

int convolution(NetworkDrawing& net, int input, int in, int out, int side, int kernel, int stride) {
    return net.add(QStringLiteral("Conv"), GraphCategory::conv, shape(out, side), {input},
                   {{QStringLiteral("W"), QStringLiteral("%1 × %2 × %3 × %3").arg(out).arg(in).arg(kernel)},
                    {QStringLiteral("B"), QString::number(out)},
                    {QStringLiteral("strides"), QStringLiteral("%1, %1").arg(stride)}});
}

int relu(NetworkDrawing& net, int input, int channels, int side) {
    return net.add(QStringLiteral("Relu"), GraphCategory::elementwise, shape(channels, side), {input});
}

int residualBlock(NetworkDrawing& net, int input, int in, int out, int side, int stride) {
    const int first = relu(net, convolution(net, input, in, out, side, 3, stride), out, side);
    const int second = convolution(net, first, out, out, side, 3, 1);
    const int shortcut = in == out ? input : convolution(net, input, in, out, side, 1, stride);
    const int sum =
        net.add(QStringLiteral("Add"), GraphCategory::elementwise, shape(out, side), {second, shortcut});
    return relu(net, sum, out, side);
}

} // namespace

GraphScene sampleNetwork(const QFont& font) {
    NetworkDrawing net;
    int last = net.add(QStringLiteral("input"), GraphCategory::io, shape(3, 224), {});
    last = relu(net, convolution(net, last, 3, 64, 112, 7, 2), 64, 112);
    last = net.add(QStringLiteral("MaxPool"), GraphCategory::pool, shape(64, 56), {last},
                   {{QStringLiteral("kernel"), QStringLiteral("3, 3")},
                    {QStringLiteral("strides"), QStringLiteral("2, 2")}});
    int channels = 64, side = 56;
    for (int stage = 0; stage < 4; ++stage) {
        for (int block = 0; block < 2; ++block) {
            const bool grows = stage > 0 && block == 0;
            const int out = grows ? channels * 2 : channels;
            side = grows ? side / 2 : side;
            last = residualBlock(net, last, channels, out, side, grows ? 2 : 1);
            channels = out;
        }
    }
    last = net.add(QStringLiteral("GlobalAveragePool"), GraphCategory::pool, shape(512, 1), {last});
    last = net.add(QStringLiteral("Flatten"), GraphCategory::shape, QStringLiteral("1 × 512"), {last});
    last = net.add(
        QStringLiteral("Gemm"), GraphCategory::dense, QStringLiteral("1 × 1000"), {last},
        {{QStringLiteral("B"), QStringLiteral("1000 × 512")}, {QStringLiteral("C"), QStringLiteral("1000")}});
    net.add(QStringLiteral("output"), GraphCategory::io, QStringLiteral("1 × 1000"), {last});
    return net.finish(font);
}

Replay sampleReplay(const QFont& font) {
    NetworkDrawing net;
    const int input = net.add(QStringLiteral("input"), GraphCategory::io, shape(16, 56), {});
    const int left = convolution(net, input, 16, 64, 56, 1, 1), right = convolution(net, input, 16, 64, 56, 3, 1);
    const int both = net.add(QStringLiteral("Concat"), GraphCategory::shape, shape(128, 56), {left, right});
    const int merged = convolution(net, input, 16, 128, 56, 3, 1);
    net.add(QStringLiteral("output"), GraphCategory::io, shape(128, 56), {both, merged});
    Replay replay;
    replay.scene = net.finish(font);
    replay.nodes = {{0}, {0, 1}, {0, 1}, {0, 1}, {1}, {0}};
    for (const GraphEdge& edge : replay.scene.edges)
        replay.edges.push_back(edge.from == merged || edge.to == merged ? Turns{1} : Turns{0, 1});
    replay.steps = {{QStringLiteral("merge-convolutions"), {QStringLiteral("concat-of-split")}, 3, 1, true}};
    replay.unit = QStringLiteral("kernels");
    return replay;
}

GraphScene denseNetwork(const QFont& font) {
    NetworkDrawing net;
    const int constant = net.add(QStringLiteral("scale"), GraphCategory::other, QStringLiteral("1"), {});
    QVector<int> before{net.add(QStringLiteral("input"), GraphCategory::io, shape(64, 56), {})};
    for (int layer = 0; layer < 9; ++layer) {
        const int joined =
            net.add(QStringLiteral("Concat"), GraphCategory::shape, shape(64 + 32 * layer, 56), before);
        const int norm = net.add(QStringLiteral("BatchNormalization"), GraphCategory::norm,
                                 shape(64 + 32 * layer, 56), {joined});
        const int scaled = net.add(QStringLiteral("Mul"), GraphCategory::elementwise,
                                   shape(64 + 32 * layer, 56), {norm, constant});
        before.push_back(convolution(net, scaled, 64 + 32 * layer, 32, 56, 3, 1));
    }
    return net.finish(font);
}

QVector<double> sampleTimes(const GraphScene& scene) {
    Rng rng(7);
    QVector<double> times;
    for (const auto& node : scene.nodes)
        times.push_back(node.category == GraphCategory::io     ? kUnknown
                        : node.category == GraphCategory::conv ? 0.6 + 1.8 * rng.uniform()
                                                               : 0.02 + 0.2 * rng.uniform());
    return times;
}

NodeProperties sampleProperties() {
    return {QStringLiteral("Conv"),
            QStringLiteral("/layer1/layer1.0/conv1/Conv"),
            {{QStringLiteral("Attributes"),
              {{QStringLiteral("dilations"), QStringLiteral("1, 1"), QStringLiteral("ints")},
               {QStringLiteral("group"), QStringLiteral("1"), QStringLiteral("int")},
               {QStringLiteral("kernel_shape"), QStringLiteral("3, 3"), QStringLiteral("ints")},
               {QStringLiteral("pads"), QStringLiteral("1, 1, 1, 1"), QStringLiteral("ints")},
               {QStringLiteral("strides"), QStringLiteral("1, 1"), QStringLiteral("ints")}}},
             {QStringLiteral("Inputs"),
              {{QStringLiteral("X"), QStringLiteral("/maxpool/MaxPool_output_0"),
                QStringLiteral("float32 1×64×56×56")},
               {QStringLiteral("W"), QStringLiteral("onnx::Conv_193"), QStringLiteral("float32 64×64×3×3")},
               {QStringLiteral("B"), QStringLiteral("onnx::Conv_194"), QStringLiteral("float32 64")}}},
             {QStringLiteral("Outputs"),
              {{QStringLiteral("Y"), QStringLiteral("/layer1/layer1.0/conv1/Conv_output_0"),
                QStringLiteral("float32 1×64×56×56")}}}}};
}

QVector<TrialPoint> sampleTrials(int workload, int count) {
    Rng rng(static_cast<std::uint64_t>(workload) + 1);
    const double start = 0.8 + 1.7 * workload, floor = start * (0.12 + 0.04 * workload);
    QVector<TrialPoint> trials;
    for (int i = 0; i < count; ++i) {
        TrialPoint trial;
        trial.index = i;
        trial.failed = rng.chance(0.06);
        const double centre = floor + (start - floor) * std::exp(-i / (12.0 + 4 * workload));
        const double ms = centre * std::exp(0.5 * std::abs(rng.normal()));
        trial.ms = trial.failed ? kUnknown : ms;
        trial.predicted = ms * std::exp(0.22 * rng.normal());
        trials.push_back(trial);
    }
    return trials;
}

QVector<RooflineKernel> sampleKernels() {
    const Roof roof = sampleRoof();
    QVector<RooflineKernel> kernels;
    double intensity = 0.4, share = 0.5;
    for (const WorkloadEntry& row : sampleWorkloads()) {
        const double flops = roof.at(intensity *= 2.4) * (share += 0.08) * row.bestMs * 1e6;
        kernels.push_back({row.key, row.name, flops, flops / intensity, row.bestMs, 1});
    }
    return kernels;
}

Roof sampleRoof() { return {100, 12}; }

QVector<StrategyRun> sampleRuns() {
    const char* const names[] = {"Model-guided annealing", "Random", "Genetic"};
    QVector<StrategyRun> runs;
    for (int i = 0; i < 7; ++i) {
        StrategyRun run{QString::fromLatin1(names[i % 3]), i % 3, i + 1, 0, 0, {}};
        for (const TrialPoint& trial : sampleTrials(i, 40 + 12 * i)) {
            ++run.trials;
            run.failed += trial.failed;
            const double ms = trial.ms / (0.8 + 1.7 * i) * (1 + 0.4 * (i % 3)); // the samples get slower one by one
            if (!trial.failed && (run.best.isEmpty() || ms < run.best.last().y()))
                run.best.push_back({static_cast<double>(run.trials), ms});
        }
        runs.push_back(run);
    }
    return runs;
}

SpaceMap sampleSpace() {
    Rng rng(11);
    const auto knob = [&rng](const char* name, int values, double share) {
        SpaceKnob made{QString::fromLatin1(name), {}};
        for (int i = 0; i < values; ++i) {
            SpaceValue value{QString::number(1 << i), 0, kUnknown};
            if (rng.chance(share)) {
                value.tries = 1 + static_cast<qint64>(rng.below(20));
                if (!rng.chance(0.12))
                    value.bestMs = 0.5 * (1 + 3.5 * rng.uniform());
            }
            made.values.push_back(value);
        }
        return made;
    };
    SpacePart direct{QStringLiteral("conv2d_nchwc"), 15360, 61, 0.5,
                     {knob("oc_block", 4, 1), knob("ow_tile", 9, 0.8), knob("ic_chunk", 7, 0.8), knob("unroll_kernel", 2, 1)}};
    direct.knobs[0].values[2] = {QStringLiteral("4"), 30, 0.5};
    const SpacePart winograd{QStringLiteral("winograd4"), 288, 5, 0.61, {knob("tile_block", 6, 0.4), knob("oc_tile", 5, 0.4)}};
    return {{direct, winograd}, 70, 4, 0};
}

QVector<WorkloadEntry> sampleWorkloads() {
    const struct {
        const char *name, *op, *shape;
        double space, flops;
        int done;
        WorkloadState state;
    } kSamples[] = {
        {"layer1.0.conv1", "Conv", "1×64×56×56, W 64×64×3×3", 1.4e6, 0.231, 64, WorkloadState::done},
        {"layer2.0.conv1", "Conv", "1×64×56×56, W 128×64×3×3, s2", 1.1e6, 0.116, 64, WorkloadState::done},
        {"layer2.0.downsample", "Conv", "1×64×56×56, W 128×64×1×1, s2", 42000, 0.013, 51,
         WorkloadState::running},
        {"layer3.1.conv2", "Conv", "1×256×14×14, W 256×256×3×3", 1.9e6, 0.231, 22, WorkloadState::running},
        {"conv1", "Conv", "1×3×224×224, W 64×3×7×7, s2", 380000, 0.236, 12, WorkloadState::failed},
        {"fc", "Gemm", "1×512, B 1000×512", 9600, 0.001, 0, WorkloadState::waiting},
    };
    QVector<WorkloadEntry> rows;
    for (const auto& sample : kSamples) {
        WorkloadEntry row;
        row.key = row.name = QString::fromUtf8(sample.name);
        row.op = QString::fromUtf8(sample.op);
        row.shape = QString::fromUtf8(sample.shape);
        row.space = sample.space;
        row.done = sample.done;
        row.budget = 64;
        row.state = sample.state;
        double best = kUnknown;
        for (const auto& trial : sampleTrials(static_cast<int>(rows.size()), sample.done)) {
            if (!trial.failed)
                best = std::isnan(best) ? trial.ms : std::min(best, trial.ms);
            if (std::isnan(row.firstMs))
                row.firstMs = best;
            row.bestSoFar.push_back(best);
        }
        row.bestMs = best;
        row.gflops = sample.flops * 1000 / best;
        rows.push_back(row);
    }
    return rows;
}

} // namespace tunesmith
