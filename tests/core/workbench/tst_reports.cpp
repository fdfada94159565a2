// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check/equivalence.h"
#include "core/graph/npy.h"
#include "core/workbench/compile.h"
#include "core/workbench/family.h"
#include "core/workbench/optimize.h"
#include "core/workbench/run.h"
#include "tests/take.h"

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

fs::path reportsFolder() {
    return fs::path(qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared").toStdString()) / "data" / "reports";
}

// What a report says is right: a model, its inputs and the values of its outputs by name.
struct Report {
    fs::path model;
    InputChoice inputs;
    std::map<std::string, Tensor> expected;

    static Report read(const fs::path& folder) {
        std::ifstream file(folder / "case.json");
        const auto json = nlohmann::json::parse(file);
        Report report{folder / json.at("model").get<std::string>(), {}, {}};
        for (const auto& [name, input] : json.at("inputs").items())
            report.inputs.files[name] = folder / "in" / input.get<std::string>();
        for (const auto& [name, output] : json.at("expect").items())
            report.expected[name] = take(readNpy(folder / "expect" / output.get<std::string>()));
        return report;
    }
};

// Empty when every expected output is there with its values; outputs that nothing is said of are not looked at.
std::string difference(const Report& report, const std::vector<RunOutput>& outputs) {
    for (const auto& [name, expected] : report.expected) {
        const auto found = std::ranges::find_if(outputs, [&](const RunOutput& output) { return output.spec.name == name; });
        if (found == outputs.end())
            return "there is no output '" + name + "'";
        if (const Difference different = compareTensors(expected, found->tensor, {1e-4, 1e-5}); !different.equal)
            return "output '" + name + "': " + different.text;
    }
    return {};
}

// The extents that the inputs give to dimensions without one.
Result<Dimensions> extentsOf(const Model& model, const Report& report) {
    Dimensions extents;
    for (const ValueId id : model.graph().inputs()) {
        const Value& value = model.graph().value(id);
        const auto file = report.inputs.files.find(value.name);
        if (file == report.inputs.files.end() || !value.type.dims)
            continue;
        TS_ASSIGN(const Tensor given, readNpy(file->second));
        for (std::size_t d = 0; d < value.type.dims->size(); ++d)
            if (const Dim& dim = (*value.type.dims)[d]; !dim.known())
                extents[dim.symbol.empty() ? value.name + "." + std::to_string(d) : dim.symbol] = given.shape()[d];
    }
    return extents;
}

} // namespace

// Public bug reports of neighbouring projects: each gives its right values however the model is computed, and from every file that is written of it.
class ReportsTest : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    fs::path fresh(const char* name) const { return fs::path(folder_.path().toStdString()) / (std::string(QTest::currentDataTag()) + "." + name); }

    // One for all, so that the machine's ceilings are measured once.
    std::string store() const { return folder_.filePath("trials.db").toStdString(); }

    RunRequest running(const Report& report, Engine engine) const {
        RunRequest request;
        request.inputs = report.inputs;
        request.engine = engine;
        request.threads = 1;
        request.store = store();
        return request;
    }

    CompileRequest compiling(const char* name) const {
        CompileRequest request;
        request.folder = fresh(name);
        request.store = store();
        request.threads = 1;
        request.untuned = true;
        return request;
    }

    Result<Model> bound(const Report& report) const {
        TS_ASSIGN(const Model open, openModel(report.model.string()));
        TS_ASSIGN(const Dimensions extents, extentsOf(open, report));
        return openModel(report.model.string(), extents);
    }

    // What is wrong with the model of a file, in both engines.
    std::string wrongIn(const fs::path& file, const Report& report) const {
        const auto model = openModel(file.string());
        if (!model.ok())
            return model.error().message;
        for (const Engine engine : {Engine::reference, Engine::compiled})
            if (const std::string wrong = wrongRun(runModel(*model, running(report, engine)), report); !wrong.empty())
                return std::string(engineName(engine)) + ": " + wrong;
        return {};
    }

    static std::string wrongRun(const Result<RunResult>& run, const Report& report) { return run.ok() ? difference(report, run->outputs) : run.error().message; }

    std::string wrongModule(const Report& report) const {
        const auto model = bound(report);
        if (!model.ok())
            return model.error().message;
        const auto made = compileModel(*model, compiling("module"));
        return made.ok() ? wrongRun(runExportedModule(made->folder, running(report, Engine::compiled)), report) : made.error().message;
    }

    std::string wrongExport(const Report& report) const {
        const auto model = bound(report);
        if (!model.ok())
            return model.error().message;
        const auto written = exportModel(*model, fresh("onnx"));
        return written.ok() ? wrongIn(fresh("onnx"), report) : written.error().message;
    }

    std::string wrongOptimised(const Report& report) const {
        const auto model = bound(report);
        if (!model.ok())
            return model.error().message;
        OptimizeRequest request;
        request.file = fresh("optimised.onnx");
        request.store = store();
        request.threads = 1;
        request.budget = 50;
        request.noMeasure = true;
        const auto made = optimizeModel(*model, request);
        return made.ok() ? wrongIn(request.file, report) : made.error().message;
    }

    std::string wrongFamily(const Report& report, const Dimensions& open) const {
        DimensionRanges ranges;
        for (const auto& [name, extent] : open)
            ranges[name] = {1, std::max<std::int64_t>(8, extent)};
        const auto made = compileFamily(report.model.string(), ranges, compiling("family"));
        if (!made.ok())
            return made.error().message;
        const auto run = runFamily(made->folder, {}, running(report, Engine::compiled));
        return run.ok() ? difference(report, run->result.outputs) : run.error().message;
    }

private slots:
    void rightValues_data() {
        QTest::addColumn<QString>("report");
        QTest::addColumn<QString>("way");
        const QDir folder(QString::fromStdString(reportsFolder().string()));
        for (const QString& name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name))
            if (QFile::exists(folder.filePath(name + "/case.json")))
                for (const char* way : {"engines", "module", "export", "optimise", "family"})
                    QTest::newRow(qPrintable(name + "-" + way)) << name << way;
        if (!folder.exists())
            QTest::newRow("none") << QString() << QString();
    }

    void rightValues() {
        QFETCH(QString, report);
        QFETCH(QString, way);
        if (report.isEmpty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/reports");
        const Report what = Report::read(reportsFolder() / report.toStdString());
        const auto model = openModel(what.model.string());
        QVERIFY2(model.ok(), model.ok() ? "" : model.error().message.c_str());
        const Dimensions open = take(extentsOf(*model, what));
        if (way == "family" && open.empty())
            return; // nothing is open
        const std::string wrong = way == "engines" ? wrongIn(what.model, what) : way == "module" ? wrongModule(what) : way == "export" ? wrongExport(what)
                                  : way == "family" ? wrongFamily(what, open) : wrongOptimised(what);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }
};

QTEST_GUILESS_MAIN(ReportsTest)
#include "tst_reports.moc"
