// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/autotvm/log_file.h"
#include "core/autotvm/template_spaces.h"
#include "core/base/rng.h"
#include "core/cost/learned_model.h"
#include "core/cost/rank_metrics.h"
#include "logs.h"

using namespace tunesmith;
using namespace tunesmith::autotvm;
using namespace tunesmith::testing;

namespace {

constexpr int kSeeds = 20;
constexpr std::size_t kTop = 8;
// With the model's own 1, the two tasks of 768x768 and 3072x768 miss the pairs at 64 and 128 samples by 0.001
// to 0.008.
constexpr int kPairs = 10;

// All configs of one task that the log has a time of, each once. Failures (2 to 5 % of dense_pack, nearly all
// of them builds that took too long) are left out. Learned from and judged with the label 0 they cost the
// worst task, 768x768, 0.01 to 0.02: pairs 0.735, 0.788, 0.823 at 64, 128 and 256 samples.
struct Measured {
    std::string name;
    FeatureMatrix features;
    std::vector<float> labels; // the least time of the task over this time
};

struct Quality {
    double pairs = 0; // pairwise accuracy
    double top = 0; // best label of the eight best predicted, over the best label of all that were predicted
};

FeatureMatrix rowsOf(const FeatureMatrix& all, std::span<const std::size_t> rows) {
    FeatureMatrix out(rows.size(), all.columns, all.version);
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::ranges::copy(all.row(rows[i]), out.row(i).begin());
    return out;
}

std::vector<float> labelsOf(const std::vector<float>& all, std::span<const std::size_t> rows) {
    std::vector<float> out;
    for (const std::size_t row : rows)
        out.push_back(all[row]);
    return out;
}

// The sample: the task's configs in the log's order, shuffled with the seed (Fisher-Yates); the first `count`
// are learned from, all the others are predicted and judged.
Result<Quality> judge(const Measured& task, std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(task.labels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Rng rng(seed);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[rng.below(i)]);
    const std::span<const std::size_t> known(order.data(), count),
        unseen(order.data() + count, order.size() - count);

    const auto model = makeLearnedModel({.seed = seed, .pairs = kPairs});
    TS_TRY(model->fit(
        {rowsOf(task.features, known), labelsOf(task.labels, known), {static_cast<std::uint32_t>(count)}}));
    TS_ASSIGN(const std::vector<float> scores, model->predict(rowsOf(task.features, unseen)));
    const std::vector<float> truth = labelsOf(task.labels, unseen);
    std::vector<std::size_t> best(truth.size());
    std::iota(best.begin(), best.end(), std::size_t{0});
    std::ranges::stable_sort(best, std::greater(), [&](std::size_t i) { return scores[i]; });
    float reached = 0;
    for (std::size_t i = 0; i < kTop; ++i)
        reached = std::max(reached, truth[best[i]]);
    return Quality{pairwiseAccuracy(truth, scores), reached / std::ranges::max(truth)};
}

Measured measuredOf(const std::vector<Record>& records) {
    const auto space = spaceOf(records[0].task, vintageOf(records[0]));
    std::vector<Config> configs;
    Measured task{space.value().knobs.name() + " " + records[0].task.args, {}, {}};
    const double least = records[*fastest(records)].meanCost();
    std::set<std::int64_t> seen;
    for (const Record& record : records)
        if (record.ok() && seen.insert(record.index).second) {
            configs.push_back(space.value().configOf(record).value());
            task.labels.push_back(static_cast<float>(least / record.meanCost()));
        }
    task.features = space.value().features(configs);
    return task;
}

} // namespace

// Does the learned model rank configs of real kernels that it has not seen? On TLCBench's log of BERT on 18
// cores of a Xeon 8124M.
class TestAutotvmCost : public QObject {
    Q_OBJECT

    Logs logs_;
    std::vector<Measured> tasks_;

private slots:
    void initTestCase() {
        const QString path = logs_.path("platinum-8124m-bert.kernel.log");
        if (path.isEmpty())
            return;
        std::map<std::string, std::vector<Record>> groups;
        const auto log = readLog(path.toStdString());
        for (const Record& record : log.value())
            if (record.task.name == "dense_pack.x86" || record.task.name == "batch_matmul.x86")
                groups[record.task.name + record.task.args].push_back(record);
        for (const auto& [key, records] : groups)
            tasks_.push_back(measuredOf(records));
    }

    void ranksUnseenConfigs_data() {
        QTest::addColumn<int>("samples");
        QTest::addColumn<double>("pairs");
        QTest::addColumn<double>("top");
        QTest::newRow("64 samples") << 64 << .75 << .78;
        QTest::newRow("128 samples") << 128 << .80 << .93;
        QTest::newRow("256 samples") << 256 << .82 << .98;
    }
    // The means over the seeds 1 to 20 reach the thresholds for each task.
    void ranksUnseenConfigs() {
        QFETCH(int, samples);
        QFETCH(double, pairs);
        QFETCH(double, top);
        if (tasks_.empty())
            QSKIP(logs_.reason());
        if (makeLearnedModel()->name() != "xgboost")
            QSKIP("this build was made without XGBoost, and ridge regression ranks worse");
        QCOMPARE(tasks_.size(), std::size_t{6});
        QStringList missed;
        for (const Measured& task : tasks_) {
            Quality mean, worst{1, 1};
            for (int seed = 1; seed <= kSeeds; ++seed) {
                const auto quality =
                    judge(task, static_cast<std::size_t>(samples), static_cast<std::uint64_t>(seed));
                QVERIFY2(quality.ok(), quality.ok() ? "" : quality.error().message.c_str());
                mean.pairs += quality.value().pairs / kSeeds;
                mean.top += quality.value().top / kSeeds;
                worst = {std::min(worst.pairs, quality.value().pairs),
                         std::min(worst.top, quality.value().top)};
            }
            const QString figures =
                QString("%1 (%2 configs): pairs %3 (worst %4), best of eight %5 (worst %6)")
                    .arg(QString::fromStdString(task.name).remove("\"TENSOR\","))
                    .arg(task.labels.size())
                    .arg(mean.pairs, 0, 'f', 3)
                    .arg(worst.pairs, 0, 'f', 3)
                    .arg(mean.top, 0, 'f', 3)
                    .arg(worst.top, 0, 'f', 3);
            qInfo().noquote() << figures;
            if (mean.pairs < pairs || mean.top < top)
                missed << figures;
        }
        QVERIFY2(missed.isEmpty(), qPrintable(missed.join("\n")));
    }

    // What the figures mean: a model that learned shuffled labels ranks no better than chance.
    void shuffledLabelsTeachNothing() {
        if (tasks_.empty())
            QSKIP(logs_.reason());
        Measured task = tasks_.front();
        Rng rng(3);
        for (std::size_t i = task.labels.size(); i > 1; --i)
            std::swap(task.labels[i - 1], task.labels[rng.below(i)]);
        double pairs = 0;
        for (int seed = 1; seed <= kSeeds; ++seed)
            pairs += judge(task, 256, static_cast<std::uint64_t>(seed)).value().pairs / kSeeds;
        QVERIFY2(pairs > 0.45 && pairs < 0.55, qPrintable(QString::number(pairs)));
    }
};

QTEST_GUILESS_MAIN(TestAutotvmCost)
#include "tst_autotvm_cost.moc"
