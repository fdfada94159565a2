// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/node_places.h"

#include <algorithm>

#include "core/base/hash.h"

namespace tunesmith {

NodePlaces::Places NodePlaces::next(const Graph& graph) {
    begin(graph);
    follow();
    findWeights();
    if (graphs_ > 0) {
        findByOperands();
        findByReaders();
    }
    giveTheRest();
    remember();
    ++graphs_;
    return places_;
}

void NodePlaces::begin(const Graph& graph) {
    graph_ = &graph;
    origins_.assign(graph.valueCount(), {});
    places_ = {{}, std::vector<std::size_t>(graph.nodeCount(), kNone), {}};
    weights_.assign(graph.nodeCount(), false);
    loose_.assign(graph.nodeCount(), 0);
    before_.swap(here_);
    here_.assign(count_, false);
    if (graphs_ == 0)
        for (const auto& value : graph.values())
            if (value->isConstant())
                constants_.insert(value->name);
    for (const ValueId id : graph.inputs()) {
        places_.inputs.push_back(terminal(id, true));
        origins_[id.index()] = {Origin::Kind::made, Hasher().add("place").add(places_.inputs.back()).add(0).value()};
    }
    outputs_.clear();
    for (const ValueId id : graph.outputs())
        if (const auto known = terminals_.find({graph.value(id).name, false}); known != terminals_.end())
            outputs_[id] = known->second;
}

std::size_t NodePlaces::terminal(ValueId id, bool input) {
    const auto [found, fresh] = terminals_.try_emplace({graph_->value(id).name, input}, count_);
    count_ += fresh;
    return found->second;
}

bool NodePlaces::take(std::size_t node, std::size_t place) {
    if (here_.size() <= place)
        here_.resize(place + 1);
    if (here_[place])
        return false;
    here_[place] = true;
    places_.nodes[node] = place;
    setOrigins(node);
    return true;
}

void NodePlaces::setOrigins(std::size_t node) {
    const Node& made = *graph_->nodes()[node];
    const bool weight = weights_[node];
    const std::uint64_t token = weight ? exactOf(node) : places_.nodes[node];
    for (std::size_t i = 0; i < made.outputs.size(); ++i)
        if (made.outputs[i].valid())
            origins_[made.outputs[i].index()] = {weight ? Origin::Kind::weight : Origin::Kind::made,
                                                 Hasher().add(weight ? "weight" : "place").add(token).add(i).value()};
}

void NodePlaces::follow() {
    if (graphs_ == 0 || !graph_->lineage())
        return;
    for (const auto& [old, became] : graph_->lineage()->became)
        for (const NodeId id : became)
            if (old.index() < first_.size() && first_[old.index()] != kNone)
                take(id.index(), first_[old.index()]);
}

// Constants of the first graph keep their names; those that rules make are told apart by what is in them.
NodePlaces::Origin NodePlaces::originOf(ValueId id) {
    Origin& origin = origins_[id.index()];
    const Value& value = graph_->value(id);
    if (origin.kind == Origin::Kind::unknown && !value.producer.valid())
        origin = {Origin::Kind::weight, constants_.contains(value.name) || !value.isConstant() ? Hasher().add("constant").add(value.name).value() : value.constant.hash()};
    return origin;
}

bool NodePlaces::readsWeightsOnly(const Node& node) {
    return !node.inputs.empty() && std::ranges::all_of(node.inputs, [this](ValueId id) { return !id.valid() || originOf(id).kind == Origin::Kind::weight; });
}

bool NodePlaces::knowsOperands(const Node& node) {
    return std::ranges::none_of(node.inputs, [this](ValueId id) { return id.valid() && originOf(id).kind == Origin::Kind::unknown; });
}

void NodePlaces::findWeights() {
    const std::set<ValueId> outputs(graph_->outputs().begin(), graph_->outputs().end());
    for (std::size_t i = 0; i < graph_->nodeCount(); ++i) {
        const Node& node = *graph_->nodes()[i];
        const bool shown = places_.nodes[i] != kNone || std::ranges::any_of(node.outputs, [&](ValueId id) { return outputs.contains(id); });
        weights_[i] = !shown && readsWeightsOnly(node);
        if (weights_[i])
            setOrigins(i);
    }
}

std::uint64_t NodePlaces::looseOf(std::size_t node) {
    if (loose_[node] != 0)
        return loose_[node];
    const Node& made = *graph_->nodes()[node];
    Hasher hasher;
    hasher.add(made.domain).add(made.op);
    for (const auto& [name, attribute] : made.attributes) {
        hasher.add(name);
        hashAttribute(hasher, attribute);
    }
    for (const ValueId id : made.outputs)
        if (id.valid() && graph_->value(id).type.isStatic())
            hasher.add(graph_->value(id).type.shape());
    for (std::size_t i = 0; i < made.inputs.size(); ++i)
        if (made.inputs[i].valid() && originOf(made.inputs[i]).kind == Origin::Kind::weight)
            hasher.add(i).add(originOf(made.inputs[i]).token);
    return loose_[node] = hasher.value();
}

std::uint64_t NodePlaces::exactOf(std::size_t node) {
    Hasher hasher;
    hasher.add(looseOf(node));
    for (const ValueId id : graph_->nodes()[node]->inputs)
        hasher.add(id.valid() ? originOf(id).token : 0);
    return hasher.value();
}

void NodePlaces::findByOperands() {
    for (std::size_t i = 0; i < graph_->nodeCount(); ++i) {
        if (places_.nodes[i] != kNone || weights_[i] || !knowsOperands(*graph_->nodes()[i]))
            continue;
        if (const auto known = byExact_.find(exactOf(i)); known != byExact_.end())
            std::ranges::any_of(known->second, [&](std::size_t place) { return take(i, place); });
    }
}

// Where and as which operand its outputs are read.
std::uint64_t NodePlaces::readersOf(std::size_t node) const {
    std::uint64_t all = 0;
    for (const ValueId id : graph_->nodes()[node]->outputs) {
        if (!id.valid())
            continue;
        if (const auto output = outputs_.find(id); output != outputs_.end())
            all += Hasher().add("output").add(output->second).value();
        for (const NodeId reader : graph_->consumers(id)) {
            if (places_.nodes[reader.index()] == kNone)
                return 0;
            const auto& operands = graph_->node(reader).inputs;
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (operands[i] == id)
                    all += Hasher().add("reader").add(places_.nodes[reader.index()]).add(i).value();
        }
    }
    return all;
}

void NodePlaces::findByReaders() {
    for (std::size_t i = graph_->nodeCount(); i-- > 0;) {
        if (places_.nodes[i] != kNone || weights_[i])
            continue;
        if (const std::uint64_t readers = readersOf(i); readers != 0)
            if (const auto known = byReaders_.find(Hasher().add(looseOf(i)).add(readers).value()); known != byReaders_.end())
                take(i, known->second);
    }
}

std::size_t NodePlaces::onlyOneLike(std::uint64_t loose) const {
    const auto found = byLoose_.find(loose);
    std::size_t only = kNone;
    for (const std::size_t place : found == byLoose_.end() ? std::set<std::size_t>() : found->second) {
        if (place >= before_.size() || !before_[place] || here_[place])
            continue;
        if (only != kNone)
            return kNone;
        only = place;
    }
    return only;
}

void NodePlaces::giveTheRest() {
    for (std::size_t i = 0; i < graph_->nodeCount(); ++i) {
        if (places_.nodes[i] != kNone || weights_[i])
            continue;
        const std::size_t like = graphs_ > 0 ? onlyOneLike(looseOf(i)) : kNone;
        if (like == kNone || !take(i, like))
            take(i, count_++);
    }
    for (const ValueId id : graph_->outputs()) {
        outputs_[id] = terminal(id, false);
        places_.outputs.push_back(outputs_[id]);
    }
}

// What the next graphs may ask for: nodes that rules made.
void NodePlaces::remember() {
    if (graphs_ == 0) {
        first_ = places_.nodes;
        return;
    }
    byReaders_.clear();
    const std::set<std::size_t> first(first_.begin(), first_.end());
    for (std::size_t i = 0; i < graph_->nodeCount(); ++i) {
        const std::size_t place = places_.nodes[i];
        if (place == kNone || first.contains(place))
            continue;
        byExact_[exactOf(i)].insert(place);
        byLoose_[looseOf(i)].insert(place);
        byReaders_[Hasher().add(looseOf(i)).add(readersOf(i)).value()] = place;
    }
}

} // namespace tunesmith
