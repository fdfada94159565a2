// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/functions.h"

#include <map>

namespace tunesmith::te {

using loops::Op;

std::optional<Function> functionOf(const std::string& name) {
    static const std::map<std::string, Function> functions{
        {"abs", {Op::abs, 1, false}},   {"sign", {Op::sign, 1, false}}, {"exp", {Op::exp, 1, true}},     {"log", {Op::log, 1, true}},
        {"sqrt", {Op::sqrt, 1, true}},  {"sin", {Op::sin, 1, true}},    {"cos", {Op::cos, 1, true}},     {"tan", {Op::tan, 1, true}},
        {"asin", {Op::asin, 1, true}},  {"acos", {Op::acos, 1, true}},  {"atan", {Op::atan, 1, true}},   {"sinh", {Op::sinh, 1, true}},
        {"cosh", {Op::cosh, 1, true}},  {"asinh", {Op::asinh, 1, true}}, {"acosh", {Op::acosh, 1, true}}, {"atanh", {Op::atanh, 1, true}},
        {"tanh", {Op::tanh, 1, true}},  {"erf", {Op::erf, 1, true}},    {"floor", {Op::floor, 1, true}}, {"ceil", {Op::ceil, 1, true}},
        {"round", {Op::round, 1, true}}, {"isnan", {Op::isNan, 1, true}}, {"isinf", {Op::isInf, 1, true}}, {"min", {Op::min, 2, false}},
        {"max", {Op::max, 2, false}},   {"pow", {Op::pow, 2, true}}};
    const auto found = functions.find(name);
    return found == functions.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Op> operatorOf(const std::string& sign) {
    static const std::map<std::string, Op> operators{
        {"+", Op::add},      {"-", Op::sub},          {"*", Op::mul},         {"/", Op::div},       {"%", Op::mod},
        {"<", Op::less},     {"<=", Op::lessEqual},   {">", Op::greater},     {">=", Op::greaterEqual},
        {"==", Op::equal},   {"!=", Op::notEqual},    {"&&", Op::logicalAnd}, {"||", Op::logicalOr}};
    const auto found = operators.find(sign);
    return found == operators.end() ? std::nullopt : std::optional(found->second);
}

bool isLogic(const std::string& sign) { return sign == "&&" || sign == "||"; }

bool isComparison(const std::string& sign) {
    const auto op = operatorOf(sign);
    return op && *op >= Op::equal && *op <= Op::greaterEqual;
}

} // namespace tunesmith::te
