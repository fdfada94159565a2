// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/rng.h"
#include "core/codegen/kernel.h"
#include "core/loops/evaluate.h"
#include "core/loops/evaluate_nest.h"
#include "core/loops/schedule.h"
#include "core/loops/scalar_arithmetic.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

constexpr Isa kEvery[] = {Isa::avx2, Isa::avx2Vnni, Isa::avx512, Isa::avx512Vnni};
constexpr std::int64_t kDepth = 5;

// Words of any bytes, the extreme ones often.
Tensor words(const Shape& shape, std::uint64_t seed) {
    Tensor tensor = Tensor::zeros(DType::i32, shape);
    Rng rng(seed);
    constexpr std::uint8_t kExtremes[] = {0, 127, 128, 255};
    for (std::byte& byte : tensor.mutableBytes())
        byte = std::byte(rng.chance(0.5) ? kExtremes[rng.below(4)] : static_cast<std::uint8_t>(rng.below(256)));
    return tensor;
}

// Sums of dot products, a lane for each element; the left side may be one word for all lanes.
Program dots(std::int64_t lanes, bool broadcast) {
    Program program;
    program.name = "dots";
    const auto a = makeTensor("a", DType::i32, {kDepth, broadcast ? 1 : lanes}), b = makeTensor("b", DType::i32, {kDepth, lanes});
    program.inputs = {a, b};
    program.stages.push_back(reduce("y", DType::i32, {lanes}, Reduction::sum, {kDepth}, [&](const Indices& i, const Indices& r) {
        return ReductionBody{binary(Op::dot4, load(a, {r[0], broadcast ? Expr(0) : i[0]}), load(b, {r[0], i[0]})), {}};
    }));
    program.outputs = {program.stages[0].output};
    return program;
}

} // namespace

class TestByteDots : public QObject {
    Q_OBJECT

private slots:
    void wordsOfKnownBytes() {
        QCOMPARE(intBinary(Op::dot4, 0x01020304, 0x01010101, DType::i32), 10);
        QCOMPARE(intBinary(Op::dot4, -1, 0x7f7f7f7f, DType::i32), 4 * 255 * 127);
        QCOMPARE(intBinary(Op::dot4, -1, static_cast<std::int32_t>(0x80808080U), DType::i32), -4 * 255 * 128);
        QCOMPARE(intBinary(Op::dot4, 0x80, 0xff, DType::i32), -128);
    }

    void compiledAgreesWithEvaluator_data() {
        QTest::addColumn<int>("lanes");
        QTest::addColumn<bool>("broadcast");
        for (const int lanes : {1, 2, 3, 4, 5, 8, 11, 16, 17, 24, 31, 32, 48, 64})
            for (const bool broadcast : {false, true})
                QTest::addRow("%d lanes%s", lanes, broadcast ? ", one word" : "") << lanes << broadcast;
    }
    void compiledAgreesWithEvaluator() {
        QFETCH(int, lanes);
        QFETCH(bool, broadcast);
        const Program program = dots(lanes, broadcast);
        Schedule schedule(program);
        auto& s = schedule[program.outputs[0]];
        s.reorder({s.reduceAxes()[0], s.axes()[0]});
        s.vectorize(s.axes()[0]);
        const LoopNest nest = take(schedule.lower());
        std::vector<Tensor> inputs{words(program.inputs[0]->shape, 1), words(program.inputs[1]->shape, 2)};
        const Tensor expected = take(evaluate(program, inputs))[0];
        QVERIFY(std::ranges::equal(take(evaluate(nest, inputs))[0].data<std::int32_t>(), expected.data<std::int32_t>()));
        for (const Isa isa : kEvery) {
            if (!hostSupports(isa))
                continue;
            Target target;
            target.isa = isa;
            const auto kernel = take(LoadedKernel::load(take(compileKernel(nest, target, {"dots", false})).kernel));
            Tensor result = Tensor::zeros(DType::i32, {lanes});
            void* arguments[] = {inputs[0].mutableBytes().data(), inputs[1].mutableBytes().data(), result.mutableBytes().data()};
            kernel->run(arguments);
            QVERIFY2(std::ranges::equal(result.data<std::int32_t>(), expected.data<std::int32_t>()), isaName(isa));
        }
    }

    void processorsWithoutDotProductsAreNotAskedForThem() {
        const Program program = dots(16, true);
        Schedule schedule(program);
        auto& s = schedule[program.outputs[0]];
        s.reorder({s.reduceAxes()[0], s.axes()[0]});
        s.vectorize(s.axes()[0]);
        const LoopNest nest = take(schedule.lower());
        for (const Isa isa : kEvery) {
            Target target;
            target.isa = isa;
            const CompiledKernel compiled = take(compileKernel(nest, target, {"dots", true}));
            QCOMPARE(compiled.assembly.find("vpdpbusd") != std::string::npos, hasByteDots(isa));
            QVERIFY(compiled.assembly.find("vpmaddubsw") == std::string::npos); // saturates
        }
    }
};

QTEST_APPLESS_MAIN(TestByteDots)
#include "tst_byte_dots.moc"
