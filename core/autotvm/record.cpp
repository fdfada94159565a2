// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/record.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/json_text.h"

namespace tunesmith::autotvm {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 32;      // of lists within lists
constexpr double kLongest = 1e12; // seconds, of costs and of the time since 1970
constexpr double kFailureCost = 1e9; // AutoTVM's own placeholder

Error wrong(const std::string& what) {
    return inputError("this is no AutoTVM record: " + what);
}

std::string brief(const std::string& text) {
    return text.substr(0, 80);
} // for sentences

// Python writes numbers that JSON has not; null takes their place outside of texts.
std::string withoutStrangeNumbers(std::string_view line) {
    std::string text;
    bool quoted = false;
    while (!line.empty()) {
        const bool escaped = quoted && line[0] == '\\' && line.size() > 1;
        quoted = quoted != (line[0] == '"');
        std::size_t strange = 0;
        for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
            if (!quoted && strange == 0 && line.starts_with(word))
                strange = word.size();
        text += strange ? "null" : std::string(line.substr(0, escaped ? 2 : 1));
        line.remove_prefix(strange ? strange : escaped ? 2 : 1);
    }
    return text;
}

Result<Json> parseLine(std::string_view line) {
    bool deep = false;
    const auto watch = [&deep](int depth, Json::parse_event_t, Json&) { return !(deep |= depth > kDeepest); };
    Json json = Json::parse(line, watch, false);
    if (json.is_discarded() && !deep)
        json = Json::parse(withoutStrangeNumbers(line), watch, false);
    if (deep)
        return wrong("it has lists more than " + std::to_string(kDeepest) + " deep");
    if (!json.is_object())
        return wrong("the line is no JSON object; it may be cut off, or hold a number that JSON has not");
    return json;
}

Status checkMembers(const Json& json, const char* where, std::initializer_list<const char*> required,
                    std::initializer_list<const char*> optional) {
    if (!json.is_object())
        return wrong(std::string(where) + " is no object");
    for (const char* name : required)
        if (!json.contains(name))
            return wrong(std::string(where) + " has no member '" + name + "'");
    const auto known = [&](const std::string& key) {
        const auto is = [&](const char* name) { return key == name; };
        return std::ranges::any_of(required, is) || std::ranges::any_of(optional, is);
    };
    for (const auto& item : json.items())
        if (!known(item.key()))
            return wrong(std::string(where) + " has the member '" + brief(item.key()) +
                         "', which version 0.2 does not know");
    return {};
}

Status readNumber(const Json& json, const char* what, double lowest, double highest, double& out) {
    if (!json.is_number())
        return wrong(std::string(what) + " is no number");
    out = json.get<double>();
    if (!(out >= lowest && out <= highest))
        return wrong(std::string(what) + " " + json.dump() + " is out of range");
    return {};
}

Status readInput(const Json& json, Record& record) {
    if (!json.is_array() || json.size() != 4 || !json[0].is_string() || !json[1].is_string() ||
        !json[2].is_array() || !json[3].is_object())
        return wrong("'input' is not [target, task, arguments, keywords]");
    record.target = json[0].get<std::string>();
    record.task = {json[1].get<std::string>(), json[2].dump(), json[3].dump()};
    if (record.target.empty() || record.task.name.empty())
        return wrong("its target or its task is empty");
    return {};
}

bool listOf(const Json& json, bool (Json::*is)() const noexcept) {
    return json.is_array() && std::ranges::all_of(json, [is](const Json& item) { return (item.*is)(); });
}

Status readSetting(const Json& json, std::vector<KnobSetting>& entity) {
    if (!json.is_array() || json.size() != 3 || !json[0].is_string() || !json[1].is_string())
        return wrong("a knob in 'entity' is not [name, kind, value]");
    KnobSetting setting{json[0].get<std::string>(), json[1].get<std::string>(), json[2].dump()};
    const bool numbers = listOf(json[2], &Json::is_number_integer);
    const bool words = listOf(json[2], &Json::is_string);
    const bool fits = setting.kind == "sp" || setting.kind == "re" ? numbers
                      : setting.kind == "an"                       ? words
                                                                   : setting.kind == "ot";
    if (!fits)
        return wrong("the knob '" + brief(setting.name) + "' of kind '" + brief(setting.kind) +
                     "' has the value " + brief(setting.value));
    entity.push_back(std::move(setting));
    return {};
}

Status readConfig(const Json& json, Record& record) {
    TS_TRY(checkMembers(json, "'config'", {"index", "entity"}, {"code_hash"}));
    const Json& index = json["index"];
    if (!index.is_number_integer() ||
        (index.is_number_unsigned() && index.get<std::uint64_t>() > INT64_MAX) ||
        index.get<std::int64_t>() < -1)
        return wrong("the index " + brief(index.dump()) + " of the config is no whole number from -1 on");
    record.index = index.get<std::int64_t>();
    if (!json.contains("code_hash"))
        return wrong("'config' has no member 'code_hash'");
    if (const Json& hash = json["code_hash"]; hash.is_string())
        record.codeHash = hash.get<std::string>();
    else if (!hash.is_null())
        return wrong("'code_hash' is neither text nor null");
    if (!json["entity"].is_array())
        return wrong("'entity' is no list");
    for (const Json& setting : json["entity"])
        TS_TRY(readSetting(setting, record.entity));
    return {};
}

Status readResult(const Json& json, Record& record) {
    if (!json.is_array() || json.size() != 4 || !json[0].is_array() || !json[1].is_number_integer())
        return wrong("'result' is not [costs, error, seconds, time]");
    bool measured = true; // a cost that is none is a failure, whatever the record says
    for (const Json& cost : json[0]) {
        double& seconds = record.costs.emplace_back(kFailureCost);
        if (!cost.is_null())
            TS_TRY(readNumber(cost, "the cost", -kLongest, kLongest, seconds));
        measured = measured && !cost.is_null() && seconds > 0;
    }
    constexpr auto kLast = static_cast<std::int64_t>(ErrorCode::unknown);
    const bool huge = json[1].is_number_unsigned() && json[1].get<std::uint64_t>() > kLast;
    if (huge || json[1].get<std::int64_t>() < 0)
        return wrong("there is no error code " + json[1].dump());
    record.error = static_cast<ErrorCode>(json[1].get<std::int64_t>());
    if (record.ok() && record.costs.empty())
        return wrong("it succeeded but has no costs");
    if (!measured) {
        record.error = record.ok() ? ErrorCode::unknown : record.error;
        record.costs = {kFailureCost};
    }
    TS_TRY(readNumber(json[2], "the time that measuring took", 0, kLongest, record.allCost));
    return readNumber(json[3], "the time since 1970", 0, kLongest, record.timestamp);
}

Status readVersion(const Json& json, Record& record) {
    if (json["version"] != kRecordVersion)
        return wrong("its version is " + brief(json["version"].dump()) + ", and only 0.2 is read");
    if (!json.contains("tvm_version"))
        return {};
    if (!json["tvm_version"].is_string())
        return wrong("'tvm_version' is no text");
    record.tvmVersion = json["tvm_version"].get<std::string>();
    return {};
}

} // namespace

std::optional<std::vector<std::int64_t>> KnobSetting::numbers() const {
    const Json json = parseJson<Json>(value);
    if (!listOf(json, &Json::is_number_integer))
        return std::nullopt;
    return json.get<std::vector<std::int64_t>>();
}

double Record::meanCost() const {
    if (costs.empty())
        return kLongest;
    std::vector<double> counted = costs;
    if (counted.size() > 2) {
        std::ranges::sort(counted);
        counted = {counted.begin() + 1, counted.end() - 1};
    }
    return std::accumulate(counted.begin(), counted.end(), 0.0) / static_cast<double>(counted.size());
}

Result<Record> parseRecord(std::string_view line) {
    TS_ASSIGN(const Json json, parseLine(line));
    if (json.contains("i") && json.contains("r"))
        return wrong(json.contains("v") && json["v"].is_string() ? "it is one of TVM's auto-scheduler (Ansor), whose schedules are no configs of templates; only AutoTVM's logs are read"
                                                                 : "it has the form of version 0.1, and only 0.2 is read");
    TS_TRY(checkMembers(json, "the record", {"input", "config", "result", "version"}, {"tvm_version"}));
    Record record;
    TS_TRY(readVersion(json, record));
    TS_TRY(readInput(json["input"], record));
    TS_TRY(readConfig(json["config"], record));
    TS_TRY(readResult(json["result"], record));
    return record;
}

std::string recordLine(const Record& record) {
    const auto parsed = [](const std::string& text) { return parseJson<Json>(text); };
    Json entity = Json::array();
    for (const KnobSetting& setting : record.entity)
        entity.push_back(Json::array({setting.name, setting.kind, parsed(setting.value)}));
    Json json;
    json["input"] = Json::array(
        {record.target, record.task.name, parsed(record.task.args), parsed(record.task.keywords)});
    json["config"] = {{"index", record.index},
                      {"code_hash", record.codeHash ? Json(*record.codeHash) : Json()},
                      {"entity", std::move(entity)}};
    json["result"] =
        Json::array({record.costs, static_cast<int>(record.error), record.allCost, record.timestamp});
    json["version"] = kRecordVersion;
    if (record.tvmVersion)
        json["tvm_version"] = *record.tvmVersion;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::size_t> fastest(const std::vector<Record>& records) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < records.size(); ++i)
        if (records[i].ok() && (!best || records[i].meanCost() < records[*best].meanCost()))
            best = i;
    return best;
}

} // namespace tunesmith::autotvm
