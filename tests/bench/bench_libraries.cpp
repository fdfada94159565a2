// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <array>
#include <cmath>

#include "core/measure/timing.h"
#include "tests/bench/library_kernels.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::ConvShape)
Q_DECLARE_METATYPE(tunesmith::ProductShape)

// Our kernels, untuned and tuned for a moment (TUNESMITH_BENCH_TRIALS candidates each, 64 unless set), against those of oneDNN
// and OpenBLAS on one thread, in turns, p5. Ratios are the library's time over our tuned one: above 1 we are faster.
class BenchLibraries : public QObject {
    Q_OBJECT

    std::vector<double> convolutions_, products_;

    struct Contender {
        std::string name;
        std::function<void()> call;
    };

    static std::size_t trials() { return static_cast<std::size_t>(qEnvironmentVariable("TUNESMITH_BENCH_TRIALS", "64").toInt()); }

    void compare(KernelLab& lab, const std::vector<Contender>& libraries, std::vector<double>& ratios) {
        const Config untuned = lab.space().defaultConfig(), tuned = lab.tuned(trials());
        std::vector<Contender> all{{"untuned", lab.kernel(untuned)}, {"tuned", lab.kernel(tuned)}};
        for (const Contender& library : libraries)
            if (library.call)
                all.push_back(library);
        std::vector<std::function<void()>> calls;
        for (const Contender& contender : all) {
            calls.push_back(contender.call);
            contender.call();
        }
        const auto samples = timeInterleaved(calls, 300, 60);
        QString line = QString::fromStdString(lab.space().space().describe(tuned));
        const double ours = lowQuantile(samples[1]);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double ms = lowQuantile(samples[i]);
            line += QStringLiteral("\n    %1 %2 ms %3 GFLOP/s").arg(QString::fromStdString(all[i].name), -9).arg(ms, 8, 'f', 4).arg(static_cast<double>(lab.workload().flops) / ms / 1e6, 7, 'f', 1);
            if (i > 1)
                line += QStringLiteral("  ratio %1").arg(ms / ours, 0, 'f', 2);
        }
        if (all.size() > 2)
            ratios.push_back(lowQuantile(samples[2]) / ours);
        qInfo("%s", qPrintable(line));
    }

    static void summarize(const char* what, const std::vector<double>& ratios) {
        if (ratios.empty())
            return qInfo("%s: the library was not there when this was built (libdnnl-dev, libopenblas-dev)", what);
        double logs = 0;
        for (const double ratio : ratios)
            logs += std::log(ratio);
        qInfo("%s: %zu kernels, geometric mean %.2f, worst %.2f", what, ratios.size(), std::exp(logs / static_cast<double>(ratios.size())),
              *std::ranges::min_element(ratios));
    }

    static void row(const char* set, const ConvShape& s) {
        const auto name = QStringLiteral("%1: %2@%3 to %4, %5x%5 / %6").arg(QLatin1String(set)).arg(s.channels).arg(s.size).arg(s.outputs).arg(s.kernel).arg(s.stride);
        QTest::newRow(qPrintable(name)) << s;
    }

private slots:
    void convolutions_data() {
        QTest::addColumn<ConvShape>("shape");
        for (const ConvShape& s : std::initializer_list<ConvShape>{
                 {3, 224, 64, 7, 2}, {64, 56, 64, 3}, {64, 56, 64, 1}, {64, 56, 128, 3, 2}, {64, 56, 128, 1, 2}, {128, 28, 128, 3},
                 {128, 28, 256, 3, 2}, {128, 28, 256, 1, 2}, {256, 14, 256, 3}, {256, 14, 512, 3, 2}, {256, 14, 512, 1, 2}, {512, 7, 512, 3}})
            row("ResNet-18", s);
        for (const ConvShape& s : std::initializer_list<ConvShape>{{256, 56, 64, 1}, {64, 56, 256, 1}, {512, 28, 128, 1}, {128, 28, 512, 1},
                                                                   {1024, 14, 256, 1}, {256, 14, 1024, 1}, {2048, 7, 512, 1}, {512, 7, 2048, 1}})
            row("ResNet-50", s);
        for (const auto& [channels, size, stride] : std::initializer_list<std::array<std::int64_t, 3>>{
                 {32, 112, 1}, {64, 112, 2}, {128, 56, 1}, {128, 56, 2}, {256, 28, 1}, {256, 28, 2}, {512, 14, 1}, {512, 14, 2}, {1024, 7, 1}})
            row("MobileNet", {channels, size, channels, 3, stride, channels});
        for (const ConvShape& s : std::initializer_list<ConvShape>{{32, 112, 64, 1}, {64, 56, 128, 1}, {128, 56, 128, 1}, {128, 28, 256, 1}, {256, 28, 256, 1},
                                                                   {256, 14, 512, 1}, {512, 14, 512, 1}, {512, 7, 1024, 1}, {1024, 7, 1024, 1}})
            row("MobileNet", s);
        for (const ConvShape& s : std::initializer_list<ConvShape>{{144, 56, 24, 1}, {24, 56, 144, 1}, {240, 28, 40, 1}, {58, 28, 58, 1}})
            row("other channels", s);
    }
    void convolutions() {
        QFETCH(ConvShape, shape);
        KernelLab lab = KernelLab::convolution(shape, 1);
        compare(lab, {{"oneDNN", oneDnnConvolution(shape)}}, convolutions_);
    }
    void products_data() {
        QTest::addColumn<ProductShape>("shape");
        for (const ProductShape& s : std::initializer_list<ProductShape>{
                 {128, 768, 768}, {128, 2304, 768}, {128, 3072, 768}, {128, 768, 3072}, {1, 768, 768}, {1, 1000, 512}, {1024, 1024, 1024}}) {
            const auto name = QStringLiteral("%1x%2x%3").arg(s.rows).arg(s.columns).arg(s.depth);
            QTest::newRow(qPrintable(name)) << s;
        }
    }
    void products() {
        QFETCH(ProductShape, shape);
        KernelLab lab = KernelLab::product(shape, 1);
        compare(lab, {{"oneDNN", oneDnnProduct(shape)}, {"OpenBLAS", openBlasProduct(shape)}}, products_);
    }
    void cleanupTestCase() {
        summarize("convolutions against oneDNN", convolutions_);
        summarize("products against oneDNN", products_);
    }
};

QTEST_GUILESS_MAIN(BenchLibraries)
#include "bench_libraries.moc"
