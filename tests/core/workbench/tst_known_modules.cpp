// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/base/hash.h"
#include "core/module/module_info.h"
#include "core/runtime/content_hash.h"
#include "core/workbench/bench.h"
#include "core/workbench/compile.h"
#include "core/workbench/known_modules.h"
#include "core/workbench/run_parts.h"
#include "tests/take.h"

using namespace tunesmith;
namespace fs = std::filesystem;

class TestKnownModules : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    fs::path path(const char* name) const { return folder_.filePath(name).toStdString(); }
    fs::path list() const { return path("data/tunesmith/known-modules"); }

    fs::path made(const char* name) const {
        const Model model = take(openModel("mlp"));
        CompileRequest request;
        request.folder = path(name);
        request.store = path("store.db").string();
        request.untuned = true;
        return take(compileModel(model, request)).folder;
    }

    // A copy of a module with another library, which its module.json describes as it is.
    fs::path hostile(const char* name, const QByteArray& answer = {}) const {
        const fs::path module = path(name);
        fs::remove_all(module);
        if (!fs::exists(path("original")))
            made("original");
        fs::copy(path("original"), module, fs::copy_options::recursive);
        const ModuleInfo info = take(readModuleInfo(module));
        fs::copy_file(HOSTILE_MODULE, info.library(), fs::copy_options::overwrite_existing);
        nlohmann::json document = info.document;
        for (nlohmann::json& file : document.at("files"))
            if (module / file.at("name").get<std::string>() == info.library()) {
                file["bytes"] = fs::file_size(info.library());
                file["hash"] = take(hashFile(info.library()));
            } else if (!answer.isEmpty() && file.at("name") == "weights.bin") {
                std::ofstream(info.weights()) << answer.constData();
                file["bytes"] = answer.size();
            }
        std::ofstream(module / "module.json") << document;
        return module;
    }
    static bool acted(const fs::path& module) { return fs::exists(take(readModuleInfo(module)).library().string() + ".acted"); }

    RunRequest request(bool trust = false) const {
        RunRequest request;
        request.store = path("store.db").string();
        request.threads = 1;
        request.trust = trust;
        return request;
    }
    static std::vector<float> values(const RunResult& result) {
        const auto data = result.outputs.front().tensor.data<float>();
        return {data.begin(), data.end()};
    }

private slots:
    void initTestCase() { qputenv("XDG_DATA_HOME", folder_.filePath("data").toUtf8()); }
    void init() { fs::remove(list()); }

    void aModuleFromElsewhereRunsConfined() {
        const fs::path module = hostile("hostile");
        const auto run = runExportedModule(module, request()); // its answer has no outputs
        QVERIFY(!run.ok());
        QVERIFY2(run.error().message.find("0 outputs instead of 1") != std::string::npos, run.error().message.c_str());
        QVERIFY(!acted(module));
        BenchRequest timing;
        timing.store = path("store.db").string();
        timing.seconds = 0.1;
        timing.subject = path("original").string();
        timing.other = module.string();
        QVERIFY(!bench(timing).ok());
        QVERIFY(!acted(module));
        QVERIFY(!runExportedModule(module, request(true)).ok());
        QVERIFY(acted(module)); // as the user said
    }

    void anAnswerHasNoMoreThanModuleJsonSays() {
        const auto run = runExportedModule(hostile("flooding"), request());
        QVERIFY(!run.ok());
        QVERIFY2(run.error().message.find("more than the 65 MiB") != std::string::npos, run.error().message.c_str()); // 10 numbers
    }

    void forgedTimesAreRefused_data() {
        QTest::addColumn<QByteArray>("alone");
        QTest::addColumn<QByteArray>("pair");
        QTest::addColumn<bool>("possible");
        const QByteArray samples = R"("samples":[1e-6,1e-6,1e-6],)", runs = R"("runs":3,)", steps = R"("steps":STEPS,)", a = R"("a":[1e-6,1e-6,1e-6],)", b = R"("b":[1e-6,1e-6,1e-6])";
        QTest::newRow("as can be") << samples + runs + steps << a + b << true;
        QTest::newRow("none") << R"("samples":[],)" + runs + steps << QByteArray(R"("a":[],"b":[])") << false;
        QTest::newRow("negative") << R"("samples":[1e-6,-1e-6,1e-6],)" + runs + steps << R"("a":[1e-6,-1e-6,1e-6],)" + b << false;
        QTest::newRow("zero") << R"("samples":[0.0,0.0,0.0],)" + runs + steps << R"("a":[0.0,0.0,0.0],)" + b << false;
        QTest::newRow("below the clock") << R"("samples":[5e-324,5e-324,5e-324],)" + runs + steps << R"("a":[5e-324,5e-324,5e-324],)" + b << false;
        QTest::newRow("no numbers") << R"("samples":[null,null,null],)" + runs + steps << R"("a":[null,null,null],)" + b << false;
        QTest::newRow("too long") << R"("samples":[1e-6,1e308,1e-6],)" + runs + steps << R"("a":[1e-6,1e308,1e-6],)" + b << false;
        QTest::newRow("too long in all") << R"("samples":[30,30,30],)" + runs + steps << R"("a":[30,30,30],)" + b << false;
        QTest::newRow("fewer runs than times, or uneven") << samples + R"("runs":2,)" + steps << R"("a":[1e-6,1e-6],)" + b << false;
        QTest::newRow("no such number of runs") << samples + R"("runs":-1,)" + steps << a.chopped(1) << false;
        QTest::newRow("more runs than can be") << samples + R"("runs":18446744073709551615,)" + steps << QByteArray() << false;
        QTest::newRow("too many steps") << samples + runs + R"("steps":[1e-6,1e-6,1e-6,1e-6,1e-6,1e-6,1e-6,1e-6,1e-6],)" << QByteArray() << false;
        QTest::newRow("impossible steps") << samples + runs + R"("steps":BAD,)" << QByteArray() << false;
    }
    void forgedTimesAreRefused() {
        QFETCH(const QByteArray, alone);
        QFETCH(const QByteArray, pair);
        QFETCH(const bool, possible);
        const std::size_t steps = take(readModuleInfo(hostile("forging"))).steps.size();
        QByteArray text = R"({"ok":true,"body":{)" + alone + (pair.isEmpty() ? QByteArray(R"("a":[],"b":[])") : pair) + "}}";
        text.replace("STEPS", QByteArray::fromStdString(nlohmann::json(std::vector<double>(steps, 1e-7)).dump()));
        text.replace("BAD", QByteArray::fromStdString(nlohmann::json(std::vector<double>(steps, -1)).dump()));
        BenchRequest timing;
        timing.store = path("store.db").string();
        timing.seconds = 0.1;
        timing.layers = true;
        timing.subject = hostile("forging", text).string();
        const auto one = bench(timing);
        QVERIFY2(one.ok() == possible, one.ok() ? "" : one.error().message.c_str());
        timing.other = path("original").string();
        const auto two = bench(timing);
        QVERIFY2(two.ok() == possible, two.ok() ? "" : two.error().message.c_str());
        if (possible)
            QVERIFY(one->foreign.at(0).find("is its claim") != std::string::npos);
    }

    void anAnswerThatDoesNotFitIsRefused_data() {
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("type");
        QTest::addColumn<std::vector<qint64>>("shape");
        QTest::addColumn<bool>("fits");
        const int floats = int(DType::f32), ints = int(DType::i64);
        QTest::newRow("as told") << 1 << floats << std::vector<qint64>{2, 3} << true;
        QTest::newRow("open extent of 0") << 1 << floats << std::vector<qint64>{0, 3} << true;
        QTest::newRow("none") << 0 << floats << std::vector<qint64>{2, 3} << false;
        QTest::newRow("too many") << 2 << floats << std::vector<qint64>{2, 3} << false;
        QTest::newRow("another type") << 1 << ints << std::vector<qint64>{2, 3} << false;
        QTest::newRow("another extent") << 1 << floats << std::vector<qint64>{2, 4} << false;
        QTest::newRow("scalar") << 1 << floats << std::vector<qint64>{} << false;
        QTest::newRow("higher rank") << 1 << floats << std::vector<qint64>{2, 3, 1} << false;
    }
    void anAnswerThatDoesNotFitIsRefused() {
        QFETCH(const int, count);
        QFETCH(const int, type);
        QFETCH(const std::vector<qint64>, shape);
        QFETCH(const bool, fits);
        ModuleInfo module;
        module.outputs = {{"y", DType::f32, {kOpenExtent, 3}}};
        const Tensor tensor = Tensor::zeros(DType(type), Shape(shape.begin(), shape.end()));
        QCOMPARE(checkOutputs(module, std::vector<Tensor>(std::size_t(count), tensor)).ok(), fits);
        module.outputs.front().ranked = false;
        QCOMPARE(checkOutputs(module, std::vector<Tensor>(std::size_t(count), tensor)).ok(), count == 1 && type == int(DType::f32));
    }

    void whatIsMadeHereIsKnown() {
        const fs::path module = made("known");
        const RunResult known = take(runExportedModule(module, request()));
        QCOMPARE(known.foreign, std::string());
        fs::remove(list());
        const RunResult foreign = take(runExportedModule(module, request()));
        QVERIFY2(foreign.foreign.find("known") != std::string::npos && foreign.foreign.find("--trust") != std::string::npos, foreign.foreign.c_str());
        QCOMPARE(values(foreign), values(known));
        const fs::path copy = path("copy");
        fs::copy(module, copy, fs::copy_options::recursive);
        QCOMPARE(take(runExportedModule(copy, request(true))).foreign, std::string());
        QCOMPARE(take(runExportedModule(module, request())).foreign, std::string()); // the same library
    }

    void whatOthersCanChangeIsNotKnown() {
        const mode_t before = ::umask(0002);
        const fs::path module = made("changeable");
        ::umask(before);
        const ModuleInfo info = take(readModuleInfo(module));
        const auto origin = [&] { return take(foreignOrigin(info, false)); };
        QCOMPARE(origin(), std::string());
        for (const fs::path& changeable : {info.library(), module}) {
            QVERIFY((fs::status(changeable).permissions() & fs::perms::group_write) == fs::perms::none); // never, also while it was made
            fs::permissions(changeable, fs::perms::others_write, fs::perm_options::add);
            QVERIFY2(origin().find("can be changed by others") != std::string::npos, changeable.c_str());
            QCOMPARE(take(foreignOrigin(info, true)), std::string()); // as the user said
            fs::permissions(changeable, fs::perms::others_write, fs::perm_options::remove);
            QCOMPARE(origin(), std::string());
        }
        const auto linked = [&](const char* to) {
            fs::create_directory(path(to));
            fs::rename(info.library(), path(to) / "library.so");
            fs::create_symlink(path(to) / "library.so", info.library());
        };
        linked("elsewhere");
        QCOMPARE(origin(), std::string()); // nobody can change it there either
        fs::permissions(path("elsewhere"), fs::perms::others_write, fs::perm_options::add);
        QVERIFY(!origin().empty());
    }

    // It is opened after it was looked at: whoever may rename a folder above it could put another one there.
    void whatLiesInAFolderOfOthersIsNotKnown() {
        fs::create_directories(path("shared/own"));
        const fs::path module = made("shared/own/module");
        const ModuleInfo info = take(readModuleInfo(module));
        QCOMPARE(take(foreignOrigin(info, false)), std::string());
        fs::permissions(path("shared"), fs::perms::others_write, fs::perm_options::add);
        const std::string text = take(foreignOrigin(info, false));
        QVERIFY2(text.find("others may write to '" + path("shared").string() + "'") != std::string::npos, text.c_str());
        fs::permissions(path("shared"), fs::perms::sticky_bit, fs::perm_options::add); // as /tmp
        QCOMPARE(take(foreignOrigin(info, false)), std::string());
        fs::remove(list());
        fs::permissions(path("shared"), fs::perms::sticky_bit, fs::perm_options::remove);
        rememberModule(module); // it may be somebody else's by now
        QVERIFY(!fs::exists(list()));
        fs::permissions(path("shared"), fs::perms::others_write, fs::perm_options::remove);
        rememberModule(module);
        QCOMPARE(take(foreignOrigin(info, false)), std::string());
    }

    // Its inputs come from module.json and its numbers from the weights.
    void allThatAModuleReadsIsLookedAt_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("description") << "module.json";
        QTest::newRow("weights") << "weights.bin";
    }
    void allThatAModuleReadsIsLookedAt() {
        QFETCH(const QString, file);
        const fs::path module = made("looked-at");
        const ModuleInfo info = take(readModuleInfo(module));
        QCOMPARE(take(foreignOrigin(info, false)), std::string());
        std::fstream bytes(module / file.toStdString(), std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(-1, std::ios::end);
        bytes.put(' ');
        bytes.close();
        const std::string text = take(foreignOrigin(info, false));
        QVERIFY2(text.find("was not made here as it is") != std::string::npos, text.c_str());
    }

    // Names of files are bytes. In place of one that is not UTF-8, JSON has U+FFFD, and a file may be called that.
    void aNameThatIsNoTextNamesItself() {
        const fs::path known = made("namedï¿½");
        const fs::path foreign = path("namedÿ");
        fs::rename(hostile("to-be-named"), foreign);
        const auto run = runExportedModule(foreign, request());
        QVERIFY2(!run.ok() && run.error().message.find("0 outputs instead of 1") != std::string::npos, run.ok() ? "" : run.error().message.c_str());
        QVERIFY(!acted(foreign));
        fs::rename(known, path("namedþ"));
        fs::rename(foreign, known);
        const RunResult own = take(runExportedModule(path("namedþ"), request()));
        QCOMPARE(own.foreign, std::string());
        QCOMPARE(own.outputs.size(), std::size_t(1));
        QVERIFY(!acted(known));
        fs::remove_all(known);
    }

    void itsWordsAreShownShortAndHarmless() {
        ModuleInfo info = take(readModuleInfo(made("talking")));
        fs::remove(list());
        info.version = "good\x1b[2J\nEverything is fine.\xc3" + std::string(100000, 'x');
        const std::string text = take(foreignOrigin(info, false));
        QVERIFY2(text.find("good\\u001b[2J\\u000aEverything") != std::string::npos, text.c_str());
        QVERIFY2(text.size() < 1000 && text.find('\x1b') == std::string::npos && text.find('\n') == std::string::npos && text.find('\xc3') == std::string::npos, text.c_str());
    }

    void aLinkOutOfTheFolderIsNotFollowed() {
        const fs::path module = made("linked"), weights = module / "weights.bin", elsewhere = path("elsewhere.bin");
        fs::rename(weights, elsewhere);
        fs::create_symlink(elsewhere, weights);
        take(runExportedModule(module, request()));
        fs::remove(list());
        const auto confined = runExportedModule(module, request());
        QVERIFY(!confined.ok());
        QVERIFY2(confined.error().message.find("weights.bin") != std::string::npos, confined.error().message.c_str());
    }

    void twoAreNamedEach() {
        BenchRequest timing;
        timing.store = path("store.db").string();
        timing.seconds = 0.1;
        timing.subject = made("one").string();
        timing.other = timing.subject;
        QVERIFY(take(bench(timing)).foreign.empty());
        fs::remove(list());
        QCOMPARE(take(bench(timing)).foreign.size(), 2U);
        timing.other.clear();
        const BenchResult alone = take(bench(timing));
        QCOMPARE(alone.foreign.size(), 1U);
        QVERIFY(!alone.layers.empty());
    }

    void aBrokenListTrustsNothing_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("rights");
        QTest::addColumn<bool>("counts");
        const QByteArray hash(64, 'a');
        QTest::newRow("whole") << hash + " made 2026-01-01 /m\n" << 0600 << true;
        QTest::newRow("after an unfinished line") << "abc made\n" + hash + " trusted 2026-01-01 /m n\n" << 0600 << true;
        QTest::newRow("empty") << QByteArray() << 0600 << false;
        QTest::newRow("cut off") << hash.left(60) << 0600 << false;
        QTest::newRow("no folder") << hash + " made 2026-01-01\n" << 0600 << false;
        QTest::newRow("another word") << hash + " found 2026-01-01 /m\n" << 0600 << false;
        QTest::newRow("capital digits") << hash.toUpper() + " made 2026-01-01 /m\n" << 0600 << false;
        QTest::newRow("bytes") << QByteArray(100000, '\0') + hash << 0600 << false;
        QTest::newRow("writable by all") << hash + " made 2026-01-01 /m\n" << 0622 << false;
    }
    void aBrokenListTrustsNothing() {
        QFETCH(const QByteArray, text);
        QFETCH(const int, rights);
        QFETCH(const bool, counts);
        const fs::path file = path("list");
        fs::remove(file);
        std::ofstream(file) << text.toStdString();
        QCOMPARE(::chmod(file.c_str(), static_cast<mode_t>(rights)), 0);
        QCOMPARE(KnownModules(file).read().contains(std::string(64, 'a')), counts);
    }

    void theListGrowsWithLibrariesOnly() {
        made("again");
        const auto size = fs::file_size(list());
        made("again");
        QCOMPARE(fs::file_size(list()), size);
    }

    void aLinkIsNoList() {
        const fs::path file = path("target");
        take(KnownModules(file).add(std::string(64, 'b'), "made", "/m\nn"));
        QCOMPARE(KnownModules(file).read().at(std::string(64, 'b')).how, std::string("made"));
        fs::create_symlink(file, path("link"));
        QVERIFY(KnownModules(path("link")).read().empty());
        QVERIFY(!KnownModules(path("link")).add(std::string(64, 'c'), "made", "/m").ok());
    }

    void aSparseLibraryIsRefused() {
        const fs::path module = made("sparse");
        ModuleInfo info = take(readModuleInfo(module));
        for (nlohmann::json& file : info.document.at("files"))
            if (module / file.at("name").get<std::string>() == info.library())
                file["bytes"] = std::uint64_t(10) << 30;
        fs::resize_file(info.library(), std::uintmax_t(10) << 30);
        std::ofstream(module / "module.json") << info.document;
        const auto read = readModuleInfo(module);
        QVERIFY(!read.ok());
        QVERIFY2(read.error().message.find("too large for a library") != std::string::npos, read.error().message.c_str());
    }

    void hashesComeInPieces() {
        const fs::path file = path("pieces");
        std::ofstream(file) << std::string((std::size_t(2) << 20) + 5, 'x');
        const std::string text((std::size_t(2) << 20) + 5, 'x');
        QCOMPARE(take(hashFile(file)), hexHash(ts_content_hash(text.data(), text.size())));
        fs::resize_file(file, std::uintmax_t(400) << 20);
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        take(hashFile(file));
        getrusage(RUSAGE_SELF, &after);
        QVERIFY(after.ru_maxrss - before.ru_maxrss < 50000);
    }

    void theHashIsSha256() {
        std::ofstream(path("abc")) << "abc";
        QCOMPARE(take(sha256OfFile(path("abc"))), std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        std::ofstream(path("large")) << std::string((std::size_t(3) << 20) + 1, 'x');
        QVERIFY(take(sha256OfFile(path("large"))) != take(sha256OfFile(path("abc"))));
        QVERIFY(!sha256OfFile(path("missing")).ok());
    }

    // Nobody waits for a pipe, or reads for ever.
    void strangeListsAreRefused_data() {
        QTest::addColumn<bool>("pipe");
        QTest::newRow("pipe") << true;
        QTest::newRow("huge") << false;
    }
    void strangeListsAreRefused() {
        QFETCH(bool, pipe);
        const fs::path strange = path(pipe ? "pipe" : "huge");
        if (pipe)
            QCOMPARE(::mkfifo(strange.c_str(), 0600), 0);
        else {
            std::ofstream(strange) << std::string(64, 'a') + " made 2026-11-25 /x\n";
            fs::resize_file(strange, std::uintmax_t(50) << 30);
        }
        const KnownModules known(strange);
        QVERIFY(known.read().empty());
        QVERIFY(!known.add(std::string(64, 'b'), "made", "/x").ok());
        fs::remove(strange);
        QVERIFY(known.add(std::string(64, 'b'), "made", "/x").ok());
        QCOMPARE(known.read().size(), std::size_t(1));
    }
};

QTEST_GUILESS_MAIN(TestKnownModules)
#include "tst_known_modules.moc"
