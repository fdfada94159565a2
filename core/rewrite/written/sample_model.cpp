// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/sample_model.h"

#include <algorithm>
#include <numeric>

#include "core/rewrite/write_nodes.h"

namespace tunesmith::rewrite {

Shape ConvChoice::data() const {
    Shape shape{batch, group * inPerGroup};
    shape.insert(shape.end(), extents.begin(), extents.end());
    return shape;
}

Shape ConvChoice::weights() const {
    Shape shape{outputs(), inPerGroup};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    return shape;
}

std::map<std::string, Attribute> ConvChoice::attributes() const { return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}}; }

namespace {

std::shared_ptr<OperatorTable> tableOf(const std::shared_ptr<OperatorTable>& table, std::int64_t opset) {
    return table->opset() == opset ? table : std::make_shared<OperatorTable>(std::map<std::string, std::int64_t>{{"", opset}});
}

} // namespace

SampleModel::SampleModel(const std::shared_ptr<OperatorTable>& table, const std::vector<std::int64_t>& opsets, Rng& rng)
    : draft_(tableOf(table, opsets[rng.below(opsets.size())])), rng_(rng), type_(rng.chance(0.9) ? DType::f32 : DType::f64) {}

Shape SampleModel::shape(std::size_t rank, std::int64_t most) {
    Shape shape;
    for (std::size_t d = 0; d < rank; ++d)
        shape.push_back(chance(0.2) ? 1 : chance(0.02) ? 0 : between(1, most));
    return shape;
}

std::vector<std::int64_t> SampleModel::permutation(std::size_t rank) {
    std::vector<std::int64_t> perm(rank);
    std::iota(perm.begin(), perm.end(), std::int64_t(0));
    for (std::size_t d = rank; d > 1; --d)
        std::swap(perm[d - 1], perm[rng_.below(d)]);
    return perm;
}

Tensor SampleModel::random(const Shape& shape, double low, double high, double step) {
    Tensor tensor = Tensor::zeros(DType::f64, shape);
    for (double& x : tensor.mutableData<double>())
        x = low + step * static_cast<double>(between(0, static_cast<std::int64_t>((high - low) / step)));
    return tensor.cast(type_);
}

ValueNo SampleModel::input(const Shape& shape) { return draft_.addInput(draft_.table().add(TensorType(type_, shape)), draft_.values()); }

ValueNo SampleModel::weight(const Shape& shape) {
    if (chance(0.04))
        return input(shape);
    const ValueNo constant = draft_.constant(random(shape, -2, 2, 0.25)), weights = chance(0.2) ? draft_.add("Neg", {constant}) : constant;
    if (shared_)
        beside_.push_back(weights);
    return weights;
}

ValueNo SampleModel::positive(const Shape& shape) { return draft_.constant(random(shape, 0.5, 2, 0.125)); }

ValueNo SampleModel::number(double value, std::size_t rank) { return draft_.constant(Tensor::scalar(value).cast(type_).reshaped(Shape(rank, 1))); }

ValueNo SampleModel::alongAxis(const Shape& shape, std::size_t axis) {
    Shape own(shape.size(), 1);
    const std::size_t at = chance(0.1) ? rng_.below(shape.size()) : axis;
    own[at] = chance(0.75) ? shape[at] : 1;
    if (chance(0.06))
        own = shape;
    if (chance(0.04))
        own.insert(own.begin(), 1);
    while (!own.empty() && own[0] == 1 && chance(0.5))
        own.erase(own.begin());
    return weight(own);
}

ConvChoice SampleModel::chooseConv() {
    ConvChoice choice;
    const std::size_t rank = chance(0.7) ? 2 : static_cast<std::size_t>(between(1, 3));
    choice.batch = chance(0.02) ? 0 : between(1, 2);
    choice.group = chance(0.4) ? 1 : between(1, 4);
    choice.inPerGroup = between(1, 3);
    choice.outPerGroup = between(1, 3);
    choice.pads.resize(2 * rank);
    for (std::size_t d = 0; d < rank; ++d) {
        choice.kernel.push_back(between(1, 3));
        choice.strides.push_back(between(1, 2));
        choice.dilations.push_back(chance(0.7) ? 1 : 2);
        choice.pads[d] = chance(0.5) ? 0 : between(0, 2);
        choice.pads[d + rank] = chance(0.5) ? choice.pads[d] : between(0, 2);
        const std::int64_t span = (choice.kernel[d] - 1) * choice.dilations[d] + 1;
        choice.extents.push_back(std::max<std::int64_t>(1, span + between(0, 3) - choice.pads[d]));
    }
    return choice;
}

ValueNo SampleModel::conv(const ConvChoice& choice, ValueNo data, bool biased) {
    if (data == kNone)
        return kNone;
    const ValueNo weights = weight(choice.weights());
    return biased ? draft_.add("Conv", {data, weights, weight({choice.outputs()})}, choice.attributes()) : draft_.add("Conv", {data, weights}, choice.attributes());
}

ValueNo SampleModel::anyConv(const ConvChoice& choice) {
    const ValueNo data = input(choice.data());
    if (chance(0.8))
        return conv(choice, data, chance(0.5));
    Shape shape{choice.group * choice.inPerGroup, choice.outPerGroup};
    shape.insert(shape.end(), choice.kernel.begin(), choice.kernel.end());
    const ValueNo weights = weight(shape);
    return chance(0.5) ? draft_.add("ConvTranspose", {data, weights, weight({choice.outputs()})}, choice.attributes())
                       : draft_.add("ConvTranspose", {data, weights}, choice.attributes());
}

ValueNo SampleModel::unary(ValueNo value) {
    switch (between(0, 7)) {
    case 0: return draft_.add("Relu", {value});
    case 1: return draft_.add("LeakyRelu", {value}, {{"alpha", 0.125F}});
    case 2: return draft_.add("Tanh", {value});
    case 3: return draft_.add("Cast", {value}, {{"to", static_cast<std::int64_t>(DType::i32)}});
    case 4: return opset() < 11 ? draft_.add("Clip", {value}, {{"min", -1.0F}, {"max", 2.0F}}) : draft_.add("Clip", {value, number(-1), number(2)});
    case 5: return draft_.add("Mul", {value, number(0.5, rng_.below(3))});
    case 6: return draft_.add("Sub", {number(1, rng_.below(3)), value});
    default: return draft_.add("Add", {value, chance(0.5) ? input({1}) : input({})});
    }
}

// So many elements under a shape of its own.
Shape SampleModel::regrouped(std::int64_t count) {
    Shape shape;
    for (std::int64_t factor = 2; count > 1;)
        if (count % factor != 0)
            ++factor;
        else {
            if (shape.empty() || chance(0.5))
                shape.push_back(1);
            shape.back() *= factor;
            count /= factor;
        }
    while (chance(0.3))
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(rng_.below(shape.size() + 1)), 1);
    return shape;
}

ValueNo SampleModel::reshaped(ValueNo value) {
    if (value == kNone)
        return kNone;
    const Shape shape = draft_.shape(value);
    const bool old = opset() < 13;
    switch (between(0, 3)) {
    case 0: return draft_.add("Flatten", {value}, {{"axis", between(0, static_cast<std::int64_t>(shape.size()))}});
    case 1: {
        const std::vector<std::int64_t> axes{between(0, static_cast<std::int64_t>(shape.size()))};
        return old ? draft_.add("Unsqueeze", {value}, {{"axes", axes}}) : draft_.add("Unsqueeze", {value, ints(axes)});
    }
    case 2:
        if (const auto one = std::ranges::find(shape, 1); one != shape.end()) {
            const std::vector<std::int64_t> axes{one - shape.begin()};
            return old ? draft_.add("Squeeze", {value}, {{"axes", axes}}) : draft_.add("Squeeze", {value, ints(axes)});
        }
        [[fallthrough]];
    default: {
        Shape to = regrouped(elementCount(shape));
        if (!to.empty() && chance(0.3))
            to[rng_.below(to.size())] = -1;
        return draft_.add("Reshape", {value, ints(to)});
    }
    }
}

ValueNo SampleModel::transposed(ValueNo value) {
    if (value == kNone)
        return kNone;
    const std::size_t rank = draft_.shape(value).size();
    return chance(0.1) ? draft_.add("Transpose", {value}) : draft_.add("Transpose", {value}, {{"perm", permutation(rank)}});
}

// Somebody else reads what lies between, or it is a result of its own.
void SampleModel::readBesides(std::vector<ValueNo>& outputs) {
    const auto node = static_cast<NodeNo>(rng_.below(draft_.nodes()));
    const ValueNo value = draft_.output(node, rng_.below(draft_.node(node).outputs));
    outputs.push_back(chance(0.5) || !isFloat(draft_.dtype(value)) ? value : draft_.add("Abs", {value}));
}

void SampleModel::readShared(std::vector<ValueNo>& outputs) {
    for (const ValueNo weights : beside_)
        outputs.push_back(draft_.add("Mul", {weights, input({})}));
}

std::optional<Draft> SampleModel::finish(ValueNo result) {
    if (result == kNone)
        return std::nullopt;
    std::vector<ValueNo> outputs{chance(0.7) || !isFloat(draft_.dtype(result)) ? result : draft_.add("Neg", {result})};
    const NodeNo maker = draft_.value(result).maker;
    for (std::size_t i = 0; maker != kNone && i < draft_.node(maker).outputs; ++i)
        if (const ValueNo beside = draft_.output(maker, i); beside != result)
            outputs.push_back(beside);
    if (draft_.nodes() > 0 && chance(0.2))
        readBesides(outputs);
    readShared(outputs);
    draft_.setOutputs(std::move(outputs));
    return draft_.settle() ? std::optional(std::move(draft_)) : std::nullopt;
}

} // namespace tunesmith::rewrite
