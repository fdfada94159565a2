// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/operator_table.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/operator.h"

namespace tunesmith::rewrite {
namespace {

std::uint64_t hashOf(const Node& node) {
    Hasher hasher;
    hasher.add(node.domain).add(node.op);
    for (const auto& [key, attribute] : node.attributes) {
        hasher.add(key);
        hashAttribute(hasher, attribute);
    }
    return hasher.value();
}

std::uint64_t hashOf(const TensorType& type) { return Hasher().add(type.text()).value(); }

bool sameBytes(const Tensor& a, const Tensor& b) {
    if (a.type() != b.type() || a.shape() != b.shape())
        return false;
    return a.type() == DType::string ? a.strings() == b.strings() : std::ranges::equal(a.bytes(), b.bytes());
}

// The operands that shape rules read by value: sizes, axes and truths of any number, scales of each axis.
bool mayDecideShapes(const Tensor& tensor) { return !isFloat(tensor.type()) || tensor.count() <= 16; }

} // namespace

OperatorTable::OperatorTable(std::map<std::string, std::int64_t> opsets) : opsets_(std::move(opsets)) {}

std::int64_t OperatorTable::opset(const std::string& domain) const {
    const auto found = opsets_.find(domain);
    return found == opsets_.end() ? (domain.empty() ? kNewestOpset : 0) : found->second;
}

OperatorNo OperatorTable::add(const Node& node) {
    const std::uint64_t hash = hashOf(node);
    if (const auto known = operatorOf_.find(hash); known != operatorOf_.end())
        return known->second; // attributes may hold whole graphs: 64 bits of hash have to do
    Node kept;
    kept.op = node.op;
    kept.domain = node.domain;
    kept.attributes = node.attributes;
    operators_.push_back({std::make_unique<const Node>(std::move(kept)), hash});
    return operatorOf_.emplace(hash, static_cast<OperatorNo>(operators_.size() - 1))->second;
}

OperatorNo OperatorTable::add(std::string op, std::map<std::string, Attribute> attributes) {
    Node node;
    node.op = std::move(op);
    node.attributes = std::move(attributes);
    return add(node);
}

TypeNo OperatorTable::add(const TensorType& type) {
    const std::uint64_t hash = hashOf(type);
    const auto [begin, end] = typeOf_.equal_range(hash);
    for (auto known = begin; known != end; ++known)
        if (types_[known->second].type == type)
            return known->second;
    const bool isStatic = type.isStatic();
    types_.push_back({type, isStatic ? type.shape() : Shape(), isStatic});
    return typeOf_.emplace(hash, static_cast<TypeNo>(types_.size() - 1))->second;
}

ConstantNo OperatorTable::add(const Tensor& tensor) {
    const std::uint64_t hash = tensor.hash();
    const auto [begin, end] = constantOf_.equal_range(hash);
    for (auto known = begin; known != end; ++known)
        if (sameBytes(constants_[known->second].tensor, tensor))
            return known->second;
    constants_.push_back({tensor, add(TensorType(tensor.type(), tensor.shape())), hash});
    return constantOf_.emplace(hash, static_cast<ConstantNo>(constants_.size() - 1))->second;
}

std::span<const TypeNo> OperatorTable::infer(OperatorNo op, std::span<const Operand> operands, std::size_t outputs) {
    std::vector<std::uint32_t> key{op, static_cast<std::uint32_t>(outputs)};
    for (const Operand& operand : operands) {
        const bool byValue = operand.constant != kNone && mayDecideShapes(constants_[operand.constant].tensor);
        key.insert(key.end(), {operand.type, byValue ? operand.constant : kNone});
    }
    auto known = inferred_.find(key);
    if (known == inferred_.end())
        known = inferred_.emplace(std::move(key), inferAnew(op, operands, outputs)).first;
    return known->second;
}

std::vector<TypeNo> OperatorTable::inferAnew(OperatorNo op, std::span<const Operand> operands, std::size_t outputs) {
    Node node = (*this)[op];
    const Operator* const known = findOperator(node.op, node.domain);
    if (!known || !known->infer)
        return {};
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    for (const Operand& operand : operands) {
        node.inputs.push_back(operand.type == kNone ? ValueId() : ValueId(static_cast<std::int64_t>(node.inputs.size())));
        types.push_back(operand.type == kNone ? TensorType() : type(operand.type));
        constants.push_back(operand.constant == kNone ? Tensor() : constant(operand.constant));
    }
    for (std::size_t i = 0; i < outputs; ++i)
        node.outputs.emplace_back(static_cast<std::int64_t>(operands.size() + i));
    InferContext context(node, opset(node.domain), std::move(types), std::move(constants));
    context.outputs.resize(outputs);
    context.values.resize(outputs);
    if (!known->infer(context).ok() || std::ranges::any_of(context.outputs, [](const TensorType& made) { return !made.isStatic(); }))
        return {};
    std::vector<TypeNo> made;
    for (const TensorType& output : context.outputs)
        made.push_back(add(output));
    return made;
}

} // namespace tunesmith::rewrite
