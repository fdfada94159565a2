// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_timeline.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/workbench/csv.h"

namespace tunesmith {
namespace {

using nlohmann::json;

constexpr int kProcess = 1, kFirstOther = 100'000; // track of what is no core
constexpr const char *kCore = "core", *kMeasuring = "profile"; // which is seen on its cores

double microseconds(double seconds) { return 1e6 * seconds; }

std::string fixedSeconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", seconds);
    return text;
}

} // namespace

const std::vector<int>& JobSlice::cores() const {
    static const std::vector<int> none;
    const auto found = units.find(kCore);
    return found == units.end() ? none : found->second;
}

double JobTimeline::makespan() const {
    double last = 0;
    for (const JobSlice& slice : slices)
        last = std::max(last, slice.end);
    return last;
}

std::string chromeTrace(const JobTimeline& timeline) {
    json events = json::array();
    std::map<std::pair<std::string, int>, int> tracks; // of units, whose numbers they have
    int next = kFirstOther;
    for (const JobSlice& slice : timeline.slices)
        for (const auto& [resource, units] : slice.units) {
            if (resource == kMeasuring)
                continue;
            for (const int unit : units) {
                const auto [track, isNew] = tracks.try_emplace({resource, unit}, resource == kCore ? unit : next);
                next += isNew && resource != kCore ? 1 : 0;
                events.push_back({{"ph", "X"},
                                  {"pid", kProcess},
                                  {"tid", track->second},
                                  {"ts", microseconds(slice.begin)},
                                  {"dur", microseconds(slice.end - slice.begin)},
                                  {"name", slice.stage},
                                  {"cat", timeline.jobs[slice.job]},
                                  {"args", {{"job", timeline.jobs[slice.job]}, {"waited_ms", 1e3 * (slice.begin - slice.called)}, {"expected_ms", 1e3 * slice.expected}}}});
            }
        }
    for (const auto& [unit, track] : tracks)
        events.push_back({{"ph", "M"}, {"pid", kProcess}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", unit.first + " " + std::to_string(unit.second)}}}});
    return json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string slicesAsCsv(const JobTimeline& timeline) {
    std::string text = "job,stage,cores,called_s,begin_s,end_s,expected_s,devices\n";
    for (const JobSlice& slice : timeline.slices) {
        std::string cores, devices;
        for (const int core : slice.cores())
            cores += (cores.empty() ? "" : " ") + std::to_string(core);
        for (const auto& [resource, units] : slice.units)
            for (const int unit : units)
                if (resource != kCore && resource != kMeasuring)
                    devices += (devices.empty() ? "" : "; ") + resource + " " + std::to_string(unit);
        text += csvCell(timeline.jobs[slice.job]) + "," + slice.stage + "," + cores + "," + fixedSeconds(slice.called) + "," + fixedSeconds(slice.begin) + "," + fixedSeconds(slice.end) + "," +
                fixedSeconds(slice.expected) + "," + csvCell(devices) + "\n";
    }
    return text;
}

Status exportTimeline(const JobTimeline& timeline, const std::filesystem::path& file) {
    return writeText(file.extension() == ".csv" ? slicesAsCsv(timeline) : chromeTrace(timeline), file);
}

} // namespace tunesmith
