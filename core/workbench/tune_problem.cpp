// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tune_problem.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/measure/machine.h"
#include "core/plugin/plugin_loader.h"
#include "core/process/json_number.h"
#include "core/schedule/stored_rows.h"
#include "core/search/strategy_table.h"
#include "core/workbench/open_store.h"
#include "core/workbench/problem_search.h"
#include "core/workbench/session.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

constexpr const char* kRunKind = "problem";
constexpr std::size_t kDefaultTrials = 64, kDefaultBatch = 8;

// One page after the other, in the order of their numbers.
Result<std::vector<TrialRow>> trialsOf(const Store& store, RunId run) {
    std::vector<TrialRow> all;
    TrialFilter filter;
    filter.run = run;
    for (bool more = true; more;) {
        TS_ASSIGN(auto page, store.trials(filter));
        more = page.size() == static_cast<std::size_t>(filter.limit);
        std::ranges::move(page, std::back_inserter(all));
        if (!all.empty())
            filter.after = all.back().id;
    }
    std::ranges::sort(all, {}, &TrialRow::index);
    return all;
}

class ProblemRun {
public:
    ProblemRun(const TuneProblemRequest& request, const Work& work) : request_(request), work_(work) {}

    Result<TunedProblem> go() {
        const auto begun = std::chrono::steady_clock::now();
        TS_ASSIGN(TemporaryFolder scratch, TemporaryFolder::create());
        scratch_.emplace(std::move(scratch));
        TS_TRY(turns_.enter("prepare"));
        TS_ASSIGN(opened_, openProblem(request_.file, {scratch_->path()}));
        workload_ = hexHash(opened_.hash);
        TS_ASSIGN(store_, openStore(request_.store, StoreMode::readWrite));
        options_.builders = static_cast<std::size_t>(request_.builders > 0 ? request_.builders : coreCount());
        options_.profileSeconds = request_.timeoutSeconds.value_or(std::numeric_limits<double>::infinity());
        options_.work = work_;
        options_.turns = &turns_;
        options_.listener = request_.listener;
        TS_TRY(request_.resume ? resume() : begin());
        tellRun();
        auto reason = search_->go();
        if (reason.ok() && *reason != StopReason::cancelled && !search_->best())
            reason = inputError("no config of " + request_.file.string() + " could be measured; the first one failed: " + search_->firstFailure());
        TS_TRY(end(reason));
        TunedProblem tuned = result(*reason);
        tuned.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        return tuned;
    }

private:
    Status begin() {
        options_.strategy = request_.strategy.empty() ? std::string(strategyTable().front().name) : request_.strategy;
        options_.seed = request_.seed;
        options_.batch = request_.batch > 0 ? static_cast<std::size_t>(request_.batch) : kDefaultBatch;
        options_.seconds = request_.seconds;
        if (request_.trials)
            options_.trials = static_cast<std::size_t>(*request_.trials);
        else if (!request_.seconds)
            options_.trials = kDefaultTrials;
        TS_TRY(checkStrategyName(options_.strategy));
        TS_TRY(makeStrategyNow());
        const Space& space = opened_.problem->space();
        TS_ASSIGN(const std::string content, readProblemFile(request_.file));
        TS_TRY(store_->addWorkload({workload_, opened_.name, opened_.kind, space.name(), {content.begin(), content.end()}, 0}));
        RunRow row;
        TS_ASSIGN(const Target target, hostTarget(coreCount()));
        TS_ASSIGN(row.target, storedTarget(*store_, target));
        row.kind = kRunKind;
        row.strategy = options_.strategy;
        row.seed = options_.seed;
        row.version = versionText();
        row.options = writeJson(optionsJson());
        const double size = std::min(space.size().value_or(0), 1e300);
        TS_ASSIGN(run_, store_->beginRun(row, {{workload_, 1, space.name(), size, static_cast<std::int64_t>(options_.trials.value_or(0))}}));
        return makeSearch({});
    }

    // Whether the strategy can search this space is known before there is a run.
    Status makeStrategyNow() {
        TS_ASSIGN([[maybe_unused]] const auto probe, ProblemSearch::make(*opened_.problem, *store_, {}, workload_, options_));
        return {};
    }

    nlohmann::json optionsJson() const {
        std::error_code failed;
        const auto whole = std::filesystem::absolute(request_.file, failed);
        nlohmann::json json{{"file", (failed ? request_.file : whole).string()}, {"problem", opened_.kind}, {"batch", options_.batch}};
        if (options_.trials)
            json["trials"] = *options_.trials;
        if (options_.seconds)
            json["seconds"] = *options_.seconds;
        return json;
    }

    Status resume() {
        run_ = RunId(*request_.resume);
        const std::string name = "run " + std::to_string(*request_.resume);
        TS_ASSIGN(const RunRow row, store_->run(run_));
        if (row.kind != kRunKind)
            return inputError(name + " tuned no problem file but was of kind '" + row.kind + "'");
        TS_ASSIGN(const auto workloads, store_->runWorkloads(run_));
        if (workloads.size() != 1 || workloads.front().plan.workload != workload_)
            return inputError(name + " was about other settings than " + request_.file.string() + " has now; start a new run");
        options_.strategy = row.strategy;
        options_.seed = row.seed;
        if (!readOptions(row.options))
            return inputError(name + " has no options that can be read; start a new run");
        TS_ASSIGN(const std::vector<TrialRow> rows, trialsOf(*store_, run_));
        TS_TRY(store_->resumeRun(run_));
        return makeSearch(rows);
    }

    bool readOptions(const std::string& text) {
        try {
            const auto json = parseJson<nlohmann::json>(text);
            options_.batch = countUpTo(kMostBatch, json.at("batch"));
            if (json.contains("trials"))
                options_.trials = countUpTo(kMostTrials, json.at("trials"));
            options_.seconds = request_.seconds;
            if (!options_.seconds && json.contains("seconds"))
                options_.seconds = json.at("seconds").get<double>();
            return true;
        } catch (const nlohmann::json::exception&) {
            return false;
        }
    }

    Status makeSearch(const std::vector<TrialRow>& rows) {
        TS_ASSIGN(search_, ProblemSearch::make(*opened_.problem, *store_, run_, workload_, options_));
        return search_->takeOver(rows);
    }

    void tellRun() const {
        if (!request_.listener)
            return;
        request_.listener->onRun(run_.value());
        TuningTask task;
        task.key = workload_;
        task.name = opened_.name;
        task.count = 1;
        request_.listener->onTasks({task});
    }

    Status end(const Result<StopReason>& reason) {
        RunEnd end;
        end.state = !reason.ok() ? RunState::failed : *reason == StopReason::cancelled ? RunState::stopped : RunState::completed;
        end.stopReason = stopReasonName(reason.ok() ? *reason : StopReason::failed);
        if (search_->isTime() && search_->best() && search_->ofDefault()) {
            end.beforeMs = search_->ofDefault()->value;
            end.afterMs = search_->best()->value;
        }
        const Status ended = store_->endRun(run_, end);
        if (!reason.ok())
            return reason.error();
        return ended;
    }

    TunedProblem result(StopReason reason) const {
        const Problem& problem = *opened_.problem;
        const ObjectiveInfo objective = problem.objectives().front();
        TunedProblem tuned;
        tuned.run = run_.value();
        tuned.kind = opened_.kind;
        tuned.name = opened_.name;
        tuned.strategy = options_.strategy;
        tuned.space = problem.space().size().value_or(0);
        tuned.trials = search_->trials();
        tuned.failed = search_->failed();
        tuned.stopReason = stopReasonName(reason);
        tuned.objective = objective.name;
        tuned.unit = objective.unit;
        tuned.higherIsBetter = objective.higherIsBetter;
        tuned.defaultConfig = problem.space().describe(search_->defaultConfig());
        tuned.verdict = search_->verdict();
        tuned.firstFailure = search_->firstFailure();
        if (search_->ofDefault())
            tuned.defaultValue = search_->ofDefault()->value;
        if (const auto& best = search_->best()) {
            tuned.bestValue = best->value;
            tuned.bestConfig = problem.space().describe(best->config);
            tuned.bestKey = best->config.text();
            for (const Description& part : problem.describeConfig(best->config))
                if (const auto* text = std::get_if<TextPart>(&part.part))
                    tuned.commands.emplace_back(part.title, text->text);
        }
        return tuned;
    }

    const TuneProblemRequest& request_;
    const Work& work_;
    StageTurns turns_{request_.gate, work_.stop};
    std::optional<TemporaryFolder> scratch_; // outlives the problem
    OpenedProblem opened_;
    std::string workload_;
    std::shared_ptr<Store> store_;
    ProblemSearchOptions options_;
    RunId run_;
    std::unique_ptr<ProblemSearch> search_;
};

} // namespace

Result<std::string> readProblemFile(const std::filesystem::path& file) { return readText(file, std::size_t(1) << 20, "a file of a problem"); }

Result<std::string> checkProblem(const TuneProblemRequest& request) {
    if (!request.strategy.empty())
        TS_TRY(checkStrategyName(request.strategy));
    TS_ASSIGN(const TemporaryFolder scratch, TemporaryFolder::create());
    TS_ASSIGN(const OpenedProblem opened, openProblem(request.file, {scratch.path()}));
    return opened.name;
}

Result<TunedProblem> tuneProblem(const TuneProblemRequest& request, const Work& work) { return ProblemRun(request, work).go(); }

} // namespace tunesmith
