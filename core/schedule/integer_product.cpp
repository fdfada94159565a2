// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/integer_product.h"

#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/template.h"

namespace tunesmith {

using loops::Axis;
using loops::Expr;
using loops::Indices;
using loops::Op;
using loops::Program;
using loops::Stage;
using loops::TensorRef;
using loops::Var;

namespace {

Expr number(std::int64_t value) { return loops::constantInt(DType::i32, value); }

// i32(x[...]), where x holds bytes; none for anything else.
std::optional<Expr> byteRead(const Expr& e) {
    if (e->op != Op::cast || e->type != DType::i32 || e->args[0]->op != Op::load)
        return std::nullopt;
    const DType type = e->args[0]->type;
    return type == DType::u8 || type == DType::i8 ? std::optional(e->args[0]) : std::nullopt;
}

bool usesAxes(const Expr& e, const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes, [&](const Axis& axis) { return loops::usesVar(e, axis.var); });
}

std::optional<ByteOperand> byteOperand(const Expr& e, const Stage& stage) {
    if (const auto read = byteRead(e))
        return ByteOperand{*read, number(0)};
    const auto read = e->op == Op::sub ? byteRead(e->args[0]) : std::nullopt;
    if (!read || usesAxes(e->args[1], stage.reduceAxes))
        return std::nullopt;
    return ByteOperand{*read, e->args[1]};
}

// An expression over the axes of one stage in terms of others.
Expr moved(const Expr& e, const std::vector<Axis>& from, const Indices& to) {
    return loops::substitute(e, [&](const Var& var) {
        for (std::size_t d = 0; d < from.size(); ++d)
            if (from[d].var == var)
                return to[d];
        return Expr();
    });
}

Indices indicesOf(const std::vector<Axis>& axes) {
    Indices indices;
    for (const Axis& axis : axes)
        indices.emplace_back(axis.var);
    return indices;
}

} // namespace

std::optional<IntegerProduct> integerProduct(const Program& program) {
    const Stage* stage = onlyReduction(program);
    if (!stage || stage->reduction != loops::Reduction::sum || stage->output->type != DType::i32 || stage->body->op != Op::mul)
        return std::nullopt;
    const auto left = byteOperand(stage->body->args[0], *stage), right = byteOperand(stage->body->args[1], *stage);
    if (!left || !right)
        return std::nullopt;
    return IntegerProduct{stage, *left, *right};
}

const Stage* stageNamed(const Program& program, const std::string& name) {
    const auto found = std::ranges::find_if(program.stages, [&](const Stage& stage) { return stage.output->name == name; });
    return found == program.stages.end() ? nullptr : &*found;
}

DotProgram::DotProgram(LoweredWorkload& lowered, const IntegerProduct& product)
    : lowered_(lowered), product_(*product.stage), leftZero_(product.left.zero + number(zeroShift(product.left.read->type, Sign::none))),
      rightZero_(product.right.zero + number(zeroShift(product.right.read->type, Sign::negative))) {}

void DotProgram::replaceArgument(const TensorRef& tensor, const TensorRef& asWords, WeightTransform transform, loops::Layout layout) {
    const std::size_t i = argumentOf(lowered_, tensor);
    lowered_.program.inputs[i] = asWords;
    lowered_.argumentTransforms[i] = transform;
    lowered_.argumentLayouts[i] = std::move(layout);
}

bool DotProgram::readsElsewhere(const TensorRef& tensor) const {
    const auto& inputs = product_.body->args;
    const bool both = loops::reads(inputs[0], tensor) && loops::reads(inputs[1], tensor);
    return both || std::ranges::any_of(lowered_.program.stages, [&](const Stage& stage) { return stage.output != product_.output && loops::reads(stage, tensor); });
}

// The sum of all bytes of one side over what is summed, a stage over those axes that the side has.
Expr DotProgram::sumOf(const char* name, const Expr& side, bool unsignedWords) {
    std::vector<Axis> kept;
    Shape shape, extents;
    for (const Axis& axis : product_.axes)
        if (loops::usesVar(side, axis.var)) {
            kept.push_back(axis);
            shape.push_back(axis.extent);
        }
    for (const Axis& axis : reduced)
        extents.push_back(axis.extent);
    const Expr ones = repeated(number(1));
    sums_.push_back(loops::reduce(name, DType::i32, shape, loops::Reduction::sum, extents, [&](const Indices& o, const Indices& r) {
        const Expr moving = moved(moved(side, kept, o), reduced, r);
        return loops::ReductionBody{unsignedWords ? binary(Op::dot4, moving, ones) : binary(Op::dot4, ones, moving), {}};
    }));
    return load(sums_.back().output, indicesOf(kept));
}

// In the place of the product; over the product's axes.
Stage DotProgram::withoutZeros(const TensorRef& dots, const Expr& leftSum) {
    Expr value = load(dots, indicesOf(product_.axes));
    if (rightSum.valid())
        value = value - leftZero_ * rightSum;
    if (leftSum.valid())
        value = value - rightZero_ * leftSum;
    value = value + leftZero_ * rightZero_ * number(count);
    Stage stage = loops::compute(product_.output->name, DType::i32, product_.output->shape, [&](const Indices& i) { return moved(value, product_.axes, i); });
    stage.output = product_.output;
    return stage;
}

void DotProgram::finish() {
    const bool needsRight = !loops::isConstant(leftZero_, 0), needsLeft = !loops::isConstant(rightZero_, 0);
    if (!needsRight)
        rightSum = Expr();
    else if (!rightSum.valid())
        rightSum = sumOf(kRightSums, right, false);
    const Expr leftSum = needsLeft ? sumOf(kLeftSums, left, true) : Expr();
    Stage dots{loops::makeTensor(kDots, DType::i32, product_.output->shape), product_.axes, reduced, loops::Reduction::sum, {}, binary(Op::dot4, left, right)};
    Stage result = withoutZeros(dots.output, leftSum);
    Program& program = lowered_.program;
    std::vector<Stage> stages = std::move(wordStages);
    std::ranges::move(sums_, std::back_inserter(stages));
    stages.push_back(std::move(dots));
    if (program.stages.back().output == product_.output) {
        stages.push_back(std::move(result));
    } else {
        stages.push_back(program.stages.back());
        loops::inlineInto(stages.back(), result);
    }
    program.stages = std::move(stages);
}

void scheduleWords(loops::Schedule& schedule, const TensorRef& words, std::int64_t lanes) {
    auto& s = schedule[words];
    const auto [step, lane] = s.split(s.axes().back(), lanes);
    s.vectorize(lane);
    if (s.axes().size() < 2)
        return;
    Var parallel = s.axes()[0];
    for (std::size_t d = 1; d + 1 < s.axes().size(); ++d)
        parallel = s.fuse(parallel, s.axes()[d]);
    s.parallel(parallel);
}

namespace {

// Sums whose words lie side by side along the last axis: a vector of them at a time.
void scheduleSumsByAxis(loops::StageSchedule& s, std::int64_t lanes) {
    std::vector<Var> order(s.axes().begin(), s.axes().end() - 1);
    const auto [step, lane] = s.split(s.axes().back(), lanes);
    order.push_back(step);
    order.insert(order.end(), s.reduceAxes().begin(), s.reduceAxes().end());
    order.push_back(lane);
    s.reorder(order);
    s.vectorize(lane);
    s.parallel(order[0]);
}

// Sums of rows: a vector of partial ones, which are added up afterwards.
void scheduleSumsOfRows(loops::Schedule& schedule, const TensorRef& sums, std::int64_t lanes) {
    const TensorRef partial = schedule.rfactor(sums, 0, lanes);
    auto& p = schedule[partial];
    const Var lane = p.axes().back();
    std::vector<Var> order(p.axes().begin(), p.axes().end() - 1);
    order.push_back(p.reduceAxes()[0]);
    order.push_back(lane);
    p.reorder(order);
    p.vectorize(lane);
    if (p.axes().size() > 1)
        p.parallel(order[0]);
}

} // namespace

void scheduleSums(loops::Schedule& schedule, std::int64_t lanes) {
    for (const std::size_t side : {0, 1}) {
        const Stage* stage = stageNamed(schedule.program(), side == 0 ? DotProgram::kLeftSums : DotProgram::kRightSums);
        if (!stage)
            continue;
        const TensorRef sums = stage->output;
        const Expr& words = stage->body->args[side];
        const bool rows = stage->axes.empty() || !loops::usesVar(words->args.back(), stage->axes.back().var);
        if (rows && stage->reduceAxes.size() == 1)
            scheduleSumsOfRows(schedule, sums, lanes);
        else if (!rows)
            scheduleSumsByAxis(schedule[sums], lanes);
    }
}

} // namespace tunesmith
