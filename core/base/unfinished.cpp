// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/unfinished.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace tunesmith {
namespace {

constexpr std::chrono::seconds kPatience{2};

struct Unfinished {
    std::mutex mutex;
    std::condition_variable done;
    std::map<std::filesystem::path, RemoveUnfinished> paths;
    int running = 0;    // of doWhole()
    bool ended = false; // no more are made
};

// Never destroyed: a thread may still use it while the program ends.
Unfinished& all() {
    static Unfinished& unfinished = *new Unfinished;
    return unfinished;
}

struct Running {
    ~Running() {
        const std::lock_guard lock(all().mutex);
        --all().running;
        all().done.notify_all();
    }
};

} // namespace

int makeUnfinished(const std::filesystem::path& path, RemoveUnfinished remove, const std::function<int()>& make) {
    const std::lock_guard lock(all().mutex);
    if (all().ended)
        return errno = EINTR, -1;
    const int descriptor = make();
    if (descriptor >= 0)
        all().paths.emplace(path, remove);
    return descriptor;
}

void forgetUnfinished(const std::filesystem::path& path) {
    const std::lock_guard lock(all().mutex);
    all().paths.erase(path);
}

Status doWhole(const std::function<Status()>& steps) {
    {
        const std::lock_guard lock(all().mutex);
        if (all().ended && all().running == 0) // steps that run may be made of others
            return cancelledError();
        ++all().running;
    }
    const Running running;
    return steps();
}

void removeUnfinished() {
    std::unique_lock lock(all().mutex);
    all().ended = true;
    all().done.wait_for(lock, kPatience, [] { return all().running == 0; });
    for (const auto& [path, remove] : all().paths)
        remove(path);
}

} // namespace tunesmith
