// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/graph/npy.h"
#include "core/module/index_limits.h"
#include "core/onnx/export.h"
#include "core/workbench/compile.h"
#include "core/workbench/run.h"
#include "tests/take.h"

using namespace tunesmith;

// One behaviour: an index that is given and out of range is refused, whoever computes.
class TestIndexLimits : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

    // ids of [2, 2] -> op -> index of rows of a table of 5, beside one of 7.
    static Graph lookups(const std::string& op, DType type, const std::string& gather = "Gather") {
        GraphBuilder builder("lookups");
        builder.setOpset("", 17);
        ValueId ids = builder.addInput("ids", TensorType(type, Shape{2, 2}));
        if (op == "Add")
            ids = builder.add("Add", {ids, builder.addConstant("one", type == DType::i64 ? Tensor::scalar<std::int64_t>(1) : Tensor::scalar<std::int32_t>(1))});
        else if (!op.empty())
            ids = builder.add(op, {ids});
        std::vector<ValueId> outputs;
        for (const std::int64_t rows : {7, 5})
            outputs.push_back(builder.add(gather, {builder.addConstant("table" + std::to_string(rows), Tensor::zeros(DType::f32, {rows, 3})), ids}));
        builder.setOutputs(outputs);
        return take(builder.build());
    }

    template <class T> std::string file(const std::vector<T>& values) const {
        Tensor tensor = Tensor::zeros(dtypeOf<T>, {2, 2});
        std::ranges::copy(values, tensor.mutableData<T>().begin());
        take(writeNpy(path("ids.npy"), tensor));
        return path("ids.npy");
    }

    template <class T> void verifyRuns(const std::vector<T>& ids, bool good) const {
        take(exportOnnx(lookups("", dtypeOf<T>), path("lookups.onnx")));
        const Model model = take(openModel(path("lookups.onnx")));
        for (const Engine engine : {Engine::reference, Engine::compiled, Engine::module}) {
            RunRequest request;
            request.inputs.files["ids"] = file(ids);
            request.engine = engine;
            request.threads = 1;
            request.store = path("store.db");
            const auto run = runModel(model, request);
            QVERIFY2(run.ok() == good, engineName(engine));
            if (!good)
                QVERIFY2(run.error().message.find("is out of range for ") != std::string::npos, run.error().message.c_str());
        }
    }

private slots:
    void everyEngineRefuses_data() {
        QTest::addColumn<QList<qint64>>("ids");
        QTest::addColumn<bool>("good");
        QTest::newRow("first and last") << QList<qint64>{0, 4, -5, -1} << true;
        QTest::newRow("too large") << QList<qint64>{0, 0, 0, 5} << false;
        QTest::newRow("too small") << QList<qint64>{-6, 0, 0, 0} << false;
        QTest::newRow("largest") << QList<qint64>{0, std::numeric_limits<qint32>::max(), 0, 0} << false;
        QTest::newRow("smallest") << QList<qint64>{0, 0, std::numeric_limits<qint32>::min(), 0} << false;
    }
    void everyEngineRefuses() {
        QFETCH(const QList<qint64>, ids);
        QFETCH(const bool, good);
        verifyRuns(std::vector<std::int64_t>(ids.begin(), ids.end()), good);
        verifyRuns(std::vector<std::int32_t>(ids.begin(), ids.end()), good);
    }

    void theWholeRangeOfAnIndexIsLookedAt() {
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
        for (const std::int64_t wrong : {kMost, kMost - 4, kLeast, kLeast + 5, std::int64_t(1) << 32})
            verifyRuns(std::vector<std::int64_t>{0, wrong, 0, 0}, false);
    }

    void limits() {
        QCOMPARE(indexLimits(lookups("", DType::i64)), std::vector<std::int64_t>{5});
        QCOMPARE(indexLimits(lookups("", DType::i32)), std::vector<std::int64_t>{5});
        QCOMPARE(indexLimits(lookups("Identity", DType::i64)), std::vector<std::int64_t>{5});
        QCOMPARE(indexLimits(lookups("Transpose", DType::i64, "GatherElements")), std::vector<std::int64_t>{5});
        QCOMPARE(indexLimits(lookups("Add", DType::i64)), std::vector<std::int64_t>{0}); // is no longer what was given
    }
};

QTEST_GUILESS_MAIN(TestIndexLimits)
#include "tst_index_limits.moc"
