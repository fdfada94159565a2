// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/lower_statement.h"

#include "core/loops/scalar_arithmetic.h"
#include "core/te/check_types.h"
#include "core/te/functions.h"
#include "core/te/index_ranges.h"

namespace tunesmith::te {
namespace {

using loops::Expr;
using loops::Op;

// What a term computes in on its own.
DType naturalType(const Term& term) { return term.type != DType::undefined ? term.type : term.fraction ? DType::f32 : DType::i64; }

DType commonType(const Term& a, const Term& b) {
    if (a.type != DType::undefined || b.type != DType::undefined)
        return a.type != DType::undefined ? a.type : b.type;
    return a.fraction || b.fraction ? DType::f32 : DType::i64;
}

class Lowering {
public:
    Lowering(const std::string& source, const Sizes& sizes, const Intervals& ranges, const std::map<std::string, loops::TensorRef>& tensors)
        : source_(source), sizes_(sizes), ranges_(ranges), tensors_(tensors) {}

    loops::Axis axis(const std::string& name) {
        const Interval& range = ranges_.at(name);
        const loops::Var var = loops::makeVar(name);
        variables_[name] = range.low == 0 ? Expr(var) : Expr(var) + Expr(range.low);
        return {var, range.extent()};
    }

    // `wanted` is what numbers become that have no type of their own.
    Result<Expr> lower(const Term& term, DType wanted) {
        const DType type = term.type != DType::undefined ? term.type : wanted;
        switch (term.kind) {
        case Term::Kind::integer: return number(term, type, term.integer);
        case Term::Kind::size: return number(term, type, sizes_.at(term.name));
        case Term::Kind::real: return loops::constantOf(type, term.real);
        case Term::Kind::variable: return variables_.at(term.name);
        case Term::Kind::read: return read(term);
        case Term::Kind::call: return call(term, type);
        case Term::Kind::operation: return operation(term, type);
        case Term::Kind::choice: break;
        case Term::Kind::name: assert(false && "names are known after checkNames()");
        }
        TS_ASSIGN(Expr condition, lower(term.args[0], DType::boolean));
        TS_ASSIGN(Expr then, lower(term.args[1], type));
        TS_ASSIGN(Expr otherwise, lower(term.args[2], type));
        return loops::select(std::move(condition), std::move(then), std::move(otherwise));
    }

private:
    Result<Expr> number(const Term& term, DType type, std::int64_t value) const {
        if (isFloat(type))
            return loops::constantOf(type, static_cast<double>(value));
        if (loops::wrapTo(type, value) != value)
            return errorAt(source_, term.place, std::to_string(value) + " does not fit into " + std::string(dtypeName(type)) + "; cast the other operand to a wider type");
        return loops::constantInt(type, value);
    }

    Result<Expr> read(const Term& term) {
        std::vector<Expr> indices;
        for (const Term& index : term.args) {
            TS_ASSIGN(Expr lowered, lower(index, DType::i64));
            indices.push_back(std::move(lowered));
        }
        const Expr element = loops::load(tensors_.at(term.name), std::move(indices));
        return loops::cast(computedAs(element->type), element);
    }

    Result<Expr> call(const Term& term, DType type) {
        const auto function = functionOf(term.name);
        if (!function) { // a cast
            const Term& from = term.args[0];
            const bool takesIt = from.type == DType::undefined && isFloat(type);
            TS_ASSIGN(Expr value, lower(from, takesIt ? computedAs(type) : naturalType(from)));
            return loops::cast(type, value);
        }
        const bool asks = function->op == Op::isNan || function->op == Op::isInf;
        const DType inside = asks ? naturalType(term.args[0]) : type;
        TS_ASSIGN(Expr first, lower(term.args[0], asks && !isFloat(inside) ? DType::f32 : inside));
        if (function->arguments == 1)
            return loops::unary(function->op, std::move(first));
        TS_ASSIGN(Expr second, lower(term.args[1], inside));
        return loops::binary(function->op, std::move(first), std::move(second));
    }

    Result<Expr> operation(const Term& term, DType type) {
        if (term.args.size() == 1) {
            TS_ASSIGN(Expr operand, lower(term.args[0], type));
            return loops::unary(term.name == "!" ? Op::logicalNot : Op::neg, std::move(operand));
        }
        const DType inside = isLogic(term.name) ? DType::boolean : isComparison(term.name) ? commonType(term.args[0], term.args[1]) : type;
        TS_ASSIGN(Expr a, lower(term.args[0], inside));
        TS_ASSIGN(Expr b, lower(term.args[1], inside));
        return loops::binary(*operatorOf(term.name), std::move(a), std::move(b));
    }

    const std::string& source_;
    const Sizes& sizes_;
    const Intervals& ranges_;
    const std::map<std::string, loops::TensorRef>& tensors_;
    std::map<std::string, Expr> variables_;
};

} // namespace

Result<loops::Stage> lowerStatement(const std::string& source, const Statement& statement, const Sizes& sizes, const Intervals& ranges,
                                    const std::map<std::string, loops::TensorRef>& tensors, const std::string& name) {
    Lowering lowering(source, sizes, ranges, tensors);
    loops::Stage stage;
    stage.output = loops::makeTensor(name, statement.type, shapeOf(statement, ranges));
    stage.reduction = statement.reduction;
    for (const Name& axis : statement.axes)
        stage.axes.push_back(lowering.axis(axis.text));
    for (const Name& variable : statement.reduced)
        stage.reduceAxes.push_back(lowering.axis(variable.text));
    TS_ASSIGN(stage.body, lowering.lower(statement.value, statement.type));
    for (const Term& guard : statement.guards) {
        TS_ASSIGN(Expr condition, lowering.lower(guard, DType::boolean));
        stage.guard = stage.guard.valid() ? std::move(stage.guard) && std::move(condition) : std::move(condition);
    }
    return stage;
}

} // namespace tunesmith::te
