// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_kind.h"

#include <algorithm>
#include <array>

#include "core/measure/machine.h"
#include "core/schedule/stage_gate.h"

namespace tunesmith {
namespace {

constexpr std::array kKinds{&kTuneJobs, &kRewriteJobs, &kProblemJobs};
constexpr int kMostPriority = 1000;

std::vector<JobKey> keysOfAll(TuneJob& job) {
    using In = JobKey::In;
    return {{"kind", &job.kind, 0, 0, In::files},
            {"name", &job.name, 0, 0, In::files},
            {"priority", &job.priority, -kMostPriority, kMostPriority, In::files},
            {"weight", &job.weight},
            {"deadline", &job.deadline},
            {"cores", &job.cores, 0, 1024},
            {"memory", &job.memoryMb, 0, std::numeric_limits<int>::max()},
            {"network", &job.networkMbit, 0, std::numeric_limits<int>::max()},
            {"content", &job.content, 0, 0, In::store}};
}

} // namespace

Result<const JobKind*> jobKind(const std::string& name) {
    std::string known;
    for (const JobKind* const kind : kKinds) {
        if (kind->name == name)
            return kind;
        known += (known.empty() ? "" : ", ") + std::string(kind->name);
    }
    return inputError("there is no kind of job '" + name + "'; there are " + known);
}

std::vector<JobKey> jobKeys(TuneJob& job) {
    std::vector<JobKey> keys = jobKind(job.kind).value()->keys(job);
    std::ranges::copy(keysOfAll(job), std::back_inserter(keys));
    return keys;
}

bool isJobKey(std::string_view name) {
    return std::ranges::any_of(kKinds, [&](const JobKind* kind) {
        TuneJob job;
        job.kind = kind->name;
        return std::ranges::any_of(jobKeys(job), [&](const JobKey& key) { return key.name == name && key.in != JobKey::In::store; });
    });
}

std::int64_t modelFileMb(const std::string& model) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(model, none);
    return none ? 0 : static_cast<std::int64_t>(bytes >> 19);
}

Result<ModelLooks::Look> ModelLooks::at(const TuneJob& job, const Work& work) {
    const std::pair key(job.model, job.dimensions);
    if (const auto known = looks_.find(key); known != looks_.end())
        return known->second;
    TS_ASSIGN(const Model model, openModel(job.model, job.dimensions, work));
    return looks_[key] = {model.name(), model.hash(), model.info().openDimensions};
}

Work JobRun::work() const {
    return {stop, [this](const Progress& progress) { listener.onProgress(progress); }};
}

Status JobRun::allows(const TuneJob& job, int threads) const {
    if (threads <= cores && (threads > 0 || cores == coreCount()))
        return {};
    return inputError("job " + job.name + " may have " + std::to_string(cores) + " of the cores and is to tune for more threads; give it threads = " + std::to_string(cores) + " or less");
}

Result<Model> JobRun::open(const TuneJob& job) const {
    TS_ASSIGN(const auto preparing, gate->enter("prepare", {}, stop));
    return openModel(job.model, job.dimensions, {stop, {}});
}

} // namespace tunesmith
