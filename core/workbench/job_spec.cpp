// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"
#include "core/module/module_info.h"
#include "core/onnx/utf8.h"
#include "core/process/json_number.h"
#include "core/store/rows.h"
#include "core/workbench/job_kind.h"

namespace tunesmith {
namespace {

using nlohmann::json;

template <class T> json valueOf(const T& field) { return field; }
template <class T> json valueOf(const std::optional<T>& field) { return field ? json(*field) : json(); }
json valueOf(const std::filesystem::path& field) { return field.string(); }

template <class T> void take(const json& value, T& field) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        field = wholeNumber<T>(value);
    else
        value.get_to(field);
}
template <class T> void take(const json& value, std::optional<T>& field) { take(value, field.emplace()); }
void take(const json& value, std::filesystem::path& field) { field = value.get<std::string>(); }
void take(const json& value, Dimensions& field) {
    for (const auto& [name, extent] : value.get_ref<const json::object_t&>())
        field[name] = wholeNumber<std::int64_t>(extent);
}

// Numbers of a store are held to what files may say.
template <class T> bool isPossible(const JobKey& key, const T& field) {
    if constexpr (std::is_same_v<T, double>)
        return key.takes(field);
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        return std::in_range<std::int64_t>(field) && key.takes(static_cast<std::int64_t>(field));
    else
        return true;
}
bool isPossible(const JobKey& key, const Dimensions& field) {
    return std::ranges::all_of(field, [&](const auto& entry) { return key.takes(entry.second); });
}
template <class T> bool isPossible(const JobKey& key, const std::optional<T>& field) { return !field || isPossible(key, *field); }

// One list of keys for both ways; `Outcome` may be const.
template <class Outcome, class Visit> void visitOutcome(Outcome& outcome, Visit visit) {
    visit("unit", outcome.unit);
    visit("before", outcome.before);
    visit("after", outcome.after);
    visit("measured_before_ms", outcome.measuredBeforeMs);
    visit("measured_after_ms", outcome.measuredAfterMs);
    visit("file", outcome.file);
    visit("remark", outcome.remark);
}

// The store keeps text: another byte would be replaced, and the job would be about another file.
Status requireText(const JobKey& key) {
    const auto* const name = std::get_if<std::string*>(&key.field);
    const auto* const path = std::get_if<std::filesystem::path*>(&key.field);
    std::string text = name ? **name : path ? (*path)->string() : std::string();
    if (const auto* const dimensions = std::get_if<Dimensions*>(&key.field))
        for (const auto& [dimension, extent] : **dimensions)
            text += dimension;
    if (isUtf8(text))
        return {};
    return inputError("the " + std::string(key.name) + " of a job, '" + text + "', is no UTF-8 text, as which jobs are kept; rename the file or its folder");
}

json valueOf(const JobKey& key) {
    return std::visit([](const auto* field) { return valueOf(*field); }, key.field);
}

} // namespace

Result<std::string> jobSpec(const TuneJob& job) {
    TuneJob given = job, plain;
    plain.kind = job.kind;
    const std::vector<JobKey> keys = jobKeys(given), usual = jobKeys(plain);
    json spec = json::object();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        TS_TRY(requireText(keys[i]));
        if (const json value = valueOf(keys[i]); keys[i].in != JobKey::In::files && value != valueOf(usual[i]))
            spec[keys[i].name] = value;
    }
    return writeJson(spec);
}

Result<TuneJob> readJobSpec(const std::string& kind, const std::string& text) {
    TuneJob job;
    job.kind = kind;
    TS_ASSIGN([[maybe_unused]] const JobKind* const known, jobKind(kind));
    try {
        const json spec = parseJson<json>(text);
        if (!spec.is_object())
            return inputError("the store does not say what a job is to do; remove the job and add it again");
        for (const JobKey& key : jobKeys(job)) {
            if (key.in == JobKey::In::files || !spec.contains(key.name))
                continue;
            std::visit([&](auto* field) { take(spec.at(key.name), *field); }, key.field);
            if (!std::visit([&](const auto* field) { return isPossible(key, *field); }, key.field))
                return inputError("the store asks for a job whose " + std::string(key.name) + " no job can have; remove the job and add it again");
        }
    } catch (const json::exception& wrong) {
        return inputError("the store does not say what a job is to do (" + reasonOf(wrong) + "); remove the job and add it again");
    }
    return job;
}

Result<TuneJob> readJobRow(const JobRow& row) {
    auto job = readJobSpec(row.kind, row.what);
    if (!job.ok())
        return job.error().within("job " + std::to_string(row.id.value()));
    job->name = row.name;
    job->priority = row.priority;
    return job;
}

std::string outcomeSpec(const JobOutcome& outcome) {
    json spec = json::object();
    visitOutcome(outcome, [&](const char* key, const auto& value) { spec[key] = valueOf(value); });
    return writeJson(spec);
}

JobOutcome readOutcomeSpec(const std::string& text) {
    JobOutcome outcome;
    const json spec = parseJson<json>(text);
    const auto read = [&](const char* key, auto& value) {
        if (spec.contains(key) && !spec.at(key).is_null())
            take(spec.at(key), value);
    };
    try {
        if (spec.is_object())
            visitOutcome(outcome, read);
    } catch (const json::exception&) {
        return {};
    }
    return outcome;
}

} // namespace tunesmith
