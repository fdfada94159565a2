// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/process/worker_process.h" // ProcessEnd

namespace tunesmith {

struct ProgramOptions {
    std::vector<std::string> command; // the program, found in PATH unless it holds a '/', and its arguments
    std::filesystem::path folder;     // in which it runs; empty: that of this process
    std::map<std::string, std::string> environment; // added to, or replacing, what this process has
    double seconds = 60;              // of wall clock
    std::uint64_t memoryLimit = 0;    // bytes of private data of each of its processes; 0: none
    std::size_t outputLimit = 1 << 20; // bytes on standard output; of what goes to standard error the last 8 KiB are kept
};

struct ProgramRun {
    ProcessEnd end; // of the program itself
    bool timedOut = false, tooMuchOutput = false; // then it was killed, and the rest means nothing
    double seconds = 0;    // of wall clock, from exec to the end, free of what starting it through the keeper took
    double cpuSeconds = 0; // of the program and those of its children that it waited for
    std::string output, errors;

    bool succeeded() const { return !timedOut && !tooMuchOutput && end.exitStatus == 0; }
    std::string failure(const ProgramOptions& options) const; // "exited with status 1: error: no such file"; for one that did not succeed
};

// Runs a command of a user's file (a compiler, a program that is tuned) to its end. It reads nothing, and between it and this
// process stands tunesmith-keeper: when the command has ended, timed out, printed too much or is not wanted any more, and also when
// this process dies, whatever it has started is killed, daemons included. From any thread.
// Errors: it cannot be started (io), cancelled.
Result<ProgramRun> runProgram(const ProgramOptions& options, const StopToken& stop = {});

} // namespace tunesmith
