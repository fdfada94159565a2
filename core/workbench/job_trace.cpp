// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_trace.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "core/base/atomic_file.h"

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

// In quotes where it has to be (RFC 4180).
std::string csvCell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

} // namespace

std::string chromeTrace(const TunedJobs& tuned) {
    json events = json::array();
    std::set<int> cores;
    for (const JobSlice& slice : tuned.slices)
        for (const int core : slice.cores) {
            cores.insert(core);
            events.push_back({{"ph", "X"},
                              {"pid", kProcess},
                              {"tid", core},
                              {"ts", microseconds(slice.begin)},
                              {"dur", microseconds(slice.end - slice.begin)},
                              {"name", slice.stage},
                              {"cat", tuned.jobs[slice.job].name},
                              {"args", {{"job", tuned.jobs[slice.job].name}, {"waited_ms", 1e3 * (slice.begin - slice.called)}, {"expected_ms", 1e3 * slice.expected}}}});
        }
    for (const int core : cores)
        events.push_back({{"ph", "M"}, {"pid", kProcess}, {"tid", core}, {"name", "thread_name"}, {"args", {{"name", "core " + std::to_string(core)}}}});
    return json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string slicesAsCsv(const TunedJobs& tuned) {
    std::string text = "job,stage,cores,called_s,begin_s,end_s,expected_s\n";
    for (const JobSlice& slice : tuned.slices) {
        std::string cores;
        for (const int core : slice.cores)
            cores += (cores.empty() ? "" : " ") + std::to_string(core);
        text += csvCell(tuned.jobs[slice.job].name) + "," + slice.stage + "," + cores + "," + fixedSeconds(slice.called) + "," + fixedSeconds(slice.begin) + "," + fixedSeconds(slice.end) + "," +
                fixedSeconds(slice.expected) + "\n";
    }
    return text;
}

Status exportSlices(const TunedJobs& tuned, const std::filesystem::path& file) {
    const std::string text = file.extension() == ".csv" ? slicesAsCsv(tuned) : chromeTrace(tuned);
    TS_ASSIGN(AtomicFile out, AtomicFile::create(file));
    TS_TRY(out.write(std::as_bytes(std::span(text))));
    return out.commit();
}

} // namespace tunesmith
