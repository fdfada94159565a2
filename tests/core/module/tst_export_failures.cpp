// SPDX-License-Identifier: GPL-3.0-or-later
#include "module_testing.h"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "core/module/link.h"
#include "core/module/module_info.h"

using namespace tunesmith;
using namespace tunesmith::testing;
namespace fs = std::filesystem;

namespace {

void damage(const fs::path& file, std::uintmax_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(byte ^ 0x55));
}

void replaceText(const fs::path& file, const std::string& from, const std::string& to) {
    std::ifstream in(file);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    in.close();
    const auto at = text.find(from);
    QVERIFY2(at != std::string::npos, from.c_str());
    std::ofstream(file, std::ios::trunc) << text.replace(at, from.size(), to);
}

std::vector<std::string> namesIn(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    return names;
}

QString textOf(const fs::path& file) {
    std::ifstream in(file);
    return QString::fromStdString(std::string(std::istreambuf_iterator<char>(in), {}));
}

bool oneSentence(const Error& error, const QString& wanted) {
    const QString text = QString::fromStdString(error.message);
    if (text.contains(wanted) && !text.contains('\n'))
        return true;
    qWarning().noquote() << text;
    return false;
}

} // namespace

class TestExportFailures : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    ModulePlan plan_;

private slots:
    void initTestCase() {
        if (!hostSupports(Isa::avx2))
            QSKIP("this processor has no AVX2");
        auto plan = samplePlan("net");
        VERIFY_OK(plan);
        plan_ = std::move(*plan);
        VERIFY_OK(exportModule(plan_, pathIn(folder_, "good"), {}));
    }

    void damagedModules_data() {
        using Change = std::function<void(const fs::path&)>;
        QTest::addColumn<Change>("change");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, Change change, const char* sentence) {
            QTest::newRow(name) << change << QString(sentence);
        };
        row(
            "no module.json", [](const fs::path& m) { fs::remove(m / "module.json"); },
            "is no exported module");
        row(
            "module.json empty", [](const fs::path& m) { fs::resize_file(m / "module.json", 0); },
            "module.json is damaged (parse error");
        row(
            "module.json cut", [](const fs::path& m) { fs::resize_file(m / "module.json", 100); },
            "module.json is damaged (parse error at line");
        row(
            "module.json of something else", [](const fs::path& m) { std::ofstream(m / "module.json") << "{}"; },
            "no description of a module");
        row(
            "key missing",
            [](const fs::path& m) { replaceText(m / "module.json", "\"inputs\"", "\"imputs\""); },
            "is damaged (key 'inputs' not found)");
        row(
            "wrong type",
            [](const fs::path& m) { replaceText(m / "module.json", "\"threads\": 2", "\"threads\": []"); },
            "is damaged (a whole number is expected)");
        for (const char* format : {"-5", "0"})
            row(
                format, [format](const fs::path& m) { replaceText(m / "module.json", "module\": 2", "module\": " + std::string(format)); }, "is damaged (there is no format");
        row(
            "format of no whole number", [](const fs::path& m) { replaceText(m / "module.json", "module\": 2", "module\": 1e300"); }, "is damaged (a whole number is expected)");
        row(
            "size of no whole number", [](const fs::path& m) { replaceText(m / "module.json", "\"bytes\": ", "\"bytes\": 64.5, \"x\": "); }, "is damaged (a whole number is expected)");
        row(
            "negative size", [](const fs::path& m) { replaceText(m / "module.json", "\"bytes\": ", "\"bytes\": -1, \"x\": "); }, "is damaged (a number is too large or too small)");
        row(
            "two inputs of one name", [](const fs::path& m) { replaceText(m / "module.json", "\"inputs\": [", R"("inputs": [{"name": "x:0", "type": "float32", "shape": [1]},)"); },
            "is damaged (two inputs are called 'x:0')");
        row(
            "negative shape", [](const fs::path& m) { replaceText(m / "module.json", "1000", "-1"); },
            "no type or shape");
        row(
            "path that leaves",
            [](const fs::path& m) { replaceText(m / "module.json", "\"net.h\"", "\"../net.h\""); },
            "leaves the folder");
        row(
            "newer format",
            [](const fs::path& m) { replaceText(m / "module.json", "module\": 2", "module\": 99"); },
            "newer Tunesmith");
        row(
            "other story", [](const fs::path& m) { replaceText(m / "module.json", "1000", "999"); },
            "does not describe");
        row(
            "no library", [](const fs::path& m) { fs::remove(m / "libnet.so"); }, "lacks libnet.so");
        row(
            "library cut", [](const fs::path& m) { fs::resize_file(m / "libnet.so", 5000); }, "instead of");
        row(
            "library empty", [](const fs::path& m) { fs::resize_file(m / "libnet.so", 0); }, "instead of");
        row(
            "library damaged", [](const fs::path& m) { damage(m / "libnet.so", 3000); }, "is damaged");
        row(
            "no weights", [](const fs::path& m) { fs::remove(m / "weights.bin"); }, "lacks weights.bin");
        row(
            "weights cut", [](const fs::path& m) { fs::resize_file(m / "weights.bin", 64); },
            "instead of 1920");
        row(
            "weights damaged", [](const fs::path& m) { damage(m / "weights.bin", 700); },
            "damaged or belongs to another module");
        row(
            "last byte of the weights", [](const fs::path& m) { damage(m / "weights.bin", 1919); },
            "damaged or belongs");
    }
    void damagedModules() {
        QFETCH(std::function<void(const std::filesystem::path&)>, change);
        QFETCH(QString, sentence);
        const fs::path module = pathIn(folder_, "damaged");
        fs::remove_all(module);
        fs::copy(pathIn(folder_, "good"), module, fs::copy_options::recursive);
        change(module);
        const auto opened = LoadedModule::open(module, 1);
        QVERIFY(!opened.ok());
        QVERIFY(oneSentence(opened.error(), sentence));
    }

    // A note, a folder with what was built there, an example that was changed, a link: whatever module.json does not say is ours.
    void exportKeepsForeignFiles() {
        const fs::path module = pathIn(folder_, "kept"), outside = pathIn(folder_, "outside");
        VERIFY_OK(exportModule(plan_, module, {}));
        fs::create_directories(outside);
        std::ofstream(outside / "main.c") << "mine";
        fs::create_directories(module / "example/build/deep");
        std::ofstream(module / "note.txt") << "note";
        std::ofstream(module / "example/build/deep/a.out") << "built";
        std::ofstream(module / "example/main.c", std::ios::app) << "// changed";
        fs::create_directory_symlink(outside, module / "link");
        fs::permissions(module, fs::perms::owner_all);
        for (int time = 0; time < 2; ++time) {
            VERIFY_OK(exportModule(plan_, module, {}));
            VERIFY_OK(LoadedModule::open(module, 1));
            QCOMPARE(textOf(module / "note.txt"), "note");
            QCOMPARE(textOf(module / "example/build/deep/a.out"), "built");
            QVERIFY(textOf(module / "example/main.c.old").endsWith("// changed"));
            QVERIFY(!textOf(module / "example/main.c").contains("// changed"));
            QVERIFY(fs::is_symlink(module / "link") && textOf(module / "link/main.c") == "mine");
            QCOMPARE(fs::status(module).permissions(), fs::perms::owner_all);
        }
        for (const std::string& name : namesIn(folder_.path().toStdString()))
            QVERIFY2(!name.starts_with("."), name.c_str()); // nothing lies beside it
    }

    // A folder of ours that its owner has put elsewhere: what is there is not ours.
    void linkedFoldersAreNotFollowed() {
        const fs::path module = pathIn(folder_, "moved"), elsewhere = pathIn(folder_, "elsewhere");
        VERIFY_OK(exportModule(plan_, module, {}));
        fs::rename(module / "example", elsewhere);
        fs::create_directory_symlink(elsewhere, module / "example");
        VERIFY_OK(exportModule(plan_, module, {}));
        QVERIFY(fs::is_regular_file(elsewhere / "main.c"));
        QVERIFY(fs::is_symlink(module / "example.old"));
        QVERIFY(fs::is_directory(fs::symlink_status(module / "example")));
    }

    // A list that names what lies outside, or folders, makes none of it ours.
    void foreignListsDeleteNothing_data() {
        QTest::addColumn<QString>("listed");
        QTest::newRow("outside") << "../outside-note.txt";
        QTest::newRow("inside and outside") << "example/../../outside-note.txt";
        QTest::newRow("a folder") << "work";
        QTest::newRow("nothing") << "";
        QTest::newRow("itself") << ".";
    }
    void foreignListsDeleteNothing() {
        QFETCH(QString, listed);
        const fs::path module = pathIn(folder_, "listing");
        fs::remove_all(module);
        VERIFY_OK(exportModule(plan_, module, {}));
        std::ofstream(pathIn(folder_, "outside-note.txt")) << "note";
        fs::create_directory(module / "work");
        std::ofstream(module / "work/note.txt") << "note";
        replaceText(module / "module.json", "\"net.h\"", "\"" + listed.toStdString() + "\"");
        VERIFY_OK(exportModule(plan_, module, {}));
        QCOMPARE(textOf(pathIn(folder_, "outside-note.txt")), "note");
        QCOMPARE(textOf(module / "work/note.txt"), "note");
    }

    void noFolder() {
        const auto opened = LoadedModule::open(pathIn(folder_, "nowhere"), 1);
        QVERIFY(!opened.ok());
        QVERIFY(oneSentence(opened.error(), "is no exported module"));
    }

    void threadsOutOfRange() {
        for (const int threads : {-1, 257}) {
            const auto opened = LoadedModule::open(pathIn(folder_, "good"), threads);
            QVERIFY(!opened.ok());
            QVERIFY(oneSentence(opened.error(), "threads are not possible"));
        }
    }

    void noLinker() {
        qputenv("TUNESMITH_LLD", "/nowhere/ld.lld");
        const auto failed = exportModule(plan_, pathIn(folder_, "new/a/b"), {});
        qunsetenv("TUNESMITH_LLD");
        QVERIFY(!failed.ok());
        QVERIFY(oneSentence(failed.error(), "/nowhere/ld.lld"));
        QVERIFY(!fs::exists(pathIn(folder_, "new")));
    }

    void linkerThatFails() {
        ModulePlan plan = plan_;
        plan.kernels[0].object.resize(plan.kernels[0].object.size() / 2);
        const auto failed = exportModule(plan, pathIn(folder_, "new"), {});
        QVERIFY(!failed.ok());
        QVERIFY(oneSentence(failed.error(), "linking libnet.so failed"));
        QVERIFY(!fs::exists(pathIn(folder_, "new")));
    }

    void undefinedSymbol() {
        ModulePlan plan = plan_;
        plan.kernels[0].phaseExtents.push_back(1); // there is no such phase
        const auto failed = exportModule(plan, pathIn(folder_, "new"), {});
        QVERIFY(!failed.ok());
        QVERIFY(oneSentence(failed.error(), "undefined"));
    }

    void brokenPlans_data() {
        using Change = std::function<void(ModulePlan&)>;
        QTest::addColumn<Change>("change");
        const auto row = [](const char* name, Change change) { QTest::newRow(name) << change; };
        row("kernel", [](ModulePlan& p) { p.steps[0].kernel = 9; });
        row("argument", [](ModulePlan& p) { p.steps[0].arguments[0] = 9; });
        row("arena too small", [](ModulePlan& p) { p.arenaBytes = 100; });
        row("weights too small", [](ModulePlan& p) { p.weightBytes = 1700; });
        row("offset not aligned", [](ModulePlan& p) { p.buffers[2].offset = 1729; });
        row("offset overflows", [](ModulePlan& p) { p.buffers[3].offset = INT64_MAX / 64 * 64; });
        row("input larger than its buffer", [](ModulePlan& p) { p.inputs[0].shape = {kRows, kInner + 1}; });
        row("constant larger than its buffer",
            [](ModulePlan& p) { p.constants[0].packed = Tensor::zeros(DType::f32, {10000}); });
        row("two kernels of one name", [](ModulePlan& p) { p.kernels[1].name = p.kernels[0].name; });
        row("string output", [](ModulePlan& p) { p.outputs[0].type = DType::string; });
    }
    void brokenPlans() {
        QFETCH(std::function<void(ModulePlan&)>, change);
        ModulePlan plan = plan_;
        change(plan);
        QVERIFY(!exportModule(plan, pathIn(folder_, "broken"), {}).ok());
        QVERIFY(!fs::exists(pathIn(folder_, "broken")));
    }

    void unwritablePlace() {
        const auto failed = exportModule(plan_, "/proc/module", {});
        QVERIFY(!failed.ok());
        QVERIFY(oneSentence(failed.error(), "cannot write the folder"));
        std::ofstream(pathIn(folder_, "file")) << "x";
        QVERIFY(!exportModule(plan_, pathIn(folder_, "file") / "below", {}).ok());
        QVERIFY(!exportModule(plan_, pathIn(folder_, "file"), {}).ok());
    }

    // A limit on the size of files fails like a disk that is full in the middle of a file: at every size from
    // the smallest file to the library, and both when we write and when the linker does.
    void fullDiskLeavesNothing_data() {
        QTest::addColumn<int>("limit");
        for (const int limit : {0, 1000, 1919, 3000, 6000})
            QTest::addRow("%d bytes", limit) << limit;
        QTest::addRow("almost the library") << -1;
    }
    void fullDiskLeavesNothing() {
        QFETCH(int, limit);
        const fs::path parent = pathIn(folder_, "full");
        fs::create_directory(parent);
        const fs::path old = parent / "module";
        if (!fs::exists(old))
            VERIFY_OK(exportModule(plan_, old, {}));
        const bool linking = limit < 0;
        if (linking)
            limit = static_cast<int>(fs::file_size(old / "libnet.so")) - 1;
        rlimit before{};
        QCOMPARE(getrlimit(RLIMIT_FSIZE, &before), 0);
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        rlimit tight = before;
        tight.rlim_cur = static_cast<rlim_t>(limit);
        QCOMPARE(setrlimit(RLIMIT_FSIZE, &tight), 0);
        const auto failed = exportModule(plan_, old, {});
        setrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, handler);
        QVERIFY(!failed.ok());
        QVERIFY(oneSentence(failed.error(), linking ? "linking libnet.so" : "File too large"));
        QCOMPARE(namesIn(parent), std::vector<std::string>{"module"});
        VERIFY_OK(LoadedModule::open(old, 1)); // the older one still works
    }

    void linkerIsFound() {
        const auto linker = findLinker();
        VERIFY_OK(linker);
        QVERIFY(fs::is_regular_file(*linker));
        const QByteArray path = qgetenv("PATH");
        qputenv("PATH", "");
        const auto without = findLinker();
        const auto exported = exportModule(plan_, pathIn(folder_, "pathless"), {});
        qputenv("PATH", path);
        VERIFY_OK(without); // LLVM's own folder
        VERIFY_OK(exported);
    }

    void prefixes_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("prefix");
        QTest::newRow("plain") << "resnet18"
                               << "resnet18";
        QTest::newRow("signs") << "my net-v1.2"
                               << "my_net_v1_2";
        QTest::newRow("digit") << "3d"
                               << "m3d";
        QTest::newRow("empty") << ""
                               << "model";
        QTest::newRow("unicode") << "né"
                                 << "n__";
        QTest::newRow("underscore") << "_x"
                                    << "model__x";
        QTest::newRow("placeholder") << "MODEL"
                                     << "model_MODEL";
        QTest::newRow("path") << "../../etc"
                              << "model_______etc";
    }
    void prefixes() {
        QFETCH(QString, name);
        QFETCH(QString, prefix);
        QCOMPARE(QString::fromStdString(modulePrefix(name.toStdString())), prefix);
        QCOMPARE(modulePrefix(prefix.toStdString()), prefix.toStdString());
    }
};

QTEST_GUILESS_MAIN(TestExportFailures)
#include "tst_export_failures.moc"
