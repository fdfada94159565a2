// SPDX-License-Identifier: GPL-3.0-or-later
#include "module_testing.h"

#include <QRegularExpression>
#include <dlfcn.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/module/module_info.h"

using namespace tunesmith;
using namespace tunesmith::testing;
namespace fs = std::filesystem;

class TestExport : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    fs::path module_;

    QString file(const char* name) const { return QString::fromStdString((module_ / name).string()); }

    // The example, built with nothing but a C compiler; empty when there is none.
    QString buildExample() const {
        const QString compiler = QStandardPaths::findExecutable("cc");
        if (compiler.isEmpty())
            return {};
        const QString program = folder_.filePath("example");
        const QString folder = QString::fromStdString(module_.string());
        const ProgramRun run = runTool(compiler, {"-std=c11", "-Wall", "-Wextra", "-Werror", "-I" + folder,
                                                  "-o", program, file("example/main.c"), "-L" + folder,
                                                  "-ltiny_net_2", "-Wl,-rpath," + folder});
        if (run.status != 0)
            qWarning().noquote() << run.errors;
        return run.status == 0 ? program : QString("failed");
    }

private slots:
    void initTestCase() {
        if (!hostSupports(Isa::avx2))
            QSKIP("this processor has no AVX2");
        module_ = pathIn(folder_, "made/by/export");
        const auto plan = samplePlan();
        VERIFY_OK(plan);
        ExportInfo info;
        info.version = "tunesmith 1.2.3";
        info.machine = {{"cpu", "test"}};
        info.check = {{"max_error", 0}};
        const auto summary = exportModule(*plan, module_, info);
        VERIFY_OK(summary);
        QCOMPARE(summary->prefix, "tiny_net_2");
        QCOMPARE(summary->weightBytes, std::uintmax_t(1920));
        QCOMPARE(summary->libraryBytes, fs::file_size(module_ / "libtiny_net_2.so"));
    }

    void folderHoldsWhatItSays() {
        for (const char* name : {"libtiny_net_2.so", "tiny_net_2.h", "weights.bin", "module.json",
                                 "README.md", "example/main.c", "example/CMakeLists.txt", "example/run.py"})
            QVERIFY2(fs::is_regular_file(module_ / name), name);
        QVERIFY(!fs::exists(module_ / "objects"));
        std::size_t siblings = 0;
        for (const auto& entry : fs::directory_iterator(module_.parent_path()))
            siblings += !entry.path().empty();
        QCOMPARE(siblings, std::size_t(1));
        const auto info = readModuleInfo(module_);
        VERIFY_OK(info);
        QCOMPARE(info->name, "tiny-net 2");
        QCOMPARE(info->version, "tunesmith 1.2.3");
        QCOMPARE(info->target.threads, 2);
        QCOMPARE(info->inputs[0].name, "x:0");
        QCOMPARE(info->outputs[0].shape, (Shape{kRows, kColumns}));
        QCOMPARE(info->steps.size(), std::size_t(2));
        QCOMPARE(info->steps[0].workload, "dense 1000x13x33");
        QCOMPARE(info->steps[0].expectedMs, 0.5);
        QCOMPARE(info->flops(), 2 * kRows * kInner * kColumns + kRows * kColumns);
        QCOMPARE(info->document["machine"]["cpu"].get<std::string>(), "test");
    }

    void computesTheSame_data() {
        QTest::addColumn<int>("threads");
        for (const int threads : {0, 1, 2, 3, 4})
            QTest::addRow("%d threads", threads) << threads;
    }
    void computesTheSame() {
        QFETCH(int, threads);
        auto module = LoadedModule::open(module_, threads);
        VERIFY_OK(module);
        QCOMPARE((*module)->threads(), threads == 0 ? 2 : threads);
        for (const std::uint64_t seed : {1, 2, 3}) {
            const Tensor x = randomTensor({kRows, kInner}, seed);
            VERIFY_OK((*module)->setInputs({x}));
            VERIFY_OK((*module)->run());
            QVERIFY(largestDifference((*module)->outputs()[0], expectedOutput(x)) < 1e-4);
        }
    }

    void instancesOnSeveralThreads() {
        std::vector<std::thread> threads;
        std::vector<double> differences(4, 1e30);
        for (std::size_t i = 0; i < differences.size(); ++i)
            threads.emplace_back([&, i] {
                auto module = LoadedModule::open(module_, 1 + static_cast<int>(i) % 2);
                const Tensor x = randomTensor({kRows, kInner}, 100 + i);
                const Tensor expected = expectedOutput(x);
                if (!module.ok() || !(*module)->setInputs({x}).ok())
                    return;
                double worst = 0;
                for (int run = 0; run < 50; ++run)
                    worst = (*module)->run().ok()
                                ? std::max(worst, largestDifference((*module)->outputs()[0], expected))
                                : 1e30;
                differences[i] = worst;
            });
        for (std::thread& thread : threads)
            thread.join();
        for (const double difference : differences)
            QVERIFY(difference < 1e-4);
    }

    void timesAndProfiles() {
        auto module = LoadedModule::open(module_, 1);
        VERIFY_OK(module);
        VERIFY_OK((*module)->setAnyInputs());
        TimingBudget budget;
        budget.runs = 10;
        const auto samples = (*module)->time(budget);
        VERIFY_OK(samples);
        QCOMPARE(samples->count(), std::size_t(10));
        QCOMPARE(samples->values().size(), std::size_t(10));
        const auto steps = (*module)->timeSteps(5);
        VERIFY_OK(steps);
        QCOMPARE(steps->size(), std::size_t(2));
        for (const double seconds : *steps)
            QVERIFY(seconds > 0 && seconds < 1);
        QVERIFY(!(*module)->time({0, 0, 0}).ok());
    }

    // A list of all of them would not fit into a message between processes.
    void countlessRunsAreThinned() {
        auto module = LoadedModule::open(module_, 1);
        VERIFY_OK(module);
        VERIFY_OK((*module)->setAnyInputs());
        constexpr std::size_t kRuns = ThinnedSamples::kMost + 1;
        const auto samples = (*module)->time({static_cast<int>(kRuns), 0, 0});
        VERIFY_OK(samples);
        QCOMPARE(samples->count(), kRuns);
        QCOMPARE(samples->values().size(), ThinnedSamples::kMost / 2 + 1);
    }

    void inputsAreChecked() {
        auto module = LoadedModule::open(module_, 1);
        VERIFY_OK(module);
        QVERIFY(QString::fromStdString((*module)->run().error().message)
                    .contains("input 'x:0' has no value yet"));
        QVERIFY(!(*module)->setInputs({}).ok());
        QVERIFY(!(*module)->setInputs({randomTensor({kInner, kRows}, 1)}).ok());
        QVERIFY(!(*module)->setInputs({Tensor::zeros(DType::f64, {kRows, kInner})}).ok());
    }

    // Nothing but libc and libm is needed, nothing but the interface is visible.
    void libraryIsClosed() {
        const QString tool = QStandardPaths::findExecutable("readelf");
        if (tool.isEmpty())
            QSKIP("no readelf");
        const QString dynamic = runTool(tool, {"-dW", file("libtiny_net_2.so")}).output;
        QRegularExpression needed("NEEDED\\).*\\[(.*)\\]");
        for (auto match = needed.globalMatch(dynamic); match.hasNext();)
            QVERIFY2(QStringList({"libc.so.6", "libm.so.6"}).contains(match.next().captured(1)),
                     qPrintable(dynamic));
        QVERIFY(dynamic.contains("[libtiny_net_2.so]"));
        int visible = 0;
        for (const QString& line :
             runTool(tool, {"--dyn-syms", "-W", file("libtiny_net_2.so")}).output.split('\n')) {
            const QStringList words = line.simplified().split(' ');
            if (words.size() != 8 || words[0] == "Num:" || !words[0].endsWith(':') || words[6] == "UND" ||
                words[7].isEmpty())
                continue;
            QVERIFY2(words[7].startsWith("tiny_net_2_"), qPrintable(line));
            QCOMPARE(words[3], "FUNC");
            ++visible;
        }
        QCOMPARE(visible, 34);
    }

    // Each with its own folder, file and soname; compiled so that the program has both, and changes its folder before it makes instances.
    void twoModulesInOneProgram() {
        const QString compiler = QStandardPaths::findExecutable("cc");
        if (compiler.isEmpty())
            QSKIP("no C compiler");
        QStringList folders;
        for (const char* prefix : {"first", "second"}) {
            const fs::path place = pathIn(folder_, "zwei Modülè") / prefix;
            ExportInfo info;
            info.prefix = prefix;
            VERIFY_OK(exportModule(*samplePlan("same name"), place, info));
            folders << QString::fromStdString(place.string());
        }
        const QString source = folder_.filePath("both.c"), program = folder_.filePath("both");
        QFile file(source);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("#define _GNU_SOURCE\n#include <first.h>\n#include <second.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
                   "int main(void) { char message[512]; first_instance* a; second_instance* b;\n"
                   "if (chdir(\"/\") || first_create(&a, 2, 0, message, 512) || second_create(&b, 2, 0, message, 512)) { puts(message); return 1; }\n"
                   "const pid_t child = fork(); if (child == 0) _exit(first_create(&a, 2, 0, message, 512));\n"
                   "int status = 1; waitpid(child, &status, 0); first_destroy(a); second_destroy(b); puts(\"both\"); return status; }\n");
        file.close();
        QStringList arguments{"-o", program, source};
        for (const QString& folder : folders)
            arguments << "-I" + folder << "-L" + folder << "-Wl,-rpath," + folder;
        const ProgramRun built = runTool(compiler, arguments << "-lfirst" << "-lsecond");
        QVERIFY2(built.status == 0, qPrintable(built.errors));
        const ProgramRun run = runTool(program, {});
        QVERIFY2(run.status == 0 && run.output == "both\n", qPrintable(run.output + run.errors));
    }

    void weightsAreFound_data() {
        QTest::addColumn<QString>("link");   // what is linked, and to where; empty: nothing
        QTest::addColumn<QString>("loaded"); // relative to the folder
        QTest::newRow("relative path, other folder later") << "" << "made/by/export/libtiny_net_2.so";
        QTest::newRow("link to the library") << "made/by/export/libtiny_net_2.so" << "linked.so";
        QTest::newRow("link to the folder") << "made/by/export" << "linked.so/libtiny_net_2.so";
        QTest::newRow("links to both files") << "blobs" << "links/libtiny_net_2.so";
    }
    void weightsAreFound() {
        QFETCH(QString, link);
        QFETCH(QString, loaded);
        const fs::path base = folder_.path().toStdString(), target = base / link.toStdString();
        fs::remove(base / "linked.so");
        if (link == "blobs") { // as content-addressed stores keep files: neither lies beside the other under its name
            for (const char* name : {"libtiny_net_2.so", "weights.bin"}) {
                fs::create_directories(base / "blobs" / name);
                fs::create_directories(base / "links");
                fs::copy(module_ / name, base / "blobs" / name / "0");
                fs::create_symlink(base / "blobs" / name / "0", base / "links" / name);
            }
        } else if (!link.isEmpty()) {
            fs::create_symlink(target, base / "linked.so");
        }
        const fs::path before = fs::current_path();
        fs::current_path(base);
        void* library = ::dlopen(("./" + loaded).toUtf8(), RTLD_NOW | RTLD_LOCAL);
        fs::current_path(before);
        QVERIFY2(library, ::dlerror());
        const auto create = reinterpret_cast<int (*)(void**, int, const char*, char*, std::size_t)>(::dlsym(library, "tiny_net_2_create"));
        const auto destroy = reinterpret_cast<void (*)(void*)>(::dlsym(library, "tiny_net_2_destroy"));
        char message[512] = "";
        void* instance = nullptr;
        QVERIFY2(create(&instance, 1, nullptr, message, sizeof message) == 0, message);
        destroy(instance);
        ::dlclose(library);
    }

    void prefixesAreNames_data() {
        QTest::addColumn<QString>("prefix");
        QTest::addColumn<QString>("instead"); // empty: it will do
        QTest::newRow("name") << "encoder_2" << "";
        QTest::newRow("none") << "" << "";
        QTest::newRow("space") << "two words" << "two_words";
        QTest::newRow("umlaut") << "ä" << "model___";
        QTest::newRow("digit") << "2nd" << "m2nd";
        QTest::newRow("the C library's") << "m" << "model_m";
        QTest::newRow("a path") << "../up" << "model____up";
    }
    void prefixesAreNames() {
        QFETCH(QString, prefix);
        QFETCH(QString, instead);
        const Status status = checkPrefix(prefix.toStdString());
        QCOMPARE(status.ok(), instead.isEmpty());
        if (!instead.isEmpty())
            QVERIFY2(QString::fromStdString(status.error().message).contains("'" + instead + "' can"), status.error().message.c_str());
    }

    void exampleRunsAlone() {
        const QString program = buildExample();
        if (program.isEmpty())
            QSKIP("no C compiler");
        QVERIFY(program != "failed");
        const Tensor x = randomTensor({kRows, kInner}, 5);
        std::ofstream(folder_.filePath("x.bin").toStdString(), std::ios::binary)
            .write(reinterpret_cast<const char*>(x.bytes().data()),
                   static_cast<std::streamsize>(x.byteCount()));
        QStringList bare{"PATH="}; // no compiler on the path, nothing of ours
        const ProgramRun run = runTool(program, {folder_.filePath("x.bin"), "--threads", "2"}, bare);
        QVERIFY2(run.status == 0, qPrintable(run.errors));
        const QStringList words = run.output.section('\n', 0, 0).split(' ');
        QCOMPARE(words.mid(0, 3), (QStringList{"y", "float32", "1000x33:"}));
        const Tensor expected = expectedOutput(x);
        for (int i = 0; i < 8; ++i)
            QVERIFY(std::abs(words[3 + i].toDouble() - expected.asDouble(i)) < 1e-4);
        QVERIFY(run.output.contains("latency: "));
        QCOMPARE(runTool(program, {folder_.filePath("none.bin")}, bare).status, 1);
        bare << "TUNESMITH_CPU_LIMIT=baseline";
        const ProgramRun refused = runTool(program, {}, bare);
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.errors.contains("has no AVX2 and FMA"), qPrintable(refused.errors));
    }

    void exampleBuildsWithCMake() {
        const QString cmake = QStandardPaths::findExecutable("cmake");
        if (cmake.isEmpty() || QStandardPaths::findExecutable("cc").isEmpty())
            QSKIP("no CMake or no C compiler");
        QStringList arguments{"-S", file("example"), "-B", folder_.filePath("build")};
        if (!QStandardPaths::findExecutable("ninja").isEmpty()) // there need not be a make beside it
            arguments << "-G" << "Ninja";
        const ProgramRun configure = runTool(cmake, arguments);
        QVERIFY2(configure.status == 0, qPrintable(configure.errors));
        QCOMPARE(runTool(cmake, {"--build", folder_.filePath("build")}).status, 0);
        const ProgramRun run = runTool(folder_.filePath("build/tiny_net_2_example"), {});
        QVERIFY2(run.status == 0, qPrintable(run.errors));
    }

    void pythonRunsIt() {
        const QString python = QStandardPaths::findExecutable("python3");
        if (python.isEmpty())
            QSKIP("no python3");
        const ProgramRun run = runTool(python, {"-I", file("example/run.py")});
        QVERIFY2(run.status == 0, qPrintable(run.errors));
        QVERIFY2(run.output.startsWith("y float32 1000x33: "), qPrintable(run.output));
    }

    // A description from elsewhere, unpacked beside files of which somebody knows what they hold.
    void filesOfOtherNamesAreNoExports() {
        const fs::path folder = pathIn(folder_, "planted");
        fs::create_directory(folder);
        nlohmann::json files = nlohmann::json::array();
        for (const char* name : {"images.gz", "weights.bin"}) {
            std::ofstream(folder / name) << "public";
            const auto hash = hashFile(folder / name);
            VERIFY_OK(hash);
            files.push_back({{"name", name}, {"bytes", 6}, {"hash", *hash}});
        }
        std::ofstream(folder / "module.json") << nlohmann::json{{"tunesmith_module", 1}, {"prefix", "net"}, {"files", files}};
        const auto plan = samplePlan();
        VERIFY_OK(plan);
        VERIFY_OK(exportModule(*plan, folder, {}));
        QVERIFY(fs::exists(folder / "images.gz") && fs::exists(folder / "tiny_net_2.h"));
        QVERIFY(!fs::exists(folder / "weights.bin.old")); // as an export's
    }

    void replacesOnlyModules() {
        const auto plan = samplePlan("other", Isa::avx2, 9);
        VERIFY_OK(plan);
        const fs::path place = pathIn(folder_, "place");
        fs::create_directory(place);
        VERIFY_OK(exportModule(*plan, place, {})); // empty
        VERIFY_OK(exportModule(*plan, place, {})); // a module
        VERIFY_OK(LoadedModule::open(place, 1));
        const fs::path taken = pathIn(folder_, "taken");
        fs::create_directory(taken);
        std::ofstream(taken / "thesis.txt") << "years of work";
        const auto refused = exportModule(*plan, taken, {});
        QVERIFY(!refused.ok());
        QVERIFY(QString::fromStdString(refused.error().message).contains("holds other things"));
        QVERIFY(fs::exists(taken / "thesis.txt"));
        QVERIFY(!exportModule(*plan, taken / "thesis.txt", {}).ok());
    }

    void avx512() {
        if (!hostSupports(Isa::avx512))
            QSKIP("this processor has no AVX-512");
        const fs::path place = pathIn(folder_, "wide");
        const auto plan = samplePlan("wide", Isa::avx512);
        VERIFY_OK(plan);
        VERIFY_OK(exportModule(*plan, place, {}));
        auto module = LoadedModule::open(place, 2);
        VERIFY_OK(module);
        const Tensor x = randomTensor({kRows, kInner}, 1);
        VERIFY_OK((*module)->setInputs({x}));
        VERIFY_OK((*module)->run());
        QVERIFY(largestDifference((*module)->outputs()[0], expectedOutput(x)) < 1e-4);
        module = internalError("closed");
        qputenv("TUNESMITH_CPU_LIMIT", "v3");
        const auto refused = LoadedModule::open(place, 1);
        qunsetenv("TUNESMITH_CPU_LIMIT");
        QVERIFY(!refused.ok());
        QVERIFY(QString::fromStdString(refused.error().message).contains("no AVX-512"));
    }
};

QTEST_GUILESS_MAIN(TestExport)
#include "tst_export.moc"
