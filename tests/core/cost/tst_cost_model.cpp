// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <thread>

#include "core/base/rng.h"
#include "core/cost/learned_model.h"
#include "core/cost/rank_metrics.h"
#include "core/cost/ridge_model.h"

using namespace tunesmith;

namespace {

std::unique_ptr<CostModel> makeModel(const QString& kind) {
    if (kind == "ridge")
        return std::make_unique<RidgeModel>();
    return makeLearnedModel({.seed = 5});
}

// Labels that rank by a linear part and, when rugged, by an interaction that no additive model sees.
TrainingSet makeSet(std::size_t rows, std::size_t columns, std::uint64_t seed, bool rugged = false) {
    Rng rng(seed);
    TrainingSet set;
    set.features = FeatureMatrix(rows, columns, 4);
    for (std::size_t r = 0; r < rows; ++r) {
        double label = 0;
        for (std::size_t c = 0; c < columns; ++c) {
            const float value = rng.uniform(0, 1);
            set.features.row(r)[c] = value;
            label += static_cast<double>(value) / static_cast<double>(c + 1);
        }
        if (rugged)
            label = (set.features.row(r)[0] > 0.5f) == (set.features.row(r)[1] > 0.5f) ? 1 + label / 10
                                                                                       : label / 10;
        set.labels.push_back(static_cast<float>(label));
    }
    set.groups = {static_cast<std::uint32_t>(rows)};
    return set;
}

} // namespace

class TestCostModel : public QObject {
    Q_OBJECT

    void models() {
        QTest::addColumn<QString>("kind");
        QTest::newRow("ridge") << "ridge";
        QTest::newRow("learned") << "learned";
    }

private slots:
    void rankMetrics() {
        const std::vector<float> truth{1, 2, 3, 4}, same{10, 20, 30, 40}, reversed{4, 3, 2, 1},
            flat{1, 1, 1, 1};
        QCOMPARE(kendallTau(truth, same), 1.0);
        QCOMPARE(kendallTau(truth, reversed), -1.0);
        QCOMPARE(kendallTau(truth, flat), 0.0);
        QCOMPARE(kendallTau(truth, std::vector<float>{1, 2, 4, 3}), 4.0 / 6);
        // tau-b with ties by hand: agree 4, disagree 0, one pair tied in truth, one in scores -> 4 / sqrt(5 *
        // 5)
        QCOMPARE(kendallTau(std::vector<float>{1, 1, 2, 3}, std::vector<float>{1, 2, 3, 3}), 0.8);
        QCOMPARE(pairwiseAccuracy(truth, same), 1.0);
        QCOMPARE(pairwiseAccuracy(truth, flat), 0.5);
        QCOMPARE(pairwiseAccuracy(flat, truth), 0.5);
        QCOMPARE(pairwiseAccuracy(truth, std::vector<float>{1, 2, 4, 3}), 5.0 / 6);
        QCOMPARE(recallAtTop(truth, same, 2), 1.0);
        QCOMPARE(recallAtTop(truth, reversed, 2), 0.0);
        QCOMPARE(recallAtTop(truth, std::vector<float>{4, 1, 2, 3}, 2), 0.5);
        QCOMPARE(recallAtTop(truth, reversed, 100), 1.0);
        QCOMPARE(recallAtTop({}, {}, 3), 1.0);
    }
    void ranksUnseenRows_data() { models(); }
    void ranksUnseenRows() {
        QFETCH(QString, kind);
        const auto model = makeModel(kind);
        QVERIFY(!model->fitted());
        QVERIFY(!model->predict(FeatureMatrix(1, 10, 4)).ok());
        QVERIFY(!model->save().ok());
        QVERIFY(model->fit(makeSet(256, 10, 1)).ok());
        const TrainingSet test = makeSet(200, 10, 2);
        const auto scores = model->predict(test.features);
        QVERIFY(scores.ok());
        const double accuracy = pairwiseAccuracy(test.labels, *scores);
        QVERIFY2(accuracy > 0.85, std::to_string(accuracy).c_str());
    }
    void treesSeeInteractions() {
#ifndef TUNESMITH_HAVE_XGBOOST
        QSKIP("this build has no XGBoost");
#endif
        const auto model = makeModel("learned");
        QVERIFY(model->fit(makeSet(256, 10, 1, true)).ok());
        const TrainingSet test = makeSet(200, 10, 2, true);
        RidgeModel ridge;
        QVERIFY(ridge.fit(makeSet(256, 10, 1, true)).ok());
        QVERIFY(pairwiseAccuracy(test.labels, *model->predict(test.features)) > 0.8);
        QVERIFY(pairwiseAccuracy(test.labels, *ridge.predict(test.features)) < 0.7);
    }
    void ridgeFindsTheLine() { // with hardly any penalty and no noise the labels come back up to their mean
        RidgeModel ridge(1e-9);
        const TrainingSet set = makeSet(100, 5, 3);
        QVERIFY(ridge.fit(set).ok());
        const auto scores = *ridge.predict(set.features);
        for (std::size_t i = 1; i < 100; ++i)
            QVERIFY(std::abs((scores[i] - scores[0]) - (set.labels[i] - set.labels[0])) < 1e-4f);
    }
    void groupsDoNotCompare_data() {
        models();
    }
    void groupsDoNotCompare() { // two workloads of different level, the same order inside: the level must not
                                // confuse
        QFETCH(QString, kind);
        TrainingSet set = makeSet(150, 6, 1);
        TrainingSet other = makeSet(150, 6, 2);
        for (float& label : other.labels)
            label = label * 0.1f + 50;
        set.append(other);
        QCOMPARE(set.groups.size(), std::size_t{2});
        const auto model = makeModel(kind);
        QVERIFY(model->fit(set).ok());
        const TrainingSet test = makeSet(200, 6, 3);
        QVERIFY(pairwiseAccuracy(test.labels, *model->predict(test.features)) > 0.8);
    }
    void sameSetSameModel_data() {
        models();
    }
    void sameSetSameModel() {
        QFETCH(QString, kind);
        const TrainingSet set = makeSet(200, 20, 7, true);
        const auto a = makeModel(kind), b = makeModel(kind);
        QVERIFY(a->fit(makeSet(100, 8, 1)).ok()); // what it knew before does not matter
        QVERIFY(a->fit(set).ok() && b->fit(set).ok());
        QCOMPARE(*a->predict(set.features), *b->predict(set.features));
    }
    void saveAndLoad_data() {
        models();
    }
    void saveAndLoad() {
        QFETCH(QString, kind);
        const TrainingSet set = makeSet(200, 20, 7, true);
        const auto model = makeModel(kind);
        QVERIFY(model->fit(set).ok());
        const auto bytes = model->save();
        QVERIFY(bytes.ok());
        const auto loaded = makeModel(kind);
        QVERIFY(loaded->load(*bytes).ok());
        QCOMPARE(*loaded->predict(set.features), *model->predict(set.features));
        QVERIFY(!loaded->predict(FeatureMatrix(3, 20, 5)).ok()); // another version
        QVERIFY(!loaded->predict(FeatureMatrix(3, 21, 4)).ok()); // another width
        for (std::size_t cut = 0; cut < bytes->size(); cut += 1 + bytes->size() / 40)
            QVERIFY(!loaded->load(std::string_view(*bytes).substr(0, cut)).ok());
        for (std::size_t at = 0; at < bytes->size(); at += 1 + bytes->size() / 40) {
            std::string damaged = *bytes;
            damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
            QVERIFY(!loaded->load(damaged).ok());
        }
        QCOMPARE(*loaded->predict(set.features), *model->predict(set.features)); // and is still what it was
    }
    void otherKindIsRefused() {
#ifndef TUNESMITH_HAVE_XGBOOST
        QSKIP("this build has no XGBoost");
#endif
        RidgeModel ridge;
        QVERIFY(ridge.fit(makeSet(20, 3, 1)).ok());
        const Status status = makeLearnedModel()->load(*ridge.save());
        QVERIFY(!status.ok() && status.error().message.find("ridge") != std::string::npos);
    }
    void badSets_data() {
        models();
    }
    void badSets() {
        QFETCH(QString, kind);
        const auto model = makeModel(kind);
        QVERIFY(!model->fit({}).ok());
        TrainingSet set = makeSet(10, 3, 1);
        set.labels.pop_back();
        QVERIFY(!model->fit(set).ok());
        set = makeSet(10, 3, 1);
        set.groups = {4, 5};
        QVERIFY(!model->fit(set).ok());
        QVERIFY(!model->fitted());
        set = makeSet(10, 3, 1); // equal labels and constant columns are no reason to fail
        std::ranges::fill(set.labels, 0.0f);
        std::ranges::fill(set.features.values, 1.0f);
        QVERIFY(model->fit(set).ok());
        const auto scores = *model->predict(set.features);
        for (const float score : scores)
            QVERIFY(std::isfinite(score));
        QVERIFY(model->predict(FeatureMatrix(0, 3, 4))->empty());
    }
    void predictsOnManyThreads() {
        const auto model = makeModel("learned");
        const TrainingSet set = makeSet(200, 20, 7, true);
        QVERIFY(model->fit(set).ok());
        const auto expected = *model->predict(set.features);
        std::vector<int> equal(4, 0);
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < 4; ++i)
                threads.emplace_back([&, i] {
                    for (int k = 0; k < 20; ++k)
                        equal[i] += *model->predict(set.features) == expected;
                });
        }
        QCOMPARE(equal, (std::vector<int>{20, 20, 20, 20}));
    }
    void saysWhatItIs() {
        QVERIFY(learnedModelDescription().size() > 10);
    }
};

QTEST_APPLESS_MAIN(TestCostModel)
#include "tst_cost_model.moc"
