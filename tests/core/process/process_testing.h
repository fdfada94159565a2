// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/sanitizers.h"
#include "core/process/worker_client.h"
#include <QTest>
#include <chrono>
#include <fstream>
#include <string>

namespace tunesmith::testing {

using namespace std::chrono_literals;

inline WorkerOptions testWorker() {
    WorkerOptions options;
    options.executable = TEST_WORKER;
    return options;
}

inline Message request(const std::string& verb, nlohmann::json more = nlohmann::json::object()) {
    more["verb"] = verb;
    return {std::move(more), {}};
}

// A zombie is gone: it only waits for init to read its status.
inline bool processGone(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text))
        return true;
    const auto state = text.rfind(')') + 2;
    return text[state] == 'Z' || text[state] == 'X';
}

inline bool waitGone(pid_t pid, int milliseconds = 5000) {
    return QTest::qWaitFor([pid] { return processGone(pid); }, milliseconds);
}

class Stopwatch {
public:
    double milliseconds() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace tunesmith::testing
