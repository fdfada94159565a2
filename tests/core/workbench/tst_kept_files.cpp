// SPDX-License-Identifier: GPL-3.0-or-later
// The files that the user has in folders that we write to, and those that killed programs left there.
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/base/mapped_ranges.h"
#include "core/graph/graph_builder.h"
#include "core/graph/npy.h"
#include "core/onnx/export.h"
#include "core/workbench/family.h"
#include "core/workbench/session.h"
#include "core/workbench/start.h"
#include "tests/require.h"

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

std::string textOf(const fs::path& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

} // namespace

class TestKeptFiles : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    fs::path path(const char* name) const { return folder_.filePath(name).toStdString(); }

    // "first" and "second" of x, which is n long.
    std::string writeModel() const {
        GraphBuilder b;
        b.setOpset("", 17);
        const ValueId x = b.addInput("x", TensorType(DType::f32, Dims{Dim::named("n")}));
        b.setOutputs({b.add("Relu", {x}, {}, 1, "first"), b.add("Neg", {x}, {}, 1, "second")});
        const std::string file = path("two.onnx").string();
        if (!exportOnnx(*b.build(), file).ok())
            qFatal("cannot write %s", file.c_str());
        return file;
    }

private slots:
    void savedOutputsThatCannotBeWritten() {
        const auto model = openModel(writeModel(), {{"n", 4}});
        REQUIRE_OK(model);
        RunRequest request;
        request.engine = Engine::reference;
        request.saveFolder = path("saved");
        request.replace = true;
        write(path("saved/first.npy"), "mine");
        fs::create_directories(path("saved/second.npy"));
        QVERIFY(!runModel(*model, request).ok());
        QCOMPARE(textOf(path("saved/first.npy")), "mine");
        QCOMPARE(std::distance(fs::directory_iterator(path("saved")), {}), 2);
    }

    // The model chose the names of its outputs.
    void savedOutputsReplaceNothing_data() {
        QTest::addColumn<QString>("there");
        for (const char* there : {"file", "link", "link to nothing", "pipe"})
            QTest::newRow(there) << there;
    }
    void savedOutputsReplaceNothing() {
        QFETCH(QString, there);
        const auto model = openModel(writeModel(), {{"n", 4}});
        REQUIRE_OK(model);
        RunRequest request;
        request.engine = Engine::reference;
        request.saveFolder = path(("data of a " + there.toStdString()).c_str());
        const fs::path second = request.saveFolder / "second.npy", mine = path("labels.npy");
        fs::create_directory(request.saveFolder);
        write(mine, "mine");
        if (there == "file")
            write(second, "mine");
        else if (there == "pipe")
            QCOMPARE(::mkfifo(second.c_str(), 0600), 0);
        else
            fs::create_symlink(there == "link" ? mine : path("nothing"), second);
        const auto before = fs::symlink_status(second).type();
        const auto refused = runModel(*model, request);
        QVERIFY(!refused.ok() && refused.error().message.find("second.npy is there already") != std::string::npos && refused.error().message.find("--replace") != std::string::npos);
        QVERIFY(fs::symlink_status(second).type() == before && !fs::exists(request.saveFolder / "first.npy"));
        request.replace = true;
        QCOMPARE(runModel(*model, request).ok(), there != "pipe");
        QCOMPARE(readNpy(second).ok(), there != "pipe");
        QCOMPARE(fs::exists(request.saveFolder / "first.npy"), there != "pipe");
        QCOMPARE(textOf(mine), "mine");
        QVERIFY(!fs::exists(path("nothing")));
    }

    void savedOutputsReplaceThoseOfEarlierRuns() {
        const auto model = openModel(writeModel(), {{"n", 4}});
        REQUIRE_OK(model);
        RunRequest request;
        request.engine = Engine::reference;
        request.saveFolder = path("results");
        REQUIRE_OK(runModel(*model, request));
        const std::string before = textOf(request.saveFolder / "second.npy");
        request.inputs.seed = 2;
        REQUIRE_OK(runModel(*model, request));
        QVERIFY(textOf(request.saveFolder / "second.npy") != before);
        write(request.saveFolder / "second.npy", before); // by somebody else
        const auto refused = runModel(*model, request);
        QVERIFY(!refused.ok() && refused.error().message.find("second.npy is there already") != std::string::npos);
        QCOMPARE(textOf(request.saveFolder / "second.npy"), before);
        for (const char* list : {"", "[]", "{\"files\": 3}", "{\"files\": [3, {\"name\": 4}]}", "{\"files\": [{\"name\": \"second.npy\", \"hash\": \"0\", \"bytes\": 1}]}"}) {
            write(request.saveFolder / ".tunesmith-outputs", list);
            QVERIFY(!runModel(*model, request).ok());
        }
    }

    void moreOutputsThanFilesMayBeOpen() {
        GraphBuilder b;
        b.setOpset("", 17);
        const ValueId x = b.addInput("x", TensorType(DType::f32, Dims{4}));
        std::vector<ValueId> outputs;
        for (int i = 0; i < 150; ++i)
            outputs.push_back(b.add("Relu", {x}, {}, 1, "out" + std::to_string(i)));
        b.setOutputs(outputs);
        REQUIRE_OK(exportOnnx(*b.build(), path("many.onnx")));
        const auto model = openModel(path("many.onnx").string());
        REQUIRE_OK(model);
        RunRequest request;
        request.engine = Engine::reference;
        request.saveFolder = path("many");
        rlimit before{};
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const rlimit few{100, before.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &few), 0);
        const auto ran = runModel(*model, request);
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &before), 0);
        REQUIRE_OK(ran);
        QCOMPARE(std::distance(fs::directory_iterator(path("many")), {}), 151); // with the list of them
    }

    void familiesKeepForeignFiles() {
        const std::string model = writeModel();
        CompileRequest request;
        request.folder = path("family");
        request.store = path("none.db").string();
        request.threads = 1;
        request.untuned = true;
        REQUIRE_OK(compileFamily(model, {{"n", {1, 4}}}, request));
        write(path("family/note"), "note");
        write(path("family/n-4/note"), "note of 4");
        write(path("family/README.md"), "my own");
        REQUIRE_OK(compileFamily(model, {{"n", {1, 2}}}, request));
        QCOMPARE(textOf(path("family/note")), "note");
        QCOMPARE(textOf(path("family/n-4/note")), "note of 4");
        QCOMPARE(std::distance(fs::directory_iterator(path("family/n-4")), {}), 1); // the module is gone
        QCOMPARE(textOf(path("family/README.md.old")), "my own");
        REQUIRE_OK(compileFamily(model, {{"n", {1, 2}}}, request));
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(path("family")))
            names.insert(entry.path().filename().string());
        QCOMPARE(names, (std::set<std::string>{"README.md", "README.md.old", "family.json", "n-1", "n-2", "n-4", "note", "two.onnx"}));
    }

    // A description from elsewhere, unpacked beside one's own models, may name any of them; one's own may have been trained further.
    void modelsOfTheUserStay() {
        CompileRequest request;
        request.folder = path("models");
        request.store = path("none.db").string();
        request.threads = 1;
        request.untuned = true;
        write(path("models/family.json"), R"({"tunesmith_family": 1, "name": "thesis", "ranges": {"n": [1, 2]}, "inputs": [], "outputs": [], "modules": [], "files": []})");
        for (const char* name : {"thesis.onnx", "thesis.onnx.data"})
            write(path("models") / name, "mine");
        REQUIRE_OK(compileFamily(writeModel(), {{"n", {1, 2}}}, request));
        write(path("models/two.onnx"), "trained");
        write(path("models/n-1/weights.bin"), "trained");
        REQUIRE_OK(compileFamily(writeModel(), {{"n", {1, 2}}}, request));
        for (const char* name : {"thesis.onnx", "thesis.onnx.data"})
            QCOMPARE(textOf(path("models") / name), "mine");
        for (const char* name : {"two.onnx.old", "n-1/weights.bin.old"})
            QCOMPARE(textOf(path("models") / name), "trained");
    }

    // A family from elsewhere may have links where its modules and its description are written.
    void familiesWriteInTheirFolder() {
        CompileRequest compiling;
        compiling.folder = path("mine");
        compiling.store = path("none.db").string();
        compiling.threads = 1;
        compiling.untuned = true;
        const std::string model = writeModel();
        const auto opened = openModel(model, {{"n", 4}});
        REQUIRE_OK(opened);
        REQUIRE_OK(compileModel(*opened, compiling));
        const fs::path module = path("mine"), theirs = path("theirs");
        const std::string description = textOf(module / "module.json");
        write(theirs / "given.json", R"({"tunesmith_family": 1, "name": "two", "ranges": {"n": [1, 4]}, "inputs": [], "outputs": ["first", "second"], "modules": [], "files": []})");
        fs::copy_file(theirs / "given.json", theirs / "family.json");
        fs::copy_file(model, theirs / "two.onnx");
        fs::create_directory_symlink(module, theirs / "n-3");
        RunRequest request;
        request.threads = 1;
        request.store = path("none.db").string();
        const auto refused = runFamily(theirs, {{"n", 3}}, request);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("n-3' is a link") != std::string::npos, refused.error().message.c_str());
        QCOMPARE(textOf(module / "module.json"), description);
        fs::remove(theirs / "n-3");
        fs::remove(theirs / "family.json");
        fs::create_symlink("given.json", theirs / "family.json");
        const std::string given = textOf(theirs / "given.json");
        REQUIRE_OK(runFamily(theirs, {{"n", 3}}, request));
        QCOMPARE(textOf(theirs / "given.json"), given);
        QVERIFY(!fs::is_symlink(theirs / "family.json") && fs::exists(theirs / "n-3/module.json"));
    }

    void temporaryFoldersOfOthersStay() {
        const QByteArray before = qgetenv("TMPDIR");
        qputenv("TMPDIR", folder_.path().toUtf8());
        for (const char* name : {"tunesmith-temporary-notes", "tunesmith-temporary-backup"})
            write(path(name) / "letter", "dear");
        write(path("tunesmith-temporary-locked/.tunesmith-lock"), ""); // a killed program's
        write(path("tunesmith-temporary-locked/deep/object"), "bytes");
        fs::create_directory(path("tunesmith-temporary-empty1"));
        fs::create_directory(path("tunesmith-temporary-abcdef")); // an empty one of the user's, called as ours are
        fs::create_directory_symlink(path("tunesmith-temporary-notes"), path("tunesmith-temporary-linked"));
        fs::create_directory_symlink(path("tunesmith-temporary-notes"), path("tunesmith-temporary-locked/link"));
        const auto inUse = TemporaryFolder::create();
        REQUIRE_OK(inUse);
        beginProgram();
        const auto another = TemporaryFolder::create();
        REQUIRE_OK(another);
        QVERIFY(inUse->path() != another->path() && fs::exists(inUse->path()));
        before.isNull() ? qunsetenv("TMPDIR") : qputenv("TMPDIR", before);
        QCOMPARE(textOf(path("tunesmith-temporary-notes/letter")), "dear");
        QCOMPARE(textOf(path("tunesmith-temporary-backup/letter")), "dear");
        QVERIFY(fs::is_symlink(path("tunesmith-temporary-linked")));
        QVERIFY(!fs::exists(path("tunesmith-temporary-locked")));
        QVERIFY(fs::exists(path("tunesmith-temporary-empty1")) && fs::exists(path("tunesmith-temporary-abcdef")));
    }

    // Then there are others.
    void temporaryFoldersThatAreNone_data() {
        QTest::addColumn<QByteArray>("named");
        QTest::newRow("empty") << QByteArray("");
        QTest::newRow("not there") << QByteArray("/nowhere/at/all");
        QTest::newRow("a file") << QByteArray("/proc/self/status");
    }
    void temporaryFoldersThatAreNone() {
        QFETCH(QByteArray, named);
        const QByteArray before = qgetenv("TMPDIR");
        qputenv("TMPDIR", named);
        const auto folder = TemporaryFolder::create();
        const std::vector<std::byte> bytes(1 << 20);
        const auto moved = movedToFile(bytes);
        before.isNull() ? qunsetenv("TMPDIR") : qputenv("TMPDIR", before);
        REQUIRE_OK(folder);
        QVERIFY(moved != nullptr);
    }
};

QTEST_GUILESS_MAIN(TestKeptFiles)
#include "tst_kept_files.moc"
