// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/rng.h"
#include "core/workbench/layer_check.h"

using namespace tunesmith;

namespace {

struct Layer {
    const char* workload;
    const char* untuned;
    const char* tuned;           // configs
    double before = 1, after = 1; // ms
};

ModuleInfo moduleOf(const std::vector<Layer>& layers, bool tuned) {
    ModuleInfo info;
    for (const Layer& layer : layers) {
        ModuleStep step;
        step.name = std::string("layer of ") + layer.workload;
        step.workload = layer.workload;
        step.config = tuned ? layer.tuned : layer.untuned;
        info.steps.push_back(step);
    }
    return info;
}

// Forty rounds with noise that both modules share, as neighbours in time do, and a little of their own.
PairSteps measured(const std::vector<Layer>& layers) {
    Rng rng(5);
    PairSteps steps;
    for (int round = 0; round < 40; ++round) {
        const double mode = rng.uniform(1.0f, 1.75f);
        auto& a = steps.a.emplace_back();
        auto& b = steps.b.emplace_back();
        for (const Layer& layer : layers) {
            a.push_back(layer.before * 1e-3 * mode * rng.uniform(1.0f, 1.01f));
            b.push_back(layer.after * 1e-3 * mode * rng.uniform(1.0f, 1.01f));
        }
    }
    return steps;
}

std::vector<std::string> slower(const std::vector<Layer>& layers) {
    return slowerInModel(moduleOf(layers, false), moduleOf(layers, true), measured(layers));
}

} // namespace

class LayerCheckTest : public QObject {
    Q_OBJECT
    using Keys = std::vector<std::string>;

private slots:
    void findsWhatLoses() {
        QCOMPARE(slower({{"a", "0", "1", 1, 1.2}, {"b", "0", "1", 1, 0.8}, {"c", "0", "1", 1, 1}}), Keys{"a"});
    }
    // One of two layers loses, together they win: it is one kernel.
    void layersOfAWorkloadAreJudgedTogether() {
        QCOMPARE(slower({{"a", "0", "1", 1, 1.2}, {"a", "0", "1", 3, 2.5}}), Keys());
        QCOMPARE(slower({{"a", "0", "1", 1, 0.9}, {"a", "0", "1", 3, 3.5}}), Keys{"a"});
    }
    void untunedLayersAreNotJudged() { QCOMPARE(slower({{"a", "0", "0", 1, 1.5}}), Keys()); }
    void fewRoundsSayNothing() {
        const std::vector<Layer> layers{{"a", "0", "1", 1, 2}};
        PairSteps steps = measured(layers);
        steps.a.resize(5);
        steps.b.resize(5);
        QCOMPARE(slowerInModel(moduleOf(layers, false), moduleOf(layers, true), steps), Keys());
    }
    void otherLayersCannotBeCompared() {
        const std::vector<Layer> layers{{"a", "0", "1", 1, 2}}, others{{"b", "0", "1", 1, 2}};
        QCOMPARE(slowerInModel(moduleOf(layers, false), moduleOf(others, true), measured(layers)), Keys());
        QCOMPARE(slowerInModel(moduleOf(layers, false), moduleOf({}, true), measured(layers)), Keys());
    }
};

QTEST_GUILESS_MAIN(LayerCheckTest)
#include "tst_layer_check.moc"
