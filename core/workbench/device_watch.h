// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/executors/tracker_client.h"
#include "core/jobs/stage_board.h"
#include "core/workbench/remote.h"

namespace tunesmith {

// Inside core/workbench only: the resources of a board that are devices of other machines, as many of each key as the trackers of its jobs know; they are asked every second. While a
// tracker is away, what it said last holds.
class DeviceWatch {
public:
    explicit DeviceWatch(StageBoard& board) : board_(board) {}
    ~DeviceWatch();

    static std::string resourceOf(const std::string& key) { return "device " + key; }
    void add(const DeviceChoice& choice); // by the thread that begins
    void begin();
    // A lane that lost its device in the middle of a stage keeps its turn until it has another one. It counts as one device more, so that it keeps nobody from theirs.
    void countMissing(const std::string& key, bool missing);

private:
    struct Source {
        DeviceChoice choice; // tracker and files
        std::set<std::string> keys = {};
        std::unique_ptr<TrackerClient> client = {};
        std::map<std::string, int> counts = {};
    };
    struct Amount {
        int known = 0, missing = 0;
    };
    void run(const std::stop_token& stop);
    void takeAdded();
    void look();
    static void ask(Source& source);
    void apply(const std::string& key);

    StageBoard& board_;
    bool begun_ = false;
    std::vector<Source> sources_; // of the thread
    std::mutex mutex_;            // guards what follows
    std::vector<DeviceChoice> added_; // for the thread
    std::condition_variable_any wake_;
    std::map<std::string, Amount> amounts_; // by key
    std::jthread thread_;                   // last: it uses the others
};

} // namespace tunesmith
