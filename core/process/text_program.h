// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/base/stop_token.h"
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace tunesmith {

// The first executable file of that name in the folders of PATH.
std::optional<std::filesystem::path> findProgram(const std::string& name);

// A program of somebody else that reads text and answers in lines: a solver that is asked many things. It has a process group of
// its own, a limit on its memory, and sees the end of its input when this process dies. For one thread at a time.
class TextProgram {
public:
    struct Options {
        std::filesystem::path executable;
        std::vector<std::string> arguments;
        std::uint64_t memoryLimit = 0; // bytes of private data; 0: none
    };

    static Result<std::unique_ptr<TextProgram>> start(const Options& options);
    ~TextProgram(); // kills the group and reaps
    TextProgram(const TextProgram&) = delete;
    TextProgram& operator=(const TextProgram&) = delete;

    // Sends a text and waits for the next line of the answer, given without its end. A `timeout` or `cancelled` error comes within some 20 ms, an `io`
    // error where the program is gone. After any error the program is out of step: nothing but its end can be asked of it.
    Result<std::string> ask(std::string_view text, std::chrono::steady_clock::duration timeout, const StopToken& stop = {});

    pid_t pid() const { return pid_; }

private:
    TextProgram(std::string name, pid_t pid, int socket) : name_(std::move(name)), pid_(pid), socket_(socket) {}
    Status transfer(std::string_view& text);
    Error gone();

    std::string name_;
    pid_t pid_;
    int socket_;
    std::string received_;
};

} // namespace tunesmith
