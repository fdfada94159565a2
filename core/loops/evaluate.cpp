// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/evaluate.h"

#include <map>

#include "core/loops/scalar.h"

namespace tunesmith::loops {
namespace {

// Visits all points of the box in row-major order with the axes' variables set.
class Box {
public:
    Box(ScalarCode& code, const std::vector<Axis>& axes) : code_(code) {
        for (const Axis& axis : axes)
            axes_.emplace_back(code.cellOf(axis.var), axis.extent);
    }
    template <class Visit> void forEachPoint(const Visit& visit, std::size_t depth = 0) const {
        if (depth == axes_.size())
            return visit();
        const auto [cell, extent] = axes_[depth];
        for (std::int64_t i = 0; i < extent; ++i) {
            code_[cell].integer = i;
            forEachPoint(visit, depth + 1);
        }
    }

private:
    ScalarCode& code_;
    std::vector<std::pair<ScalarCode::Cell, std::int64_t>> axes_;
};

using Tensors = std::map<const TensorDecl*, Tensor>;

Tensor runStage(const Tensors& tensors, const Stage& stage) {
    Tensor output = Tensor::zeros(stage.output->type, stage.output->shape);
    ScalarCode code([&](const TensorDecl& decl) -> const Tensor& { return tensors.at(&decl); });
    const Box points(code, stage.axes), reduced(code, stage.reduceAxes);
    const bool reduces = stage.reduction != Reduction::none;
    const ScalarCode::Piece piece = reduces ? code.compileReduction(stage) : code.compile(stage.body);
    const Scalar nothing = identityOf(stage.reduction, stage.output->type);
    std::int64_t offset = 0;
    points.forEachPoint([&] {
        if (reduces) {
            code[piece.result] = nothing;
            reduced.forEachPoint([&] { code.run(piece); });
        } else {
            code.run(piece);
        }
        storeScalar(output, offset++, code[piece.result]);
    });
    return output;
}

} // namespace

Result<std::vector<Tensor>> evaluate(const Program& program, const std::vector<Tensor>& inputs) {
    assert(inputs.size() == program.inputs.size());
    Tensors tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].shape() != program.inputs[i]->shape || inputs[i].type() != program.inputs[i]->type)
            return inputError(program.name + ": input '" + program.inputs[i]->name + "' has another type than declared");
        tensors[program.inputs[i].get()] = inputs[i];
    }
    try {
        for (const Stage& stage : program.stages)
            tensors[stage.output.get()] = runStage(tensors, stage);
    } catch (const OutOfRange& error) {
        return inputError(program.name + ": " + error.message);
    }
    std::vector<Tensor> outputs;
    for (const TensorRef& output : program.outputs)
        outputs.push_back(tensors.at(output.get()));
    return outputs;
}

} // namespace tunesmith::loops
