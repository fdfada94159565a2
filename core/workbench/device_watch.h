// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/executors/tracker_client.h"
#include "core/jobs/stage_board.h"
#include "core/workbench/remote.h"

namespace tunesmith {

// Inside core/workbench only: the resources of a board that are devices of other machines, as many of each key as the trackers of its jobs know; each is asked every second, by a
// thread of its own, for a silent one is waited for. While a tracker is away, what it said last holds. The end waits for nobody.
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
        DeviceChoice choice;                 // tracker and files
        std::map<std::string, int> counts = {}; // of the keys that are wanted of it; guarded by mutex_
        std::jthread thread = {};
    };
    void run(Source& source, const std::stop_token& stop);
    void ask(Source& source, TrackerClient& client);
    void apply(const std::string& key);

    StageBoard& board_;
    bool begun_ = false;
    StopSource ending_;
    std::mutex mutex_; // guards what follows
    std::condition_variable_any wake_;
    std::map<std::string, int> missing_;            // by key
    std::vector<std::unique_ptr<Source>> sources_; // last: their threads use the others
};

} // namespace tunesmith
