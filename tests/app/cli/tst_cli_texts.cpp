// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

// A tensor expression through every command that takes a model.
class TestCliTexts : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString path(const QString& name) const { return folder_.filePath(name); }

    QString written(const QString& name, const QByteArray& text) const {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly))
            qFatal("cannot write a test file");
        file.write(text);
        return file.fileName();
    }
    QString scores() const {
        return written("scores.te", "# scores of attention\ndef scores(float32[M=12, K=8] Q, float32[K, N=16] T) -> S {\n"
                                    "    P[i, j] +=! Q[i, k] * T[k, j]\n    S[i, j] = exp(P[i, j] / K)\n}\n");
    }
    static QByteArray bytesOf(const QString& name) {
        QFile file(name);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

private slots:
    void info() {
        const QJsonObject info = runCli({"info", scores(), "--json"}).json();
        QCOMPARE(info["nodes"].toInt(), 2);
        QCOMPARE(info["ops"].toObject()["tunesmith.Comprehension"].toInt(), 1);
        QCOMPARE(info["flops"].toInt(), 12 * 16 * 8 * 2 + 12 * 16 * 2);
        QVERIFY(info["not_compiled"].toArray().isEmpty() && info["open_dimensions"].toArray().isEmpty());
        const QJsonObject larger = runCli({"info", scores(), "--dims", "M=24", "--json"}).json();
        QCOMPARE(larger["outputs"].toArray()[0].toObject()["shape"].toArray()[0].toInt(), 24);
        const QJsonObject open = runCli({"info", written("open.te", "def f(float32[N] X) -> Y { Y[i] = X[i] }"), "--json"}).json();
        QCOMPARE(open["open_dimensions"].toArray(), QJsonArray{"N"});
    }

    void tunedCompiledAndRun() {
        const QString store = path("trials.db"), module = path("module");
        const CliResult tasks = runCli({"tasks", scores(), "--json"});
        QVERIFY2(tasks.status == 0, tasks.errors);
        QVERIFY2(tasks.out.contains("matmul"), tasks.out); // with its epilogue in the same kernel
        const CliResult tuned = runCli({"tune", scores(), "--trials-per-workload", "6", "--no-latency", "--threads", "1", "--store", store, "--json"});
        QVERIFY2(tuned.status == 0, tuned.errors);
        QVERIFY(tuned.json()["trials"].toInt() >= 6);
        const CliResult compiled = runCli({"compile", scores(), "--store", store, "--threads", "1", "-o", module, "--json"});
        QVERIFY2(compiled.status == 0, compiled.errors);
        QCOMPARE(compiled.json()["kernels"].toInt(), 1);
        QCOMPARE(compiled.json()["tuned"].toInt(), 1);
        QVERIFY2(runCli({"run", module}).status == 0, "the module does not run");
        QVERIFY(runCli({"run", scores(), "--engine", "reference"}).status == 0);
        const CliResult inspected = runCli({"inspect", scores(), "P", "--store", store, "--threads", "1", "--part", "loops"}); // by its node
        QVERIFY2(inspected.status == 0, inspected.errors);
        QVERIFY2(inspected.out.contains("for"), inspected.out);
    }

    // A schedule of the user's own is tuned beside ours, or alone.
    void schedulesOfTheUser_data() {
        QTest::addColumn<QString>("only");
        QTest::addColumn<QByteArray>("space");
        QTest::newRow("beside ours") << "" << QByteArray("written|matmul");
        QTest::newRow("alone") << "only " << QByteArray("written");
    }
    void schedulesOfTheUser() {
        QFETCH(QString, only);
        QFETCH(QByteArray, space);
        const QString text = written("blocks.te", ("def blocks(float32[M=24, K=32] A, float32[K, N=48] B) -> C {\n    C[i, j] +=! A[i, k] * B[k, j]\n    schedule C " + only +
                                                   "{\n        knob ROWS = 2 | 4\n        knob WIDE = on | off\n        io, ii = split(i, ROWS)\n        jo, jv, jl = split(j, WIDE ? 2 : 1, 8)\n"
                                                   "        order io, jo, k, ii, jv, jl\n        unroll ii, jv\n        vectorize jl\n        parallel io\n    }\n}\n").toUtf8());
        const QString store = path("blocks" + only.trimmed() + ".db"), module = path("blocks" + only.trimmed());
        const CliResult tasks = runCli({"tasks", text, "--json"});
        QVERIFY2(tasks.out.contains(space), tasks.out);
        const CliResult untuned = runCli({"inspect", text, "C", "--store", store, "--threads", "1"});
        QVERIFY2(untuned.status == 0, untuned.errors);
        QVERIFY2(untuned.out.contains("ROWS 2, WIDE on"), untuned.out); // the first values
        const CliResult tuned = runCli({"tune", text, "--trials-per-workload", "8", "--no-latency", "--threads", "1", "--store", store, "--json"});
        QVERIFY2(tuned.status == 0, tuned.errors);
        const CliResult compiled = runCli({"compile", text, "--store", store, "--threads", "1", "-o", module, "--json"});
        QVERIFY2(compiled.status == 0, compiled.errors);
        QCOMPARE(compiled.json()["tuned"].toInt(), 1);
        QVERIFY2(runCli({"run", module}).status == 0, "the module does not run");
        const CliResult inspected = runCli({"inspect", text, "C", "--store", store, "--threads", "1"});
        QVERIFY2(inspected.status == 0, inspected.errors);
        QVERIFY2(!only.isEmpty() ? inspected.out.contains("ROWS ") : inspected.out.contains("ROWS ") || inspected.out.contains("m_tile "), inspected.out);
        const QString onnx = path("blocks.onnx");
        QCOMPARE(runCli({"export", text, "--onnx", onnx}).status, 0);
        QVERIFY(runCli({"tasks", onnx, "--json"}).out.contains(space)); // the schedule is a part of the node
    }

    // Nodes of our own domain come back from an ONNX file.
    void exportedAndReadAgain() {
        const QString onnx = path("scores.onnx");
        QCOMPARE(runCli({"export", scores(), "--onnx", onnx}).status, 0);
        const QStringList first{"run", scores(), "--engine", "reference", "--save", path("first")};
        const QStringList again{"run", onnx, "--engine", "reference", "--save", path("again")};
        QCOMPARE(runCli(first).status, 0);
        const CliResult result = runCli(again);
        QVERIFY2(result.status == 0, result.errors);
        QVERIFY(!bytesOf(path("first/S.npy")).isEmpty());
        QCOMPARE(bytesOf(path("again/S.npy")), bytesOf(path("first/S.npy")));
    }

    void errors_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char* name, const char* text, const QStringList& options, const char* expected) { QTest::newRow(name) << QByteArray(text) << options << QByteArray(expected); };
        row("empty", "", {}, "bad.te:1:1: a file begins with a definition");
        row("cut off", "def f(float32[N=4] X) -> Y {\n Y[i] =", {}, "bad.te:2:8: a value is missing");
        row("outside", "def f(float32[N=4] X) -> Y {\n Y[i] = X[i + 1] where i in 0:N\n}", {}, "bad.te:2:13: the index i + 1 of 'X' reaches 4");
        row("outside with other sizes", "def f(float32[N=4, M=4] X) -> Y {\n Y[i] = X[i, 3]\n}", {"--dims", "M=3"}, "bad.te:2:14: the index 3 of 'X' reaches 3");
        row("unknown loop", "def f(float32[N=4] X) -> Y {\n Y[i] = X[i]\n schedule Y {\n  a, b = split(j, 2)\n }\n}", {}, "bad.te:4:16: there is no loop 'j' here; there are i");
        row("no choice", "def f(float32[N=4] X) -> Y {\n Y[i] = X[i]\n schedule Y {\n  knob T = 3 | 5\n  require N % T == 0\n  a, b = split(i, T)\n }\n}", {}, "bad.te:5:17: this requirement does not hold (with T = 3; no other choice is allowed either)");
        row("no choice with other sizes", "def f(float32[N=6] X) -> Y {\n Y[i] = X[i]\n schedule Y {\n  knob T = 3\n  require N % T == 0\n  a, b = split(i, T)\n }\n}", {"--dims", "N=7"}, "bad.te:5:17: this requirement");
        row("unknown size", "def f(float32[N=4] X) -> Y { Y[i] = X[i] }", {"--dims", "K=3"}, "the model has no open dimension 'K'; it has N");
    }
    void errors() {
        QFETCH(QByteArray, text);
        QFETCH(QStringList, options);
        QFETCH(QByteArray, expected);
        const CliResult result = runCli(QStringList{"info", written("bad.te", text)} + options);
        QCOMPARE(result.status, 1);
        QVERIFY2(result.sentence().contains(expected), result.errors);
    }

    void helpNamesIt() {
        for (const char* command : {"info", "run", "tune", "tasks", "compile", "bench", "inspect", "export"})
            QVERIFY2(runCli({command, "--help"}).out.contains("FILE.te"), command);
    }
};

QTEST_GUILESS_MAIN(TestCliTexts)
#include "tst_cli_texts.moc"
