// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>

#include "core/base/rng.h"
#include "core/loops/evaluate.h"
#include "core/schedule/winograd.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

struct Direct {
    Program program;
    const Stage& conv() const { return program.stages[0]; }
};

struct Shapes {
    std::int64_t channels = 3, height = 7, width = 9, outputs = 4, kernel = 3, top = 1, left = 1, bottom = 1, right = 1, stride = 1, dilation = 1;
};

Direct directConv(const Shapes& s, bool epilogue = false) {
    const std::int64_t reach = (s.kernel - 1) * s.dilation;
    const Shape out{1, s.outputs, (s.height + s.top + s.bottom - reach - 1) / s.stride + 1, (s.width + s.left + s.right - reach - 1) / s.stride + 1};
    const auto x = makeTensor("x", DType::f32, {1, s.channels, s.height, s.width});
    const auto w = makeTensor("w", DType::f32, {s.outputs, s.channels, s.kernel, s.kernel});
    Direct made;
    made.program.name = "conv";
    made.program.inputs = {x, w};
    made.program.stages.push_back(reduce("conv", DType::f32, out, Reduction::sum, {s.channels, s.kernel, s.kernel}, [&](const Indices& o, const Indices& r) {
        const Expr y = o[2] * Expr(s.stride) + r[1] * Expr(s.dilation) - Expr(s.top), c = o[3] * Expr(s.stride) + r[2] * Expr(s.dilation) - Expr(s.left);
        return ReductionBody{load(x, {o[0], r[0], y, c}) * load(w, {o[1], r[0], r[1], r[2]}),
                             y >= Expr(0) && y < Expr(s.height) && c >= Expr(0) && c < Expr(s.width)};
    }));
    if (epilogue) {
        const TensorRef sum = made.program.stages[0].output;
        made.program.stages.push_back(compute("relu", DType::f32, out, [&](const Indices& i) { return max(load(sum, i), constantOf(DType::f32, 0)); }));
    }
    made.program.outputs = {made.program.stages.back().output};
    return made;
}

Tensor randomTensor(const Shape& shape, Rng& rng) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& value : tensor.mutableData<float>())
        value = rng.uniform(-1.0f, 1.0f);
    return tensor;
}

} // namespace

class TestWinograd : public QObject {
    Q_OBJECT

private slots:
    void programsComputeTheConvolution_data() {
        QTest::addColumn<int>("m");
        QTest::addColumn<QList<int>>("shape"); // channels, height, width, outputs, top, left, bottom, right
        QTest::addColumn<bool>("epilogue");
        for (const int m : {2, 4}) {
            QTest::addRow("F(%d) same size", m) << m << QList<int>{3, 8, 12, 2, 1, 1, 1, 1} << false;
            QTest::addRow("F(%d) uneven, epilogue", m) << m << QList<int>{2, 7, 9, 3, 1, 1, 1, 1} << true;
            QTest::addRow("F(%d) no pads", m) << m << QList<int>{1, 6, 7, 1, 0, 0, 0, 0} << false;
            QTest::addRow("F(%d) asymmetric pads", m) << m << QList<int>{2, 6, 5, 2, 0, 2, 3, 1} << false;
        }
    }
    void programsComputeTheConvolution() {
        QFETCH(int, m);
        QFETCH(QList<int>, shape);
        QFETCH(bool, epilogue);
        const Direct direct = directConv({.channels = shape[0], .height = shape[1], .width = shape[2], .outputs = shape[3], .top = shape[4],
                                          .left = shape[5], .bottom = shape[6], .right = shape[7]}, epilogue);
        const auto form = WinogradConv::of(direct.conv());
        QVERIFY(form);
        QCOMPARE(form->padTop, std::int64_t{shape[4]});
        QCOMPARE(form->padLeft, std::int64_t{shape[5]});
        Rng rng(7);
        const Tensor x = randomTensor(direct.program.inputs[0]->shape, rng), w = randomTensor(direct.program.inputs[1]->shape, rng);
        const auto expected = evaluate(direct.program, {x, w});
        const auto actual = evaluate(winogradProgram(direct.program, direct.conv(), *form, m).program, {x, winogradFilters(w, m)});
        QVERIFY(expected.ok());
        QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
        QCOMPARE((*actual)[0].shape(), (*expected)[0].shape());
        for (std::size_t i = 0; i < (*expected)[0].data<float>().size(); ++i)
            QVERIFY(std::abs((*actual)[0].data<float>()[i] - (*expected)[0].data<float>()[i]) < 2e-5f);
    }

    // The matrices satisfy the identity of minimal filtering exactly, up to double precision.
    void matricesAreConvolutions() {
        for (const std::int64_t m : {2, 4}) {
            const WinogradMatrices& f = WinogradMatrices::of(m);
            const auto points = static_cast<std::size_t>(m + 2);
            for (std::size_t d = 0; d < points; ++d)
                for (std::size_t tap = 0; tap < 3; ++tap)
                    for (std::size_t y = 0; y < static_cast<std::size_t>(m); ++y) {
                        double sum = 0;
                        for (std::size_t p = 0; p < points; ++p)
                            sum += f.at[y][p] * f.g[p][tap] * f.bt[p][d];
                        QVERIFY(std::abs(sum - (d == y + tap ? 1.0 : 0.0)) < 1e-12);
                    }
        }
    }

    // With many channels: the error in float, relative to the scale of the output, stays where winograd.h says.
    void roundingStaysSmall() {
        const std::int64_t channels = 512;
        const Direct direct = directConv({.channels = channels, .height = 8, .width = 8, .outputs = 1});
        Rng rng(11);
        const Tensor x = randomTensor({1, channels, 8, 8}, rng), w = randomTensor({1, channels, 3, 3}, rng);
        std::vector<double> exact(64, 0.0);
        double scale = 0;
        for (std::int64_t y = 0; y < 8; ++y)
            for (std::int64_t c = 0; c < 8; ++c) {
                double& sum = exact[static_cast<std::size_t>(8 * y + c)];
                for (std::int64_t k = 0; k < channels * 9; ++k) {
                    const std::int64_t i = k / 9, v = y + k % 9 / 3 - 1, u = c + k % 3 - 1;
                    if (v >= 0 && v < 8 && u >= 0 && u < 8)
                        sum += static_cast<double>(x.data<float>()[static_cast<std::size_t>(64 * i + 8 * v + u)]) *
                               static_cast<double>(w.data<float>()[static_cast<std::size_t>(k)]);
                }
                scale = std::max(scale, std::abs(sum));
            }
        for (const auto& [m, bound] : {std::pair{2, 4e-6}, std::pair{4, 2e-5}}) {
            const Program program = winogradProgram(direct.program, direct.conv(), *WinogradConv::of(direct.conv()), m).program;
            const auto actual = evaluate(program, {x, winogradFilters(w, m)});
            QVERIFY(actual.ok());
            double worst = 0;
            for (std::size_t i = 0; i < exact.size(); ++i)
                worst = std::max(worst, std::abs(static_cast<double>((*actual)[0].data<float>()[i]) - exact[i]) / scale);
            QVERIFY2(worst < bound, qPrintable(QString("F(%1): %2").arg(m).arg(worst)));
        }
    }

    void otherConvolutionsAreLeftAlone() {
        QVERIFY(WinogradConv::of(directConv({}).conv()));
        QVERIFY(!WinogradConv::of(directConv({.stride = 2}).conv()));
        QVERIFY(!WinogradConv::of(directConv({.dilation = 2}).conv()));
        QVERIFY(!WinogradConv::of(directConv({.kernel = 5}).conv()));
        QVERIFY(!WinogradConv::of(directConv({.kernel = 1}).conv()));
    }
};

QTEST_GUILESS_MAIN(TestWinograd)
#include "tst_winograd.moc"
