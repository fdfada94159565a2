// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/check/equivalence.h"
#include "core/onnx/export.h"
#include "core/workbench/compile.h"
#include "core/workbench/optimize.h"
#include "core/workbench/run.h"
#include "random_model.h"
#include "tests/take.h"

using namespace tunesmith;

// Models that nobody thought of compute the same however they are computed. TUNESMITH_RANDOM_MODELS=FROM-TO tries others than the usual ones.
class RandomModelsTest : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

    Result<std::vector<Tensor>> outputs(const std::string& file, Engine engine) const {
        TS_ASSIGN(const Model model, openModel(file));
        RunRequest request;
        request.inputs.low = -2;
        request.engine = engine;
        request.threads = 1;
        request.store = path("store.db");
        TS_ASSIGN(const RunResult run, runModel(model, request));
        std::vector<Tensor> tensors;
        for (const RunOutput& output : run.outputs)
            tensors.push_back(output.tensor);
        return tensors;
    }

    Result<std::vector<Tensor>> optimized(Engine engine) const {
        TS_ASSIGN(const Model model, openModel(path("model.onnx")));
        OptimizeRequest request;
        request.file = path("optimized.onnx");
        request.store = path("store.db");
        request.threads = 1;
        request.budget = 30;
        request.noMeasure = true;
        TS_TRY(optimizeModel(model, request));
        return outputs(request.file.string(), engine);
    }

    static std::string wrong(const char* way, const std::vector<Tensor>& expected, const Result<std::vector<Tensor>>& got) {
        if (!got.ok())
            return std::string(way) + ": " + got.error().message + "\n";
        for (const Difference& difference : compareTensors(expected, *got))
            if (!difference.equal)
                return std::string(way) + ": " + difference.text + "\n";
        return {};
    }

private slots:
    void computeTheSame_data() {
        QTest::addColumn<quint64>("seed");
        const QStringList range = qEnvironmentVariable("TUNESMITH_RANDOM_MODELS", "1-60").split('-');
        for (quint64 seed = range[0].toULongLong(); seed <= range[1].toULongLong(); ++seed)
            QTest::addRow("%llu", seed) << seed;
    }
    void computeTheSame() {
        QFETCH(quint64, seed);
        take(exportOnnx(tunesmith::testing::randomModel(seed), path("model.onnx")));
        const auto expected = outputs(path("model.onnx"), Engine::reference);
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
        std::string all = wrong("compiled", *expected, outputs(path("model.onnx"), Engine::compiled));
        all += wrong("module", *expected, outputs(path("model.onnx"), Engine::module));
        all += wrong("optimized", *expected, optimized(Engine::reference));
        QVERIFY2(all.empty(), all.c_str());
    }
};

QTEST_GUILESS_MAIN(RandomModelsTest)
#include "tst_random_models.moc"
