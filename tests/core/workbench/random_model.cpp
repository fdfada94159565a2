// SPDX-License-Identifier: GPL-3.0-or-later
#include "random_model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "core/graph/graph_builder.h"
#include "core/rewrite/draft.h"
#include "tests/take.h"

namespace tunesmith::testing {
namespace {

using namespace rewrite;
using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

class RandomModel {
public:
    explicit RandomModel(std::uint64_t seed)
        : rng_(seed), draft_(std::make_shared<OperatorTable>(std::map<std::string, std::int64_t>{{"", pick<std::int64_t>({7, 9, 10, 11, 13, 17, 18, 21, 23})}, {"com.microsoft", 1}})) {}

    Graph run() {
        draft_.addInput(draft_.table().add(TensorType(DType::f32, shape(static_cast<std::size_t>(between(1, 5))))), 1);
        pool_ = {0};
        const std::int64_t nodes = between(3, 8);
        for (std::int64_t tries = 0; static_cast<std::int64_t>(draft_.nodes()) < nodes && tries < 60; ++tries)
            step();
        return graph();
    }

private:
    // Numbers.
    std::int64_t between(std::int64_t low, std::int64_t high) { return high <= low ? low : low + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1))); }
    template <class T> T pick(std::initializer_list<T> choices) { return choices.begin()[rng_.below(choices.size())]; }
    std::int64_t extent() { return pick<std::int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 16, 17}); }
    std::int64_t opset() const { return draft_.table().opset(); }
    Shape shape(std::size_t rank) {
        Shape made;
        if (rank == 4 && rng_.chance(0.2))
            return {1, pick<std::int64_t>({16, 24}), between(20, 26), between(20, 26)}; // a map that Winograd's algorithm takes
        for (std::size_t d = 0; d < rank; ++d)
            made.push_back(elementCount(made) > 300 ? between(1, 3) : extent());
        return made;
    }
    std::int64_t axisOf(const Shape& of) {
        const auto rank = static_cast<std::int64_t>(of.size());
        return between(opset() < 11 ? 0 : -rank, rank - 1);
    }
    static std::size_t front(std::int64_t axis, const Shape& of) { return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(of.size()) : axis); }

    // Constants.
    ValueNo numbers(const Shape& of, float low = -1, float high = 1) {
        Tensor tensor = Tensor::zeros(DType::f32, of);
        for (float& value : tensor.mutableData<float>())
            value = rng_.uniform(low, high);
        return draft_.constant(tensor);
    }
    ValueNo ints(const Ints& values) { return draft_.constant(Tensor::ofInts(values)); }
    ValueNo bytes(DType type, const Shape& of) {
        Tensor tensor = Tensor::zeros(type, of);
        for (std::byte& byte : tensor.mutableBytes())
            byte = static_cast<std::byte>(rng_.below(256));
        return draft_.constant(tensor);
    }

    // One more node, where the shape rule takes what was drawn.
    void step() {
        const ValueNo x = rng_.chance(0.7) ? pool_.back() : pool_[rng_.below(pool_.size())];
        using Step = ValueNo (RandomModel::*)(ValueNo, const Shape&);
        static constexpr std::array<Step, 22> kSteps{
            &RandomModel::unary, &RandomModel::withConstant, &RandomModel::withConstant, &RandomModel::withOther, &RandomModel::transpose, &RandomModel::reshape, &RandomModel::slice,
            &RandomModel::slice, &RandomModel::gather, &RandomModel::concat, &RandomModel::split, &RandomModel::pad, &RandomModel::reduce, &RandomModel::softmax, &RandomModel::window,
            &RandomModel::conv, &RandomModel::conv, &RandomModel::product, &RandomModel::packedProduct, &RandomModel::norm, &RandomModel::quantised, &RandomModel::unsqueeze};
        const std::size_t before = draft_.nodes();
        const ValueNo made = (this->*kSteps[rng_.below(kSteps.size())])(x, Shape(draft_.shape(x)));
        if (made == kNone || draft_.nodes() == before || draft_.dtype(made) != DType::f32)
            return;
        if (const Shape& of = draft_.shape(made); !of.empty() && elementCount(of) > 0 && elementCount(of) < 20'000)
            pool_.push_back(made);
    }

    ValueNo unary(ValueNo x, const Shape&) {
        switch (between(0, 8)) {
        case 0: return draft_.add("Relu", {x});
        case 1: return draft_.add("LeakyRelu", {x}, {{"alpha", 0.25F}});
        case 2: return draft_.add("Tanh", {x});
        case 3: return draft_.add("Sigmoid", {x});
        case 4: return opset() < 11 ? draft_.add("Clip", {x}, {{"min", -0.5F}, {"max", 0.75F}}) : draft_.add("Clip", {x, numbers({}, -0.5F, -0.4F), numbers({}, 0.7F, 0.8F)});
        case 5: return draft_.add("Abs", {x});
        case 6: return draft_.add("Neg", {x});
        case 7: return draft_.add("Mul", {x, draft_.add("Sigmoid", {x})});
        default: return draft_.add("Exp", {draft_.add("Tanh", {x})});
        }
    }

    // A constant of fewer dimensions, of extents of 1, or of more dimensions than x.
    ValueNo withConstant(ValueNo x, const Shape& of) {
        Shape other = of;
        for (std::int64_t& one : other)
            one = rng_.chance(0.3) ? 1 : one;
        if (rng_.chance(0.3))
            other.erase(other.begin(), other.begin() + between(0, static_cast<std::int64_t>(other.size())));
        else if (rng_.chance(0.15) && other.size() < 5)
            other.insert(other.begin(), between(1, 3));
        const ValueNo c = numbers(other, 0.25F, 1.5F);
        const std::string op = pick<const char*>({"Add", "Mul", "Sub", "Div", "Add"});
        return rng_.chance(0.7) ? draft_.add(op, {x, c}) : draft_.add(op == "Div" ? "Sub" : op, {c, x});
    }

    ValueNo withOther(ValueNo x, const Shape&) { return draft_.add(pick<const char*>({"Add", "Mul", "Max", "Sub"}), {x, pool_[rng_.below(pool_.size())]}); }

    ValueNo transpose(ValueNo x, const Shape& of) {
        Ints perm(of.size());
        std::iota(perm.begin(), perm.end(), std::int64_t{0});
        for (std::size_t i = perm.size(); i > 1; --i)
            std::swap(perm[i - 1], perm[rng_.below(i)]);
        return draft_.add("Transpose", {x}, {{"perm", perm}});
    }

    ValueNo reshape(ValueNo x, const Shape& of) {
        Shape to;
        for (std::int64_t count = elementCount(of), factor = 2; count > 1;)
            if (count % factor != 0)
                ++factor;
            else {
                if (to.empty() || rng_.chance(0.5))
                    to.push_back(1);
                to.back() *= factor;
                count /= factor;
            }
        if (to.size() > 5)
            to = {-1};
        return draft_.add("Reshape", {x, ints(to)});
    }

    ValueNo unsqueeze(ValueNo x, const Shape& of) {
        if (of.size() > 4)
            return kNone;
        const Ints axes{between(0, static_cast<std::int64_t>(of.size()))};
        return opset() < 13 ? draft_.add("Unsqueeze", {x}, {{"axes", axes}}) : draft_.add("Unsqueeze", {x, ints(axes)});
    }

    ValueNo slice(ValueNo x, const Shape& of) {
        const std::int64_t axis = axisOf(of), extent = of[front(axis, of)], begin = between(0, extent - 1), end = between(begin + 1, extent), step = between(1, 3);
        if (opset() < 10)
            return draft_.add("Slice", {x}, {{"axes", Ints{axis}}, {"starts", Ints{begin}}, {"ends", Ints{end}}});
        if (rng_.chance(0.2))
            return draft_.add("Slice", {x, ints({-1}), ints({-extent - 1}), ints({axis}), ints({-step})});
        return rng_.chance(0.5) ? draft_.add("Slice", {x, ints({begin}), ints({end}), ints({axis})}) : draft_.add("Slice", {x, ints({begin}), ints({end}), ints({axis}), ints({step})});
    }

    ValueNo gather(ValueNo x, const Shape& of) {
        const std::int64_t axis = axisOf(of), extent = of[front(axis, of)];
        if (rng_.chance(0.6))
            return draft_.add("Gather", {x, draft_.constant(Tensor::scalar<std::int64_t>(between(opset() < 11 ? 0 : -extent, extent - 1)))}, {{"axis", axis}});
        Ints indices;
        for (std::int64_t i = between(1, 4); i > 0; --i)
            indices.push_back(between(0, extent - 1));
        return draft_.add("Gather", {x, ints(indices)}, {{"axis", axis}});
    }

    ValueNo concat(ValueNo x, const Shape& of) {
        const std::int64_t axis = axisOf(of);
        const ValueNo other = pool_[rng_.below(pool_.size())];
        return rng_.chance(0.5) ? draft_.add("Concat", {x, other}, {{"axis", axis}}) : draft_.add("Concat", {numbers(of), x}, {{"axis", axis}});
    }

    ValueNo split(ValueNo x, const Shape& of) {
        const std::int64_t axis = axisOf(of), extent = of[front(axis, of)], first = between(1, extent - 1);
        if (extent < 2)
            return kNone;
        const Ints parts{first, extent - first};
        const ValueNo made = opset() < 13 ? draft_.add(draft_.table().add("Split", {{"axis", axis}, {"split", parts}}), std::array{x}, 2)
                                          : draft_.add(draft_.table().add("Split", {{"axis", axis}}), std::array{x, ints(parts)}, 2);
        if (made != kNone)
            pool_.push_back(made);
        return made == kNone ? kNone : made + 1;
    }

    ValueNo pad(ValueNo x, const Shape& of) {
        Ints pads(2 * of.size(), 0);
        for (std::int64_t& one : pads)
            one = rng_.chance(0.3) ? between(0, 2) : 0;
        return opset() < 11 ? draft_.add("Pad", {x}, {{"pads", pads}, {"value", 0.5F}}) : draft_.add("Pad", {x, ints(pads), numbers({})});
    }

    ValueNo reduce(ValueNo x, const Shape& of) {
        const std::string op = pick<const char*>({"ReduceSum", "ReduceMean", "ReduceMax"});
        const Ints axes{axisOf(of)};
        const std::int64_t keep = between(0, 1);
        const bool asInput = opset() >= (op == "ReduceSum" ? 13 : 18);
        return asInput ? draft_.add(op, {x, ints(axes)}, {{"keepdims", keep}}) : draft_.add(op, {x}, {{"axes", axes}, {"keepdims", keep}});
    }

    ValueNo softmax(ValueNo x, const Shape& of) { return draft_.add("Softmax", {x}, {{"axis", axisOf(of)}}); }

    Attributes windowOf(std::size_t dims, const Ints& kernel, bool dilated) {
        Ints strides, dilations, pads(2 * dims, 0);
        for (std::size_t d = 0; d < dims; ++d) {
            strides.push_back(between(1, 2));
            dilations.push_back(dilated && kernel[d] > 1 ? between(1, 2) : 1);
            pads[d] = between(0, kernel[d] / 2);
            pads[d + dims] = between(0, kernel[d] / 2);
        }
        Attributes made{{"strides", strides}, {"pads", pads}};
        if (dilated)
            made["dilations"] = dilations;
        return made;
    }

    ValueNo window(ValueNo x, const Shape& of) {
        if (of.size() < 3)
            return kNone;
        if (rng_.chance(0.2))
            return draft_.add(pick<const char*>({"GlobalAveragePool", "GlobalMaxPool"}), {x});
        Ints kernel;
        for (std::size_t d = 2; d < of.size(); ++d)
            kernel.push_back(between(1, std::min<std::int64_t>(3, of[d])));
        Attributes made = windowOf(kernel.size(), kernel, false);
        made["kernel_shape"] = kernel;
        return draft_.add(pick<const char*>({"MaxPool", "AveragePool"}), {x}, std::move(made));
    }

    ValueNo conv(ValueNo x, const Shape& of) {
        if (of.size() < 3)
            return kNone;
        const bool transposed = rng_.chance(0.2);
        std::int64_t group = rng_.chance(0.3) ? between(1, of[1]) : 1;
        group = of[1] % group == 0 ? group : 1;
        const std::int64_t out = pick<std::int64_t>({1, 3, 8, 16}) * group;
        Ints kernel;
        for (std::size_t d = 2; d < of.size(); ++d)
            kernel.push_back(between(1, std::min<std::int64_t>(3, of[d])));
        Shape weights = transposed ? Shape{of[1], out / group} : Shape{out, of[1] / group};
        weights.insert(weights.end(), kernel.begin(), kernel.end());
        Attributes made = windowOf(kernel.size(), kernel, true);
        made["group"] = group;
        const std::string op = transposed ? "ConvTranspose" : "Conv";
        return rng_.chance(0.5) ? draft_.add(op, {x, numbers(weights)}, std::move(made)) : draft_.add(op, {x, numbers(weights), numbers({out})}, std::move(made));
    }

    ValueNo product(ValueNo x, const Shape& of) {
        const std::int64_t k = of.back(), n = extent();
        if (of.size() == 2 && rng_.chance(0.3))
            return draft_.add("Gemm", {x, numbers({n, k}), numbers(rng_.chance(0.5) ? Shape{n} : Shape{of[0], 1})}, {{"transB", std::int64_t{1}}, {"alpha", 0.5F}});
        Shape weights{k, n};
        if (of.size() > 2 && rng_.chance(0.4))
            weights.insert(weights.begin(), of.begin(), of.end() - 2);
        return draft_.add("MatMul", {x, numbers(weights)});
    }

    ValueNo packedProduct(ValueNo x, const Shape& of) {
        const std::int64_t k = of.back(), n = pick<std::int64_t>({8, 16, 24}), bits = pick<std::int64_t>({4, 8}), block = 16, blocks = (k + block - 1) / block;
        Node node;
        node.op = "MatMulNBits";
        node.domain = "com.microsoft";
        node.attributes = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}};
        return draft_.add(draft_.table().add(node), std::array{x, bytes(DType::u8, {n, blocks, block * bits / 8}), numbers({n * blocks}, 0.001F, 0.01F)});
    }

    ValueNo norm(ValueNo x, const Shape& of) {
        const std::int64_t channels = of.size() > 1 ? of[1] : 1;
        if (opset() >= 17 && rng_.chance(0.5))
            return draft_.add("LayerNormalization", {x, numbers({of.back()}), numbers({of.back()})}, {{"axis", std::int64_t{-1}}, {"epsilon", 0.01F}});
        if (of.size() > 2 && rng_.chance(0.5))
            return draft_.add("InstanceNormalization", {x, numbers({channels}), numbers({channels})}, {{"epsilon", 0.01F}});
        return draft_.add("BatchNormalization", {x, numbers({channels}, 0.5F, 1.5F), numbers({channels}), numbers({channels}), numbers({channels}, 0.5F, 1.5F)});
    }

    // Into bytes or packed numbers, something moved there, and back.
    ValueNo quantised(ValueNo x, const Shape& of) {
        if (opset() < 10)
            return kNone;
        const DType type = opset() < 21 ? pick({DType::u8, DType::i8}) : pick({DType::u8, DType::i8, DType::i4, DType::u4});
        const ValueNo scale = numbers({}, 0.1F, 0.2F), zero = draft_.constant(Tensor::zeros(type, {}));
        ValueNo q = draft_.add("QuantizeLinear", {x, scale, zero});
        const std::int64_t axis = axisOf(of), extent = of[front(axis, of)], index = between(0, extent - 1);
        switch (between(0, 4)) {
        case 0: q = draft_.add("Gather", {q, draft_.constant(Tensor::scalar(index))}, {{"axis", axis}}); break;
        case 1: q = draft_.add("Slice", {q, ints({index}), ints({extent}), ints({axis})}); break;
        case 2: q = transpose(q, of); break;
        case 3: q = reshape(q, of); break;
        default: break;
        }
        return q == kNone ? kNone : draft_.add("DequantizeLinear", {q, scale, zero});
    }

    // The last value and now and then another one are outputs; what none of them needs is left out.
    Graph graph() {
        std::vector<ValueNo> outputs{pool_.back()};
        if (const ValueNo other = pool_[rng_.below(pool_.size())]; rng_.chance(0.3) && other != outputs[0])
            outputs.push_back(other);
        draft_.setOutputs(outputs);
        if (!draft_.settle())
            qFatal("a draft that only grows has a cycle");
        GraphBuilder builder("random");
        for (const auto& [domain, version] : draft_.table().opsets())
            builder.setOpset(domain, version);
        std::map<ValueNo, ValueId> made{{0, builder.addInput("x", draft_.table().type(draft_.value(0).type))}};
        for (const NodeNo number : draft_.order()) {
            Node node = draft_.op(number);
            for (const ValueNo operand : draft_.operands(number)) {
                if (const Tensor* const tensor = draft_.constant(operand); tensor && !made.contains(operand))
                    made[operand] = builder.addConstant("", *tensor);
                node.inputs.push_back(operand == kNone ? ValueId() : made.at(operand));
            }
            for (std::size_t i = 0; i < draft_.node(number).outputs; ++i)
                node.outputs.push_back(made[draft_.output(number, i)] = builder.addValue(""));
            builder.addNode(std::move(node));
        }
        std::vector<ValueId> ids;
        for (const ValueNo output : outputs)
            ids.push_back(output == 0 ? builder.add("Identity", {made[0]}) : made.at(output));
        builder.setOutputs(std::move(ids));
        return take(builder.build());
    }

    Rng rng_;
    Draft draft_;
    std::vector<ValueNo> pool_; // of float32, what further nodes may read
};

} // namespace

Graph randomModel(std::uint64_t seed) { return RandomModel(seed).run(); }

} // namespace tunesmith::testing
