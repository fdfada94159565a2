// SPDX-License-Identifier: GPL-3.0-or-later
// Modules for ranges of dimensions: which one serves what, padded or compiled, with the numbers of the
// reference engine.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

#include "core/check/equivalence.h"
#include "core/graph/graph_builder.h"
#include "core/graph/npy.h"
#include "core/module/module_info.h"
#include "core/onnx/export.h"
#include "core/workbench/family.h"
#include "core/workbench/family_file.h"
#include "core/workbench/run.h"
#include "tests/require.h"

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

using How = FamilyChoice::How;

// What a refusal says, or nothing when it was none.
template <class T> QString said(const Result<T>& result) {
    return result.ok() ? QString() : QString::fromStdString(result.error().message);
}

} // namespace

class TestFamily : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    fs::path path(const char* name) const { return folder_.filePath(name).toStdString(); }

    // y = softmax over `axis` of relu(x) + w, with x of n x t: rows of n are independent for axis 1, those of
    // t for axis 0.
    std::string writeModel(std::int64_t axis, Dim second) {
        GraphBuilder b;
        b.setOpset("", 17);
        const ValueId x = b.addInput("x", TensorType(DType::f32, Dims{Dim::named("n"), std::move(second)}));
        const ValueId w = b.addConstant("w", Tensor::of<float>({1}, {0.5F}));
        b.setOutputs({b.add("Softmax", {b.add("Add", {b.add("Relu", {x}), w})}, {{"axis", axis}}, 1, "y")});
        const std::string file = path("soft.onnx").string();
        if (!exportOnnx(*b.build(), file).ok())
            qFatal("cannot write %s", file.c_str());
        return file;
    }

    CompileRequest compiling(const char* name) const {
        CompileRequest request;
        request.folder = path(name);
        request.store = path("none.db").string();
        request.threads = 1;
        request.untuned = true;
        return request;
    }
    RunRequest running(Engine engine = Engine::compiled) const {
        RunRequest request;
        request.engine = engine;
        request.threads = 1;
        request.store = path("none.db").string();
        return request;
    }

    // The family at these extents, as it was served, against the model in the reference engine.
    void serves(const char* family, const std::string& model, const Dimensions& extents, How how) {
        const auto run = runFamily(path(family), extents, running());
        REQUIRE_OK(run);
        QVERIFY2(run->choice.how == how, run->choice.text.c_str());
        const auto opened = openModel(model, extents);
        REQUIRE_OK(opened);
        const auto expected = runModel(*opened, running(Engine::reference));
        REQUIRE_OK(expected);
        const std::vector<Tensor> wanted{expected->outputs[0].tensor}, given{run->result.outputs[0].tensor};
        const Status same = requireEquivalent(wanted, given);
        REQUIRE_OK(same);
    }

private slots:
    void paddedWhereRowsAreIndependent() {
        const std::string model = writeModel(1, Dim(5));
        const auto family = compileFamily(model, {{"n", {1, 6}}}, compiling("rows"));
        REQUIRE_OK(family);
        QCOMPARE(family->members.size(), std::size_t(4)); // 1, 2, 4, 6
        QVERIFY(family->mixing.empty());
        QVERIFY(isModuleFamily(path("rows")) && isExportedModule(path("rows") / "n-4"));
        serves("rows", model, {{"n", 4}}, How::exact);
        serves("rows", model, {{"n", 3}}, How::padded);
        serves("rows", model, {{"n", 5}}, How::padded);
        serves("rows", model, {{"n", 1}}, How::exact);
        QVERIFY(!fs::exists(path("rows") / "n-3"));
    }

    void compiledWhereRowsMix() {
        const std::string model = writeModel(0, Dim(5));
        const auto family = compileFamily(model, {{"n", {2, 4}}}, compiling("mixing"));
        REQUIRE_OK(family);
        QCOMPARE(family->members.size(), std::size_t(2)); // 2, 4
        QVERIFY2(family->mixing.at("n").find("Softmax") != std::string::npos, family->mixing.at("n").c_str());
        serves("mixing", model, {{"n", 3}}, How::compiled);
        QVERIFY(isExportedModule(path("mixing") / "n-3"));
        serves("mixing", model, {{"n", 3}}, How::exact);
        serves("mixing", model, {{"n", 2}}, How::exact);
    }

    void twoDimensionsOneOfThemPadded() {
        const std::string model = writeModel(1, Dim::named("t"));
        REQUIRE_OK(compileFamily(model, {{"n", {1, 4}}, {"t", {3, 4}}}, compiling("both")));
        serves("both", model, {{"n", 3}, {"t", 3}}, How::padded);
        serves("both", model, {{"n", 4}, {"t", 4}}, How::exact);
        REQUIRE_OK(compileFamily(model, {{"n", {1, 2}}, {"t", {7, 7}}}, compiling("one")));
        serves("one", model, {{"n", 1}, {"t", 7}}, How::exact);
    }

    void inputFilesSayTheExtents() {
        const std::string model = writeModel(1, Dim::named("t"));
        REQUIRE_OK(compileFamily(model, {{"n", {2, 4}}, {"t", {5, 5}}}, compiling("files")));
        const auto given = [&](const Shape& shape) {
            REQUIRE_OK(writeNpy(path("x.npy"), Tensor::zeros(DType::f32, shape)));
        };
        RunRequest request = running();
        request.inputs.files["x"] = path("x.npy");
        request.saveFolder = path("saved");
        given({3, 5});
        const auto run = runFamily(path("files"), {}, request);
        REQUIRE_OK(run);
        QVERIFY(run->choice.how == How::padded);
        const auto saved = readNpy(path("saved") / "y.npy");
        REQUIRE_OK(saved);
        QCOMPARE(saved->shape(), (Shape{3, 5}));
        QVERIFY(std::abs(saved->asDouble(14) - 0.2) < 1e-6);
        QVERIFY(said(runFamily(path("files"), {{"n", 2}}, request)).contains("'n' is 2, but 3 in the file"));
        given({3, 6});
        QVERIFY(said(runFamily(path("files"), {}, request)).contains("'x' is float32[3,5]"));
        given({9, 5});
        QVERIFY(said(runFamily(path("files"), {}, request)).contains("outside of 2..4"));
        given({5});
        QVERIFY(said(runFamily(path("files"), {}, request)).contains("its file holds float32[5]"));
        QVERIFY(said(runFamily(path("files"), {}, running())).contains("--dims n=N"));
        QVERIFY(said(runFamily(path("files"), {{"m", 2}, {"n", 2}}, running())).contains("no dimension 'm'"));
        QVERIFY(said(runFamily(path("files"), {{"n", 2}, {"t", 6}}, running())).contains("outside of 5..5"));
    }

    void refusedRanges() {
        const std::string model = writeModel(1, Dim::named("t"));
        const auto refused = [&](const DimensionRanges& ranges, const char* name = "refused") {
            return said(compileFamily(model, ranges, compiling(name)));
        };
        QVERIFY(refused({{"n", {1, 1000}}, {"t", {1, 1000}}}).contains("more than 16 modules"));
        QVERIFY(refused({{"n", {1, 2}}}).contains("dimension 't' is open"));
        QVERIFY(refused({{"n", {1, 2}}, {"t", {3, 3}}, {"z", {1, 1}}}).contains("no open dimension 'z'"));
        QVERIFY(!fs::exists(path("refused")));
        QVERIFY(QDir().mkpath(folder_.filePath("full/of/things")));
        QVERIFY(refused({{"n", {1, 2}}, {"t", {3, 3}}}, "full").contains("holds other things"));
        QFile stranger(folder_.filePath("full/family.json")); // not one of ours
        QVERIFY(stranger.open(QIODevice::WriteOnly) && stranger.write("{\"children\": 2}") > 0);
        stranger.close();
        QVERIFY(refused({{"n", {1, 2}}, {"t", {3, 3}}}, "full").contains("holds other things"));
        QVERIFY(QDir(folder_.filePath("full/of/things")).exists());
        QVERIFY(!refused({{"n", {1, std::numeric_limits<std::int64_t>::max()}}, {"t", {3, 3}}}).isEmpty());
        QVERIFY(said(parseDimensionRanges("n=4..2")).contains("ends before it begins"));
        for (const char* bad : {"n=..4", "n=4..", "=1..2", "n=1...4", "n=1..2..3", "n", "n=-1..3"})
            QVERIFY2(said(parseDimensionRanges(bad)).contains("is no dimension"), bad);
        QVERIFY(said(parseDimensions("n=1..2")).contains("needs one value"));
    }

    void replacesItself() {
        const std::string model = writeModel(1, Dim(3));
        REQUIRE_OK(compileFamily(model, {{"n", {1, 2}}}, compiling("again")));
        REQUIRE_OK(compileFamily(model, {{"n", {2, 3}}}, compiling("again")));
        QVERIFY(!fs::exists(path("again") / "n-1"));
    }

    void hugeFamilyFileIsNotRead() { // sparse: it costs its author nothing
        const QTemporaryDir folder;
        QFile file(folder.filePath("family.json"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.resize(qint64(1) << 30));
        file.close();
        const auto read = readFamily(folder.path().toStdString());
        QVERIFY(!read.ok());
        QVERIFY2(read.error().message.find("family.json: a description of modules has at most") != std::string::npos, read.error().message.c_str());
        QVERIFY(!ownFamilyFiles(folder.path().toStdString()));
    }
    void descriptionThatIsNoFileIsNamed() {
        const QTemporaryDir folder;
        const std::filesystem::path place = folder.path().toStdString();
        for (const char* name : {"family.json", "module.json"})
            QCOMPARE(::mkfifo((place / name).c_str(), 0600), 0);
        QVERIFY(isModuleFamily(place) && isExportedModule(place));
        const std::string family = readFamily(place).error().message, module = readModuleInfo(place).error().message;
        QVERIFY2(family.find("family.json': it is not a regular file") != std::string::npos, family.c_str());
        QVERIFY2(module.find("module.json': it is not a regular file") != std::string::npos, module.c_str());
    }
    void damagedFamilies_data() {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        QTest::addColumn<QString>("says");
        QTest::newRow("newer") << QByteArray("\"tunesmith_family\": 1")
                               << QByteArray("\"tunesmith_family\": 2") << "newer Tunesmith";
        QTest::newRow("no name") << QByteArray("\"name\": \"soft\"") << QByteArray("\"name\": 7")
                                 << "is damaged";
        QTest::newRow("folder outside") << QByteArray("\"folder\": \"n-2\"")
                                        << QByteArray("\"folder\": \"../n-2\"") << "in the folder '../n-2'";
        QTest::newRow("unknown type")
            << QByteArray("\"float32\"") << QByteArray("\"float31\"") << "unknown type";
        QTest::newRow("no JSON") << QByteArray("{") << QByteArray("(") << "is damaged";
        QTest::newRow("other dimension") << QByteArray("\"n\": 2") << QByteArray("\"m\": 2") << "is damaged";
        QTest::newRow("ends before it begins")
            << QByteArray("1,\n   2") << QByteArray("3,\n   2") << "impossible range";
        QTest::newRow("unknown symbol")
            << QByteArray("\"n\",\n    3") << QByteArray("\"k\",\n    3") << "impossible shape";
    }
    void damagedFamilies() {
        QFETCH(QByteArray, from);
        QFETCH(QByteArray, to);
        QFETCH(QString, says);
        const std::string model = writeModel(1, Dim(3));
        if (!isModuleFamily(path("damaged")))
            REQUIRE_OK(compileFamily(model, {{"n", {1, 2}}}, compiling("damaged")));
        QFile file(folder_.filePath("damaged/family.json"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray sound = file.readAll();
        file.close();
        const auto write = [&](const QByteArray& text) {
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
            QCOMPARE(file.write(text), qint64(text.size()));
            file.close();
        };
        QVERIFY2(sound.contains(from), sound.constData());
        write(QByteArray(sound).replace(from, to));
        const QString message = said(runFamily(path("damaged"), {{"n", 2}}, running()));
        write(sound);
        QVERIFY2(message.contains(says) && message.contains("family.json"), qPrintable(message));
    }
};

QTEST_GUILESS_MAIN(TestFamily)
#include "tst_family.moc"
