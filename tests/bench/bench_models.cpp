// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "core/check/random_inputs.h"
#include "core/workbench/compile.h"
#include "core/workbench/machine.h"
#include "core/workbench/tune.h"
#include "tests/bench/model_subjects.h"
#include "tests/take.h"

using namespace tunesmith;
using bench::ModuleSubject, bench::RuntimeSubject;

// Whole models, tuned and untuned, beside ONNX Runtime on the same inputs: exported modules on one thread and on all cores, p5 of
// alternating blocks. TUNESMITH_BENCH_MODELS lists ONNX files (model_subjects.h); TUNESMITH_BENCH_NODE_MODULES is a folder with
// onnxruntime-node. TUNESMITH_BENCH_TRIALS (64) are tried per workload; trials are kept in TUNESMITH_BENCH_STORE where that is set.
class BenchModels : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::vector<double> speedUps_;

    QString store() const { return qEnvironmentVariable("TUNESMITH_BENCH_STORE", folder_.filePath("trials.db")); }

    void tune(const Model& model) const {
        TuneRequest request;
        request.store = store().toStdString();
        request.budget.trialsPerWorkload = bench::trialsPerWorkload();
        request.measureModel = false;
        const TuneReport report = take(tuneModel(model, request));
        qInfo("%s: %lld trials in %.0f s, %.1f a second", model.name().c_str(), static_cast<long long>(report.trials()), report.seconds(),
              static_cast<double>(report.trials()) / report.seconds());
    }

    std::filesystem::path compiled(const Model& model, int threads, bool untuned) const {
        CompileRequest request;
        request.folder = folder_.filePath(QString("%1-%2-%3").arg(QString::fromStdString(model.name())).arg(threads).arg(untuned)).toStdString();
        request.store = store().toStdString();
        request.threads = threads;
        request.untuned = untuned;
        return take(compileModel(model, request)).folder;
    }

    void compare(const Model& model, int threads) {
        const std::vector<Tensor> inputs = take(randomInputs(model.graph(), 1));
        ModuleSubject tuned(compiled(model, threads, false), threads, inputs), untuned(compiled(model, threads, true), threads, inputs);
        RuntimeSubject runtime(QString::fromStdString(model.source()), threads, bench::writeInputs(model, inputs, folder_.path()));
        QVERIFY2(runtime.isReady(), "ONNX Runtime does not run this model");
        const std::vector<double> lows = bench::lowTimes({&tuned, &untuned, &runtime});
        qInfo("%s, threads %d: tuned %.3f ms, untuned %.3f ms, ONNX Runtime %.3f ms: %.2f times as fast", model.name().c_str(), threads, lows[0], lows[1],
              lows[2], lows[2] / lows[0]);
        speedUps_.push_back(lows[2] / lows[0]);
        QVERIFY2(lows[2] / lows[0] >= 0.95, "slower than ONNX Runtime");
    }

private slots:
    void models_data() { bench::addModelRows(); }
    void models() {
        if (!RuntimeSubject::isThere() || qEnvironmentVariableIsEmpty("TUNESMITH_BENCH_MODELS"))
            QSKIP("needs node, TUNESMITH_BENCH_NODE_MODULES with onnxruntime-node, and TUNESMITH_BENCH_MODELS");
        QFETCH(QString, dimensions);
        const Model model = take(openModel(QTest::currentDataTag(), take(parseDimensions(dimensions.toStdString()))));
        tune(model);
        compare(model, 1);
        if (usableCores() > 1)
            compare(model, usableCores());
    }

    void cleanupTestCase() {
        double sum = 0;
        for (const double speedUp : speedUps_)
            sum += std::log(speedUp);
        if (!speedUps_.empty())
            qInfo("geometric mean of %zu comparisons: %.2f times as fast as ONNX Runtime", speedUps_.size(),
                  std::exp(sum / static_cast<double>(speedUps_.size())));
    }
};

QTEST_GUILESS_MAIN(BenchModels)
#include "bench_models.moc"
