// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_timeline.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/workbench/csv.h"

namespace tunesmith {
namespace {

using nlohmann::json;

constexpr int kProcess = 1;

double microseconds(double seconds) { return 1e6 * seconds; }

std::string fixedSeconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", seconds);
    return text;
}

} // namespace

const std::vector<int>& JobSlice::cores() const {
    static const std::vector<int> none;
    const auto found = units.find("core");
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
    std::set<int> cores;
    for (const JobSlice& slice : timeline.slices)
        for (const int core : slice.cores()) {
            cores.insert(core);
            events.push_back({{"ph", "X"},
                              {"pid", kProcess},
                              {"tid", core},
                              {"ts", microseconds(slice.begin)},
                              {"dur", microseconds(slice.end - slice.begin)},
                              {"name", slice.stage},
                              {"cat", timeline.jobs[slice.job]},
                              {"args", {{"job", timeline.jobs[slice.job]}, {"waited_ms", 1e3 * (slice.begin - slice.called)}, {"expected_ms", 1e3 * slice.expected}}}});
        }
    for (const int core : cores)
        events.push_back({{"ph", "M"}, {"pid", kProcess}, {"tid", core}, {"name", "thread_name"}, {"args", {{"name", "core " + std::to_string(core)}}}});
    return json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string slicesAsCsv(const JobTimeline& timeline) {
    std::string text = "job,stage,cores,called_s,begin_s,end_s,expected_s\n";
    for (const JobSlice& slice : timeline.slices) {
        std::string cores;
        for (const int core : slice.cores())
            cores += (cores.empty() ? "" : " ") + std::to_string(core);
        text += csvCell(timeline.jobs[slice.job]) + "," + slice.stage + "," + cores + "," + fixedSeconds(slice.called) + "," + fixedSeconds(slice.begin) + "," + fixedSeconds(slice.end) + "," +
                fixedSeconds(slice.expected) + "\n";
    }
    return text;
}

Status exportTimeline(const JobTimeline& timeline, const std::filesystem::path& file) {
    return writeText(file.extension() == ".csv" ? slicesAsCsv(timeline) : chromeTrace(timeline), file);
}

} // namespace tunesmith
