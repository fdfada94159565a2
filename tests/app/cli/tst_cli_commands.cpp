// SPDX-License-Identifier: GPL-3.0-or-later
#include <QJsonArray>
#include <QTemporaryDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonObject>
#include <QTest>
#include <cmath>

#include "cli_process.h"
#include "tests/app/gui/tiny_onnx.h"

using namespace tunesmith::testing;

// What the commands print for programs: keys, types, exit status.
class TestCliCommands : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString path(const QString& name) const { return folder_.filePath(name); }

    static void verifyKeys(const QJsonObject& object, const QStringList& keys) {
        for (const QString& key : keys)
            QVERIFY2(object.contains(key), qPrintable("no key " + key));
    }

    static QVector<float> npyFloats(const QString& file) {
        QFile npy(file);
        if (!npy.open(QIODevice::ReadOnly))
            return {};
        const QByteArray bytes = npy.readAll();
        const int header =
            10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
        QVector<float> values((bytes.size() - header) / 4);
        std::memcpy(values.data(), bytes.constData() + header, static_cast<std::size_t>(values.size()) * 4);
        return values;
    }

    static void verifyClose(const QVector<float>& a, const QVector<float>& b) {
        QCOMPARE(a.size(), b.size());
        QVERIFY(!a.isEmpty());
        float scale = 0;
        for (const float value : a)
            scale = std::max(scale, std::abs(value));
        QVERIFY(scale > 0);
        for (int i = 0; i < a.size(); ++i)
            QVERIFY(std::abs(a[i] - b[i]) <= std::max(1e-3f * std::abs(a[i]), 1e-4f * scale));
    }

private slots:
    void rangesOfDimensions() {
        QFile file(path("open.onnx"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(tunesmith::tinyOnnx("Relu", "n"));
        file.close();
        const QString folder = path("relus");
        const CliResult made =
            runCli({"compile", file.fileName(), "--dims", "n=2..4", "-o", folder, "--untuned", "--json"});
        QVERIFY2(made.status == 0, made.errors.constData());
        QCOMPARE(made.json()["modules"].toArray().size(), 2); // 2 and 4
        QVERIFY(made.json()["mixing"].toObject().isEmpty());
        const CliResult run = runCli({"run", folder, "--dims", "n=3", "--json"});
        QVERIFY2(run.status == 0, run.errors.constData());
        verifyKeys(run.json(), {"outputs", "seconds", "by_reference", "module"});
        QCOMPARE(run.json()["module"].toObject()["how"].toString(), QString("padded"));
        QCOMPARE(run.json()["outputs"].toArray()[0].toObject()["shape"].toArray(), QJsonArray{3});
        const CliResult bench = runCli({"bench", folder, "--dims", "n=4", "--seconds", "0.1", "--json"});
        QVERIFY2(bench.status == 0, bench.errors.constData());
        const CliResult outside = runCli({"run", folder, "--dims", "n=5"});
        QCOMPARE(outside.status, 1);
        QVERIFY2(outside.sentence().contains("outside of 2..4"), outside.errors.constData());
        const CliResult ranges = runCli({"run", file.fileName(), "--dims", "n=2..4"});
        QCOMPARE(ranges.status, 2);
    }

    void usage_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::newRow("nothing") << QStringList{} << 2;
        QTest::newRow("unknown command") << QStringList{"frobnicate"} << 2;
        QTest::newRow("unknown option") << QStringList{"info", "mlp", "--frobnicate"} << 2;
        QTest::newRow("no model") << QStringList{"info"} << 2;
        QTest::newRow("unknown engine") << QStringList{"run", "mlp", "--engine", "steam"} << 2;
        QTest::newRow("no threads") << QStringList{"run", "mlp", "--threads", "0"} << 2;
        QTest::newRow("bad dims") << QStringList{"info", "mlp", "--dims", "batch"} << 2;
        QTest::newRow("negative dims") << QStringList{"info", "mlp", "--dims", "batch=-1"} << 2;
        QTest::newRow("input without file") << QStringList{"run", "mlp", "--input", "x"} << 2;
        QTest::newRow("store without action") << QStringList{"store"} << 2;
        QTest::newRow("compile to nowhere") << QStringList{"compile", "mlp"} << 2;
        QTest::newRow("unknown strategy") << QStringList{"tune", "mlp", "--strategy", "tarot"} << 2;
        QTest::newRow("negative seed") << QStringList{"run", "mlp", "--seed", "-1"} << 2; // not 2^64 - 1
        QTest::newRow("seconds that are no number") << QStringList{"tune", "mlp", "--time", "nan"} << 2;
        QTest::newRow("a tolerance that is no number") << QStringList{"compile", "mlp", "-o", path("nowhere"), "--accept-difference", "-NaN(1)"} << 2;
        QTest::newRow("large seed") << QStringList{"run", "mlp", "--seed", "18446744073709551616"} << 2;
        QTest::newRow("input twice") << QStringList{"run", "mlp", "--input", "x=a.npy", "--input", "x=b.npy"} << 2;
        QTest::newRow("unknown policy") << QStringList{"jobs", "run", "--policy", "tarot"} << 2;
        QTest::newRow("bad prefix") << QStringList{"compile", "mlp", "-o", path("nowhere"), "--prefix", "a b"} << 2;
        QTest::newRow("bad address") << QStringList{"devices", "--tracker", "nonsense"} << 2;
        QTest::newRow("bad port") << QStringList{"tracker", "--listen", "127.0.0.1:99999"} << 2;
        QTest::newRow("bad cores") << QStringList{"server", "--tracker", "localhost:1", "--key", "a", "--cores", "9-1"} << 2;
        QTest::newRow("unknown verb") << QStringList{"experiment", "mlp", "--verbs", "dance"} << 2;
        QTest::newRow("help") << QStringList{"--help"} << 0;
        QTest::newRow("help of a command") << QStringList{"tune", "--help"} << 0;
        QTest::newRow("version") << QStringList{"--version"} << 0;
    }
    void usage() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        const CliResult result = runCli(arguments);
        QCOMPARE(result.status, status);
        QCOMPARE(result.out.isEmpty(), status != 0);
        QCOMPARE(result.sentence().isEmpty(), status == 0);
    }

    void everyCommandPrintsOneObject_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QStringList>("keys");
        const QString store = path("keys.db");
        QTest::newRow("models") << QStringList{"models"} << QStringList{"models"};
        QTest::newRow("version") << QStringList{"version"} << QStringList{"version"};
        QTest::newRow("info") << QStringList{"info", "mlp"}
                              << QStringList{"inputs",     "outputs", "nodes",      "ops",
                                             "parameters", "flops",   "unsupported"};
        QTest::newRow("run") << QStringList{"run", "mlp"} << QStringList{"outputs"};
        QTest::newRow("tasks") << QStringList{"tasks", "mlp"} << QStringList{"tasks"};
        QTest::newRow("inspect") << QStringList{"inspect", "mlp", "gemm", "--store", store}
                                 << QStringList{"key", "name", "config", "schedule", "hot_loop", "loops", "llvm", "assembly"};
        QTest::newRow("export") << QStringList{"export", "mlp", "--onnx", path("mlp.onnx")}
                                << QStringList{"file"};
        QTest::newRow("machine") << QStringList{"machine", "--store", store}
                                 << QStringList{"cpu", "isa", "threads"};
        QTest::newRow("bench") << QStringList{"bench", "mlp", "--seconds", "0.2", "--store", store}
                               << QStringList{"p5_ms",  "median_ms",     "p95_ms", "runs",
                                              "gflops", "peak_fraction", "threads"};
        QTest::newRow("bench --vs") << QStringList{"bench",     "mlp", "--vs",    "mlp",
                                                   "--seconds", "0.5", "--store", store}
                                    << QStringList{"p5_ms",     "other",      "ratio",
                                                   "ratio_low", "ratio_high", "verdict"};
        QTest::newRow("tune --strategy")
            << QStringList{"tune", "mlp", "--trials-per-workload", "2", "--strategy", "coordinate", "--no-latency", "--store", store}
            << QStringList{"run", "trials", "workloads"};
        QTest::newRow("tune") << QStringList{"tune", "mlp", "--trials-per-workload", "2", "--threads", "1", "--store", store}
                              << QStringList{"run",         "trials",    "failed",   "seconds",
                                             "stop_reason", "before_ms", "after_ms", "workloads"};
        QTest::newRow("store check") << QStringList{"store", "check", "--store", store}
                                     << QStringList{"ok", "problems", "runs", "trials"};
        QTest::newRow("store stats") << QStringList{"store", "stats", "--store", store}
                                     << QStringList{"path", "runs", "trials", "records"};
        QTest::newRow("store gc") << QStringList{"store", "gc", "--store", store}
                                  << QStringList{"rows_removed", "bytes_freed"};
        QTest::newRow("compile") << QStringList{"compile", "mlp", "-o", path("module"), "--store", store}
                                 << QStringList{"folder", "check", "tuned"};
    }
    void everyCommandPrintsOneObject() {
        QFETCH(QStringList, arguments);
        QFETCH(QStringList, keys);
        const CliResult result = runCli(arguments + QStringList{"--json"});
        QVERIFY2(result.status == 0, result.errors);
        QVERIFY(!result.json().isEmpty());
        verifyKeys(result.json(), keys);
        const CliResult forPeople = runCli(arguments);
        QVERIFY2(forPeople.status == 0, forPeople.errors);
        QVERIFY(!forPeople.out.isEmpty());
        QVERIFY(!forPeople.out.startsWith('{'));
    }

    void tensorsAreDescribed() {
        const QJsonObject info = runCli({"info", "mlp", "--json"}).json();
        const QJsonObject input = info["inputs"].toArray().at(0).toObject();
        verifyKeys(input, {"name", "type", "shape"});
        QCOMPARE(input["type"].toString(), "float32");
        QCOMPARE(input["shape"].toArray().last().toInt(), 784);
        QCOMPARE(info["parameters"].toInt(), 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
        QCOMPARE(info["ops"].toObject()["Gemm"].toInt(), 3);
    }

    // Reference engine, compiled engine, exported module and the exported ONNX file on the same drawn inputs;
    // then the module on a stored input, whose name is given as it is.
    void enginesAndModuleAgree_data() {
        QTest::addColumn<QString>("model");
        QTest::newRow("mlp") << "mlp";
        QTest::newRow("encoder") << "encoder";
        QTest::newRow("mnist") << testDataFile("models/mnist/mnist.onnx");
    }
    void enginesAndModuleAgree() {
        QFETCH(QString, model);
        if (model.isEmpty())
            QSKIP("mnist.onnx is not below TUNESMITH_TEST_DATA");
        const QString name = QTest::currentDataTag();
        const auto run = [&](const QString& subject, const QString& folder, const QStringList& more = {}) {
            const CliResult result =
                runCli(QStringList{"run", subject, "--save", path(folder), "--seed", "7", "--json"} + more);
            return result.status == 0
                       ? npyFloats(result.json()["outputs"].toArray().at(0).toObject()["file"].toString())
                       : QVector<float>();
        };
        const auto reference = run(model, name + "-reference", {"--engine", "reference"});
        verifyClose(reference, run(model, name + "-compiled", {"--engine", "compiled"}));
        verifyClose(reference, run(model, name + "-one", {"--threads", "1"}));
        QCOMPARE(runCli({"compile", model, "-o", path(name + "-module")}).status, 0);
        verifyClose(reference, run(path(name + "-module"), name + "-exported"));
        QCOMPARE(runCli({"export", model, "--onnx", path(name + ".onnx")}).status, 0);
        verifyClose(reference, run(path(name + ".onnx"), name + "-onnx", {"--engine", "reference"}));
        const auto other = run(path(name + "-module"), name + "-other-seed", {"--seed", "8"});
        QVERIFY(other.isEmpty()); // --seed twice is a usage error
    }

    void inputsComeFromFiles() {
        QVERIFY(runCli({"run", "mlp", "--engine", "reference", "--save", path("first"), "--json"}).status ==
                0);
        const QJsonObject info = runCli({"info", "mlp", "--json"}).json();
        const QString input = info["inputs"].toArray().at(0).toObject()["name"].toString();
        const QString output = info["outputs"].toArray().at(0).toObject()["name"].toString();
        const CliResult wrong =
            runCli({"run", "mlp", "--input", input + "=" + path("first/" + output + ".npy")});
        QCOMPARE(wrong.status, 1); // 1x10 is not 1x784
        QVERIFY(wrong.sentence().contains("1,784"));
        const CliResult unknown =
            runCli({"run", "mlp", "--input", "nobody=" + path("first/" + output + ".npy")});
        QCOMPARE(unknown.status, 1);
        QVERIFY(unknown.sentence().contains("its inputs are " + input.toUtf8()));
        QCOMPARE(runCli({"run", "mlp", "--input", input + "=/nowhere.npy"}).status, 1);
    }

    void conformanceCountsCases() {
        if (!QFileInfo::exists("/usr/share/libonnx-testdata/data/node/test_relu"))
            QSKIP("libonnx-testdata is not installed");
        const CliResult passed =
            runCli({"conformance", "/usr/share/libonnx-testdata/data/node/test_relu", "--json"});
        QVERIFY2(passed.status == 0, passed.errors);
        QCOMPARE(passed.json()["passed"].toInt(), 2);
        QCOMPARE(passed.json()["cases"].toArray().size(), 2);
        verifyKeys(passed.json()["cases"].toArray().at(0).toObject(), {"name", "engine", "status", "detail"});
        const CliResult one = runCli({"conformance", "/usr/share/libonnx-testdata/data/node/test_relu",
                                      "--engine", "reference", "--json"});
        QCOMPARE(one.json()["cases"].toArray().size(), 1);
        QCOMPARE(runCli({"conformance", folder_.path()}).status, 1);
    }
};

QTEST_GUILESS_MAIN(TestCliCommands)
#include "tst_cli_commands.moc"
