// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QRegularExpression>
#include <QTest>

#include "core/base/rng.h"
#include "core/codegen/kernel.h"
#include "core/codegen/listing.h"
#include "core/loops/evaluate.h"
#include "core/loops/schedule.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

Tensor randomTensor(const Shape& shape, std::uint64_t seed) {
    Rng rng(seed);
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& value : tensor.mutableData<float>())
        value = rng.uniform(-1.0f, 1.0f);
    return tensor;
}

struct ConvShape {
    std::int64_t channels, height, width, filters, kernel, stride, pad;
};

// conv -> bias -> relu
Program convProgram(const ConvShape& s) {
    Program program;
    program.name = "conv";
    const auto x = makeTensor("x", DType::f32, {1, s.channels, s.height, s.width});
    const auto w = makeTensor("w", DType::f32, {s.filters, s.channels, s.kernel, s.kernel});
    const auto b = makeTensor("b", DType::f32, {s.filters});
    const std::int64_t oh = (s.height + 2 * s.pad - s.kernel) / s.stride + 1, ow = (s.width + 2 * s.pad - s.kernel) / s.stride + 1;
    program.inputs = {x, w, b};
    program.stages.push_back(reduce("conv", DType::f32, {1, s.filters, oh, ow}, Reduction::sum, {s.channels, s.kernel, s.kernel},
        [&](const Indices& i, const Indices& r) {
            const Expr ih = i[2] * s.stride + r[1] - s.pad, iw = i[3] * s.stride + r[2] - s.pad;
            Expr guard;
            if (s.pad > 0)
                guard = ih >= 0 && ih < Expr(s.height) && iw >= 0 && iw < Expr(s.width);
            return ReductionBody{load(x, {i[0], r[0], ih, iw}) * load(w, {i[1], r[0], r[1], r[2]}), guard};
        }));
    const auto conv = program.stages.back().output;
    program.stages.push_back(compute("relu", DType::f32, conv->shape, [&](const Indices& i) {
        return max(load(conv, i) + load(b, {i[1]}), constantOf(DType::f32, 0));
    }));
    program.outputs = {program.stages.back().output};
    return program;
}

void scheduleConv(Schedule& s, std::int64_t block, std::int64_t tile, std::int64_t oneTile, std::int64_t chunks) {
    const TensorRef conv = s.program().stages[0].output, out = s.program().stages[1].output;
    const std::int64_t inBlock = s.program().inputs[0]->shape[1] % block == 0 ? block : 1;
    s.setLayout(s.program().inputs[0], Layout::blocked(4, 1, inBlock));
    s.setLayout(s.program().inputs[1], Layout::weights(4, inBlock, block));
    s.setLayout(out, Layout::blocked(4, 1, block));
    s.setLayout(conv, Layout::blocked(4, 1, block));
    auto& o = s[out];
    auto [oc, oci] = o.split(o.axes()[1], block);
    auto [occ, ocb] = o.split(oc, chunks);
    auto [ow, owi] = o.split(o.axes()[3], tile);
    o.reorder({o.axes()[0], occ, o.axes()[2], ow, ocb, owi, oci});
    const Var p = o.fuse(o.fuse(o.axes()[0], occ), o.axes()[2]);
    o.parallel(p);
    o.unroll(ocb);
    o.unroll(owi);
    o.vectorize(oci);
    auto& c = s[conv];
    c.computeAt(out, ow);
    auto [cc, cci] = c.split(c.axes()[1], block);
    auto [ic, ici] = c.split(c.reduceAxes()[0], oneTile);
    c.reorder({c.axes()[0], c.axes()[2], ic, c.reduceAxes()[1], c.reduceAxes()[2], ici, cc, c.axes()[3], cci});
    c.unroll(cc);
    c.unroll(c.axes()[3]);
    c.unroll(c.reduceAxes()[2]);
    c.vectorize(cci);
}

} // namespace

class TestCodegen : public QObject {
    Q_OBJECT

private slots:
    void convolutionAgreesWithEvaluator_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<QList<int>>("tiles");
        QTest::newRow("padded 3x3") << QList<int>{16, 9, 10, 32, 3, 1, 1} << QList<int>{16, 4, 8, 2};
        QTest::newRow("tail, no pad") << QList<int>{8, 7, 11, 16, 3, 1, 0} << QList<int>{8, 4, 8, 1};
        QTest::newRow("stride 2, three channels") << QList<int>{3, 15, 15, 16, 7, 2, 3} << QList<int>{16, 3, 3, 1};
        QTest::newRow("1x1") << QList<int>{16, 5, 5, 16, 1, 1, 0} << QList<int>{16, 5, 4, 1};
        QTest::newRow("tile wider than the row") << QList<int>{8, 5, 5, 16, 3, 1, 1} << QList<int>{16, 14, 8, 1};
    }
    void convolutionAgreesWithEvaluator() {
        QFETCH(QList<int>, shape);
        QFETCH(QList<int>, tiles);
        const ConvShape s{shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6]};
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            const Program program = convProgram(s);
            Schedule schedule(program);
            scheduleConv(schedule, tiles[0], tiles[1], tiles[2], tiles[3]);
            auto nest = schedule.lower();
            QVERIFY(nest.ok());
            if (qEnvironmentVariableIsSet("TS_SHOW"))
                qInfo().noquote() << QString::fromStdString(toText(*nest));
            Target target;
            target.isa = isa;
            QElapsedTimer timer;
            timer.start();
            auto compiled = compileKernel(*nest, target, {"conv", qEnvironmentVariableIsSet("TS_SHOW")});
            qInfo() << "compile ms" << timer.elapsed();
            QVERIFY2(compiled.ok(), compiled.ok() ? "" : compiled.error().message.c_str());
            auto kernel = LoadedKernel::load(compiled->kernel);
            QVERIFY2(kernel.ok(), kernel.ok() ? "" : kernel.error().message.c_str());
            std::vector<Tensor> inputs;
            for (const auto& input : program.inputs)
                inputs.push_back(randomTensor(input->shape, inputs.size() + 1));
            const auto expected = evaluate(program, inputs);
            QVERIFY(expected.ok());
            std::vector<Tensor> buffers;
            for (std::size_t i = 0; i < inputs.size(); ++i)
                buffers.push_back(pack(inputs[i], schedule.layoutOf(program.inputs[i])));
            const Layout outLayout = schedule.layoutOf(program.outputs[0]);
            buffers.push_back(Tensor::zeros(DType::f32, {outLayout.elementCount(program.outputs[0]->shape)}));
            std::vector<void*> arguments;
            for (Tensor& buffer : buffers)
                arguments.push_back(buffer.mutableBytes().data());
            (*kernel)->run(arguments.data());
            const Tensor actual = unpack(buffers.back(), program.outputs[0]->shape, outLayout);
            for (std::int64_t i = 0; i < actual.count(); ++i)
                QVERIFY2(std::abs(actual.asDouble(i) - (*expected)[0].asDouble(i)) < 1e-4,
                         qPrintable(QString("%1: %2 instead of %3").arg(i).arg(actual.asDouble(i)).arg((*expected)[0].asDouble(i))));
        }
    }

    // Sums of a matrix product that are kept in memory from one part of k to the next: buffers do not overlap, so that within a
    // part they live in registers, and an element of the left side asked for ahead costs one instruction.
    void sumsInMemoryStayInRegistersWhileTheyGrow() {
        Program program;
        program.name = "product";
        const auto a = makeTensor("a", DType::f32, {16, 64}), b = makeTensor("b", DType::f32, {64, 16});
        program.inputs = {a, b};
        program.stages.push_back(reduce("product", DType::f32, {16, 16}, Reduction::sum, {64}, [&](const Indices& i, const Indices& r) {
            return ReductionBody{load(a, {i[0], r[0]}) * load(b, {r[0], i[1]}), {}};
        }));
        program.outputs = {program.stages[0].output};
        Schedule schedule(program);
        auto& p = schedule[program.outputs[0]];
        const auto [rows, row] = p.split(p.axes()[0], 4);
        const auto [parts, k] = p.split(p.reduceAxes()[0], 16);
        p.reorder({parts, rows, k, row, p.axes()[1]});
        p.unroll(row);
        p.vectorize(p.axes()[1]);
        p.prefetch(k, b, (Expr(parts) * 16 + Expr(k) + 16) * 16);
        Target target;
        target.isa = Isa::avx512;
        const auto nest = schedule.lower();
        QVERIFY(nest.ok());
        const auto compiled = compileKernel(*nest, target, {"product", true});
        QVERIFY(compiled.ok());
        const auto loop = hottestLoop(compiled->assembly);
        QVERIFY(loop.has_value());
        const QStringList lines = QString::fromStdString(compiled->assembly).split('\n').mid(qsizetype(loop->firstLine), qsizetype(loop->lines));
        QCOMPARE(loop->multiplyAdds, 4);
        QCOMPARE(lines.filter(QRegularExpression("prefetch")).size(), 1);
        QVERIFY2(lines.filter(QRegularExpression("vmov\\w+\t%")).isEmpty(), qPrintable(lines.join('\n'))); // no store
    }
};

QTEST_GUILESS_MAIN(TestCodegen)
#include "tst_codegen.moc"
