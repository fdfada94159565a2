// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/program.h"

#include <algorithm>

namespace tunesmith::loops {

const Stage* Program::stageOf(const TensorRef& tensor) const {
    for (const Stage& stage : stages)
        if (stage.output == tensor)
            return &stage;
    return nullptr;
}

bool readsMemory(const Expr& e) { return e->op == Op::load || std::ranges::any_of(e->args, readsMemory); }

bool reads(const Expr& e, const TensorRef& tensor) {
    return (e->op == Op::load && e->tensor == tensor) || std::ranges::any_of(e->args, [&](const Expr& arg) { return reads(arg, tensor); });
}

bool reads(const Stage& stage, const TensorRef& tensor) {
    return reads(stage.body, tensor) || (stage.guard.valid() && reads(stage.guard, tensor));
}

Expr renameTensors(const Expr& e, const std::map<TensorRef, TensorRef>& names) {
    if (e->args.empty() && e->op != Op::load)
        return e;
    std::vector<Expr> args;
    for (const Expr& arg : e->args)
        args.push_back(renameTensors(arg, names));
    const auto found = e->op == Op::load ? names.find(e->tensor) : names.end();
    return found != names.end() ? load(found->second, std::move(args)) : rebuild(e, std::move(args));
}

namespace {

Expr inlineLoads(const Expr& e, const Stage& stage) {
    if (e->args.empty() && e->op != Op::load)
        return e;
    std::vector<Expr> args;
    for (const Expr& arg : e->args)
        args.push_back(inlineLoads(arg, stage));
    if (e->op != Op::load || e->tensor != stage.output)
        return rebuild(e, std::move(args));
    return substitute(stage.body, [&](const Var& var) {
        for (std::size_t d = 0; d < stage.axes.size(); ++d)
            if (stage.axes[d].var == var)
                return args[d];
        return Expr();
    });
}

} // namespace

void inlineInto(Stage& reader, const Stage& stage) {
    assert(stage.reduction == Reduction::none && "a reduction cannot be inlined");
    reader.body = inlineLoads(reader.body, stage);
    if (reader.guard.valid())
        reader.guard = inlineLoads(reader.guard, stage);
}

namespace {

std::vector<Axis> makeAxes(const char* stem, const Shape& extents) {
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < extents.size(); ++i)
        axes.push_back({makeVar(stem + std::to_string(i)), extents[i]});
    return axes;
}

Indices indicesOf(const std::vector<Axis>& axes) {
    Indices indices;
    for (const Axis& axis : axes)
        indices.emplace_back(axis.var);
    return indices;
}

std::int64_t floatOperations(const Expr& e) {
    std::int64_t count = 0;
    if (e->op != Op::load)
        for (const Expr& arg : e->args)
            count += floatOperations(arg);
    const bool arithmetic = e->op != Op::constant && e->op != Op::load && e->op != Op::select && e->op != Op::cast;
    return count + (arithmetic && isFloat(e->type) ? 1 : 0);
}

std::string axesText(const std::vector<Axis>& axes) {
    std::string text;
    for (const Axis& axis : axes)
        text += (text.empty() ? "" : ", ") + axis.var->name + "<" + std::to_string(axis.extent);
    return text;
}

const char* reductionName(Reduction reduction) {
    switch (reduction) {
    case Reduction::none: return "";
    case Reduction::sum: return "sum";
    case Reduction::product: return "product";
    case Reduction::max: return "max";
    case Reduction::min: return "min";
    }
    return "";
}

} // namespace

Stage compute(const std::string& name, DType type, const Shape& shape, const std::function<Expr(const Indices&)>& body) {
    Stage stage;
    stage.output = makeTensor(name, type, shape);
    stage.axes = makeAxes("i", shape);
    stage.body = body(indicesOf(stage.axes));
    assert(stage.body->type == type);
    return stage;
}

Stage reduce(const std::string& name, DType type, const Shape& shape, Reduction reduction, const Shape& reduceExtents,
             const std::function<ReductionBody(const Indices&, const Indices&)>& body) {
    Stage stage;
    stage.output = makeTensor(name, type, shape);
    stage.axes = makeAxes("i", shape);
    stage.reduceAxes = makeAxes("r", reduceExtents);
    stage.reduction = reduction;
    ReductionBody made = body(indicesOf(stage.axes), indicesOf(stage.reduceAxes));
    stage.body = std::move(made.value);
    stage.guard = std::move(made.guard);
    assert(stage.body->type == type);
    return stage;
}

std::string toText(const Program& program) {
    std::string text = program.name + "(";
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
        text += (i ? ", " : "") + program.inputs[i]->name + ": " + TensorType(program.inputs[i]->type, program.inputs[i]->shape).text();
    text += ")\n";
    for (const Stage& stage : program.stages) {
        text += "  " + stage.output->name + "[" + axesText(stage.axes) + "] = ";
        if (stage.reduction != Reduction::none)
            text += std::string(reductionName(stage.reduction)) + "[" + axesText(stage.reduceAxes) + "] ";
        text += toText(stage.body);
        if (stage.guard.valid())
            text += " where " + toText(stage.guard);
        text += '\n';
    }
    return text;
}

std::int64_t flopCount(const Program& program) {
    std::int64_t total = 0;
    for (const Stage& stage : program.stages) {
        std::int64_t points = elementCount(stage.output->shape);
        for (const Axis& axis : stage.reduceAxes)
            points *= axis.extent;
        const bool accumulates = stage.reduction != Reduction::none && isFloat(stage.output->type);
        total += points * (floatOperations(stage.body) + (accumulates ? 1 : 0));
    }
    return total;
}

} // namespace tunesmith::loops
