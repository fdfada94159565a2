// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/rng.h"
#include "core/codegen/kernel.h"
#include "core/loops/schedule.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

// A kernel of one elementwise stage y(i) = body(x, i), vectorised or not.
std::unique_ptr<LoadedKernel> kernelOf(DType from, DType to, std::int64_t count, bool vectorised, Isa isa) {
    Program program;
    program.name = "convert";
    const auto x = makeTensor("x", from, {count});
    program.inputs = {x};
    program.stages.push_back(compute("y", to, {count}, [&](const Indices& i) { return cast(to, load(x, i)); }));
    program.outputs = {program.stages.back().output};
    Schedule schedule(program);
    auto& stage = schedule[program.outputs[0]];
    if (vectorised) {
        auto [outer, inner] = stage.split(stage.axes()[0], 16);
        stage.vectorize(inner);
        stage.parallel(outer);
    }
    auto nest = schedule.lower();
    if (!nest.ok())
        qFatal("%s", nest.error().message.c_str());
    Target target;
    target.isa = isa;
    auto compiled = compileKernel(*nest, target, {"convert", false});
    if (!compiled.ok())
        qFatal("%s", compiled.error().message.c_str());
    auto kernel = LoadedKernel::load(compiled->kernel);
    if (!kernel.ok())
        qFatal("%s", kernel.error().message.c_str());
    return std::move(kernel).value();
}

Tensor convert(const Tensor& x, DType to, bool vectorised, Isa isa) {
    const auto kernel = kernelOf(x.type(), to, x.count(), vectorised, isa);
    Tensor input = x, output = Tensor::zeros(to, x.shape());
    std::vector<void*> arguments{input.mutableBytes().data(), output.mutableBytes().data()};
    kernel->run(arguments.data());
    return output;
}

template <class T> Tensor everyPattern() {
    Tensor tensor = Tensor::zeros(dtypeOf<T>, {65536});
    auto* bits = reinterpret_cast<std::uint16_t*>(tensor.mutableBytes().data());
    for (std::size_t i = 0; i < 65536; ++i)
        bits[i] = static_cast<std::uint16_t>(i);
    return tensor;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

// Random bit patterns, halfway cases of both formats, and what lies at the borders.
Tensor difficultFloats() {
    Tensor tensor = Tensor::zeros(DType::f32, {65536});
    Rng rng(7);
    auto values = tensor.mutableData<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto bits = static_cast<std::uint32_t>(rng.below(std::uint64_t(1) << 32));
        if (i % 4 == 1)
            bits = (bits & 0xffff0000u) | 0x8000u; // halfway between two bfloat16
        if (i % 4 == 2)
            bits = (bits & 0x87ffe000u) | 0x38001000u; // halfway between two float16
        values[i] = std::bit_cast<float>(bits);
    }
    const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 65504.0f, 65519.9f, 65520.0f, 1e-8f, 6e-8f,
                             std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()};
    std::copy(std::begin(special), std::end(special), values.begin());
    return tensor;
}

} // namespace

// float16 and bfloat16 in memory against the conversions of core/graph.
class TestSmallFloats : public QObject {
    Q_OBJECT

    template <class T, class Widen> void widening(Widen widen, bool vectorised, Isa isa) {
        const Tensor x = everyPattern<T>(), y = convert(x, DType::f32, vectorised, isa);
        for (std::size_t i = 0; i < 65536; ++i)
            if (!same(y.data<float>()[i], widen(x.data<T>()[i])))
                QFAIL(qPrintable(QString("bits %1 become %2").arg(i, 0, 16).arg(y.data<float>()[i])));
    }

    template <class T, class Round, class Widen> void rounding(Round round, Widen widen, bool vectorised, Isa isa) {
        const Tensor x = difficultFloats(), y = convert(x, dtypeOf<T>, vectorised, isa);
        for (std::size_t i = 0; i < 65536; ++i)
            if (!same(widen(y.data<T>()[i]), widen(round(x.data<float>()[i]))))
                QFAIL(qPrintable(QString("%1 becomes %2").arg(x.data<float>()[i], 0, 'g', 9).arg(widen(y.data<T>()[i]))));
    }

    static void rows() {
        QTest::addColumn<bool>("bfloat");
        QTest::addColumn<bool>("vectorised");
        QTest::addColumn<bool>("wide");
        for (const bool bfloat : {false, true})
            for (const bool vectorised : {false, true})
                for (const bool wide : {false, true})
                    QTest::addRow("%s %s %s", bfloat ? "bfloat16" : "float16", vectorised ? "vectors" : "scalars", wide ? "avx512" : "avx2")
                        << bfloat << vectorised << wide;
    }

private slots:
    void widened_data() { rows(); }
    void widened() {
        QFETCH(bool, bfloat);
        QFETCH(bool, vectorised);
        QFETCH(bool, wide);
        const Isa isa = wide ? Isa::avx512 : Isa::avx2;
        if (!hostSupports(isa))
            QSKIP("this processor lacks the instruction set");
        if (bfloat)
            widening<BFloat>(bfloatToFloat, vectorised, isa);
        else
            widening<Half>(halfToFloat, vectorised, isa);
    }

    void rounded_data() { rows(); }
    void rounded() {
        QFETCH(bool, bfloat);
        QFETCH(bool, vectorised);
        QFETCH(bool, wide);
        const Isa isa = wide ? Isa::avx512 : Isa::avx2;
        if (!hostSupports(isa))
            QSKIP("this processor lacks the instruction set");
        if (bfloat)
            rounding<BFloat>(floatToBfloat, bfloatToFloat, vectorised, isa);
        else
            rounding<Half>(floatToHalf, halfToFloat, vectorised, isa);
    }

    void whatIsStoredStays() {
        const Tensor x = everyPattern<Half>();
        const Tensor y = convert(x, DType::f16, true, hostSupports(Isa::avx512) ? Isa::avx512 : Isa::avx2);
        for (std::size_t i = 0; i < 65536; ++i)
            QVERIFY(same(halfToFloat(x.data<Half>()[i]), halfToFloat(y.data<Half>()[i])));
    }
};

QTEST_GUILESS_MAIN(TestSmallFloats)
#include "tst_small_floats.moc"
