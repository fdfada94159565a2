// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "app/cli/progress_line.h"
#include "core/base/result.h"
#include "core/workbench/inputs.h"
#include "core/workbench/model.h"

namespace tunesmith::cli {

using Json = nlohmann::ordered_json;

inline constexpr const char* kSpaceOfModule =
    "Only schedules of this space (default: tunesmith, and records of others that are faster)";
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2, kCancelled = 130;

// What the commands of one call share: options that several of them take, the wish to stop, and where results
// go. With
// --json stdout gets exactly one JSON object when the work came to a result, and nothing otherwise; the
// sentence that says why goes to stderr in any case.
class Session {
public:
    explicit Session(StopToken stopToken) : stop(std::move(stopToken)) {}
    ~Session(); // warnings are dropped from there on

    // Each adds the option of its name to a command.
    void addJson(CLI::App& command);
    void addMemory(CLI::App& command);     // of a command that reads models
    void addDimensions(CLI::App& command); // with the memory
    void addDimensionRanges(CLI::App& command); // instead of addDimensions
    void addThreads(CLI::App& command, const std::string& byDefault = "all cores");
    void addBuilders(CLI::App& command);
    void addSeed(CLI::App& command);
    void addStore(CLI::App& command);
    void addTrust(CLI::App& command); // of commands that run modules
    void addSpace(CLI::App& command, const std::string& help);
    void addInputs(CLI::App& command); // with the seed

    Work work() {
        return {stop, [this](const Progress& report) { progress.show(report); }};
    }
    Result<InputChoice> inputChoice() const;
    // openModel() with the dimensions that were given; what the file says and is not so goes to stderr.
    Result<Model> open(const std::string& fileOrSample);
    // The result for whoever asked: JSON or text. Gives `status`, or says why stdout cannot be written to.
    Result<int> print(const Json& object, const std::string& text, int status = kDone);

    void boundMemory() const; // before the action: the limit that was given, or what the machine has left
    void logWarnings();       // of the core on stderr, each once

    // The command to carry out, chosen while the command line is read. It returns an exit status.
    std::function<Result<int>()> action;

    const StopToken stop;
    ProgressLine progress;
    bool json = false, trust = false;
    Dimensions dimensions;
    DimensionRanges ranges; // of addDimensionRanges; dimensions then has those of one value
    int threads = 0, builders = 0;
    std::uint64_t seed = 1;
    std::string store, space;

private:
    std::vector<std::string> inputs_;
    std::set<std::string> inputNames_;
    std::vector<const CLI::App*> modelCommands_; // of addMemory
    std::int64_t memory_ = 0;                    // bytes; 0: not given
};

// Every command is a function that adds itself to the command line; commands.cpp lists them.
using AddCommand = void (*)(CLI::App& app, Session& session);
const std::vector<AddCommand>& commands();

void addBench(CLI::App& app, Session& session);
void addCompile(CLI::App& app, Session& session);
void addConformance(CLI::App& app, Session& session);
void addExperiment(CLI::App& app, Session& session);
void addDevices(CLI::App& app, Session& session);
void addExport(CLI::App& app, Session& session);
void addInfo(CLI::App& app, Session& session);
void addJobs(CLI::App& app, Session& session);
void addJobQueue(CLI::App& jobs, Session& session); // below the command of addJobs
void addMachine(CLI::App& app, Session& session);
void addModels(CLI::App& app, Session& session);
void addOptimize(CLI::App& app, Session& session);
void addPlugins(CLI::App& app, Session& session);
void addRules(CLI::App& app, Session& session);
void addRuleStore(CLI::App& rules, Session& session); // these are below the command of addRules
void addRuleTrials(CLI::App& rules, Session& session);
void addRun(CLI::App& app, Session& session);
void addServer(CLI::App& app, Session& session);
void addStore(CLI::App& app, Session& session);
void addSweep(CLI::App& app, Session& session);
void addTasks(CLI::App& app, Session& session);
void addInspect(CLI::App& app, Session& session);
void addTracker(CLI::App& app, Session& session);
void addTune(CLI::App& app, Session& session);
void addVersion(CLI::App& app, Session& session);

Status printOut(const std::string& text); // to stdout; an Error where it cannot be written to
// For CLI::Option::check(): what it refuses is wrong usage.
std::function<std::string(const std::string&)> asCheck(Status (*check)(const std::string&));

// --memory as "1GiB", "512MiB" or a number of GiB; `take` gets bytes.
CLI::Option* addMemoryOption(CLI::App& command, const std::string& help, std::function<void(std::int64_t)> take);
Json tensorJson(const TensorSpec& tensor); // {name, type, shape}
inline Json optionalNumber(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

} // namespace tunesmith::cli
