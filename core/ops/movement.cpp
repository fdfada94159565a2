// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/movement.h"

#include <algorithm>

#include "core/graph/copied_strings.h"
#include "core/graph/stored_types.h"
#include "core/ops/broadcast.h"
#include "core/ops/expand_control_flow.h"
#include "core/ops/node_steps.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

Status checkArity(const OpInputs& in, const Arity& arity) {
    const std::size_t outputs = in.node.outputs.size();
    if (in.count() > arity.maxInputs && arity.maxInputs != kVariadic)
        return in.error("takes at most " + std::to_string(arity.maxInputs) + " inputs, not " + std::to_string(in.count()));
    for (std::size_t i = 0; i < arity.minInputs; ++i)
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
    if (outputs == 0 || (outputs > arity.maxOutputs && arity.maxOutputs != kVariadic))
        return in.error("has " + std::to_string(outputs) + " outputs");
    return {};
}

// Strings of all inputs, which live longer, by number, while a kernel moves the numbers.
class StringTable {
public:
    StringTable() = default;
    StringTable(const StringTable&) = delete;
    StringTable& operator=(const StringTable&) = delete;

    Tensor encode(const Tensor& tensor) {
        Tensor numbers = Tensor::zeros(DType::i64, tensor.shape());
        for (std::int64_t i = 0; i < tensor.count(); ++i) {
            numbers.mutableData<std::int64_t>()[i] = static_cast<std::int64_t>(texts_.size());
            texts_.push_back(&tensor.strings()[i]);
        }
        return numbers;
    }
    Tensor decode(const Tensor& numbers) const {
        return copyStrings(numbers.shape(), [&](std::int64_t i) -> const std::string& { return *texts_[numbers.data<std::int64_t>()[i]]; });
    }

private:
    std::string none_;
    std::vector<const std::string*> texts_{&none_}; // number 0 is what a kernel fills with
};

Result<std::vector<TensorType>> concreteTypes(const InferRule& infer, const EvalContext& context) {
    std::vector<TensorType> types;
    for (const Tensor& input : context.inputs)
        types.push_back(input.absent() ? TensorType() : TensorType(input.type(), input.shape()));
    InferContext inferred(context.node, context.opset, std::move(types), context.inputs);
    inferred.outputs.resize(context.node.outputs.size());
    inferred.values.resize(context.node.outputs.size());
    TS_TRY(infer(inferred));
    return inferred.outputs;
}

Status evaluateStrings(const InferRule& infer, const MoveKernel& kernel, EvalContext& context) {
    StringTable table;
    std::vector<Tensor> inputs = context.inputs;
    for (Tensor& input : inputs)
        if (input.type() == DType::string)
            input = table.encode(input);
    TS_ASSIGN(const std::vector<TensorType> types, concreteTypes(infer, context));
    EvalContext numbers(context.node, context.opset, inputs);
    TS_TRY(kernel(numbers, types));
    for (std::size_t i = 0; i < numbers.outputs.size(); ++i)
        if (types[i].dtype == DType::string && !numbers.outputs[i].absent())
            context.outputs[i] = table.decode(numbers.outputs[i]);
        else
            context.outputs[i] = numbers.outputs[i];
    return {};
}

// Packed elements move as bytes, one each.
Status evaluatePacked(const InferRule& infer, const MoveKernel& kernel, EvalContext& context) {
    TS_ASSIGN(const std::vector<TensorType> types, concreteTypes(infer, context));
    std::vector<Tensor> inputs = context.inputs;
    for (Tensor& input : inputs)
        if (isPacked(input.type()))
            input = unpackCodes(input);
    EvalContext codes(context.node, context.opset, inputs);
    codes.runBody = context.runBody;
    TS_TRY(kernel(codes, types));
    for (std::size_t i = 0; i < codes.outputs.size(); ++i)
        context.outputs[i] = isPacked(types[i].dtype) && codes.outputs[i].type() == DType::u8 ? packCodes(types[i].dtype, codes.outputs[i]) : codes.outputs[i];
    return {};
}

bool hasPacked(const EvalContext& context) {
    return std::ranges::any_of(context.inputs, [](const Tensor& input) { return isPacked(input.type()); });
}

bool hasStrings(const EvalContext& context) {
    return std::any_of(context.inputs.begin(), context.inputs.end(),
                       [](const Tensor& input) { return input.type() == DType::string; });
}

template <class T> void copyElements(const T* from, const View& source, T* to, const View& target) {
    forEachRun<2>(source.shape, {source.strides, target.strides},
                  [&](std::int64_t, std::int64_t count, const auto& at, const auto& step) {
                      const T* const x = from + at[0];
                      T* const y = to + at[1];
                      if (step[0] == 1 && step[1] == 1)
                          std::copy_n(x, count, y);
                      else
                          for (std::int64_t i = 0; i < count; ++i)
                              y[i * step[1]] = x[i * step[0]];
                  });
}

double movedElements(const OpInputs& in) { return readElements(in) + resultElements(in); }

} // namespace

void addMovement(OperatorList& list, const std::string& name, Fusion fusion, std::int64_t sinceOpset, Arity arity,
                 const InferRule& infer, const MoveKernel& kernel, LowerRule lower, LowerableRule lowerable) {
    Operator op;
    op.name = name;
    op.fusion = fusion;
    op.sinceOpset = sinceOpset;
    op.infer = [arity, infer](InferContext& in) -> Status {
        TS_TRY(checkArity(in, arity));
        return infer(in);
    };
    op.eval = [rule = op.infer, kernel, fusion](EvalContext& context) -> Status {
        if (hasStrings(context))
            return evaluateStrings(rule, kernel, context);
        // What shares its bytes needs no elements, and what has a body hands them to nodes of their own.
        if (fusion != Fusion::alias && hasPacked(context) && !hasBody(context.node))
            return evaluatePacked(rule, kernel, context);
        TS_ASSIGN(const std::vector<TensorType> types, concreteTypes(rule, context));
        return kernel(context, types);
    };
    op.lower = std::move(lower);
    op.lowerable = std::move(lowerable);
    if (!op.lower && fusion != Fusion::alias)
        op.steps = movedElements; // it may read much and give little
    list.push_back(std::move(op));
}

View wholeView(const Tensor& tensor) { return {tensor.shape(), rowMajorStrides(tensor.shape()), 0}; }

void copyView(const Tensor& from, const View& source, Tensor& to, const View& target) {
    assert(source.shape == target.shape && from.type() == to.type());
    if (elementCount(source.shape) == 0)
        return;
    if (isPacked(from.type())) {
        Tensor codes = unpackCodes(to);
        copyView(unpackCodes(from), source, codes, target);
        to = packCodes(from.type(), codes);
        return;
    }
    visitWidth(from.type(), [&](auto tag) {
        using T = decltype(tag);
        copyElements(rawData<T>(from) + source.offset, source, rawData<T>(to) + target.offset, target);
    });
}

Tensor gatherView(const Tensor& from, const View& source, Shape shape) {
    Tensor to = Tensor::zeros(from.type(), std::move(shape));
    copyView(from, source, to, {source.shape, rowMajorStrides(source.shape), 0});
    return to;
}

Tensor gatherMapped(const Tensor& from, const IndexMaps& maps, const Tensor& fill) {
    if (isPacked(from.type()))
        return packCodes(from.type(), gatherMapped(unpackCodes(from), maps, fill.absent() ? fill : unpackCodes(fill)));
    Shape shape;
    for (const auto& map : maps)
        shape.push_back(static_cast<std::int64_t>(map.size()));
    if (maps.empty())
        return from;
    Tensor to = Tensor::zeros(from.type(), shape);
    if (to.count() == 0)
        return to;
    const Shape strides = rowMajorStrides(from.shape());
    const std::vector<std::int64_t>& inner = maps.back();
    visitWidth(from.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* const source = rawData<T>(from);
        const T filler = fill.absent() ? T{} : *rawData<T>(fill);
        T* target = rawData<T>(to);
        Shape index(maps.size() - 1, 0);
        for (std::int64_t row = 0; row < to.count() / shape.back(); ++row, target += inner.size()) {
            std::int64_t base = 0;
            bool outside = false;
            for (std::size_t d = 0; d < index.size(); ++d) {
                const std::int64_t mapped = maps[d][index[d]];
                outside = outside || mapped < 0;
                base += mapped * strides[d];
            }
            for (std::size_t i = 0; i < inner.size(); ++i)
                target[i] = outside || inner[i] < 0 ? filler : source[base + inner[i]];
            for (std::size_t d = index.size(); d-- > 0;) {
                if (++index[d] < shape[d])
                    break;
                index[d] = 0;
            }
        }
    });
    return to;
}

Result<IntList> intList(const OpInputs& in, const std::string& attribute, std::size_t input) {
    if (in.node.has(attribute))
        return IntList{true, true, in.node.intsAttr(attribute)};
    if (!in.has(input))
        return IntList();
    TS_TRY(requireIndexType(in, input));
    return in.isConstant(input) ? IntList{true, true, in.constant(input).asInts()} : IntList{true, false, {}};
}

std::vector<std::int64_t> intList(const EvalContext& context, const std::string& attribute, std::size_t input,
                                  const std::vector<std::int64_t>& fallback) {
    if (context.node.has(attribute))
        return context.node.intsAttr(attribute);
    return context.has(input) ? context.input(input).asInts() : fallback;
}

Status requireConstant(const OpInputs& in, std::size_t index, const char* what) {
    if (in.has(index) && !in.isConstant(index))
        return in.unsupported(std::string(what) + " is not known before the model runs");
    return {};
}

Status requireIndexType(const OpInputs& in, std::size_t index) {
    return requireType(in, index, [](DType type) { return type == DType::i32 || type == DType::i64; }, "int32 or int64");
}

Result<std::vector<std::size_t>> frontAxes(const OpInputs& in, const std::vector<std::int64_t>& axes, std::size_t rank) {
    std::vector<std::size_t> front;
    for (const std::int64_t axis : axes) {
        TS_ASSIGN(const std::size_t counted, frontAxis(in, axis, rank));
        if (std::find(front.begin(), front.end(), counted) != front.end())
            return in.error("axis " + std::to_string(axis) + " comes twice");
        front.push_back(counted);
    }
    return front;
}

Dim productOf(Dims::const_iterator first, Dims::const_iterator last) {
    std::int64_t known = 1;
    std::vector<Dim> unknown;
    for (; first != last; ++first)
        if (!first->known())
            unknown.push_back(*first);
        else if (__builtin_mul_overflow(known, first->extent, &known))
            return {};
    if (known == 0 || unknown.empty())
        return known;
    return unknown.size() == 1 && known == 1 ? unknown.front() : Dim();
}

loops::Expr safeIndex(const loops::Expr& index, std::int64_t extent) {
    const loops::Expr wide = index->type == DType::i64 ? index : loops::cast(DType::i64, index);
    const loops::Expr front = loops::select(wide < loops::Expr(0), wide + loops::Expr(extent), wide);
    return loops::min(loops::max(front, loops::Expr(0)), loops::Expr(extent - 1));
}

loops::Expr zeroOf(DType type) { return isFloat(type) ? loops::constantOf(type, 0) : loops::constantInt(type, 0); }

loops::Expr oneOf(DType type) { return isFloat(type) ? loops::constantOf(type, 1) : loops::constantInt(type, 1); }

loops::Expr elementConstant(const Tensor& tensor, std::int64_t index) {
    if (isStored(tensor.type())) // kernels move codes
        return loops::constantInt(tensor.type(), unpackCodes(tensor).asInt(index));
    return isFloat(tensor.type()) ? loops::constantOf(tensor.type(), tensor.asDouble(index))
                                  : loops::constantInt(tensor.type(), tensor.asInt(index));
}

} // namespace tunesmith::ops
