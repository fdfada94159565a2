// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/experiment.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/json_text.h"
#include "core/module/module_info.h"
#include "core/module/staging_folder.h"
#include "core/store/store.h"
#include "core/workbench/open_store.h"
#include "core/workbench/session.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

std::string msText(double ms) {
    char text[48];
    std::snprintf(text, sizeof text, "%.3g ms", ms);
    return text;
}

std::string tunedText(const TuneReport& report) {
    std::string text = std::to_string(report.trials()) + " trials";
    if (const TunedRun& run = report.last(); run.beforeMs && run.afterMs)
        text += ", " + msText(*run.beforeMs) + " -> " + msText(*run.afterMs);
    return report.unfinished ? text + ", " + report.last().stopReason : text;
}

// Takes the files that the module lists and has in its folder: links may lead anywhere. Files that a module does not need may be missing.
Result<fs::path> copyModule(const fs::path& module, const fs::path& folder, const StopToken& stop) {
    TS_ASSIGN(const ModuleInfo info, readModuleInfo(module));
    TS_ASSIGN(StagingFolder staging, StagingFolder::create(folder, ownModuleFiles));
    std::set<std::string> names{"module.json"};
    for (const ModuleFile& file : info.files)
        names.insert(file.name);
    std::error_code error;
    const fs::path place = fs::canonical(module, error);
    for (const std::string& name : names) {
        const fs::path file = fs::canonical(module / name, error);
        if (error == std::errc::no_such_file_or_directory)
            continue;
        if (error || file != (place / name).lexically_normal())
            return inputError((module / name).string() + " is a link or lies behind one; copy the module whole, or export it again");
        TS_TRY(staging.copy(name, file, stop));
    }
    TS_TRY(staging.commit());
    return folder;
}

} // namespace

struct Experiment::State {
    Options options;
    std::optional<Model> model; // none: a module was loaded
    std::optional<TemporaryFolder> folder;
    fs::path built; // the module; empty: not yet
    std::shared_ptr<Store> store;
    RunId id;
    std::vector<ExperimentStep> steps;
    bool failed = false;

    ~State() {
        if (id.valid()) // what it came to is in the store already; a store that is full may say so elsewhere
            (void)store->endRun(id, {failed ? RunState::failed : RunState::completed, failed ? "failed" : "done", {}, {}});
    }

    Status record() const {
        nlohmann::json list = nlohmann::json::array();
        for (const ExperimentStep& step : steps)
            list.push_back({{"verb", step.verb}, {"seconds", step.seconds}, {"text", step.text}});
        return store->saveRunState({id, "", 0, 0, writeJson(nlohmann::json{{"steps", list}})});
    }
};

Experiment::Experiment(std::unique_ptr<State> state) : state_(std::move(state)) {}
Experiment::Experiment(Experiment&&) noexcept = default;
Experiment::~Experiment() = default;

std::int64_t Experiment::id() const { return state_->id.value(); }
const std::vector<ExperimentStep>& Experiment::steps() const { return state_->steps; }

// A verb that fails ends the experiment as failed; what was done before it is kept.
template <class T, class Verb, class Tell> Result<T> Experiment::timed(const char* verb, Verb work, Tell tell) {
    const auto begin = std::chrono::steady_clock::now();
    Result<T> made = work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    state_->failed = !made.ok();
    state_->steps.push_back({verb, seconds, made.ok() ? tell(*made) : made.error().message});
    TS_TRY(state_->record());
    return made;
}

Result<Experiment> Experiment::load(const std::string& modelOrModule, const Dimensions& dimensions, Options options) {
    const auto begin = std::chrono::steady_clock::now();
    auto state = std::make_unique<State>();
    state->options = std::move(options);
    RunRow row;
    row.kind = "experiment";
    row.version = versionText();
    row.seed = state->options.seed;
    TS_ASSIGN(state->store, openStore(state->options.store, StoreMode::readWrite));
    if (isExportedModule(modelOrModule)) {
        state->built = modelOrModule;
    } else {
        TS_ASSIGN(state->model, openModel(modelOrModule, dimensions, state->options.work));
        TS_ASSIGN(row.model, state->store->addModel({{}, state->model->name(), state->model->source(), state->model->hash()}));
    }
    row.options = writeJson(nlohmann::json{{"subject", modelOrModule}, {"threads", state->options.threads}});
    TS_ASSIGN(state->id, state->store->beginRun(row));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    state->steps.push_back({"load", seconds, state->model ? std::to_string(state->model->info().nodes) + " nodes" : "a module"});
    TS_TRY(state->record());
    return Experiment(std::move(state));
}

Result<TuneReport> Experiment::autotune(TuneRequest request) {
    if (!state_->model)
        return inputError("a module is tuned already; load its model to tune that again");
    const Options& options = state_->options;
    request.store = options.store;
    request.threads = options.threads;
    request.builders = options.builders;
    request.seed = options.seed;
    request.stop = options.work.stop;
    return timed<TuneReport>("autotune", [&] { return tuneModel(*state_->model, request); }, tunedText);
}

Result<CompileResult> Experiment::build() {
    if (!state_->model)
        return inputError("a module is built already; load its model to build that again");
    const auto work = [&]() -> Result<CompileResult> {
        TS_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
        const Options& options = state_->options;
        CompileRequest request{folder.path() / "module", options.store, options.threads, options.builders, false, options.seed, options.work};
        TS_ASSIGN(CompileResult made, compileModel(*state_->model, request));
        state_->built = made.folder;
        state_->folder.emplace(std::move(folder));
        return made;
    };
    return timed<CompileResult>("build", work, [](const CompileResult& made) { return std::to_string(made.kernels) + " kernels, " + std::to_string(made.tuned) + " of them tuned"; });
}

Status Experiment::requireBuilt(const char* verb) const {
    return state_->built.empty() ? Status(inputError(std::string("there is no module to ") + verb + " yet; build it first")) : Status();
}

Status Experiment::save(const fs::path& folder) {
    TS_TRY(requireBuilt("save"));
    const auto work = [&]() -> Result<fs::path> {
        std::error_code error;
        if (fs::exists(folder, error))
            return inputError(folder.string() + " exists; choose another folder, or remove it");
        return copyModule(state_->built, folder, state_->options.work.stop);
    };
    TS_ASSIGN([[maybe_unused]] const fs::path saved, timed<fs::path>("save", work, [](const fs::path& path) { return path.string(); }));
    return {};
}

Result<RunResult> Experiment::run(const InputChoice& inputs) {
    TS_TRY(requireBuilt("run"));
    RunRequest request;
    request.inputs = inputs;
    request.work = state_->options.work;
    request.trust = state_->options.trust;
    return timed<RunResult>("run", [&] { return runExportedModule(state_->built, request); }, [](const RunResult& made) { return std::to_string(made.outputs.size()) + " outputs in " + msText(1e3 * made.seconds) + (made.foreign.empty() ? "" : "; " + made.foreign); });
}

Result<BenchResult> Experiment::evaluate(double seconds) {
    TS_TRY(requireBuilt("evaluate"));
    BenchRequest request;
    request.subject = state_->built.string();
    request.store = state_->options.store;
    request.seconds = seconds;
    request.layers = false;
    request.trust = state_->options.trust;
    request.work = state_->options.work;
    return timed<BenchResult>("evaluate", [&] { return bench(request); },
                              [](const BenchResult& made) { return "p5 " + msText(made.latency.p5Ms) + ", median " + msText(made.latency.medianMs); });
}

} // namespace tunesmith
