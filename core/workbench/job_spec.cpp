// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_spec.h"

#include <nlohmann/json.hpp>

#include "core/workbench/job_kind.h"

namespace tunesmith {
namespace {

using nlohmann::json;

template <class T> json valueOf(const T& field) { return field; }
template <class T> json valueOf(const std::optional<T>& field) { return field ? json(*field) : json(); }
json valueOf(const std::filesystem::path& field) { return field.string(); }

template <class T> void take(const json& value, T& field) { value.get_to(field); }
template <class T> void take(const json& value, std::optional<T>& field) { field = value.get<T>(); }
void take(const json& value, std::filesystem::path& field) { field = value.get<std::string>(); }

json valueOf(const JobKey& key) {
    return std::visit([](const auto* field) { return valueOf(*field); }, key.field);
}

} // namespace

std::string jobSpec(const TuneJob& job) {
    TuneJob given = job, plain;
    plain.kind = job.kind;
    const std::vector<JobKey> keys = jobKeys(given), usual = jobKeys(plain);
    json spec = json::object();
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (const json value = valueOf(keys[i]); keys[i].in != JobKey::In::files && value != valueOf(usual[i]))
            spec[keys[i].name] = value;
    return spec.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<TuneJob> readJobSpec(const std::string& kind, const std::string& text) {
    TuneJob job;
    job.kind = kind;
    TS_TRY(jobKind(kind).ok() ? Status() : Status(jobKind(kind).error()));
    try {
        const json spec = json::parse(text);
        for (const JobKey& key : jobKeys(job))
            if (key.in != JobKey::In::files && spec.contains(key.name))
                std::visit([&](auto* field) { take(spec.at(key.name), *field); }, key.field);
    } catch (const json::exception& wrong) {
        return inputError("the store does not say what a job is to do (" + std::string(wrong.what()) + "); remove the job and add it again");
    }
    return job;
}

} // namespace tunesmith
