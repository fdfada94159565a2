// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/independent_rows.h"

#include <algorithm>
#include <cstring>

#include "core/loops/simplify.h"
#include "core/module/build.h"
#include "core/ops/lower_node.h"

namespace tunesmith {
namespace {

std::optional<RowAxis> rowAxisOf(const Shape& fewer, const Shape& more, const RowQuestion& question) {
    RowAxis found;
    if (fewer.size() != more.size())
        return std::nullopt;
    for (std::size_t i = 0; i < fewer.size(); ++i) {
        if (fewer[i] == more[i])
            continue;
        const std::int64_t block = fewer[i] / question.fewer;
        if (found.carried() || block < 1 || fewer[i] != block * question.fewer ||
            more[i] != block * question.more)
            return std::nullopt;
        found = {static_cast<int>(i), block};
    }
    return found;
}

// Equal in the rows that both have.
bool agree(const Tensor& fewer, const Tensor& more, const RowAxis& rows) {
    if (fewer.type() != more.type() || fewer.type() == DType::string)
        return false;
    if (!rows.carried())
        return std::ranges::equal(fewer.bytes(), more.bytes());
    const auto axis = static_cast<std::size_t>(rows.axis);
    std::size_t each = byteSize(fewer.type());
    for (std::size_t i = axis + 1; i < fewer.rank(); ++i)
        each *= static_cast<std::size_t>(fewer.shape()[i]);
    const std::size_t inner = each * static_cast<std::size_t>(fewer.shape()[axis]);
    const std::size_t innerMore = each * static_cast<std::size_t>(more.shape()[axis]);
    for (std::size_t outer = 0; inner > 0 && outer * inner < fewer.byteCount(); ++outer)
        if (std::memcmp(fewer.bytes().data() + outer * inner, more.bytes().data() + outer * innerMore,
                        inner) != 0)
            return false;
    return true;
}

loops::VarRanges rangesOf(const loops::Stage& stage) {
    loops::VarRanges ranges;
    for (const auto* axes : {&stage.axes, &stage.reduceAxes})
        for (const loops::Axis& axis : *axes)
            ranges.set(axis.var, {0, axis.extent - 1});
    return ranges;
}

// Axes of one index are 0 everywhere.
loops::Stage withoutUnitAxes(loops::Stage stage) {
    const auto zero = [&](const loops::Var& var) {
        for (const auto* axes : {&stage.axes, &stage.reduceAxes})
            for (const loops::Axis& axis : *axes)
                if (axis.var == var && axis.extent == 1)
                    return loops::Expr(std::int64_t{0});
        return loops::Expr();
    };
    stage.body = loops::substitute(stage.body, zero);
    if (stage.guard.valid())
        stage.guard = loops::substitute(stage.guard, zero);
    return stage;
}

loops::Expr withSimpleIndices(const loops::Expr& e, const loops::VarRanges& ranges) {
    std::vector<loops::Expr> args;
    for (const loops::Expr& arg : e->args)
        args.push_back(e->op == loops::Op::load ? loops::simplify(arg, ranges)
                                                : withSimpleIndices(arg, ranges));
    return args.empty() ? e : loops::rebuild(e, std::move(args));
}

// A stage as the proof reads it.
loops::Stage simplified(const loops::Stage& given) {
    loops::Stage stage = withoutUnitAxes(given);
    const loops::VarRanges ranges = rangesOf(stage);
    stage.body = withSimpleIndices(stage.body, ranges);
    if (stage.guard.valid())
        stage.guard = loops::simplify(stage.guard, ranges);
    return stage;
}

// Whether two stages say the same but for how many rows there are.
class Twins {
public:
    // Tensors that stand for each other are added as their programs name them.
    void add(const loops::TensorRef& a, const loops::TensorRef& b) { tensors_[a] = b; }

    bool same(const loops::Stage& a, const loops::Stage& b) {
        if (a.reduction != b.reduction || a.axes.size() != b.axes.size() ||
            a.reduceAxes.size() != b.reduceAxes.size() || a.guard.valid() != b.guard.valid())
            return false;
        for (std::size_t i = 0; i < a.axes.size(); ++i)
            vars_[a.axes[i].var] = b.axes[i].var;
        for (std::size_t i = 0; i < a.reduceAxes.size(); ++i) {
            vars_[a.reduceAxes[i].var] = b.reduceAxes[i].var;
            if (a.reduceAxes[i].extent != b.reduceAxes[i].extent)
                return false;
        }
        return same(a.body, b.body) && (!a.guard.valid() || same(a.guard, b.guard));
    }

private:
    bool same(const loops::Expr& a, const loops::Expr& b) const {
        if (a->op != b->op || a->type != b->type || a->args.size() != b->args.size() ||
            a->intValue != b->intValue ||
            std::memcmp(&a->floatValue, &b->floatValue, sizeof a->floatValue) != 0)
            return false;
        if (a->op == loops::Op::var) {
            const auto found = vars_.find(a->var);
            return found != vars_.end() && found->second == b->var;
        }
        if (a->op == loops::Op::load) {
            const auto found = tensors_.find(a->tensor);
            if (found == tensors_.end() || found->second != b->tensor)
                return false;
        }
        return std::ranges::equal(a->args, b->args,
                                  [this](const auto& x, const auto& y) { return same(x, y); });
    }

    std::map<loops::TensorRef, loops::TensorRef> tensors_;
    std::map<loops::Var, loops::Var> vars_;
};

class RowProof {
public:
    RowProof(const Graph& fewer, const Graph& more, const RowQuestion& question)
        : fewer_(fewer), more_(more), question_(question), rows_(fewer.valueCount()) {}

    Result<RowAxes> run() {
        if (fewer_.nodeCount() != more_.nodeCount() || fewer_.valueCount() != more_.valueCount())
            return unsupportedError("how many nodes it becomes depends on the extent");
        for (std::size_t i = 0; i < fewer_.valueCount(); ++i)
            TS_TRY(addValue(i));
        for (std::size_t i = 0; i < fewer_.nodeCount(); ++i)
            TS_TRY(proveNode(NodeId(static_cast<std::int64_t>(i))));
        for (const ValueId id : fewer_.outputs())
            if (const Value& value = fewer_.value(id);
                value.isConstant() && !agree(value.constant, more_.value(id).constant, rows_[id.index()]))
                return unsupportedError("output '" + value.name + "' is another one for other extents");
        return RowAxes{axesOf(fewer_.inputs()), axesOf(fewer_.outputs())};
    }

private:
    Status addValue(std::size_t index) {
        const Value &fewer = *fewer_.values()[index], &more = *more_.values()[index];
        const auto refused = [&](const std::string& what) {
            return unsupportedError("value '" + fewer.name + "' " + what);
        };
        if (fewer.name != more.name || fewer.isConstant() != more.isConstant() ||
            fewer.type.dtype != more.type.dtype)
            return refused("is another one for other extents");
        if (!fewer.type.isStatic() || !more.type.isStatic())
            return refused("has a shape that depends on data");
        const auto rows = rowAxisOf(fewer.type.shape(), more.type.shape(), question_);
        if (!rows)
            return refused("does not have its rows along one axis");
        rows_[index] = *rows;
        return {};
    }

    std::vector<RowAxis> axesOf(const std::vector<ValueId>& ids) const {
        std::vector<RowAxis> axes;
        for (const ValueId id : ids)
            axes.push_back(rows_[id.index()]);
        return axes;
    }

    Status proveNode(NodeId id) {
        const Node &node = fewer_.node(id), &twin = more_.node(id);
        const auto refused = [&](const std::string& what) {
            return unsupportedError("node '" + node.name + "' (" + node.op + ") " + what);
        };
        if (node.op != twin.op || node.inputs != twin.inputs || node.outputs != twin.outputs)
            return refused("is another one for other extents");
        TS_ASSIGN(const loops::Program fewer, lowerNode(fewer_, id));
        TS_ASSIGN(const loops::Program more, lowerNode(more_, id));
        if (fewer.stages.size() != more.stages.size())
            return refused("is computed in another way for other extents");
        std::map<loops::TensorRef, RowAxis> rows;
        Twins twins;
        std::size_t position = 0;
        for (const ValueId input : node.inputs)
            if (input.valid()) {
                twins.add(fewer.inputs[position], more.inputs[position]);
                rows[fewer.inputs[position++]] = rows_[input.index()];
            }
        for (std::size_t s = 0; s < fewer.stages.size(); ++s) {
            const loops::Stage stage = simplified(fewer.stages[s]), other = simplified(more.stages[s]);
            if (!twins.same(stage, other))
                return refused("computes something else for other extents");
            const auto own = rowAxisOf(stage.output->shape, other.output->shape, question_);
            if (!own || !staysInRow(stage, *own, rows))
                return refused("mixes rows");
            rows[stage.output] = *own;
            twins.add(stage.output, other.output);
        }
        return constantsAgree(fewer, node) ? Status()
                                           : refused("reads constants that are others for other extents");
    }

    static bool staysInRow(const loops::Stage& stage, const RowAxis& own,
                           const std::map<loops::TensorRef, RowAxis>& rows) {
        const loops::VarRanges ranges = rangesOf(stage);
        const loops::Expr row =
            own.carried()
                ? rowOf(loops::Expr(stage.axes[static_cast<std::size_t>(own.axis)].var), own, ranges)
                : loops::Expr();
        return staysInRow(stage.body, row, rows, ranges) &&
               (!stage.guard.valid() || staysInRow(stage.guard, row, rows, ranges));
    }

    static loops::Expr rowOf(const loops::Expr& index, const RowAxis& rows, const loops::VarRanges& ranges) {
        return loops::simplify(index / loops::Expr(rows.block), ranges);
    }

    static bool staysInRow(const loops::Expr& e, const loops::Expr& row,
                           const std::map<loops::TensorRef, RowAxis>& rows, const loops::VarRanges& ranges) {
        if (e->op == loops::Op::load) {
            const RowAxis& from = rows.at(e->tensor);
            if (from.carried() &&
                (!row.valid() ||
                 !loops::sameExpr(rowOf(e->args[static_cast<std::size_t>(from.axis)], from, ranges), row)))
                return false;
        }
        return std::ranges::all_of(
            e->args, [&](const loops::Expr& arg) { return staysInRow(arg, row, rows, ranges); });
    }

    static void collectLoads(const loops::Expr& e, std::vector<loops::TensorRef>& found) {
        if (e->op == loops::Op::load)
            found.push_back(e->tensor);
        for (const loops::Expr& arg : e->args)
            collectLoads(arg, found);
    }

    // Shapes of a Reshape and the like differ, and are not read when it runs.
    bool constantsAgree(const loops::Program& program, const Node& node) const {
        std::vector<loops::TensorRef> loaded;
        for (const loops::Stage& stage : program.stages)
            for (const loops::Expr* e : {&stage.body, &stage.guard})
                if (e->valid())
                    collectLoads(*e, loaded);
        std::size_t position = 0;
        for (const ValueId id : node.inputs) {
            if (!id.valid())
                continue;
            const loops::TensorRef& input = program.inputs[position++];
            const Tensor &fewer = fewer_.value(id).constant, &more = more_.value(id).constant;
            if (!fewer.absent() && std::ranges::find(loaded, input) != loaded.end() &&
                !agree(fewer, more, rows_[id.index()]))
                return false;
        }
        return true;
    }

    const Graph &fewer_, &more_;
    const RowQuestion& question_;
    std::vector<RowAxis> rows_;
};

} // namespace

Result<RowAxes> independentRows(const Graph& model, const RowQuestion& question) {
    DimBindings bindings = question.others;
    bindings[question.name] = question.fewer;
    TS_ASSIGN(const Graph fewer, prepareGraph(model, bindings));
    bindings[question.name] = question.more;
    TS_ASSIGN(const Graph more, prepareGraph(model, bindings));
    return RowProof(fewer, more, question).run();
}

} // namespace tunesmith
