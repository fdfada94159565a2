// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QFile>
#include <QFileInfo>
#include <QTest>

#include "cli_process.h"
#include "tests/app/bad_models.h"

using namespace tunesmith::testing;

// Whatever a file or a disk does: exit status 1, one clear sentence, nothing half-written.
class TestCliHostile : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString path(const QString& name) const { return folder_.filePath(name); }

    void verifyRefused(const QStringList& arguments, const QByteArray& says) {
        const CliResult result = runCli(arguments);
        QVERIFY2(result.status == 1, result.errors + result.out);
        QVERIFY(result.out.isEmpty());
        const QByteArray sentence = result.sentence();
        QVERIFY2(!sentence.isEmpty(), result.errors);
        QVERIFY2(sentence.size() < 600, sentence);
        QVERIFY2(sentence.toLower().contains(says.toLower()), sentence);
    }

    void verifyAllRefuse(const QString& model, const QByteArray& says, bool infoWorks) {
        const QString module = path("module"), saved = path("saved");
        verifyRefused({"run", model, "--engine", "reference", "--save", saved}, says);
        verifyRefused({"run", model, "--save", saved, "--json"}, says);
        verifyRefused({"compile", model, "-o", module}, says);
        QVERIFY(!QFileInfo::exists(module));
        QVERIFY(!QFileInfo::exists(saved));
        const CliResult info = runCli({"info", model, "--json"});
        QCOMPARE(info.status, infoWorks ? 0 : 1);
        QCOMPARE(info.json().isEmpty(), !infoWorks);
        if (infoWorks)
            QVERIFY(info.out.contains(says));
    }

private slots:
    void badModel_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < badModels().size(); ++i)
            QTest::newRow(badModels()[i].name) << static_cast<int>(i);
    }
    void badModel() {
        QFETCH(int, index);
        const BadModel& bad = badModels()[static_cast<std::size_t>(index)];
        onnx::ModelProto model = smallModel();
        bad.bend(model);
        const QString file = path("model.onnx");
        writeFile(file.toStdString(), model.SerializeAsString());
        verifyAllRefuse(file, bad.says, bad.canBeLookedAt);
    }

    void badFile_data() {
        QTest::addColumn<QByteArray>("bytes");
        for (const BadBytes& bad : badFiles())
            QTest::newRow(bad.name) << QByteArray::fromStdString(bad.bytes);
    }
    void badFile() {
        QFETCH(QByteArray, bytes);
        const QString file = path("bytes.onnx");
        writeFile(file.toStdString(), bytes.toStdString());
        verifyAllRefuse(file, "bytes.onnx", false);
    }

    void damagedModule() {
        const QString module = path("damaged");
        QVERIFY(runCli({"compile", "mlp", "--untuned", "-o", module}).status == 0);
        QFile description(module + "/module.json");
        QVERIFY(description.resize(200));
        verifyRefused({"run", module}, "module.json is damaged");
        verifyRefused({"bench", module}, "module.json is damaged");
        verifyRefused({"experiment", module}, "module.json is damaged");
        verifyRefused({"compile", "mlp", "--untuned", "-o", module}, "other things than a module"); // it cannot tell what is its own
    }

    // A name becomes visible, whatever it holds: it moves no cursor, sets no colour, begins no line and turns no direction around.
    void namesCannotSteerTerminals() {
        const std::string evil = "\x1b]0;owned\x07\x1b[2J\r\nfake: all is well\xe2\x80\xae\xc2\x9b" "31m\xe2\x80\xa8\x7f";
        onnx::ModelProto model = smallModel();
        auto& graph = *model.mutable_graph();
        graph.set_name(evil);
        graph.mutable_input(0)->set_name(evil + "in");
        graph.mutable_node(0)->set_name(evil);
        for (auto& input : *graph.mutable_node(0)->mutable_input())
            if (input == "x")
                input = evil + "in";
        const QString file = path("steer.onnx"), unknown = path("unknown.onnx");
        writeFile(file.toStdString(), model.SerializeAsString());
        graph.mutable_node(0)->set_op_type(evil);
        writeFile(unknown.toStdString(), model.SerializeAsString());
        const QString store = path("steer.db"), jobs = path("steer.toml");
        writeFile(jobs.toStdString(), "[[job]]\nmodel = 'mlp'\ntrials = 1\nname = \"\\u001b[2J\\nfake: \\u202e\"\n");
        QVERIFY(runCli({"jobs", "add", jobs, "--store", store}).status == 0);
        int answers = 0;
        for (const QStringList& command : QList<QStringList>{{"info", file}, {"run", file}, {"run", file, "--engine", "reference"}, {"tasks", file}, {"bench", file, "--seconds", "0.1"},
                                                             {"compile", file, "--untuned", "-o", path("steered")}, {"optimize", file, "--cost", "kernels", "-o", path("steered.onnx")},
                                                             {"info", unknown}, {"run", unknown}, {"run", file, "--input", QString::fromStdString(evil) + "=x.npy"},
                                                             {"info", path(QString::fromStdString(evil))}, {"jobs", "list", "--store", store}})
            for (const QStringList& more : {QStringList(), QStringList{"--json"}}) {
                const CliResult result = runCli(command + more);
                const QByteArray said = result.out + result.errors;
                for (const char* steering : {"\x1b", "\x07", "\r", "\x7f", "\xe2\x80\xae", "\xc2\x9b", "\xe2\x80\xa8", "\nfake"})
                    QVERIFY2(!said.contains(steering), said.toPercentEncoding(" \n/-.:"));
                QVERIFY2(more.isEmpty() || result.out.isEmpty() || !result.json().isEmpty(), result.out);
                answers += said.contains("\\u001b");
            }
        QVERIFY2(answers > 7, QByteArray::number(answers)); // names were shown at all
    }

    void longNamesMakeNoLongSentences() {
        onnx::ModelProto model = smallModel();
        model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(std::string(1'000'000, 'N'));
        const QString file = path("long.onnx");
        writeFile(file.toStdString(), model.SerializeAsString());
        for (const QStringList& more : {QStringList(), QStringList{"--dims", "M=1"}}) {
            const CliResult result = runCli(QStringList{"run", file} + more);
            QVERIFY(result.status == 1 && result.errors.contains("NNNNN") && result.errors.size() < 5000);
        }
    }

    void emptyPlaces() {
        for (const QStringList& arguments : {QStringList{"compile", "mlp", "--untuned", "-o", ""}, QStringList{"export", "mlp", "--onnx", ""}, QStringList{"run", "mlp", "--save", ""},
                                             QStringList{"optimize", "mlp", "-o", ""}, QStringList{"tune", "mlp", "--store", ""}, QStringList{"rules", "export", "-o", ""}}) {
            const CliResult result = runCli(arguments);
            QVERIFY2(result.status == 2 && result.errors.contains("this is empty"), result.errors);
        }
    }

    void badPlace() {
        verifyAllRefuse(path("nothing.onnx"), "nothing.onnx", false);
        verifyAllRefuse(folder_.path(), folder_.path().toUtf8(), false);
        verifyAllRefuse("/dev/zero", "/dev/zero", false);
    }

    void badStore() {
        QDir().mkpath(path("a-folder"));
        writeFile(path("text.db").toStdString(),
                  "Dear reader, this is no database, however long one looks at it.\n");
        for (const QString& store :
             {QString("/proc/store.db"), QString("/dev/null/store.db"), path("a-folder"), path("text.db")}) {
            verifyRefused({"tune", "mlp", "--trials", "1", "--store", store}, store.toUtf8());
            verifyRefused({"store", "check", "--store", store}, store.toUtf8());
        }
        verifyRefused({"store", "check", "--store", path("missing.db")}, "missing.db");
        const CliResult measured = runCli({"machine", "--store", path("text.db")});
        QVERIFY2(measured.status == 1 && measured.errors.contains("what was measured is not kept") && measured.errors.contains("text.db"), measured.errors);
        QVERIFY(measured.out.contains("FMA GFLOP/s"));
        QVERIFY(!QFileInfo::exists(path("missing.db")));
    }

    void newerStore() {
        const QString store = path("newer.db");
        QVERIFY(runCli({"machine", "--store", store}).status == 0);
        makeNewer(store.toStdString());
        verifyRefused({"store", "check", "--store", store}, "newer");
        verifyRefused({"tune", "mlp", "--trials", "1", "--store", store}, "newer");
    }

    // Trials are nowhere else. A job file may come from elsewhere, and name any file as its output.
    void storesAreNotReplaced_data() {
        QTest::addColumn<QStringList>("command");
        const QString store = path("trials.db");
        QTest::newRow("sample") << QStringList{"models", "mlp", "-o", store};
        QTest::newRow("export") << QStringList{"export", "mlp", "--onnx", store};
        QTest::newRow("optimize") << QStringList{"optimize", "mlp", "--cost", "kernels", "-o", store, "--store", store};
        QTest::newRow("rules") << QStringList{"rules", "export", "-o", store, "--store", store};
        QTest::newRow("table of a sweep") << QStringList{"sweep", path("sweep.toml"), "--csv", store, "--store", store};
        QTest::newRow("trace") << QStringList{"jobs", "run", path("jobs.toml"), "--trace", store, "--store", store};
        QTest::newRow("job") << QStringList{"jobs", "run", path("output.toml"), "--store", path("other.db")};
        QTest::newRow("job, of a log") << QStringList{"jobs", "run", path("log.toml"), "--store", path("other.db")};
        QTest::newRow("job, of a letter") << QStringList{"jobs", "run", path("letter.toml"), "--store", path("other.db")};
    }
    void storesAreNotReplaced() {
        QFETCH(QStringList, command);
        const QString store = path("trials.db"), rule = path("rule.txt");
        const QByteArray rewrite = "[[job]]\nkind = 'rewrite'\nmodel = 'mlp'\ncost = 'kernels'\nno_measure = true\noutput = '";
        writeFile(rule.toStdString(), "add(x, y) = add(y, x) where x: 2x4, y: 2x4\n");
        writeFile(path("letter").toStdString(), "dear");
        writeFile(path("sweep.toml").toStdString(), "kind = 'rewrite'\nmodel = ['mlp']\ncost = 'kernels'\nno_measure = true\n");
        writeFile(path("jobs.toml").toStdString(), (rewrite + "rewritten.onnx'\n").toStdString());
        for (const auto& [file, output] : {std::pair("output.toml", "trials.db"), std::pair("log.toml", "trials.db-wal"), std::pair("letter.toml", "letter")})
            writeFile(path(file).toStdString(), (rewrite + output + "'\n").toStdString());
        if (!QFileInfo::exists(store))
            QCOMPARE(runCli({"rules", "import", rule, "--trials", "1", "--store", store}).status, 0);
        const CliResult result = runCli(command);
        QVERIFY2(result.status == 1 && result.errors.contains("name a"), result.errors + result.out);
        const CliResult rules = runCli({"rules", "list", "--store", store});
        QVERIFY2(rules.status == 0 && rules.out.contains("add(v2, v1)"), rules.errors);
        QVERIFY(!QFileInfo::exists(path("trials.db-wal")) || QFileInfo(path("trials.db-wal")).size() == 0);
        QCOMPARE(QFileInfo(path("letter")).size(), 4);
    }

    // Nor is the model that is read, or a file that is named as no model is.
    void modelsReplaceOnlyModels() {
        const QString model = path("mine.onnx"), letter = path("letter.txt"), other = path("other.onnx");
        writeFile(model.toStdString(), smallModel().SerializeAsString());
        writeFile(letter.toStdString(), "dear");
        const qint64 size = QFileInfo(model).size();
        verifyRefused({"export", model, "--onnx", model}, "is the model itself");
        verifyRefused({"export", model, "--onnx", letter}, "is there already");
        verifyRefused({"models", "mlp", "-o", letter}, "is there already");
        QCOMPARE(QFileInfo(model).size(), size);
        QCOMPARE(QFileInfo(letter).size(), 4);
        QCOMPARE(runCli({"export", model, "--onnx", other}).status, 0);
        QCOMPARE(runCli({"export", model, "--onnx", other}).status, 0);
    }

    void inputsThatNobodyHas() {
        const QString npy = path("x.npy");
        for (const QStringList& arguments : {QStringList{"optimize", "mlp", "--cost", "kernels"}, QStringList{"run", "mlp"}, QStringList{"compile", "mlp", "--untuned", "-o", path("never")}})
            verifyRefused(arguments + QStringList{"--input", "nobody=" + npy}, "there is no input 'nobody'; its inputs are");
        QVERIFY(!QFileInfo::exists(path("never")));
    }

    void textsAreNoOutputsOfModules() {
        onnx::ModelProto model = smallModel();
        auto& text = *model.mutable_graph()->add_initializer();
        text.set_name("text"), text.set_data_type(8), text.add_dims(1), text.add_string_data("a");
        tensorType(*model.mutable_graph()->add_output(), "text", {1}, 8);
        const QString file = path("text.onnx");
        writeFile(file.toStdString(), model.SerializeAsString());
        verifyRefused({"run", file, "--engine", "module"}, "text (output): modules do not take or give string[1]");
        verifyRefused({"compile", file, "--untuned", "-o", path("texts")}, "text (output): modules do not take or give string[1]");
        QCOMPARE(runCli({"run", file, "--engine", "reference"}).status, 0);
        QCOMPARE(runCli({"run", file}).status, 0);
    }

    void threadsThatNoPoolHas() {
        for (const char* command : {"run", "compile", "bench", "tune", "optimize"}) {
            const CliResult result = runCli({command, "mlp", "--threads", "257"});
            QVERIFY2(result.status == 2 && result.errors.contains("257"), result.errors);
        }
    }

    // The command names no file.
    void samplesReplaceNothing() {
        const QString before = QDir::currentPath(), file = path("mlp.onnx");
        writeFile(file.toStdString(), "trained");
        QVERIFY(QDir::setCurrent(folder_.path()));
        const CliResult refused = runCli({"models", "mlp"}), made = runCli({"models", "encoder"}), named = runCli({"models", "mlp", "-o", "named.onnx"}), again = runCli({"models", "mlp", "-o", "named.onnx"});
        QVERIFY(QDir::setCurrent(before));
        QVERIFY2(refused.status == 1 && refused.sentence().contains("mlp.onnx is there already"), refused.errors);
        QCOMPARE(QFileInfo(file).size(), 7);
        QVERIFY(made.status == 0 && named.status == 0 && again.status == 0);
    }

    void fullDisk() {
        verifyRefused({"models", "mlp", "-o", "/dev/full"}, "no space left");
        verifyRefused({"export", "mlp", "--onnx", "/dev/full"}, "no space left");
        const CliResult result = runCli({"info", "mlp"}, "/dev/full");
        QCOMPARE(result.status, 1);
        QVERIFY(result.sentence().contains("No space left"));
        for (const char* asked : {"--help", "--version", "--help-all"}) {
            const CliResult help = runCli({asked}, "/dev/full");
            QVERIFY2(help.status == 1 && help.sentence().contains("No space left"), help.errors);
        }
    }

    // A file system of our own that gets full while the work goes on, where the system lets us mount one.
    void diskThatGetsFull() {
        const QString disk = path("disk"), script = TUNESMITH_SOURCE_DIR "/tests/app/cli/full_disk.sh";
        QDir().mkpath(disk);
        QProcess shell;
        shell.start("unshare", {"--user", "--map-root-user", "--mount", "bash", script, TEST_CLI, disk});
        if (!shell.waitForFinished(200'000) || shell.exitCode() != 0)
            QSKIP("no file system can be mounted here to be filled");
        const QByteArray said = shell.readAllStandardOutput();
        QVERIFY2(said.contains("tune=1\n"), said);
        QVERIFY2(said.contains("disk is full"), said);
        QVERIFY2(said.contains("no damage"), said);
        QVERIFY2(said.contains("resumed=0\n"), said);
        QVERIFY2(said.contains("compile=1\nrun=1\n"), said);
        QVERIFY2(said.contains("left=filler t.db"), said);
        QVERIFY2(!said.contains("module") && !said.contains("outputs"), said);
    }

    void placesThatCannotBeWritten() {
        verifyRefused({"compile", "mlp", "-o", "/proc/module"}, "/proc/module");
        verifyRefused({"run", "mlp", "--engine", "reference", "--save", "/proc/outputs"}, "/proc/outputs");
        verifyRefused({"models", "mlp", "-o", path("no/such/folder/mlp.onnx")}, "mlp.onnx");
        writeFile(path("precious.txt").toStdString(), "precious");
        verifyRefused({"compile", "mlp", "-o", folder_.path()},
                      folder_.path().toUtf8()); // holds other things
        QVERIFY(QFileInfo::exists(path("precious.txt")));
    }
};

QTEST_GUILESS_MAIN(TestCliHostile)
#include "tst_cli_hostile.moc"
