// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/graph.h"

#include <algorithm>

#include "core/base/hash.h"

namespace tunesmith {

Graph::Graph() : data_(std::make_shared<const Data>()) {}

namespace {

template <class Id, class T> void index(std::unordered_map<std::string_view, Id>& ids, const std::vector<std::shared_ptr<const T>>& things) {
    ids.reserve(things.size());
    for (std::size_t i = 0; i < things.size(); ++i)
        ids.emplace(things[i]->name, Id(static_cast<std::int64_t>(i)));
}

template <class Id> Id found(const std::unordered_map<std::string_view, Id>& ids, const std::string& name) {
    const auto place = ids.find(name);
    return place == ids.end() ? Id() : place->second;
}

} // namespace

const Graph::Data::Names& Graph::names() const {
    Data::Names& names = data_->names;
    std::call_once(names.made, [&] {
        index(names.values, data_->values);
        index(names.nodes, data_->nodes);
    });
    return names;
}

ValueId Graph::findValue(const std::string& name) const { return found(names().values, name); }

NodeId Graph::findNode(const std::string& name) const { return found(names().nodes, name); }

std::int64_t Graph::opset(const std::string& domain) const {
    const auto found = data_->opsets.find(domain);
    return found == data_->opsets.end() ? 0 : found->second;
}

namespace {

std::uint64_t hashType(const TensorType& type) {
    Hasher hasher;
    hasher.add(type.dtype).add(type.dims.has_value());
    if (type.dims)
        for (const Dim& dim : *type.dims)
            hasher.add(dim.extent).add(std::string_view(dim.symbol));
    if (type.opaque)
        hasher.add(std::string_view(type.opaque->kind == OpaqueType::Kind::other ? type.opaque->encoded : type.opaque->text));
    return hasher.value();
}

// Hash of the computation that yields each value, from the leaves to the outputs.
class StructuralHash {
public:
    explicit StructuralHash(const Graph& graph) : graph_(graph), hashes_(graph.valueCount(), 0) {}

    std::uint64_t run() {
        hashLeaves();
        std::vector<std::uint64_t> nodeHashes;
        for (const auto& node : graph_.nodes())
            nodeHashes.push_back(hashNode(*node));
        std::sort(nodeHashes.begin(), nodeHashes.end());
        Hasher hasher;
        hasher.add(nodeHashes).add(graph_.inputs().size());
        for (const ValueId output : graph_.outputs())
            hasher.add(hashes_[output.index()]);
        return hasher.value();
    }

private:
    void hashLeaves() {
        std::uint64_t position = 0;
        for (const ValueId input : graph_.inputs()) {
            Hasher hasher;
            hasher.add("input").add(position++).add(typeOf(input));
            if (graph_.value(input).hasDefault())
                hasher.add(graph_.value(input).fallback.hash());
            hashes_[input.index()] = hasher.value();
        }
        position = 0;
        for (const ValueId capture : graph_.captures())
            hashes_[capture.index()] = Hasher().add("capture").add(position++).add(typeOf(capture)).value();
        for (std::size_t i = 0; i < graph_.valueCount(); ++i)
            if (graph_.values()[i]->isConstant())
                hashes_[i] = Hasher().add("constant").add(graph_.values()[i]->constant.hash()).value();
    }

    std::uint64_t hashNode(const Node& node) {
        Hasher hasher;
        hasher.add(std::string_view(node.op)).add(std::string_view(node.domain)).add(graph_.opset(node.domain));
        for (const ValueId input : node.inputs)
            hasher.add(input.valid() ? hashes_[input.index()] : 1u);
        for (const auto& [key, attribute] : node.attributes) {
            hasher.add(std::string_view(key));
            hashAttribute(hasher, attribute);
            if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
                hashCaptured(hasher, **body);
        }
        const std::uint64_t hash = hasher.value();
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                hashes_[node.outputs[i].index()] = Hasher().add(hash).add(i).value();
        return hash;
    }

    // Which values around it a body reads; the body's own hash knows them by position only.
    void hashCaptured(Hasher& hasher, const Graph& body) const {
        for (const ValueId capture : body.captures())
            if (const ValueId outer = graph_.findValue(body.value(capture).name); outer.valid())
                hasher.add(hashes_[outer.index()]);
    }

    std::uint64_t typeOf(ValueId id) const { return hashType(graph_.value(id).type); }

    const Graph& graph_;
    std::vector<std::uint64_t> hashes_;
};

} // namespace

std::uint64_t Graph::hash() const { return StructuralHash(*this).run(); }

} // namespace tunesmith
