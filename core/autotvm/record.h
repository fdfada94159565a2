// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith::autotvm {

// What was tuned: the name of a template and the arguments it was called with. Arguments are JSON texts.
struct Task {
    std::string name;            // "dense_pack.x86"
    std::string args = "[]";     // JSON array; a tensor is ["TENSOR", shape, type]
    std::string keywords = "{}"; // JSON object
    bool operator==(const Task&) const = default;
};

// One knob of a config as records write it. Kinds: "sp" a split (list of sizes), "re" an order of loops (list
// of places), "an" annotations (list of words), "ot" any other value.
struct KnobSetting {
    std::string name;
    std::string kind;
    std::string value; // compact JSON
    bool operator==(const KnobSetting&) const = default;

    std::optional<std::vector<std::int64_t>> numbers() const; // of a list of whole numbers
};

enum class ErrorCode {
    none,
    instantiation, // the schedule refused the config
    compileHost,
    compileDevice,
    runtimeDevice,
    wrongAnswer,
    buildTimeout,
    runTimeout,
    unknown,
};

// One measured config: a line of an AutoTVM log of version 0.2.
struct Record {
    std::string target; // "llvm -mcpu=skylake-avx512"
    Task task;
    std::int64_t index = 0; // of the config in its space; -1: of no space
    std::optional<std::string> codeHash;
    std::vector<KnobSetting> entity; // the config
    std::vector<double> costs;       // seconds; of a failure one placeholder, also where the log has a cost that is none (Infinity, NaN, 0)
    ErrorCode error = ErrorCode::none;
    double allCost = 0;   // seconds that building and measuring took
    double timestamp = 0; // seconds since 1970
    std::optional<std::string> tvmVersion;
    bool operator==(const Record&) const = default;

    bool ok() const { return error == ErrorCode::none; }
    double
    meanCost() const; // as AutoTVM compares: of more than two costs the largest and the least do not count
};

inline constexpr double kRecordVersion = 0.2;

// From a line and back to it: equal values, not always equal spaces. Errors say what is wrong with the line,
// not where it stands. Refused is what could not be written back: other versions, unknown members, numbers
// that JSON cannot hold.
Result<Record> parseRecord(std::string_view line);
std::string recordLine(const Record& record); // without the end of line

// Where the fastest record stands in a list, the first of equals; none without a successful one.
std::optional<std::size_t> fastest(const std::vector<Record>& records);

} // namespace tunesmith::autotvm
