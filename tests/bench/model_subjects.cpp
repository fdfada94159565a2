// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/model_subjects.h"
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>
#include <QTest>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "core/measure/timing.h"
#include "tests/take.h"

namespace tunesmith::bench {
namespace {

constexpr double kBlockSeconds = 0.25;
constexpr int kRounds = 24;

QString nodeModules() { return qEnvironmentVariable("TUNESMITH_BENCH_NODE_MODULES"); }

} // namespace

ModuleSubject::ModuleSubject(const std::filesystem::path& folder, int threads, const std::vector<Tensor>& inputs) : module_(take(LoadedModule::open(folder, threads))) {
    if (const Status set = module_->setInputs(inputs); !set.ok())
        qFatal("%s", set.error().message.c_str());
}

std::vector<float> ModuleSubject::block() {
    std::vector<float> ms;
    const ThinnedSamples samples = take(module_->time({0, kBlockSeconds, 1}));
    for (const double seconds : samples.values())
        ms.push_back(static_cast<float>(seconds * 1e3));
    return ms;
}

RuntimeSubject::RuntimeSubject(const QString& model, int threads, const QString& inputs) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("NODE_PATH", nodeModules());
    process_.setProcessEnvironment(environment);
    process_.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    process_.start(QStandardPaths::findExecutable("node"), {QFINDTESTDATA("ort_blocks.js"), model, QString::number(threads), inputs});
    isReady_ = line() == "ready";
}

RuntimeSubject::~RuntimeSubject() {
    process_.kill();
    process_.waitForFinished();
}

bool RuntimeSubject::isThere() { return !QStandardPaths::findExecutable("node").isEmpty() && !nodeModules().isEmpty(); }

std::vector<float> RuntimeSubject::block() {
    process_.write(QByteArray::number(kBlockSeconds) + "\n");
    std::vector<float> ms;
    for (const QJsonValue& value : QJsonDocument::fromJson(line()).array())
        ms.push_back(static_cast<float>(value.toDouble()));
    return ms;
}

QByteArray RuntimeSubject::line() {
    while (!process_.canReadLine())
        if (!process_.waitForReadyRead(120000))
            return {};
    return process_.readLine().trimmed();
}

QString writeInputs(const Model& model, const std::vector<Tensor>& inputs, const QString& folder) {
    QJsonArray list;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const QString path = QString("%1/input%2").arg(folder).arg(i);
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
    const QString path = folder + "/inputs.json";
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        qFatal("cannot write %s", qPrintable(path));
    file.write(QJsonDocument(list).toJson());
    return path;
}

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

// Eight sums at once, so that the loads are what it waits for. The compiler makes vectors of them.
[[gnu::optimize("O3")]] static std::uint64_t sumOf(const std::uint64_t* from, std::size_t count) {
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= count; i += 8)
        for (std::size_t k = 0; k < 8; ++k)
            sums[k] += from[i + k];
    return std::accumulate(std::begin(sums), std::end(sums), std::uint64_t(0));
}

double readingSeconds(std::size_t bytes, int threads) {
    constexpr int kTimes = 400;
    const std::size_t count = bytes / 8 / static_cast<std::size_t>(threads);
    std::vector<std::vector<float>> seconds(static_cast<std::size_t>(threads));
    std::atomic<std::uint64_t> kept = 0;
    std::vector<std::thread> readers;
    for (auto& own : seconds)
        readers.emplace_back([&own, &kept, count] {
            const std::vector<std::uint64_t> data(count, 1);
            for (int i = 0; i < kTimes; ++i) {
                const auto begin = std::chrono::steady_clock::now();
                kept += sumOf(data.data(), count);
                own.push_back(std::chrono::duration<float>(std::chrono::steady_clock::now() - begin).count());
            }
        });
    for (std::thread& reader : readers)
        reader.join();
    double slowest = 0;
    for (const auto& own : seconds)
        slowest = std::max(slowest, lowQuantile(own));
    return slowest;
}

void addModelRows() {
    QTest::addColumn<QString>("dimensions");
    if (qEnvironmentVariableIsEmpty("TUNESMITH_BENCH_MODELS"))
        QTest::newRow("no model is named") << QString();
    for (const QString& entry : qEnvironmentVariable("TUNESMITH_BENCH_MODELS").split(':', Qt::SkipEmptyParts))
        QTest::newRow(qPrintable(entry.section('?', 0, 0))) << entry.section('?', 1);
}

int trialsPerWorkload() {
    const int asked = qEnvironmentVariableIntValue("TUNESMITH_BENCH_TRIALS");
    return asked > 0 ? asked : 64;
}

} // namespace tunesmith::bench
