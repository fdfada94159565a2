// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/workbench/optimize.h"
#include "tests/core/optimize/small_models.h"
#include "tests/take.h"

using namespace tunesmith;

// Modules have the last word over costs in ms, also where a search is ended early.
class TstOptimizeRace : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    int files_ = 0;

    std::string path(const QString& name) const { return folder_.filePath(name).toStdString(); }

    Model modelOf(const Graph& graph) {
        const std::string file = path(QString("model%1.onnx").arg(++files_));
        if (const Status written = exportOnnx(graph, file); !written.ok())
            qFatal("%s", written.error().message.c_str());
        return take(openModel(file));
    }

    OptimizeRequest request(const std::string& cost, const QString& file = {}) const {
        OptimizeRequest asked;
        asked.cost = cost;
        asked.store = path("s.db");
        asked.threads = 1;
        if (!file.isEmpty())
            asked.file = path(file);
        return asked;
    }

    // Whatever was chosen, modules said so.
    static void requireProved(const OptimizedModel& made) {
        QVERIFY(std::isfinite(made.costBefore) && std::isfinite(made.costAfter));
        for (const OptimizeProgress& at : made.curve)
            QVERIFY(std::isfinite(at.best));
        for (const GraphStep& step : made.steps)
            QVERIFY(std::isfinite(step.costBefore) && std::isfinite(step.costAfter));
        QVERIFY(made.steps.empty() || made.raced);
        if (!made.steps.empty())
            QVERIFY(made.measuredAfterMs < made.measuredBeforeMs && made.measuredAfterMs > 0);
        else
            QCOMPARE(made.costAfter, made.costBefore);
    }

private slots:
    // The ceilings of the machine take seconds to measure, once for each store.
    void initTestCase() { take(optimizeModel(take(openModel("mlp")), request("roofline"))); }

    void aFileIsOnlyWrittenOnceItWasRaced() {
        const Model model = take(openModel("encoder"));
        const OptimizedModel made = take(optimizeModel(model, request("roofline", "raced.onnx")));
        requireProved(made);
        QVERIFY(made.raced && made.notRaced.empty() && made.timed.size() >= 2);
        QVERIFY(made.measuredBeforeMs > 0 && made.measuredAfterMs > 0);
        QCOMPARE(take(openModel(path("raced.onnx"))).info().nodes, made.nodesAfter);
    }

    void whereThereIsNoRace_data() {
        QTest::addColumn<QString>("cost");
        QTest::addColumn<bool>("writes");
        QTest::addColumn<bool>("asks");
        QTest::addColumn<bool>("refuses");
        QTest::addColumn<QString>("why");
        QTest::newRow("nothing is written") << "roofline" << false << false << false << "nothing is written";
        QTest::newRow("it is asked for") << "roofline" << false << true << false << "";
        QTest::newRow("it is refused") << "roofline" << true << false << true << "it was asked not to measure";
        QTest::newRow("refused, but timed") << "roofline" << false << true << true << "it was asked not to measure";
        QTest::newRow("launches") << "kernels" << true << false << false << "the cost counts launches";
    }
    void whereThereIsNoRace() {
        QFETCH(QString, cost);
        QFETCH(bool, writes);
        QFETCH(bool, asks);
        QFETCH(bool, refuses);
        QFETCH(QString, why);
        OptimizeRequest asked = request(cost.toStdString(), writes ? "unraced.onnx" : "");
        asked.measure = asks;
        asked.noMeasure = refuses;
        const OptimizedModel made = take(optimizeModel(modelOf(attention(1)), asked));
        QCOMPARE(QString::fromStdString(made.notRaced), why);
        QCOMPARE(made.raced, why.isEmpty());
        QCOMPARE(made.timed.empty(), !made.raced);
        QCOMPARE(made.measuredAfterMs > 0, asks);
        QCOMPARE(measuresModules(asked), asks);
        QVERIFY(made.raced || !made.steps.empty());
    }

    // There is no module of it, which is no reason to refuse what was found.
    void modelsWithoutAModule() {
        GraphBuilder builder("places");
        builder.setOpset({}, 13);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{4, 4}));
        const ValueId turned = builder.add("Transpose", {builder.add("Transpose", {builder.add("Relu", {x})})});
        builder.setOutputs({builder.add("Sigmoid", {turned}), builder.add("Cast", {x}, {{"to", std::int64_t(8)}}, 1, "words")});
        const Model model = modelOf(take(builder.build()));
        QVERIFY(!whyNotExported(model).empty());
        const OptimizedModel made = take(optimizeModel(model, request("roofline", "places.onnx")));
        QVERIFY(made.nodesAfter < made.nodesBefore && !made.raced);
        QVERIFY2(QString::fromStdString(made.notRaced).contains("words"), made.notRaced.c_str());
        QVERIFY(QFile::exists(folder_.filePath("places.onnx")));
    }

    // Times that are missing because of a stop are guesses, and cheap ones.
    void guessesAreNotChosen_data() {
        QTest::addColumn<QString>("cost");
        QTest::addColumn<int>("after");
        for (const int after : {1, 4, 5, 6, 8})
            QTest::addRow("measured, stopped at kernel %d", after) << "measured" << after;
        for (const int after : {4, 12})
            QTest::addRow("planned, stopped at kernel %d", after) << "planned" << after;
    }
    void guessesAreNotChosen() {
        QFETCH(QString, cost);
        QFETCH(int, after);
        const Model model = modelOf(fireModules(1));
        StopSource stop;
        OptimizeRequest asked = request(cost.toStdString(), QString("%1%2.onnx").arg(cost).arg(after));
        asked.store = path(QString("%1%2.db").arg(cost).arg(after)); // knows the machine and no kernel
        QVERIFY(QFile::copy(folder_.filePath("s.db"), QString::fromStdString(asked.store)));
        asked.enough = stop.token(); // as of Ctrl-C: one wish for both
        int kernels = 0;
        const Work work{stop.token(), [&](const Progress& progress) {
                            kernels += progress.phase == "measuring kernels" ? 1 : 0;
                            if (kernels == after)
                                stop.requestStop();
                        }};
        const auto made = optimizeModel(model, asked, work);
        qInfo("%d kernels measured: %s", kernels, !made.ok() ? made.error().message.c_str() : made->steps.empty() ? "the graph stays" : "another graph");
        QVERIFY(made.ok() || made.error().isCancelled());
        QCOMPARE(QFile::exists(QString::fromStdString(asked.file.string())), made.ok());
        if (made.ok())
            requireProved(*made);
    }

    void anEndedSearchIsRacedBriefly() {
        StopSource enough;
        OptimizeRequest asked = request("roofline", "brief.onnx");
        asked.enough = enough.token();
        const OptimizedModel made = take(optimizeModel(take(openModel("encoder")), asked, {enough.token(), {}}, [&](const OptimizeProgress&) { enough.requestStop(); }));
        QCOMPARE(made.stopReason, StopReason::cancelled);
        requireProved(made);
        QVERIFY(made.raced);
        QCOMPARE(made.timed.size(), std::size_t(2));
    }

    void aRaceThatIsEndedAsWellKeepsTheOriginal() {
        StopSource enough, stop;
        OptimizeRequest asked = request("roofline", "kept.onnx");
        asked.enough = enough.token();
        const Work work{stop.token(), [&](const Progress& progress) {
                            if (progress.phase == "measuring against the original")
                                stop.requestStop();
                        }};
        const Model model = take(openModel("encoder"));
        const OptimizedModel made = take(optimizeModel(model, asked, work, [&](const OptimizeProgress&) { enough.requestStop(); }));
        QVERIFY(made.keptOriginal && !made.raced && made.steps.empty() && made.timed.empty());
        QCOMPARE(made.notRaced, std::string("the race was stopped"));
        QCOMPARE(made.measuredAfterMs, 0.0);
        QCOMPARE(made.nodesAfter, made.nodesBefore);
        QCOMPARE(take(openModel(path("kept.onnx"))).info().nodes, made.nodesBefore);
        OptimizeRequest whole = asked; // nobody ended the search: the stop is a stop
        whole.enough = {};
        const auto cancelled = optimizeModel(model, whole, {stop.token(), {}});
        QVERIFY(!cancelled.ok() && cancelled.error().isCancelled());
    }
};

QTEST_GUILESS_MAIN(TstOptimizeRace)
#include "tst_optimize_race.moc"
