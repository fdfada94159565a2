// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/stored_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/search/trial.h"
#include "core/stats/quantiles.h"

namespace tunesmith::autotvm {
namespace {

using Json = nlohmann::ordered_json;

struct Failure {
    TrialStatus status;
    const char* words;
};

Failure failureOf(ErrorCode error) {
    switch (error) {
    case ErrorCode::none:
        return {TrialStatus::ok, ""};
    case ErrorCode::instantiation:
        return {TrialStatus::buildError, "the schedule refused the config"};
    case ErrorCode::compileHost:
        return {TrialStatus::buildError, "host code was not compiled"};
    case ErrorCode::compileDevice:
        return {TrialStatus::buildError, "device code was not compiled"};
    case ErrorCode::runtimeDevice:
        return {TrialStatus::runError, "it failed on the device"};
    case ErrorCode::wrongAnswer:
        return {TrialStatus::wrongAnswer, "its result was wrong"};
    case ErrorCode::buildTimeout:
        return {TrialStatus::buildTimeout, "building took too long"};
    case ErrorCode::runTimeout:
        return {TrialStatus::runTimeout, "running took too long"};
    case ErrorCode::unknown:
        break;
    }
    return {TrialStatus::runError, "it failed for an unknown reason"};
}

Json entityJson(const std::vector<KnobSetting>& entity) {
    Json json = Json::array();
    for (const KnobSetting& setting : entity)
        json.push_back(Json::array({setting.name, setting.kind, Json::parse(setting.value)}));
    return json;
}

std::string configJson(const Record& record) {
    Json json{{"index", record.index}, {"code_hash", nullptr}, {"entity", entityJson(record.entity)}};
    if (record.codeHash)
        json["code_hash"] = *record.codeHash;
    return json.dump();
}

// "1x768 * 768x768": the tensors among the arguments.
std::string shapeText(const Task& task) {
    std::string out;
    for (const Json& argument : Json::parse(task.args)) {
        if (!argument.is_array() || argument.size() < 2 || argument[0] != "TENSOR" || !argument[1].is_array())
            continue;
        out += out.empty() ? "" : " * ";
        bool first = true;
        for (const Json& extent : argument[1]) {
            out += (first ? "" : "x") + extent.dump();
            first = false;
        }
    }
    return out;
}

double valueOf(const TrialRow& trial, const char* name) {
    const auto found = std::ranges::find(trial.objectives, name, &Objective::name);
    return found == trial.objectives.end() ? -1 : found->value;
}

// The line that such a record would have, but for the result, so that one reader judges all.
Json inputLine(const RunRow& run, const WorkloadRow& workload, const Config& config) {
    Json line = Json::object();
    const Json task = parseJson<Json>({reinterpret_cast<const char*>(workload.graph.data()), workload.graph.size()});
    const Json options = parseJson<Json>(run.options);
    if (!task.is_array() || task.size() != 3 || !options.is_object())
        return line;
    line["input"] = Json::array({run.targetKey, task[0], task[1], task[2]});
    line["config"] = parseJson<Json>(config.payload);
    line["version"] = kRecordVersion;
    if (options.contains("tvm_version") && options["tvm_version"].is_string())
        line["tvm_version"] = options["tvm_version"];
    return line;
}

} // namespace

MachineRow importedMachine() {
    return {{}, kImportedMachine, "not known: from AutoTVM logs", "", 1, "{}"};
}

RunRow importedRun(TargetId target, const std::optional<std::string>& tvmVersion, const std::string& file) {
    const Json options{{"format", "autotvm"},
                       {"file", file},
                       {"tvm_version", tvmVersion ? Json(*tvmVersion) : Json()},
                       {"measure_again", true}};
    RunRow run;
    run.kind = kImportedKind;
    run.target = target;
    run.strategy = "AutoTVM log";
    run.options = options.dump(-1, ' ', false, Json::error_handler_t::replace);
    return run;
}

std::string workloadKey(const Task& task) {
    return hexHash(Hasher().add("AutoTVM task").add(task.name).add(task.args).add(task.keywords).value());
}

WorkloadRow workloadRow(const Task& task, double flops) {
    const std::string shape = shapeText(task);
    const std::string text =
        Json::array({task.name, Json::parse(task.args), Json::parse(task.keywords)}).dump();
    return {workloadKey(task), task.name + " " + shape, task.name, shape, {text.begin(), text.end()}, flops};
}

TrialRow trialRow(const Record& record, const std::optional<Config>& config) {
    const Failure failure = failureOf(record.error);
    Config stored = config.value_or(Config());
    stored.payload = configJson(record);
    TrialRow trial;
    trial.workload = workloadKey(record.task);
    trial.config = stored.text();
    trial.configHash = stored.hash();
    trial.status = trialStatusName(failure.status);
    trial.detail = failure.words;
    trial.measuredAt = std::max<std::int64_t>(1, static_cast<std::int64_t>(record.timestamp * 1000));
    if (record.ok()) {
        std::vector<double> times;
        for (const double cost : record.costs) {
            times.push_back(cost * 1e3);
            trial.samples.push_back(static_cast<float>(cost * 1e3));
        }
        trial.p5Ms = quantileInPlace(times, 0.05);
        trial.objectives.push_back({"time", *trial.p5Ms, "ms"});
    }
    for (const double cost : record.costs)
        trial.objectives.push_back({"cost", cost, "s"});
    trial.objectives.push_back({"error_code", static_cast<double>(record.error), ""});
    trial.objectives.push_back({"seconds_taken", record.allCost, "s"});
    trial.objectives.push_back({"time_stamp", record.timestamp, "s"});
    return trial;
}

Result<Record> storedRecord(const RunRow& run, const WorkloadRow& workload, const TrialRow& trial) {
    const Error damaged = inputError("trial " + std::to_string(trial.id.value()) +
                                     " of the store was imported, but holds no AutoTVM record any more");
    const auto config = Config::parse(trial.config);
    if (!config.ok())
        return damaged;
    Json line = inputLine(run, workload, config.value());
    Json costs = Json::array();
    for (const Objective& objective : trial.objectives)
        if (objective.name == "cost")
            costs.push_back(objective.value);
    const double error = valueOf(trial, "error_code");
    const std::int64_t code = error >= 0 && error < 100 ? static_cast<std::int64_t>(error) : -1;
    line["result"] =
        Json::array({costs, code, valueOf(trial, "seconds_taken"), valueOf(trial, "time_stamp")});
    if (line["config"].is_discarded())
        return damaged;
    auto record = parseRecord(line.dump(-1, ' ', false, Json::error_handler_t::replace));
    return record.ok() ? record : Result<Record>(damaged);
}

} // namespace tunesmith::autotvm
