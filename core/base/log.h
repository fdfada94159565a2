// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>

namespace tunesmith {

// The one way in which the core says something that is not a result. The core never prints: an application installs a
// sink (stderr, a dock), which gets one printable line (printable.h). Callable from any thread; the sink must be too. Without a sink, messages are dropped.
enum class LogLevel { debug, info, warning, error };
using LogSink = std::function<void(LogLevel, const std::string&)>;

void setLogSink(LogSink sink);
void logMessage(LogLevel level, const std::string& message);

} // namespace tunesmith
