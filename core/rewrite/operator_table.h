// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/node.h"
#include "core/graph/tensor_type.h"

namespace tunesmith::rewrite {

using OperatorNo = std::uint32_t;
using TypeNo = std::uint32_t;
using ConstantNo = std::uint32_t;
constexpr std::uint32_t kNone = ~0u;

// What the drafts of one model have in common, each thing once and by number: operators with their attributes, types, constants. So a draft
// is a few arrays of numbers, cheap to copy and to compare. Grows only. Not for several threads at once.
class OperatorTable {
public:
    // The opsets decide which rules operators follow and how new ones are written.
    explicit OperatorTable(std::map<std::string, std::int64_t> opsets = {});

    std::int64_t opset(const std::string& domain = {}) const;
    const std::map<std::string, std::int64_t>& opsets() const { return opsets_; }

    // Names, inputs and outputs of the node do not matter.
    OperatorNo add(const Node& node);
    OperatorNo add(std::string op, std::map<std::string, Attribute> attributes = {});
    const Node& operator[](OperatorNo op) const { return *operators_[op].node; }
    std::uint64_t hash(OperatorNo op) const { return operators_[op].hash; } // the same in every table

    TypeNo add(const TensorType& type);
    const TensorType& type(TypeNo type) const { return types_[type].type; }
    const Shape& shape(TypeNo type) const { return types_[type].shape; } // {} unless static
    bool isStatic(TypeNo type) const { return types_[type].isStatic; }

    ConstantNo add(const Tensor& tensor);
    const Tensor& constant(ConstantNo constant) const { return constants_[constant].tensor; }
    TypeNo constantType(ConstantNo constant) const { return constants_[constant].type; }
    std::uint64_t constantHash(ConstantNo constant) const { return constants_[constant].hash; }

    // The types of so many outputs, by the operator's shape rule; none where it refuses the operands. kNone as a type: left out.
    struct Operand {
        TypeNo type = kNone;
        ConstantNo constant = kNone; // where it is one
    };
    std::span<const TypeNo> infer(OperatorNo op, std::span<const Operand> operands, std::size_t outputs);

    // Whether a weight's type holds it, by label (held_weights.h), once that was found.
    std::optional<bool> held(std::uint64_t label) const {
        const auto known = held_.find(label);
        return known == held_.end() ? std::nullopt : std::optional(known->second);
    }
    void remember(std::uint64_t label, bool held) { held_[label] = held; }

private:
    struct KnownOperator {
        std::unique_ptr<const Node> node;
        std::uint64_t hash;
    };
    struct KnownType {
        TensorType type;
        Shape shape;
        bool isStatic;
    };
    struct KnownConstant {
        Tensor tensor;
        TypeNo type;
        std::uint64_t hash;
    };
    std::vector<TypeNo> inferAnew(OperatorNo op, std::span<const Operand> operands, std::size_t outputs);

    std::map<std::string, std::int64_t> opsets_;
    std::vector<KnownOperator> operators_;
    std::vector<KnownType> types_;
    std::vector<KnownConstant> constants_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> operatorOf_, typeOf_, constantOf_; // by hash
    std::unordered_map<std::uint64_t, bool> held_;
    std::map<std::vector<std::uint32_t>, std::vector<TypeNo>> inferred_; // by operator, outputs and operands
};

} // namespace tunesmith::rewrite
