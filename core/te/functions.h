// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "core/loops/expr.h"

namespace tunesmith::te {

// The functions that a text may call, by name. Casts are called by the name of a type and are not among them.
struct Function {
    loops::Op op;
    std::size_t arguments;
    bool floatsOnly;
};
std::optional<Function> functionOf(const std::string& name);
std::optional<loops::Op> operatorOf(const std::string& sign); // of two operands
bool isComparison(const std::string& sign);
bool isLogic(const std::string& sign); // && and ||

} // namespace tunesmith::te
