// SPDX-License-Identifier: GPL-3.0-or-later
#include "special_cases.h"

namespace tunesmith::testing {
namespace {

const std::map<std::string, CaseMaker>& table() {
    static const std::map<std::string, CaseMaker> cases = [] {
        std::map<std::string, CaseMaker> made;
        addElementwiseCases(made);
        addReductionCases(made);
        addProductCases(made);
        addMovementCases(made);
        addContribCases(made);
        return made;
    }();
    return cases;
}

} // namespace

bool hasOwnCases(const std::string& op) { return table().contains(op); }

SpecialCases specialCases(const std::string& op, DType type) {
    if (hasOwnCases(op))
        return table().at(op)(type);
    SpecialCases cases;
    for (const std::size_t inputs : {1, 2, 3})
        for (SpecialCase& each : elementwiseCases(type, inputs))
            cases.push_back(std::move(each));
    return cases;
}

} // namespace tunesmith::testing
