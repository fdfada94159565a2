// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_timeline.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/workbench/csv.h"

namespace tunesmith {
namespace {

constexpr int kFirstOther = 100'000; // track of what is no core
constexpr const char *kCore = "core", *kMeasuring = "profile"; // which is seen on its cores
constexpr std::size_t kPiece = 1 << 16; // characters that are written at a time

// Whatever the locale; what is no number is the word for that.
std::string fixedText(double value, int decimals, const char* otherwise) {
    char text[400];
    const auto end = std::to_chars(text, std::end(text), value, std::chars_format::fixed, decimals);
    return std::isfinite(value) && end.ec == std::errc() ? std::string(text, end.ptr) : otherwise;
}

std::string fixedSeconds(double seconds) { return fixedText(seconds, 6, "nan"); }
std::string jsonMilliseconds(double seconds) { return fixedText(1e3 * seconds, 6, "null"); }

// Whole ones, so that what ends when another one begins does so in the trace.
std::int64_t nanoseconds(double seconds) {
    constexpr double kMost = 9e18;
    return std::isfinite(seconds) ? std::llround(std::clamp(1e9 * seconds, -kMost, kMost)) : 0;
}

std::string microseconds(std::int64_t ns) {
    std::string text = std::to_string(std::abs(ns));
    text.insert(0, text.size() < 4 ? 4 - text.size() : 0, '0');
    text.insert(text.size() - 3, ".");
    return (ns < 0 ? "-" : "") + text;
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

using PieceSink = std::function<Status(const std::string&)>;

// Gathers small texts for a sink.
class PieceWriter {
public:
    explicit PieceWriter(const PieceSink& sink) : sink_(sink) {}

    Status add(const std::string& text) {
        piece_ += text;
        return piece_.size() < kPiece ? Status() : flush();
    }
    Status flush() {
        TS_TRY(sink_(piece_));
        piece_.clear();
        return {};
    }

private:
    const PieceSink& sink_;
    std::string piece_;
};

// Tracks of a trace: the first one of a core has its number.
class TraceTracks {
public:
    int take(const std::string& resource, int unit, std::int64_t begin, std::int64_t end) { // begins never go back
        std::vector<Track>& tracks = tracks_[{resource, unit}];
        auto free = std::ranges::find_if(tracks, [&](const Track& track) { return track.until <= begin; });
        if (free == tracks.end())
            free = tracks.insert(tracks.end(), Track{resource == kCore && tracks.empty() && unit >= 0 && unit < kFirstOther ? unit : next_++, begin});
        free->until = end;
        return free->number;
    }
    std::vector<std::pair<int, std::string>> names() const {
        std::vector<std::pair<int, std::string>> names;
        for (const auto& [unit, tracks] : tracks_)
            for (std::size_t i = 0; i < tracks.size(); ++i)
                names.emplace_back(tracks[i].number, unit.first + " " + std::to_string(unit.second) + (i == 0 ? "" : ", beside " + std::to_string(i)));
        return names;
    }

private:
    struct Track {
        int number = 0;
        std::int64_t until = 0; // ns
    };
    std::map<std::pair<std::string, int>, std::vector<Track>> tracks_;
    int next_ = kFirstOther;
};

std::vector<std::size_t> byBegin(const std::vector<JobSlice>& slices) {
    std::vector<std::size_t> order(slices.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return nanoseconds(slices[i].begin); });
    return order;
}

Status writeTrace(const JobTimeline& timeline, const PieceSink& sink, const StopToken& stop) {
    std::vector<std::string> jobs;
    std::ranges::transform(timeline.jobs, std::back_inserter(jobs), quoted);
    PieceWriter out(sink);
    TraceTracks tracks;
    const char* between = "\n";
    TS_TRY(out.add("{\"displayTimeUnit\":\"ms\",\"traceEvents\":["));
    for (const std::size_t i : byBegin(timeline.slices)) {
        if (stop.stopRequested())
            return cancelledError();
        const JobSlice& slice = timeline.slices[i];
        const std::int64_t begin = nanoseconds(slice.begin), end = std::max(begin, nanoseconds(slice.end));
        const std::string text = ",\"ts\":" + microseconds(begin) + ",\"dur\":" + microseconds(end - begin) + ",\"name\":" + quoted(slice.stage) + ",\"cat\":" + jobs[slice.job] +
                                 ",\"args\":{\"job\":" + jobs[slice.job] + ",\"waited_ms\":" + jsonMilliseconds(slice.begin - slice.called) + ",\"expected_ms\":" + jsonMilliseconds(slice.expected) + "}}";
        for (const auto& [resource, units] : slice.units) {
            if (resource == kMeasuring)
                continue;
            for (const int unit : units) {
                TS_TRY(out.add(between + std::string("{\"ph\":\"X\",\"pid\":1,\"tid\":") + std::to_string(tracks.take(resource, unit, begin, end)) + text));
                between = ",\n";
            }
        }
    }
    for (const auto& [track, name] : tracks.names())
        TS_TRY(out.add(",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" + std::to_string(track) + ",\"name\":\"thread_name\",\"args\":{\"name\":" + quoted(name) + "}}"));
    TS_TRY(out.add("\n]}\n"));
    return out.flush();
}

std::string csvLine(const JobTimeline& timeline, const JobSlice& slice) {
    std::string cores, devices;
    for (const int core : slice.cores())
        cores += (cores.empty() ? "" : " ") + std::to_string(core);
    for (const auto& [resource, units] : slice.units)
        for (const int unit : units)
            if (resource != kCore && resource != kMeasuring)
                devices += (devices.empty() ? "" : "; ") + resource + " " + std::to_string(unit);
    return csvCell(timeline.jobs[slice.job]) + "," + csvCell(slice.stage) + "," + cores + "," + fixedSeconds(slice.called) + "," + fixedSeconds(slice.begin) + "," + fixedSeconds(slice.end) + "," +
           fixedSeconds(slice.expected) + "," + csvCell(devices) + "\n";
}

Status writeCsv(const JobTimeline& timeline, const PieceSink& sink, const StopToken& stop) {
    PieceWriter out(sink);
    TS_TRY(out.add("job,stage,cores,called_s,begin_s,end_s,expected_s,devices\n"));
    for (const JobSlice& slice : timeline.slices) {
        if (stop.stopRequested())
            return cancelledError();
        TS_TRY(out.add(csvLine(timeline, slice)));
    }
    return out.flush();
}

using TimelineWriter = Status (*)(const JobTimeline&, const PieceSink&, const StopToken&);

std::string wholeText(const JobTimeline& timeline, TimelineWriter write) {
    std::string whole;
    const Status written = write(timeline, [&](const std::string& piece) -> Status {
        whole += piece;
        return {};
    }, {});
    assert(written.ok());
    static_cast<void>(written);
    return whole;
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

std::string chromeTrace(const JobTimeline& timeline) { return wholeText(timeline, &writeTrace); }

std::string slicesAsCsv(const JobTimeline& timeline) { return wholeText(timeline, &writeCsv); }

Status exportTimeline(const JobTimeline& timeline, const std::filesystem::path& file, const StopToken& stop) {
    TS_ASSIGN(AtomicFile out, AtomicFile::create(file));
    const PieceSink sink = [&](const std::string& piece) { return out.write(std::as_bytes(std::span(piece))); };
    TS_TRY((file.extension() == ".csv" ? writeCsv : writeTrace)(timeline, sink, stop));
    return out.commit();
}

} // namespace tunesmith
