// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "core/check/random_inputs.h"
#include "core/measure/timing.h"
#include "core/module/loaded_module.h"
#include "core/workbench/compile.h"
#include "core/workbench/machine.h"
#include "core/workbench/tune.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

constexpr double kBlockSeconds = 0.25;
constexpr int kRounds = 24;

// Something that runs a model for a while and says how long each run took, in ms.
class Subject {
public:
    virtual ~Subject() = default;
    virtual std::vector<float> block() = 0;
};

class ModuleSubject : public Subject {
public:
    ModuleSubject(const std::filesystem::path& folder, int threads, const std::vector<Tensor>& inputs)
        : module_(take(LoadedModule::open(folder, threads))) {
        if (const Status set = module_->setInputs(inputs); !set.ok())
            qFatal("%s", set.error().message.c_str());
    }
    std::vector<float> block() override {
        std::vector<float> ms;
        const ThinnedSamples samples = take(module_->time({0, kBlockSeconds, 1}));
        for (const double seconds : samples.values())
            ms.push_back(static_cast<float>(seconds * 1e3));
        return ms;
    }

private:
    std::unique_ptr<LoadedModule> module_;
};

// ONNX Runtime in a process of its own, which waits between its blocks.
class RuntimeSubject : public Subject {
public:
    RuntimeSubject(const QString& node, const QString& modules, const QString& model, int threads, const QString& inputs) {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("NODE_PATH", modules);
        process_.setProcessEnvironment(environment);
        process_.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        process_.start(node, {QFINDTESTDATA("ort_blocks.js"), model, QString::number(threads), inputs});
        isReady_ = line() == "ready";
    }
    ~RuntimeSubject() override {
        process_.kill();
        process_.waitForFinished();
    }
    bool isReady() const { return isReady_; }
    std::vector<float> block() override {
        process_.write(QByteArray::number(kBlockSeconds) + "\n");
        std::vector<float> ms;
        for (const QJsonValue& value : QJsonDocument::fromJson(line()).array())
            ms.push_back(static_cast<float>(value.toDouble()));
        return ms;
    }

private:
    QByteArray line() {
        while (!process_.canReadLine())
            if (!process_.waitForReadyRead(120000))
                return {};
        return process_.readLine().trimmed();
    }
    QProcess process_;
    bool isReady_ = false;
};

// p5 of each, from blocks that take turns; every other round backwards.
std::vector<double> lowTimes(const std::vector<Subject*>& subjects) {
    std::vector<std::vector<float>> samples(subjects.size());
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t k = 0; k < subjects.size(); ++k) {
            const std::size_t i = round % 2 == 0 ? k : subjects.size() - 1 - k;
            const std::vector<float> fresh = subjects[i]->block();
            samples[i].insert(samples[i].end(), fresh.begin(), fresh.end());
        }
    std::vector<double> lows;
    for (const auto& series : samples)
        lows.push_back(series.empty() ? std::nan("") : lowQuantile(series));
    return lows;
}

} // namespace

// Whole models, tuned and untuned, beside ONNX Runtime on the same inputs: exported modules on one thread and on all cores, p5 of
// alternating blocks. TUNESMITH_BENCH_MODELS lists ONNX files, separated by colons, each with its dimensions if it has open ones
// (model.onnx?batch=1,height=320); TUNESMITH_BENCH_NODE_MODULES is a folder with onnxruntime-node. TUNESMITH_BENCH_TRIALS (64) are
// tried per workload; trials are kept in TUNESMITH_BENCH_STORE where that is set.
class BenchModels : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString node_ = QStandardPaths::findExecutable("node"), modules_ = qEnvironmentVariable("TUNESMITH_BENCH_NODE_MODULES");
    std::vector<double> speedUps_;

    QString store() const { return qEnvironmentVariable("TUNESMITH_BENCH_STORE", folder_.filePath("trials.db")); }

    void tune(const Model& model) const {
        TuneRequest request;
        request.store = store().toStdString();
        request.budget.trialsPerWorkload = qEnvironmentVariableIntValue("TUNESMITH_BENCH_TRIALS");
        if (*request.budget.trialsPerWorkload <= 0)
            request.budget.trialsPerWorkload = 64;
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

    // The inputs as files for the other process.
    QString written(const Model& model, const std::vector<Tensor>& inputs) const {
        QJsonArray list;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const QString path = folder_.filePath(QString("input%1").arg(i));
            QFile file(path);
            if (!file.open(QIODevice::WriteOnly))
                qFatal("cannot write %s", qPrintable(path));
            file.write(reinterpret_cast<const char*>(inputs[i].bytes().data()), static_cast<qint64>(inputs[i].byteCount()));
            QJsonArray dims;
            for (const std::int64_t extent : inputs[i].shape())
                dims.append(static_cast<qint64>(extent));
            const TensorSpec& spec = model.info().inputs[i];
            list.append(QJsonObject{{"name", QString::fromStdString(spec.name)}, {"type", QString::fromStdString(spec.type)}, {"dims", dims}, {"file", path}});
        }
        const QString path = folder_.filePath("inputs.json");
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly))
            qFatal("cannot write %s", qPrintable(path));
        file.write(QJsonDocument(list).toJson());
        return path;
    }

    void compare(const Model& model, int threads) {
        const std::vector<Tensor> inputs = take(randomInputs(model.graph(), 1));
        ModuleSubject tuned(compiled(model, threads, false), threads, inputs), untuned(compiled(model, threads, true), threads, inputs);
        RuntimeSubject runtime(node_, modules_, QString::fromStdString(model.source()), threads, written(model, inputs));
        QVERIFY2(runtime.isReady(), "ONNX Runtime does not run this model");
        const std::vector<double> lows = lowTimes({&tuned, &untuned, &runtime});
        qInfo("%s, threads %d: tuned %.3f ms, untuned %.3f ms, ONNX Runtime %.3f ms: %.2f times as fast", model.name().c_str(), threads, lows[0], lows[1],
              lows[2], lows[2] / lows[0]);
        speedUps_.push_back(lows[2] / lows[0]);
        QVERIFY2(lows[2] / lows[0] >= 0.95, "slower than ONNX Runtime");
    }

private slots:
    void models_data() {
        QTest::addColumn<QString>("dimensions");
        if (qEnvironmentVariableIsEmpty("TUNESMITH_BENCH_MODELS"))
            QTest::newRow("no model is named") << QString();
        for (const QString& entry : qEnvironmentVariable("TUNESMITH_BENCH_MODELS").split(':', Qt::SkipEmptyParts))
            QTest::newRow(qPrintable(entry.section('?', 0, 0))) << entry.section('?', 1);
    }
    void models() {
        if (node_.isEmpty() || modules_.isEmpty() || qEnvironmentVariableIsEmpty("TUNESMITH_BENCH_MODELS"))
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
