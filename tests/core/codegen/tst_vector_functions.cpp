// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "core/codegen/kernel.h"
#include "core/loops/schedule.h"

using namespace tunesmith;
using namespace tunesmith::loops;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kBatch = 1 << 16;

// body over a vector of floats, compiled for one instruction set and one width.
class Curve {
public:
    Curve(Isa isa, std::int64_t lanes, const std::function<Expr(const Expr&)>& body) {
        Program program;
        program.name = "curve";
        const auto x = makeTensor("x", DType::f32, {kBatch});
        program.inputs = {x};
        program.stages.push_back(compute("y", DType::f32, {kBatch}, [&](const Indices& i) { return body(load(x, i)); }));
        program.outputs = {program.stages[0].output};
        Schedule schedule(program);
        auto& s = schedule[program.outputs[0]];
        const auto [outer, lane] = s.split(s.axes()[0], lanes);
        s.vectorize(lane);
        Target target;
        target.isa = isa;
        const auto nest = schedule.lower();
        const auto compiled = nest.ok() ? compileKernel(*nest, target, {"curve", true}) : nest.error();
        if (!compiled.ok())
            qFatal("%s", compiled.error().message.c_str());
        listing_ = compiled->assembly;
        auto loaded = LoadedKernel::load(compiled->kernel);
        if (!loaded.ok())
            qFatal("%s", loaded.error().message.c_str());
        kernel_ = std::move(*loaded);
    }

    std::vector<float> operator()(std::vector<float> x) const {
        const std::size_t count = x.size();
        x.resize(kBatch);
        std::vector<float> y(kBatch);
        void* arguments[] = {x.data(), y.data()};
        kernel_->run(arguments);
        y.resize(count);
        return y;
    }

    const std::string& listing() const { return listing_; }

private:
    std::unique_ptr<LoadedKernel> kernel_;
    std::string listing_;
};

Expr sigmoid(const Expr& x) {
    const Expr one = constantOf(DType::f32, 1);
    return one / (one + unary(Op::exp, -x));
}

struct Function {
    const char* name;
    std::function<Expr(const Expr&)> body;
    double (*exact)(double);
    double low, high, error; // the error is relative, or absolute where the value is below `floor`
    double floor;
    double errorByX = 0; // and so much more of the argument

    double bound(double x, double value) const { return (error + errorByX * std::abs(x)) * std::max(std::abs(value), floor); }
};

const std::vector<Function>& functions() {
    static const std::vector<Function> all{
        {"exp", [](const Expr& x) { return unary(Op::exp, x); }, [](double x) { return std::exp(x); }, -87.3365, 88.72283, 2e-7, 0},
        {"log", [](const Expr& x) { return unary(Op::log, x); }, [](double x) { return std::log(x); }, 1e-45, 3.4e38, 2e-7, 0.25},
        {"tanh", [](const Expr& x) { return unary(Op::tanh, x); }, [](double x) { return std::tanh(x); }, -100, 100, 4e-7, 1e-37},
        {"erf", [](const Expr& x) { return unary(Op::erf, x); }, [](double x) { return std::erf(x); }, -100, 100, 4.5e-7, 1e-37},
        {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, 200, 4e-7, 0},
        {"exp of what is at most 0", [](const Expr& x) { return unary(Op::expDown, x); }, [](double x) { return std::exp(x); }, -87.3365, 0, 2e-7, 0, 8e-8},
    };
    return all;
}

// Every 61st float of the range.
template <class Visit> void floatsBetween(float low, float high, const Visit& visit) {
    std::vector<float> batch;
    for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 61) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (x >= low && x <= high)
            batch.push_back(x);
        if (batch.size() == kBatch || bits + 61 > 0xffffffffU) {
            visit(batch);
            batch.clear();
        }
    }
}

struct Width {
    Isa isa;
    std::int64_t lanes;
};

std::vector<Width> widths() {
    std::vector<Width> all;
    for (const Isa isa : {Isa::avx2, Isa::avx512})
        if (hostSupports(isa))
            for (const std::int64_t lanes : {4, 8, 16, 32})
                all.push_back({isa, lanes});
    return all;
}

} // namespace

// Elementary functions in vector registers against libm in double precision.
class TestVectorFunctions : public QObject {
    Q_OBJECT

private slots:
    void errorsStayBelowWhatTheHeaderSays_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < functions().size(); ++i)
            QTest::newRow(functions()[i].name) << static_cast<int>(i);
    }
    void errorsStayBelowWhatTheHeaderSays() {
        QFETCH(int, index);
        const Function& f = functions()[static_cast<std::size_t>(index)];
        const Width widest = widths().back();
        const Curve curve(widest.isa, 16, f.body);
        double worst = 0, at = 0;
        floatsBetween(static_cast<float>(f.low), static_cast<float>(f.high), [&](const std::vector<float>& x) {
            const auto y = curve(x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double exact = f.exact(static_cast<double>(x[i]));
                const double error = std::abs(static_cast<double>(y[i]) - exact) / f.bound(static_cast<double>(x[i]), exact);
                if (!(error <= worst)) {
                    worst = error;
                    at = static_cast<double>(x[i]);
                }
            }
        });
        qInfo() << f.name << "largest error" << worst << "of the bound, at" << at;
        QVERIFY2(worst <= 1, qPrintable(QString("%1 at %2").arg(worst).arg(at)));
    }

    void everyWidthOfBothInstructionSetsIsRight() {
        std::vector<float> x;
        for (int i = -4000; i <= 4000; ++i)
            x.push_back(static_cast<float>(i) * 0.01F);
        for (const Function& f : functions())
            for (const Width& width : widths()) {
                const auto y = Curve(width.isa, width.lanes, f.body)(x);
                for (std::size_t i = 0; i < x.size(); ++i)
                    if (const double in = static_cast<double>(x[i]); in >= f.low) {
                        const double exact = f.exact(in), error = std::abs(static_cast<double>(y[i]) - exact);
                        QVERIFY2(error <= f.bound(in, exact),
                                 qPrintable(QString("%1(%2) in %3 lanes of %4").arg(f.name).arg(in).arg(width.lanes).arg(isaName(width.isa))));
                    }
            }
    }

    void endsOfTheRangesAreRight() {
        const auto holdFor = [](Op op, const std::vector<float>& x, const std::vector<float>& expected, float error = 0) {
            for (const Width& width : widths()) {
                const auto y = Curve(width.isa, width.lanes, [op](const Expr& e) { return unary(op, e); })(x);
                for (std::size_t i = 0; i < x.size(); ++i)
                    QVERIFY2((y[i] == expected[i] || std::abs(y[i] - expected[i]) <= error) && std::abs(y[i]) <= std::abs(expected[i]) &&
                                 std::signbit(y[i]) == std::signbit(expected[i]),
                             qPrintable(QString("%1 of %2 is %3").arg(static_cast<int>(op)).arg(static_cast<double>(x[i])).arg(static_cast<double>(y[i]))));
            }
        };
        holdFor(Op::exp, {0, 89, 1e30F, kInfinity, -88, -1e30F, -kInfinity}, {1, kInfinity, kInfinity, kInfinity, 0, 0, 0});
        holdFor(Op::expDown, {0, -0.0F, -104, -1e30F, -3.4e38F, -kInfinity}, {1, 1, 0, 0, 0, 0});
        holdFor(Op::log, {1, 0, -0.0F, kInfinity}, {0, -kInfinity, -kInfinity, kInfinity});
        holdFor(Op::tanh, {0, -0.0F, 20, -20, kInfinity, -kInfinity}, {0, -0.0F, 1, -1, 1, -1}, 2e-7F);
        holdFor(Op::erf, {0, -0.0F, 20, -20, kInfinity, -kInfinity}, {0, -0.0F, 1, -1, 1, -1}, 2e-7F);
    }

    void noNumberStaysNoNumber() {
        // also with a payload, whose bits are those that exp shifts about
        const std::vector<float> x{std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7fc00001U), std::bit_cast<float>(0xffc001ffU)};
        for (const Function& f : functions())
            for (const Width& width : widths())
                for (const float y : Curve(width.isa, width.lanes, f.body)(x))
                    QVERIFY2(std::isnan(y), f.name);
        for (const float y : Curve(widths().back().isa, 16, functions()[1].body)({-1, -kInfinity, -1e-45F}))
            QVERIFY(std::isnan(y)); // logarithms of what is negative
    }

    void sigmoidIsBetweenZeroAndOneEverywhere() {
        for (const Width& width : widths()) {
            const auto y = Curve(width.isa, width.lanes, sigmoid)({-kInfinity, -1e30F, -100, -89, 100, 1e30F, kInfinity});
            for (std::size_t i = 0; i < 4; ++i)
                QVERIFY(y[i] >= 0 && y[i] < 1e-37F);
            for (std::size_t i = 4; i < y.size(); ++i)
                QCOMPARE(y[i], 1.0F);
        }
    }

    // What divides is waited for: 16 values take more cycles than all the rest of a sigmoid.
    void wideVectorsDoNotDivide() {
        if (!hostSupports(Isa::avx512))
            QSKIP("this processor has no AVX-512");
        for (const char* name : {"tanh", "erf", "sigmoid"})
            for (const Function& f : functions())
                if (std::string(f.name) == name) {
                    const Curve curve(Isa::avx512, 16, f.body);
                    QVERIFY(!curve.listing().empty());
                    QVERIFY2(curve.listing().find("vdivps") == std::string::npos, name);
                    QVERIFY2(curve.listing().find("vrcp14ps") != std::string::npos, name);
                }
    }
};

QTEST_GUILESS_MAIN(TestVectorFunctions)
#include "tst_vector_functions.moc"
