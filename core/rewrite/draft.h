// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/rewrite/fresh_nodes.h"
#include "core/rewrite/operator_table.h"

namespace tunesmith::rewrite {

using ValueNo = std::uint32_t;

struct DraftValue {
    TypeNo type = kNone;
    NodeNo maker = kNone;          // none: an input or a constant
    std::uint32_t output = 0;      // which of the maker's outputs
    ConstantNo constant = kNone;
    bool weight = false;           // depends on constants only: computed before the model runs
    std::uint64_t label = 0;       // which tensor it is: stays when something equal takes its place
};

struct DraftNode {
    OperatorNo op = 0;
    std::uint32_t firstOperand = 0;
    std::uint16_t operands = 0, outputs = 0;
    ValueNo firstOutput = 0;
    bool alive = false;
};

// A model's graph while it is being rewritten: a value of a few arrays, so that a search copies it for every step it looks at. Nodes and
// values keep their numbers through all rewrites; those that nobody reads any more are dead. All types are static but those of opaque nodes'
// results, which stay as the model has them.
//
// A rewrite adds nodes, says what takes the place of what, and settles: only then are order(), consumers(), alive and hash() true again.
class Draft {
public:
    explicit Draft(std::shared_ptr<OperatorTable> table) : table_(std::move(table)) {}

    OperatorTable& table() const { return *table_; }
    const std::shared_ptr<OperatorTable>& sharedTable() const { return table_; }

    std::size_t nodes() const { return nodes_.size(); } // dead ones included
    const DraftNode& node(NodeNo node) const { return nodes_[node]; }
    bool isAlive(NodeNo node) const { return nodes_[node].alive; }
    const Node& op(NodeNo node) const { return (*table_)[nodes_[node].op]; }
    bool is(NodeNo node, std::string_view op) const { return this->op(node).op == op && this->op(node).domain.empty(); }
    std::span<const ValueNo> operands(NodeNo node) const { return {operands_.data() + nodes_[node].firstOperand, nodes_[node].operands}; }
    ValueNo operand(NodeNo node, std::size_t index) const { return index < nodes_[node].operands ? operands(node)[index] : kNone; } // kNone: left out
    ValueNo output(NodeNo node, std::size_t index = 0) const { return nodes_[node].firstOutput + static_cast<ValueNo>(index); }

    std::size_t values() const { return values_.size(); }
    const DraftValue& value(ValueNo value) const { return values_[value]; }
    const Shape& shape(ValueNo value) const { return table_->shape(values_[value].type); } // of a value that is not left out
    DType dtype(ValueNo value) const { return table_->type(values_[value].type).dtype; }
    const Tensor* constant(ValueNo value) const; // null unless it is one
    bool isWeight(ValueNo value) const { return value != kNone && values_[value].weight; }
    NodeNo maker(ValueNo value, std::string_view op) const; // the node that makes the value if it is of that operator

    const std::vector<ValueNo>& inputs() const { return inputs_; }
    const std::vector<ValueNo>& outputs() const { return outputs_; } // the model's, and what bodies of control flow read by name
    bool isOutput(ValueNo value) const;

    ValueNo addInput(TypeNo type, std::uint64_t label);
    ValueNo constant(const Tensor& tensor);
    ValueNo addConstant(ConstantNo number); // of the table, where this draft does not have it yet
    // A node, or the one of the same operator and operands that is there; its first output. kNone where the shape rule refuses, or an operand
    // is kNone because it was refused itself. Empty operands are given as kLeftOut.
    static constexpr ValueNo kLeftOut = kNone - 1;
    ValueNo add(OperatorNo op, std::span<const ValueNo> operands, std::size_t outputs = 1);
    ValueNo add(const std::string& op, std::initializer_list<ValueNo> operands, std::map<std::string, Attribute> attributes = {}, std::size_t outputs = 1);
    // Of an opaque node: types are given (kNone: the output is left out), nothing is checked, and no equal node stands for it.
    NodeNo addOpaque(OperatorNo op, std::span<const ValueNo> operands, std::span<const TypeNo> types);
    // Of a node of another draft of this table, opaque or not. Empty operands are kNone here.
    NodeNo addAsItIs(OperatorNo op, std::span<const ValueNo> operands, std::span<const TypeNo> types, bool weight) { return append(op, operands, types, !weight); }
    void setOutputs(std::vector<ValueNo> outputs) { outputs_ = std::move(outputs); }

    // Whoever reads `from` reads `to` from now on. The types must be the same.
    void replace(ValueNo from, ValueNo to);
    void relabel(ValueNo value, std::uint64_t label) { values_[value].label = label; } // where it is known which tensor of another draft it is
    // Labels of values that a rewrite has put in the place of others and that had labels of their own: they are the same tensor.
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& equalLabels() const { return equalLabels_; }
    // False where a node would depend on itself; the draft is good for nothing then.
    bool settle();

    const std::vector<NodeNo>& order() const { return order_; } // living nodes, each after what it reads
    std::span<const NodeNo> consumers(ValueNo value) const { return {consumers_.data() + firstConsumer_[value], firstConsumer_[value + 1] - firstConsumer_[value]}; }
    std::uint64_t hash() const { return hash_; } // the same for equal drafts, however they came about
    std::size_t bytes() const;                   // that it takes itself, about

private:
    std::uint64_t freshKey(OperatorNo op, std::span<const ValueNo> operands) const;
    void indexFresh();
    ValueNo known(OperatorNo op, std::span<const ValueNo> operands, std::size_t outputs) const;
    NodeNo append(OperatorNo op, std::span<const ValueNo> operands, std::span<const TypeNo> types, bool opaque);
    bool sort();
    void indexConsumers();
    std::uint64_t hashOf(NodeNo node) const;

    std::shared_ptr<OperatorTable> table_;
    std::vector<DraftNode> nodes_;
    std::vector<ValueNo> operands_;
    std::vector<DraftValue> values_;
    std::vector<ValueNo> inputs_, outputs_;
    std::vector<NodeNo> order_, consumers_;
    std::vector<std::uint32_t> firstConsumer_; // by value, and one more
    std::size_t settledNodes_ = 0, settledValues_ = 0;
    FreshNodes fresh_; // nodes since the last settling, where they are many
    std::vector<std::pair<std::uint64_t, std::uint64_t>> equalLabels_;
    std::uint64_t hash_ = 0;
};

} // namespace tunesmith::rewrite
