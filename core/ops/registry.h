// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/ops/operator.h"

namespace tunesmith::ops {

// One function per file of ops/: appends its operators. registry.cpp calls them all, once.
using OperatorList = std::vector<Operator>;

#define TS_OPERATOR_FILES(X)                                                                                           \
    X(Activation)                                                                                                      \
    X(Arithmetic)

#define TS_DECLARE_OPERATORS(file) void register##file(OperatorList& list);
TS_OPERATOR_FILES(TS_DECLARE_OPERATORS)
#undef TS_DECLARE_OPERATORS

} // namespace tunesmith::ops
