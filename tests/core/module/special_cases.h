// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>

#include "core/ops/operator.h"
#include "special_values.h"

// One operator applied to special values, as the tests of compiled kernels against the reference engine want it.
namespace tunesmith::testing {

using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<std::int64_t>;

struct SpecialCase {
    std::vector<Tensor> inputs;      // absent: left out
    Attributes attributes = {};
    std::vector<std::size_t> constants = {}; // inputs that the compiler sees
    int outputs = 1;
    std::int64_t opset = 0;          // 0: the newest that these tests write
};
using SpecialCases = std::vector<SpecialCase>;

// What there is for an operator and the element type of its first input; whether the operator takes the type is for the caller to ask. Without an entry of
// its own an operator is tried as an elementwise one of one, two or three inputs.
bool hasOwnCases(const std::string& op);
SpecialCases specialCases(const std::string& op, DType type);
SpecialCases elementwiseCases(DType type, std::size_t inputs);

// Pieces of the table, by kind.
using CaseMaker = std::function<SpecialCases(DType)>;
void addElementwiseCases(std::map<std::string, CaseMaker>& table);
void addReductionCases(std::map<std::string, CaseMaker>& table);
void addProductCases(std::map<std::string, CaseMaker>& table);
void addMovementCases(std::map<std::string, CaseMaker>& table);
void addContribCases(std::map<std::string, CaseMaker>& table);

} // namespace tunesmith::testing
