// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/draft.h"

#include <algorithm>
#include <cassert>

#include "core/base/hash.h"

namespace tunesmith::rewrite {
namespace {

// A good mix of two words (the finaliser of SplitMix64); fast, for it runs for every node of every candidate.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x632be59bd9b4e019ull);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

constexpr std::uint64_t kLeftOutLabel = 0x6c656674206f7574ull;
constexpr std::size_t kFew = 64; // nodes that are compared one by one

} // namespace

const Tensor* Draft::constant(ValueNo value) const {
    return value != kNone && values_[value].constant != kNone ? &table_->constant(values_[value].constant) : nullptr;
}

NodeNo Draft::maker(ValueNo value, std::string_view op) const {
    const NodeNo node = value == kNone ? kNone : values_[value].maker;
    return node != kNone && is(node, op) ? node : kNone;
}

bool Draft::isOutput(ValueNo value) const { return std::ranges::find(outputs_, value) != outputs_.end(); }

ValueNo Draft::addInput(TypeNo type, std::uint64_t label) {
    values_.push_back({type, kNone, 0, kNone, false, label});
    inputs_.push_back(static_cast<ValueNo>(values_.size() - 1));
    return inputs_.back();
}

ValueNo Draft::constant(const Tensor& tensor) {
    const ConstantNo number = table_->add(tensor);
    for (std::size_t i = values_.size(); i-- > 0;)
        if (values_[i].constant == number)
            return static_cast<ValueNo>(i);
    return addConstant(number);
}

ValueNo Draft::addConstant(ConstantNo number) {
    values_.push_back({table_->constantType(number), kNone, 0, number, true, table_->constantHash(number)});
    return static_cast<ValueNo>(values_.size() - 1);
}

ValueNo Draft::add(const std::string& op, std::initializer_list<ValueNo> operands, std::map<std::string, Attribute> attributes, std::size_t outputs) {
    return add(table_->add(op, std::move(attributes)), std::span(operands.begin(), operands.size()), outputs);
}

ValueNo Draft::add(OperatorNo op, std::span<const ValueNo> given, std::size_t outputs) {
    std::vector<ValueNo> operands;
    std::vector<OperatorTable::Operand> types;
    for (const ValueNo operand : given) {
        if (operand == kNone)
            return kNone;
        operands.push_back(operand == kLeftOut ? kNone : operand);
        types.push_back(operand == kLeftOut ? OperatorTable::Operand() : OperatorTable::Operand{values_[operand].type, values_[operand].constant});
    }
    if (const ValueNo same = known(op, operands, outputs); same != kNone)
        return same;
    const std::span<const TypeNo> made = table_->infer(op, types, outputs);
    return made.empty() ? kNone : nodes_[append(op, operands, made, false)].firstOutput;
}

NodeNo Draft::addOpaque(OperatorNo op, std::span<const ValueNo> operands, std::span<const TypeNo> types) { return append(op, operands, types, true); }

std::uint64_t Draft::freshKey(OperatorNo op, std::span<const ValueNo> operands) const {
    std::uint64_t key = op;
    for (const ValueNo operand : operands)
        key = mixed(key, operand);
    return mixed(key, operands.size());
}

// Only while nodes are added to many; replace() makes keys untrue, and so all are added again.
void Draft::indexFresh() {
    const std::size_t many = nodes_.size() - settledNodes_;
    if (many <= kFew)
        return;
    for (std::size_t i = settledNodes_ + fresh_.size(); i < nodes_.size(); ++i)
        fresh_.add(freshKey(nodes_[i].op, operands(static_cast<NodeNo>(i))), static_cast<NodeNo>(i));
}

// Among the readers of the first operand as of the last settling, and all nodes since.
ValueNo Draft::known(OperatorNo op, std::span<const ValueNo> operands, std::size_t outputs) const {
    const auto same = [&](NodeNo node) {
        return nodes_[node].op == op && nodes_[node].outputs == outputs && std::ranges::equal(this->operands(node), operands);
    };
    if (!operands.empty() && operands[0] != kNone && operands[0] < settledValues_)
        for (const NodeNo reader : consumers(operands[0]))
            if (same(reader))
                return nodes_[reader].firstOutput;
    auto node = static_cast<NodeNo>(settledNodes_ + fresh_.size());
    if (fresh_.size() > 0)
        if (const NodeNo found = fresh_.find(freshKey(op, operands), kNone, same); found != kNone)
            return nodes_[found].firstOutput;
    for (; node < nodes_.size(); ++node)
        if (same(node))
            return nodes_[node].firstOutput;
    return kNone;
}

NodeNo Draft::append(OperatorNo op, std::span<const ValueNo> operands, std::span<const TypeNo> types, bool opaque) {
    DraftNode node{op, static_cast<std::uint32_t>(operands_.size()), static_cast<std::uint16_t>(operands.size()),
                   static_cast<std::uint16_t>(types.size()), static_cast<ValueNo>(values_.size()), true};
    std::uint64_t label = table_->hash(op);
    bool weight = !opaque && !operands.empty();
    for (const ValueNo operand : operands) {
        label = mixed(label, operand == kNone ? kLeftOutLabel : values_[operand].label);
        weight = weight && (operand == kNone || values_[operand].weight);
    }
    operands_.insert(operands_.end(), operands.begin(), operands.end());
    const auto number = static_cast<NodeNo>(nodes_.size());
    for (std::uint32_t i = 0; i < types.size(); ++i)
        values_.push_back({types[i], number, i, kNone, weight, mixed(label, i)});
    nodes_.push_back(node);
    indexFresh();
    return number;
}

void Draft::replace(ValueNo from, ValueNo to) {
    assert(from != kNone && to != kNone && values_[from].type == values_[to].type);
    if (from == to)
        return;
    if (to >= settledValues_)
        values_[to].label = values_[from].label;
    else
        equalLabels_.emplace_back(values_[from].label, values_[to].label);
    fresh_.clear();
    std::ranges::replace(operands_, from, to);
    std::ranges::replace(outputs_, from, to);
}

bool Draft::settle() {
    if (!sort())
        return false;
    indexConsumers();
    hash_ = 0;
    for (const NodeNo node : order_)
        hash_ += hashOf(node);
    for (const ValueNo output : outputs_)
        hash_ = mixed(hash_, values_[output].label);
    fresh_.clear();
    settledNodes_ = nodes_.size();
    settledValues_ = values_.size();
    return true;
}

std::size_t Draft::bytes() const {
    const auto of = [](const auto& array) { return array.capacity() * sizeof(array[0]); };
    return sizeof(Draft) + of(nodes_) + of(operands_) + of(values_) + of(inputs_) + of(outputs_) + of(order_) + of(consumers_) + of(firstConsumer_) + of(equalLabels_);
}

// Depth first from the outputs, without recursion: what is reached lives.
bool Draft::sort() {
    enum : std::uint8_t { unseen, open, done };
    std::vector<std::uint8_t> state(nodes_.size(), unseen);
    std::vector<std::pair<NodeNo, std::uint16_t>> stack;
    for (DraftNode& node : nodes_)
        node.alive = false;
    order_.clear();
    const auto visit = [&](ValueNo value) { // false: a cycle
        const NodeNo node = value == kNone ? kNone : values_[value].maker;
        if (node == kNone || state[node] == done)
            return true;
        if (state[node] == open)
            return false;
        state[node] = open;
        stack.emplace_back(node, std::uint16_t(0));
        return true;
    };
    for (const ValueNo output : outputs_) {
        visit(output);
        while (!stack.empty()) {
            auto& [node, next] = stack.back();
            if (next < nodes_[node].operands) {
                const ValueNo operand = operands(node)[next++];
                if (!visit(operand))
                    return false;
            } else {
                state[node] = done;
                nodes_[node].alive = true;
                order_.push_back(node);
                stack.pop_back();
            }
        }
    }
    return true;
}

void Draft::indexConsumers() {
    firstConsumer_.assign(values_.size() + 1, 0);
    const auto forEachReading = [&](auto&& visit) {
        for (const NodeNo node : order_) {
            const std::span<const ValueNo> read = operands(node);
            for (std::size_t i = 0; i < read.size(); ++i)
                if (read[i] != kNone && std::find(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(i), read[i]) == read.begin() + static_cast<std::ptrdiff_t>(i))
                    visit(node, read[i]);
        }
    };
    forEachReading([&](NodeNo, ValueNo value) { ++firstConsumer_[value + 1]; });
    for (std::size_t i = 0; i < values_.size(); ++i)
        firstConsumer_[i + 1] += firstConsumer_[i];
    consumers_.resize(firstConsumer_.back());
    std::vector<std::uint32_t> next(firstConsumer_.begin(), firstConsumer_.end() - 1);
    forEachReading([&](NodeNo node, ValueNo value) { consumers_[next[value]++] = node; });
}

std::uint64_t Draft::hashOf(NodeNo node) const {
    std::uint64_t hash = table_->hash(nodes_[node].op);
    for (const ValueNo operand : operands(node))
        hash = mixed(hash, operand == kNone ? kLeftOutLabel : values_[operand].label);
    return mixed(hash, values_[nodes_[node].firstOutput].label);
}

} // namespace tunesmith::rewrite
