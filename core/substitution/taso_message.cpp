// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/taso_message.h"

#include <initializer_list>

#include "core/substitution/wire_reader.h"

namespace tunesmith::substitution {
namespace {

// The fields 1, 2 ... of a message of whole numbers, all of which must be there.
Status readNumbers(std::string_view message, const char* what, std::initializer_list<std::int64_t*> numbers) {
    TS_ASSIGN(const std::vector<WireField> fields, wireFields(message));
    std::uint64_t seen = 0;
    for (const WireField& field : fields)
        if (!field.isBytes && field.number >= 1 && field.number <= numbers.size()) {
            *numbers.begin()[field.number - 1] = field.integer();
            seen |= 1ULL << field.number;
        }
    return seen == (2ULL << numbers.size()) - 2 ? Status() : Status(inputError(std::string(what) + " lacks a number"));
}

Result<TasoOperator> parseOperator(std::string_view message) {
    TS_ASSIGN(const std::vector<WireField> fields, wireFields(message));
    TasoOperator made;
    bool hasType = false;
    for (const WireField& field : fields) {
        if (field.number == 1 && !field.isBytes) {
            made.type = field.integer();
            hasType = true;
        } else if (field.number == 2 && field.isBytes) {
            TasoTensor& input = made.inputs.emplace_back();
            TS_TRY(readNumbers(field.bytes, "an operand", {&input.op, &input.result}));
        } else if (field.number == 3 && field.isBytes) {
            std::int64_t key = 0, value = 0;
            TS_TRY(readNumbers(field.bytes, "a parameter", {&key, &value}));
            made.parameters[key] = value;
        }
    }
    return hasType ? Result<TasoOperator>(std::move(made)) : inputError("an operator has no type");
}

} // namespace

Result<TasoRule> parseTasoRule(std::string_view message) {
    TS_ASSIGN(const std::vector<WireField> fields, wireFields(message));
    TasoRule rule;
    for (const WireField& field : fields) {
        if (!field.isBytes)
            continue;
        if (field.number == 1 || field.number == 2) {
            TS_ASSIGN(TasoOperator made, parseOperator(field.bytes));
            (field.number == 1 ? rule.source : rule.target).push_back(std::move(made));
        } else if (field.number == 3) {
            TasoRule::Output& output = rule.outputs.emplace_back();
            TS_TRY(readNumbers(field.bytes, "an output", {&output.source.op, &output.target.op, &output.source.result, &output.target.result}));
        }
    }
    return rule;
}

} // namespace tunesmith::substitution
