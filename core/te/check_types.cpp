// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/check_types.h"

#include <algorithm>

#include "core/te/functions.h"

namespace tunesmith::te {
namespace {

bool isNarrowFloat(DType type) { return type == DType::f16 || type == DType::bf16; }
std::string text(DType type) { return type == DType::undefined ? "a number" : std::string(dtypeName(type)); }

class TypeChecker {
public:
    explicit TypeChecker(Definition& definition) : definition_(definition) {
        for (const Input& input : definition.inputs)
            types_[input.name.text] = input.type;
    }

    Status run() {
        for (Statement& statement : definition_.statements)
            TS_TRY(check(statement));
        return {};
    }

private:
    Error error(const Term& term, const std::string& sentence) const { return errorAt(definition_.source, term.place, sentence); }

    Status check(Statement& statement) {
        Term& value = statement.value;
        const bool narrows = value.kind == Term::Kind::call && isNarrowFloat(dtypeFromName(value.name));
        if (narrows && statement.reduction == loops::Reduction::none && value.args.size() == 1) {
            TS_TRY(check(value.args[0]));
            TS_TRY(requireNumber(value.args[0]));
            value.type = dtypeFromName(value.name);
        } else {
            TS_TRY(check(value));
        }
        statement.type = value.type != DType::undefined ? value.type : value.fraction ? DType::f32 : DType::i64;
        if (statement.reduction != loops::Reduction::none && statement.type == DType::boolean)
            return error(value, "truth values cannot be reduced; cast them, as in int32(" + std::string("condition)"));
        for (Term& guard : statement.guards) {
            TS_TRY(check(guard));
            TS_TRY(requireTruth(guard, "a guard"));
        }
        for (StatedRange& range : statement.ranges)
            for (Term* bound : {&range.begin, &range.end}) {
                TS_TRY(check(*bound));
                TS_TRY(requireIndex(*bound, "the end of a range"));
            }
        types_[statement.output.text] = statement.type;
        return {};
    }

    Status check(Term& term) {
        for (Term& arg : term.args)
            TS_TRY(check(arg));
        switch (term.kind) {
        case Term::Kind::real: term.fraction = true; return {};
        case Term::Kind::variable: term.type = DType::i64; return {};
        case Term::Kind::read: return checkRead(term);
        case Term::Kind::call: return checkCall(term);
        case Term::Kind::operation: return checkOperation(term);
        case Term::Kind::choice:
            TS_TRY(requireTruth(term.args[0], "the condition of a choice"));
            return unify(term, term.args[1], term.args[2]);
        default: return {};
        }
    }

    Status checkRead(Term& term) const {
        for (const Term& index : term.args)
            TS_TRY(requireIndex(index, "an index of '" + term.name + "'"));
        term.type = computedAs(types_.at(term.name));
        return {};
    }

    Status checkCall(Term& term) const {
        const DType to = dtypeFromName(term.name);
        const auto function = functionOf(term.name);
        if (byteSize(to) == 0 && !function)
            return error(term, "there is no function '" + term.name + "'; README.md of the language lists them");
        const std::size_t wanted = function ? function->arguments : 1;
        if (term.args.size() != wanted)
            return error(term, "'" + term.name + "' takes " + std::to_string(wanted) + (wanted == 1 ? " value" : " values") + " and is given " + std::to_string(term.args.size()));
        if (!function)
            return checkCast(term, to);
        for (const Term& arg : term.args) {
            TS_TRY(requireNumber(arg));
            if (function->floatsOnly && arg.type != DType::undefined && !isFloat(arg.type))
                return error(arg, "'" + term.name + "' is for floats, and this is " + text(arg.type) + "; write " + term.name + "(float32(...))");
        }
        TS_TRY(unify(term, term.args[0], term.args.back()));
        term.fraction = term.fraction || function->floatsOnly;
        if (function->op == loops::Op::isNan || function->op == loops::Op::isInf)
            term.type = DType::boolean;
        return {};
    }

    Status checkCast(Term& term, DType to) const {
        if (isNarrowFloat(to))
            return error(term, std::string(dtypeName(to)) + " is only for storing: cast the whole element, as in Y[i] = " + term.name + "(X[i] * 2.0), and reduce in float32");
        term.type = to;
        return {};
    }

    Status checkOperation(Term& term) const {
        if (term.args.size() == 1) {
            TS_TRY(term.name == "!" ? requireTruth(term.args[0], "what ! turns around") : requireNumber(term.args[0]));
            term.type = term.args[0].type;
            term.fraction = term.args[0].fraction;
            return {};
        }
        if (isLogic(term.name)) {
            for (const Term& arg : term.args)
                TS_TRY(requireTruth(arg, "what " + term.name + " joins"));
            term.type = DType::boolean;
            return {};
        }
        const bool equality = term.name == "==" || term.name == "!=";
        for (const Term& arg : term.args)
            if (!equality)
                TS_TRY(requireNumber(arg));
        TS_TRY(unify(term, term.args[0], term.args[1]));
        if (isComparison(term.name))
            term.type = DType::boolean;
        return {};
    }

    // The type that two operands have in common.
    Status unify(Term& term, const Term& a, const Term& b) const {
        if (a.type != DType::undefined && b.type != DType::undefined && a.type != b.type)
            return error(term, text(a.type) + " and " + text(b.type) + " do not mix; cast one, as in " + std::string(dtypeName(a.type)) + "(...)");
        term.type = a.type != DType::undefined ? a.type : b.type;
        const bool fraction = (a.type == DType::undefined && a.fraction) || (b.type == DType::undefined && b.fraction);
        if (fraction && term.type != DType::undefined && !isFloat(term.type))
            return error(term, "a fraction and " + text(term.type) + " do not mix; cast the other operand to float32");
        if (term.type == DType::boolean && (a.type == DType::undefined || b.type == DType::undefined))
            return error(term, "a truth value and a number do not mix");
        term.fraction = fraction;
        return {};
    }

    Status requireTruth(const Term& term, const std::string& what) const {
        return term.type == DType::boolean ? Status() : error(term, what + " must be a truth value such as i < N, and this is " + text(term.type));
    }
    Status requireNumber(const Term& term) const {
        return term.type != DType::boolean ? Status() : error(term, "this is a truth value and not a number; choose numbers with c ? a : b");
    }
    Status requireIndex(const Term& term, const std::string& what) const {
        if (term.type == DType::i64 || (term.type == DType::undefined && !term.fraction))
            return {};
        return error(term, what + " must be an int64, and this is " + (term.fraction ? "a fraction" : text(term.type)) + "; write int64(...)");
    }

    Definition& definition_;
    std::map<std::string, DType> types_;
};

} // namespace

DType computedAs(DType type) { return isNarrowFloat(type) ? DType::f32 : type; }

Status checkTypes(Definition& definition) { return TypeChecker(definition).run(); }

} // namespace tunesmith::te
