// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/autotvm/record.h"

namespace tunesmith::autotvm {

// Reads a log line by line; empty lines and comments (#) are passed over. The first line that is no record
// ends it with an error that names file and line, as does an error of `take`.
Status readLog(const std::string& path, const std::function<Status(Record)>& take);
Result<std::vector<Record>> readLog(const std::string& path);

// Writes one line for each record; the file appears whole or not at all.
Status writeLog(const std::string& path, const std::vector<Record>& records);

} // namespace tunesmith::autotvm
