// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/equal_nodes.h"

#include <algorithm>

namespace tunesmith::optimize {

EqualNodes::ClassNo EqualNodes::root(ClassNo number) const {
    while (parents_[number] != number)
        number = parents_[number] = parents_[parents_[number]];
    return number;
}

std::optional<EqualNodes::ClassNo> EqualNodes::known(std::uint64_t label) const {
    const auto found = classOfLabel_.find(label);
    return found == classOfLabel_.end() ? std::nullopt : std::optional(root(found->second));
}

EqualNodes::ClassNo EqualNodes::classOf(std::uint64_t label) {
    const auto [found, isNew] = classOfLabel_.try_emplace(label, static_cast<ClassNo>(parents_.size()));
    if (isNew)
        parents_.push_back(found->second);
    return root(found->second);
}

void EqualNodes::merge(ClassNo a, ClassNo b) {
    a = root(a), b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
}

std::size_t EqualNodes::add(const Draft& draft, std::size_t firstNode, DraftCost& cost) {
    for (const auto& [a, b] : draft.equalLabels())
        merge(classOf(a), classOf(b));
    std::size_t added = 0;
    for (auto node = static_cast<NodeNo>(firstNode); node < draft.nodes(); ++node) {
        if (!draft.isAlive(node) || draft.isWeight(draft.output(node)))
            continue;
        for (const ValueNo operand : draft.operands(node))
            if (operand != rewrite::kNone)
                classOf(draft.value(operand).label);
        for (std::size_t i = 0; i < draft.node(node).outputs; ++i)
            classOf(draft.value(draft.output(node, i)).label);
        Key key = *keyOf(draft, node);
        Maker maker{key.op, {}, {}, cost.ofNode(draft, node)};
        const auto split = key.classes.end() - draft.node(node).outputs;
        maker.operands.assign(key.classes.begin(), split);
        maker.outputs.assign(split, key.classes.end());
        if (numbers_.try_emplace(std::move(key), makers_.size()).second) {
            makers_.push_back(std::move(maker));
            ++added;
        }
    }
    return added;
}

// Weights and what is left out are no operands here: they are there anyway.
std::optional<EqualNodes::Key> EqualNodes::keyOf(const Draft& draft, NodeNo node) const {
    Key key{draft.node(node).op, {}};
    std::vector<ValueNo> values;
    for (const ValueNo operand : draft.operands(node))
        values.push_back(operand);
    for (std::size_t i = 0; i < draft.node(node).outputs; ++i)
        values.push_back(draft.output(node, i));
    for (const ValueNo value : values) {
        if (value == rewrite::kNone)
            continue;
        const auto number = known(draft.value(value).label);
        if (!number)
            return std::nullopt;
        key.classes.push_back(*number);
    }
    return key;
}

std::vector<EqualNodes::ClassNo> EqualNodes::resultsOf(const Draft& draft) const {
    std::vector<ClassNo> results;
    for (const ValueNo output : draft.outputs())
        if (const auto number = known(draft.value(output).label); number && draft.value(output).maker != rewrite::kNone)
            results.push_back(*number);
    return results;
}

std::vector<std::size_t> EqualNodes::makersOf(const Draft& draft) const {
    std::vector<std::size_t> found;
    for (const NodeNo node : draft.order()) {
        if (draft.isWeight(draft.output(node)))
            continue;
        const auto key = keyOf(draft, node);
        const auto number = key ? numbers_.find(*key) : numbers_.end();
        found.push_back(number == numbers_.end() ? makers_.size() : number->second);
    }
    return found;
}

} // namespace tunesmith::optimize
