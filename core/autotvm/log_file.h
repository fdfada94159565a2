// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/autotvm/record.h"

namespace tunesmith::autotvm {

// Lines of a log that are no records, as a tuning leaves that was killed while it wrote.
struct LogDamage {
    std::int64_t lines = 0;
    std::string first; // which is the first, and why it is none; with the name of the file
};

// Reads a log line by line; empty lines and comments (#) are passed over, and so is what is damaged where anything is not: a log of
// which no line is a record is an error that names the first, as is an error of `take`.
Result<LogDamage> readLog(const std::string& path, const std::function<Status(Record)>& take);
Result<std::vector<Record>> readLog(const std::string& path);

// Writes one line for each record; the file appears whole or not at all.
Status writeLog(const std::string& path, const std::vector<Record>& records);

} // namespace tunesmith::autotvm
