// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/log.h"

#include <mutex>

#include "core/base/printable.h"

namespace tunesmith {
namespace {

std::mutex sinkMutex;
LogSink& sink() {
    static LogSink instance;
    return instance;
}

} // namespace

void setLogSink(LogSink newSink) {
    const std::lock_guard lock(sinkMutex);
    sink() = std::move(newSink);
}

void logMessage(LogLevel level, const std::string& message) {
    const std::lock_guard lock(sinkMutex);
    if (sink())
        sink()(level, printable(message));
}

} // namespace tunesmith
