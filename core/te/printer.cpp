// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/printer.h"

#include <array>
#include <charconv>

namespace tunesmith::te {
namespace {

enum Level { choice, either, both, comparison, sum, product, sign, primary };

Level levelOf(const Term& term) {
    if (term.kind == Term::Kind::choice)
        return choice;
    if (term.kind != Term::Kind::operation)
        return primary;
    if (term.args.size() == 1)
        return sign;
    switch (term.name[0]) {
    case '|': return either;
    case '&': return both;
    case '+':
    case '-': return sum;
    case '*':
    case '/':
    case '%': return product;
    default: return comparison;
    }
}

std::string inBrackets(const Term& term, bool needed) { return needed ? "(" + toText(term) + ")" : toText(term); }

std::string numberText(double value) {
    std::array<char, 40> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    const std::string text(buffer.data(), end);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <class List, class Text> std::string joined(const List& list, const Text& text, const char* between = ", ") {
    std::string all;
    for (const auto& item : list)
        all += (all.empty() ? "" : between) + text(item);
    return all;
}

std::string listText(const std::vector<Term>& terms) {
    return joined(terms, [](const Term& term) { return toText(term); });
}

std::string operationText(const Term& term) {
    const Level level = levelOf(term);
    if (level == sign)
        return term.name + inBrackets(term.args[0], levelOf(term.args[0]) < sign);
    // a - (b - c) needs its brackets, (a - b) - c does not; comparisons do not follow each other.
    const Level left = levelOf(term.args[0]), right = levelOf(term.args[1]);
    return inBrackets(term.args[0], left < level || (left == level && level == comparison)) + " " + term.name + " " +
           inBrackets(term.args[1], right <= level);
}

const char* assignmentText(loops::Reduction reduction) {
    switch (reduction) {
    case loops::Reduction::sum: return " +=! ";
    case loops::Reduction::product: return " *=! ";
    case loops::Reduction::max: return " max=! ";
    case loops::Reduction::min: return " min=! ";
    default: return " = ";
    }
}

const char* markText(LoopMark::Kind kind) {
    switch (kind) {
    case LoopMark::Kind::order: return "order";
    case LoopMark::Kind::unroll: return "unroll";
    case LoopMark::Kind::vectorize: return "vectorize";
    case LoopMark::Kind::parallel: return "parallel";
    case LoopMark::Kind::accumulate: return "accumulate at";
    }
    return "";
}

std::string inputText(const Input& input) {
    const std::string sizes = joined(input.dimensions, [](const Dimension& dimension) {
        const std::string number = dimension.size ? std::to_string(*dimension.size) : "";
        return dimension.name.text + (dimension.size && !dimension.name.text.empty() ? "=" : "") + number;
    });
    return std::string(dtypeName(input.type)) + (sizes.empty() ? "" : "[" + sizes + "]") + " " + input.name.text;
}

} // namespace

std::string toText(const Term& term) {
    switch (term.kind) {
    case Term::Kind::integer: return std::to_string(term.integer);
    case Term::Kind::real: return numberText(term.real);
    case Term::Kind::name:
    case Term::Kind::variable:
    case Term::Kind::size: return term.name;
    case Term::Kind::read: return term.args.empty() ? term.name : term.name + "[" + listText(term.args) + "]";
    case Term::Kind::call: return term.name + "(" + listText(term.args) + ")";
    case Term::Kind::choice:
        return inBrackets(term.args[0], levelOf(term.args[0]) == choice) + " ? " + toText(term.args[1]) + " : " + toText(term.args[2]);
    case Term::Kind::operation: return operationText(term);
    }
    return {};
}

std::string toText(const Statement& statement) {
    const std::string axes = joined(statement.axes, [](const Name& name) { return name.text; });
    std::string text = statement.output.text + (axes.empty() ? "" : "[" + axes + "]") + assignmentText(statement.reduction) + toText(statement.value);
    std::string conditions = joined(statement.ranges, [](const StatedRange& range) {
        return range.variable.text + " in " + toText(range.begin) + ":" + toText(range.end);
    });
    for (const Term& guard : statement.guards)
        conditions += (conditions.empty() ? "" : ", ") + toText(guard);
    return conditions.empty() ? text : text + " where " + conditions;
}

std::string toText(const ScheduleText& schedule) {
    const auto name = [](const Name& one) { return one.text; };
    std::string text = "schedule " + schedule.output.text + (schedule.only ? " only {" : " {");
    for (const KnobText& knob : schedule.knobs)
        text += " knob " + knob.name.text + " = " + joined(knob.values, [](const Term& term) { return toText(term); }, " | ") + ";";
    for (const Term& requirement : schedule.requirements)
        text += " require " + toText(requirement) + ";";
    for (const LoopStep& step : schedule.steps)
        text += " " + joined(step.made, name) + " = " + (step.fuses() ? "fuse(" : "split(") + joined(step.from, name) +
                (step.fuses() ? "" : ", " + listText(step.factors)) + ");";
    for (const LoopMark& mark : schedule.marks)
        text += " " + std::string(markText(mark.kind)) + " " + joined(mark.loops, name) + (mark.condition ? " if " + toText(*mark.condition) : "") + ";";
    return text + " }";
}

std::string toText(const Definition& definition) {
    std::string text = "def " + definition.name.text + "(" + joined(definition.inputs, inputText) + ") -> " +
                       joined(definition.outputs, [](const Name& name) { return name.text; }) + " {";
    for (const Statement& statement : definition.statements)
        text += " " + toText(statement) + ";" + (statement.schedule ? " " + toText(*statement.schedule) : "");
    return text + " }";
}

} // namespace tunesmith::te
