// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/z3_prover.h"

#include <chrono>
#include <cstdlib>

namespace tunesmith::substitution {
namespace {

constexpr int kPatience = 1000; // ms that z3 may be late with its own time limit

std::optional<std::filesystem::path> programOf(const std::string& wanted) {
    const char* const named = std::getenv("TUNESMITH_Z3");
    if (!wanted.empty())
        return wanted;
    return named && *named ? std::optional<std::filesystem::path>(named) : findProgram("z3");
}

} // namespace

Status Z3Prover::start() {
    if (program_)
        return {};
    const auto path = programOf(options_.program);
    std::error_code unreadable;
    if (!path || !std::filesystem::exists(*path, unreadable))
        return unsupportedError(kNoZ3);
    const std::string memory = "-memory:" + std::to_string(options_.mebibytes), time = "-t:" + std::to_string(options_.milliseconds);
    const auto limit = 2 * static_cast<std::uint64_t>(options_.mebibytes) << 20;
    TS_ASSIGN(program_, TextProgram::start({*path, {"-in", "-smt2", memory, time}, limit}));
    return {};
}

Result<Z3Prover::Answer> Z3Prover::check(const std::string& smt, const StopToken& stop) {
    TS_TRY(start());
    const std::chrono::milliseconds timeout(options_.milliseconds + kPatience);
    const auto line = program_->ask("(reset)\n" + smt, timeout, stop);
    if (line.ok() && *line == "unsat")
        return Answer::holds;
    if (line.ok() && (*line == "sat" || *line == "unknown"))
        return Answer::notProved;
    program_.reset();
    return line.ok() ? Result<Answer>(internalError("z3 says " + *line)) : Result<Answer>(line.error());
}

} // namespace tunesmith::substitution
