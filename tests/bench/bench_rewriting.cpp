// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "core/check/random_inputs.h"
#include "core/workbench/compile.h"
#include "core/workbench/machine.h"
#include "core/workbench/optimize.h"
#include "core/workbench/tune.h"
#include "tests/bench/model_subjects.h"
#include "tests/take.h"

using namespace tunesmith;
using bench::ModuleSubject, bench::RuntimeSubject;

// What substitutions gain: models rewritten by measured costs against the same models as they came, both tuned, as exported modules on one thread
// and on all cores; and ONNX Runtime on both files where it is there. p5 of alternating blocks. Environment variables as for bench_models, and
// TUNESMITH_BENCH_SEARCH (backtracking), _COST (measured) and _SECONDS (60) of the search; graphs are chosen before anything is tuned, so that
// no kernel is ahead of others.
class BenchRewriting : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::vector<double> gains_;

    QString path(const QString& name) const { return folder_.filePath(name); }
    std::string store(int threads) const { return path(QString("trials%1.db").arg(threads)).toStdString(); }

    OptimizedModel rewritten(const Model& model, int threads, const QString& file) const {
        OptimizeRequest request;
        request.search = qEnvironmentVariable("TUNESMITH_BENCH_SEARCH", "backtracking").toStdString();
        request.cost = qEnvironmentVariable("TUNESMITH_BENCH_COST", "measured").toStdString();
        request.seconds = qEnvironmentVariable("TUNESMITH_BENCH_SECONDS", "60").toDouble();
        request.store = store(threads);
        request.threads = threads;
        request.file = file.toStdString();
        return take(optimizeModel(model, request));
    }

    void tune(const Model& model, int threads) const {
        TuneRequest tuning;
        tuning.store = store(threads);
        tuning.threads = threads;
        tuning.budget.trialsPerWorkload = bench::trialsPerWorkload();
        tuning.measureModel = false;
        take(tuneModel(model, tuning));
    }

    std::filesystem::path compiled(const Model& model, int threads, const QString& name) const {
        CompileRequest request;
        request.folder = path(name).toStdString();
        request.store = store(threads);
        request.threads = threads;
        return take(compileModel(model, request)).folder;
    }

    void tell(const Model& model, const OptimizedModel& made, int threads) const {
        const Prediction prediction = predictionOf(made.timed);
        qInfo("%s, threads %d: %.0f expanded in %.1f s, predicted %.3f -> %.3f ms; %zu graphs timed, error %.3f, Kendall's tau %.2f%s", model.name().c_str(), threads,
              static_cast<double>(made.expanded), made.seconds, made.costBefore, made.costAfter, made.timed.size(), prediction.error, prediction.kendallTau,
              made.keptOriginal ? "; the original is kept" : "");
        for (const TimedGraph& graph : made.timed)
            qInfo("    predicted %.3f, measured %.3f ms", graph.predictedMs, graph.measuredMs);
        for (const RuleUse& use : made.rules)
            qInfo("    %s %lld times, %.3f ms", use.rule.c_str(), static_cast<long long>(use.count), use.gain);
    }

    // What reading all weights takes that nodes read, each as often as it is read, where nothing else is done: less a module cannot take.
    static void tellFloor(const OptimizedModel& made, int threads) {
        double bytes = 0, distinct = 0;
        for (const auto& value : made.after.values())
            distinct += value->isConstant() ? static_cast<double>(value->constant.byteCount()) : 0;
        for (const auto& node : made.after.nodes())
            for (const ValueId input : node->inputs)
                bytes += input.valid() && made.after.value(input).isConstant() ? static_cast<double>(made.after.value(input).constant.byteCount()) : 0;
        const double seconds = bench::readingSeconds(static_cast<std::size_t>(distinct), threads);
        qInfo("    %.1f MB of weights, %.1f MB read: %.3f ms at %.0f GB/s", distinct / 1e6, bytes / 1e6, 1e3 * seconds * bytes / distinct, distinct / seconds / 1e9);
    }

    // Without and with rewriting; 1 where the graph is the same.
    void compare(const Model& before, int threads) {
        const QString name = QString::fromStdString(before.name()), file = path(QString("%1-%2.onnx").arg(name).arg(threads));
        const OptimizedModel made = rewritten(before, threads, file);
        tell(before, made, threads);
        tellFloor(made, threads);
        const Model after = take(openModel(file.toStdString()));
        const std::vector<Tensor> inputs = take(randomInputs(before.graph(), 1));
        for (const Model* model : {&before, &after}) // both, before either is compiled: workloads that they share are tuned twice
            tune(*model, threads);
        ModuleSubject off(compiled(before, threads, name + "-off"), threads, inputs), on(compiled(after, threads, name + "-on"), threads, inputs);
        std::vector<bench::Subject*> subjects{&off, &on};
        std::vector<std::unique_ptr<RuntimeSubject>> runtimes;
        if (RuntimeSubject::isThere())
            for (const Model* model : {&before, &after}) {
                const QString list = bench::writeInputs(*model, inputs, folder_.path());
                runtimes.push_back(std::make_unique<RuntimeSubject>(QString::fromStdString(model->source()), threads, list));
                QVERIFY2(runtimes.back()->isReady(), "ONNX Runtime does not run this model");
                subjects.push_back(runtimes.back().get());
            }
        const std::vector<double> lows = bench::lowTimes(subjects);
        qInfo("%s, threads %d: off %.3f ms, on %.3f ms: %.3f times as fast", before.name().c_str(), threads, lows[0], lows[1], lows[0] / lows[1]);
        if (lows.size() > 2)
            qInfo("%s, threads %d: ONNX Runtime on the original %.3f ms, on the rewritten model %.3f ms", before.name().c_str(), threads, lows[2], lows[3]);
        gains_.push_back(lows[0] / lows[1]);
        QVERIFY2(gains_.back() >= 0.98, "slower than without rewriting");
    }

private slots:
    void models_data() { bench::addModelRows(); }
    void models() {
        if (qEnvironmentVariableIsEmpty("TUNESMITH_BENCH_MODELS"))
            QSKIP("needs TUNESMITH_BENCH_MODELS");
        QFETCH(QString, dimensions);
        const Model model = take(openModel(QTest::currentDataTag(), take(parseDimensions(dimensions.toStdString()))));
        compare(model, 1);
        if (usableCores() > 1)
            compare(model, usableCores());
    }

    void cleanupTestCase() {
        double sum = 0;
        for (const double gain : gains_)
            sum += std::log(gain);
        if (!gains_.empty())
            qInfo("geometric mean of %zu comparisons: rewriting makes modules %.3f times as fast", gains_.size(), std::exp(sum / static_cast<double>(gains_.size())));
    }
};

QTEST_GUILESS_MAIN(BenchRewriting)
#include "bench_rewriting.moc"
