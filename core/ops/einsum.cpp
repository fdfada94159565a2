// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/broadcast.h"
#include "core/ops/einsum_plan.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// Einsum: sums of products, as an equation over the dimensions of any number of tensors says.
namespace tunesmith::ops {
namespace {

using namespace loops;

constexpr double kMostProducts = 0x1p40; // minutes

Status inferEinsum(InferContext& in) {
    const std::string equation = in.node.stringAttr("equation");
    if (!in.node.has("equation"))
        return in.error("has no equation");
    std::vector<Dims> shapes;
    for (std::size_t i = 0; i < in.count(); ++i) {
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
        TS_TRY(requireNumeric(in, i));
        TS_TRY(requireSameType(in, 0, i));
        if (in.type(i).dims)
            shapes.push_back(*in.type(i).dims);
    }
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (shapes.size() < in.count())
        return {};
    const auto plan = planEinsum(equation, shapes);
    if (!plan.ok())
        return in.error(plan.error().message);
    in.outputs[0].dims.emplace();
    for (const std::size_t label : plan->output)
        in.outputs[0].dims->push_back(plan->extents[label]);
    return {};
}

EinsumPlan planOf(const std::string& equation, const std::vector<Shape>& shapes) { // of a node that was checked
    std::vector<Dims> dims;
    for (const Shape& shape : shapes)
        dims.push_back(knownDims(shape));
    return *planEinsum(equation, dims);
}

// How often two numbers are multiplied.
double productsOf(const EinsumPlan& plan) {
    double products = static_cast<double>(std::max<std::size_t>(plan.terms.size(), 2) - 1);
    for (const Dim& extent : plan.extents)
        products *= static_cast<double>(extent.extent);
    return products;
}

double einsumSteps(const OpInputs& in) {
    std::vector<Dims> shapes;
    for (std::size_t i = 0; i < in.count(); ++i)
        shapes.push_back(knownDims(in.type(i).shape()));
    const auto plan = planEinsum(in.node.stringAttr("equation"), shapes);
    return plan.ok() ? productsOf(*plan) : 0; // refused
}

Shape extentsOf(const EinsumPlan& plan, const std::vector<std::size_t>& labels) {
    Shape extents;
    for (const std::size_t label : labels)
        extents.push_back(plan.extents[label].extent);
    return extents;
}

// How far one step of each of `labels` moves in a term's tensor.
Shape stridesAlong(const EinsumPlan& plan, std::size_t term, const Shape& shape,
                   const std::vector<std::size_t>& labels) {
    const Shape own = rowMajorStrides(shape);
    Shape strides(labels.size(), 0);
    for (std::size_t k = 0; k < labels.size(); ++k)
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (plan.terms[term][d] == labels[k] && shape[d] > 1)
                strides[k] += own[d];
    return strides;
}

// A row-major walk over some labels with one offset per tensor.
class LabelWalk {
public:
    LabelWalk(Shape extents, std::vector<Shape> strides) : extents_(std::move(extents)), strides_(std::move(strides)) {}

    std::int64_t count() const { return elementCount(extents_); }
    // visit(offsets) for every index; the offsets start at `offsets` and end there.
    template <class Visit> void run(std::vector<std::int64_t>& offsets, Visit&& visit) const {
        Shape index(extents_.size(), 0);
        for (std::int64_t n = count(); n > 0; --n) {
            visit(offsets);
            for (std::size_t d = extents_.size(); d-- > 0;) {
                const bool carry = ++index[d] == extents_[d];
                for (std::size_t t = 0; t < offsets.size(); ++t)
                    offsets[t] += strides_[t][d] * (carry ? 1 - extents_[d] : 1);
                if (!carry)
                    break;
                index[d] = 0;
            }
        }
    }

private:
    Shape extents_;
    std::vector<Shape> strides_; // per tensor
};

// The products along the innermost summed label, from the offsets of a walk over the others.
template <class T, class A>
A sumOfProducts(const std::vector<const T*>& data, const std::vector<std::int64_t>& offsets,
                const std::vector<std::int64_t>& steps, std::int64_t count) {
    A sum{};
    if (data.size() == 2) {
        const T *a = data[0] + offsets[0], *b = data[1] + offsets[1];
        for (std::int64_t i = 0; i < count; ++i)
            sum += static_cast<A>(a[i * steps[0]]) * static_cast<A>(b[i * steps[1]]);
        return sum;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        A product = static_cast<A>(data[0][offsets[0] + i * steps[0]]);
        for (std::size_t t = 1; t < data.size(); ++t)
            product *= static_cast<A>(data[t][offsets[t] + i * steps[t]]);
        sum += product;
    }
    return sum;
}

// Sums are kept in A: double for floats, an unsigned integer, which may wrap, for integers.
template <class T, class A> void evaluateProducts(EvalContext& context, const EinsumPlan& plan) {
    std::vector<std::size_t> summed = plan.summed;
    std::vector<std::size_t> inner;
    if (!summed.empty()) {
        inner.push_back(summed.back());
        summed.pop_back();
    }
    std::vector<const T*> data;
    std::vector<Shape> outerStrides, summedStrides;
    std::vector<std::int64_t> steps;
    for (std::size_t t = 0; t < context.inputs.size(); ++t) {
        const Shape& shape = context.input(t).shape();
        data.push_back(context.input(t).data<T>().data());
        outerStrides.push_back(stridesAlong(plan, t, shape, plan.output));
        summedStrides.push_back(stridesAlong(plan, t, shape, summed));
        steps.push_back(inner.empty() ? 0 : stridesAlong(plan, t, shape, inner)[0]);
    }
    const std::int64_t count = inner.empty() ? 1 : plan.extents[inner[0]].extent;
    const LabelWalk sums(extentsOf(plan, summed), std::move(summedStrides));
    T* y = context.outputs[0].mutableData<T>().data();
    std::vector<std::int64_t> offsets(data.size(), 0);
    LabelWalk(extentsOf(plan, plan.output), std::move(outerStrides)).run(offsets, [&](std::vector<std::int64_t>& at) {
        A sum{};
        sums.run(at,
                 [&](const std::vector<std::int64_t>& from) { sum += sumOfProducts<T, A>(data, from, steps, count); });
        *y++ = static_cast<T>(sum);
    });
}

Status evalEinsum(EvalContext& context) {
    std::vector<Shape> shapes;
    for (const Tensor& input : context.inputs)
        shapes.push_back(input.shape());
    const EinsumPlan plan = planOf(context.node.stringAttr("equation"), shapes);
    if (productsOf(plan) > kMostProducts)
        return context.error("multiplies more than 2^40 times; split its equation into several");
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        evaluateProducts<T, std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>>(context, plan);
    });
    return {};
}

Status lowerEinsum(LowerContext& context) {
    std::vector<Shape> shapes;
    for (const TensorRef& input : context.inputs)
        shapes.push_back(input->shape);
    const EinsumPlan plan = planOf(context.node.stringAttr("equation"), shapes);
    const DType type = computeType(context.outputType());
    const auto productAt = [&](const Indices& output, const Indices& reduced) {
        Indices at(plan.extents.size());
        for (std::size_t i = 0; i < plan.output.size(); ++i)
            at[plan.output[i]] = output[i];
        for (std::size_t i = 0; i < plan.summed.size(); ++i)
            at[plan.summed[i]] = reduced[i];
        Expr product;
        for (std::size_t t = 0; t < shapes.size(); ++t) {
            Indices own;
            for (std::size_t d = 0; d < shapes[t].size(); ++d)
                own.push_back(shapes[t][d] == 1 ? Expr(0) : at[plan.terms[t][d]]);
            const Expr factor = read(context.inputs[t], own);
            product = product.valid() ? product * factor : factor;
        }
        return product;
    };
    if (plan.summed.empty()) {
        lowerElementwise(context, "einsum", [&](const Indices& i) { return productAt(i, {}); });
        return {};
    }
    finishReduction(context, reduce("einsum", type, context.outputShape(), Reduction::sum, extentsOf(plan, plan.summed),
                                    [&](const Indices& o, const Indices& r) {
                                        return ReductionBody{productAt(o, r), {}};
                                    }));
    return {};
}

} // namespace

void registerEinsum(OperatorList& list) {
    addOperator(list, "Einsum", Fusion::anchor, 12, {1, kVariadic}, inferEinsum, evalEinsum, lowerEinsum);
    list.back().steps = einsumSteps;
}

} // namespace tunesmith::ops
