// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QFile>
#include <QFileInfo>
#include <QTest>
#include <functional>

#include "cli_process.h"
#include "tests/core/onnx/model_bytes.h"

using namespace tunesmith::testing;

namespace {

struct Bad {
    const char* name;
    std::function<void(onnx::ModelProto&)> bend;
    const char* says;
    bool infoWorks = false;
};

onnx::TensorProto& external(onnx::ModelProto& model, const std::string& location) {
    auto& tensor = *model.mutable_graph()->mutable_initializer(0);
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
    return tensor;
}

const std::vector<Bad>& badModels() {
    static const std::vector<Bad> list{
        {"cyclic", [](auto& m) { m.mutable_graph()->mutable_node(0)->set_input(1, "y"); }, "cyc"},
        {"shapes that contradict",
         [](auto& m) {
             addNode(*m.mutable_graph(), "MatMul", {"x", "v"}, {"z"}, "product");
             addFloats(*m.mutable_graph(), "v", {3, 2}, {1, 2, 3, 4, 5, 6});
             tensorType(*m.mutable_graph()->add_output(), "z", {2, 2});
         },
         "product"},
        {"unknown operator", [](auto& m) { m.mutable_graph()->mutable_node(0)->set_op_type("Frobnicate"); },
         "Frobnicate", true},
        {"external file that is missing", [](auto& m) { external(m, "weights.bin"); }, "weights.bin"},
        {"path that leaves the folder", [](auto& m) { external(m, "../../etc/passwd"); }, "folder"},
        {"absolute path", [](auto& m) { external(m, "/etc/passwd"); }, "/etc/passwd"},
    };
    return list;
}

} // namespace

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
        const Bad& bad = badModels()[static_cast<std::size_t>(index)];
        onnx::ModelProto model = smallModel();
        bad.bend(model);
        const QString file = path("model.onnx");
        writeFile(file.toStdString(), model.SerializeAsString());
        verifyAllRefuse(file, bad.says, bad.infoWorks);
    }

    void badFile_data() {
        QTest::addColumn<QByteArray>("bytes");
        const std::string whole = smallModel().SerializeAsString();
        QByteArray noise(5000, '\0');
        for (int i = 0; i < noise.size(); ++i)
            noise[i] = static_cast<char>((i * 7919 + i / 3) & 0xFF);
        QTest::newRow("0 bytes") << QByteArray();
        QTest::newRow("truncated") << QByteArray(whole.data(), static_cast<qsizetype>(whole.size() / 2));
        QTest::newRow("random") << noise;
        QTest::newRow("claims 3 GB") << QByteArray("\x08\x08\x3a\x80\x80\x80\x80\x0c", 8);
    }
    void badFile() {
        QFETCH(QByteArray, bytes);
        const QString file = path("bytes.onnx");
        writeFile(file.toStdString(), bytes.toStdString());
        verifyAllRefuse(file, "bytes.onnx", false);
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
        QVERIFY(!QFileInfo::exists(path("missing.db")));
    }

    void newerStore() {
        const QString store = path("newer.db");
        QVERIFY(runCli({"machine", "--store", store}).status == 0);
        QFile file(store);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.seek(60)); // user_version in the header of an SQLite file, big endian
        file.write(QByteArray("\x00\x00\x27\x0f", 4));
        file.close();
        verifyRefused({"store", "check", "--store", store}, "newer");
        verifyRefused({"tune", "mlp", "--trials", "1", "--store", store}, "newer");
    }

    void fullDisk() {
        verifyRefused({"models", "mlp", "-o", "/dev/full"}, "no space left");
        verifyRefused({"export", "mlp", "--onnx", "/dev/full"}, "no space left");
        const CliResult result = runCli({"info", "mlp"}, "/dev/full");
        QCOMPARE(result.status, 1);
        QVERIFY(result.sentence().contains("No space left"));
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
