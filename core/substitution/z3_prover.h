// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/process/text_program.h"

namespace tunesmith::substitution {

inline constexpr const char* kNoZ3 = "z3 is not installed";

// The solver that has the last word on proofs: the program `z3` (de Moura and Bjørner, TACAS 2008), which need not be there. One process answers for
// many rules; one that is killed, runs out of memory or takes too long is replaced for the next. For one thread at a time.
class Z3Prover {
public:
    struct Options {
        std::string program; // empty: z3 in PATH, or what the environment variable TUNESMITH_Z3 names
        int milliseconds = 10000; // for each rule
        int mebibytes = 512;
    };
    enum class Answer { holds, notProved }; // of the negated goals: unsat; sat or unknown

    Z3Prover() = default;
    explicit Z3Prover(Options options) : options_(std::move(options)) {}

    // An SMT-LIB 2 text that ends with (check-sat), by itself. An `unsupported` error says that there is no z3.
    Result<Answer> check(const std::string& smt, const StopToken& stop = {});

private:
    Status start();

    Options options_;
    std::unique_ptr<TextProgram> program_;
};

} // namespace tunesmith::substitution
