// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/rng.h"
#include "core/codegen/kernel.h"
#include "core/loops/schedule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

struct Pattern {
    const char* name;
    std::function<Expr(const Expr& row, const Expr& column)> place; // in a row of 128 bytes
    bool apart = false;                                            // lanes read too far apart for one load
};

const std::vector<Pattern>& patterns() {
    static const std::vector<Pattern> all{
        {"each byte twice", [](const Expr& r, const Expr& i) { return r * 128 + i / 2; }},
        {"each byte four times", [](const Expr& r, const Expr& i) { return r * 128 + i / 4; }},
        {"backwards", [](const Expr& r, const Expr& i) { return r * 128 + 127 - i; }},
        {"turned round in eights", [](const Expr& r, const Expr& i) { return r * 128 + i / 8 * 8 + 7 - i % 8; }},
        {"again from the begin", [](const Expr& r, const Expr& i) { return r * 128 + i % 4; }},
        {"every third", [](const Expr& r, const Expr& i) { return r * 128 + i * 3; }, true},
    };
    return all;
}

// y[row, column] = 3 * x[place], columns in vectors.
Schedule copied(const Pattern& pattern, std::int64_t columns, std::int64_t lanes) {
    Program program;
    program.name = "read";
    const auto x = makeTensor("x", DType::u8, {3 * 128});
    program.inputs = {x};
    program.stages.push_back(compute("y", DType::i32, {3, columns}, [&](const Indices& i) { return cast(DType::i32, load(x, {pattern.place(i[0], i[1])})) * constantInt(DType::i32, 3); }));
    program.outputs = {program.stages[0].output};
    Schedule schedule(program);
    auto& y = schedule[program.outputs[0]];
    y.vectorize(y.split(y.axes().back(), lanes).second);
    return schedule;
}

} // namespace

class TestVectorReads : public QObject {
    Q_OBJECT

private slots:
    // Neighbours in any order are read at once and put in their lanes; nothing outside of the tensor is touched (ASan).
    void neighbours_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < patterns().size(); ++i)
            QTest::newRow(patterns()[i].name) << static_cast<int>(i);
    }
    void neighbours() {
        QFETCH(int, index);
        const Pattern& pattern = patterns()[static_cast<std::size_t>(index)];
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const std::int64_t columns : {32, 41})
                for (const std::int64_t lanes : {8, 16}) {
                    if (!hostSupports(isa))
                        continue;
                    Target target;
                    target.isa = isa;
                    const auto compiled = take(compileKernel(take(copied(pattern, columns, lanes).lower()), target, {"read", true}));
                    if (columns == 32)
                        QCOMPARE(compiled.assembly.find("vpinsrb") != std::string::npos, pattern.apart);
                    compare(pattern, *take(LoadedKernel::load(compiled.kernel)), columns);
                }
    }

private:
    static void compare(const Pattern& pattern, const LoadedKernel& kernel, std::int64_t columns) {
        std::vector<std::uint8_t> x(3 * 128);
        Rng rng(7);
        for (std::uint8_t& byte : x)
            byte = static_cast<std::uint8_t>(rng.below(256));
        std::vector<std::int32_t> y(static_cast<std::size_t>(3 * columns), -1);
        void* arguments[]{x.data(), y.data()};
        kernel.run(arguments);
        for (std::int64_t r = 0; r < 3; ++r)
            for (std::int64_t i = 0; i < columns; ++i) {
                const auto place = constantValue(pattern.place(Expr(r), Expr(i)));
                QVERIFY(place.has_value());
                QCOMPARE(y[static_cast<std::size_t>(r * columns + i)], 3 * x[static_cast<std::size_t>(*place)]);
            }
    }
};

QTEST_GUILESS_MAIN(TestVectorReads)
#include "tst_vector_reads.moc"
