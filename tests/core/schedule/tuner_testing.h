// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/schedule/tuner.h"
#include "schedule_testing.h"

namespace tunesmith::testing {

struct Bench {
    QTemporaryDir folder;
    std::shared_ptr<Store> store = take(Store::open(folder.filePath("t.db").toStdString()));
    Target target = take(hostTarget(1));
};

inline TuneOptions options(std::size_t trials, KernelWorkerOptions workers = testWorkers()) {
    TuneOptions made;
    made.trialsPerWorkload = trials;
    made.workers = std::move(workers);
    made.batch = 4;
    made.seed = 5;
    return made;
}

inline KernelWorkerOptions fakeWorkers(int pauseMs = 0) {
    return testWorkers({{"TEST_FAKE_PROFILE", "1"}, {"TEST_PROFILE_MS", std::to_string(pauseMs)}});
}

inline int childCount() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream stat(entry.path() / "stat");
        std::string text;
        if (!std::getline(stat, text))
            continue;
        std::istringstream rest(text.substr(text.rfind(')') + 2));
        char state = 0;
        int parent = 0;
        rest >> state >> parent;
        count += parent == getpid() && state != 'Z';
    }
    return count;
}

} // namespace tunesmith::testing
