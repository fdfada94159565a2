// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_spec.h"

#include <nlohmann/json.hpp>

namespace tunesmith {
namespace {

using nlohmann::json;

template <class T> void put(json& spec, const char* key, const std::optional<T>& value) {
    if (value)
        spec[key] = *value;
}

template <class T> void take(const json& spec, const char* key, T& value) {
    if (spec.contains(key))
        spec.at(key).get_to(value);
}
template <class T> void take(const json& spec, const char* key, std::optional<T>& value) {
    if (spec.contains(key))
        value = spec.at(key).get<T>();
}

// One list of keys for both ways; `Job` is a TuneJob or a const one.
template <class Job, class Visit> void visitKeys(Job& job, Visit visit) {
    auto& tuning = job.tuning;
    visit("dims", job.dimensions);
    visit("weight", job.weight);
    visit("cores", job.cores);
    visit("strategy", tuning.strategy);
    visit("space", tuning.space);
    visit("threads", tuning.threads);
    visit("builders", tuning.builders);
    visit("batch", tuning.batch);
    visit("seed", tuning.seed);
    visit("timeout", tuning.timeoutSeconds);
    visit("transfer", tuning.transfer);
    visit("layouts", tuning.layouts);
    visit("measure_model", tuning.measureModel);
}

template <class Budget, class Visit> void visitBudget(Budget& budget, Visit visit) {
    visit("trials", budget.trialsPerWorkload);
    visit("total_trials", budget.trials);
    visit("seconds", budget.seconds);
    visit("target_ms", budget.targetMs);
}

} // namespace

std::string jobSpec(const TuneJob& job) {
    json now = {{"model", job.model}}, usual;
    const auto into = [](json& spec) { return [&spec](const char* key, const auto& value) { spec[key] = value; }; };
    const TuneJob plain;
    visitKeys(job, into(now));
    visitKeys(plain, into(usual));
    for (const auto& [key, value] : usual.items())
        if (now[key] == value)
            now.erase(key);
    visitBudget(job.tuning.budget, [&](const char* key, const auto& value) { put(now, key, value); });
    return now.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<TuneJob> readJobSpec(const std::string& text) {
    TuneJob job;
    try {
        const json spec = json::parse(text);
        spec.at("model").get_to(job.model);
        visitKeys(job, [&](const char* key, auto& value) { take(spec, key, value); });
        visitBudget(job.tuning.budget, [&](const char* key, auto& value) { take(spec, key, value); });
    } catch (const json::exception& wrong) {
        return inputError("the store does not say what a job is to do (" + std::string(wrong.what()) + "); remove the job and add it again");
    }
    return job;
}

} // namespace tunesmith
