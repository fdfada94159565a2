// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"

namespace tunesmith {

// A stage as it ran: "prepare", "build", "profile" or "update". Seconds since all began.
struct JobSlice {
    std::size_t job = 0;
    std::string stage;
    std::map<std::string, std::vector<int>> units; // of each resource: "core", "profile", "device KEY"
    double called = 0, begin = 0, end = 0;
    double expected = 0; // how long it was thought to take

    const std::vector<int>& cores() const;
};

// A stage that was called for, and whose turn has not come.
struct JobWait {
    std::size_t job = 0;
    std::string stage;
    std::map<std::string, int> needs; // of each resource, memory (MiB) and network (Mbit/s) among them
    std::vector<std::string> lacks;   // of which too little is free; none: there is enough, but others go first
    double called = 0;
};

inline bool isDeviceResource(const std::string& resource) { return resource.starts_with("device "); } // "device KEY": of other machines

// What the stages of jobs did when, on which units of which resources.
struct JobTimeline {
    std::vector<std::string> jobs;        // their names
    std::map<std::string, int> resources; // how many units there are, or were at most
    std::vector<JobSlice> slices;         // in the order of their ends

    double makespan() const; // seconds until the last stage ended
};

// For other programs: as a trace in Chrome's JSON format, which Perfetto opens, and as a table. A trace has a track for each core and device, in microseconds, and further ones of a unit for stages
// that have it at the same time, as those of a lane do: what stands on one track must not overlap.
std::string chromeTrace(const JobTimeline& timeline);
std::string slicesAsCsv(const JobTimeline& timeline); // job,stage,cores,called_s,begin_s,end_s,expected_s,devices
// A table where the name ends in .csv, else a trace; whole or not at all. Written slice by slice: a million of them are no more in memory than a few.
Status exportTimeline(const JobTimeline& timeline, const std::filesystem::path& file, const StopToken& stop = {});

} // namespace tunesmith
