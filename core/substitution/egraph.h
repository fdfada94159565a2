// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tunesmith::substitution {

// Many equal terms in little space: nodes whose operands are classes of equal nodes, kept congruent (equal operators on equal operands are
// equal). After Willsey et al., egg (POPL 2021): merging only notes what has to be repaired, rebuild() repairs it.
//
// `Node` is a value with operator==, hash(), operands() - a range of class numbers that may be written - and settle(), which puts operands that
// may change places in order. `Data` is what is known of a
// class; a merged class keeps that of the older one.
template <class Node, class Data> class EGraph {
public:
    using ClassId = std::uint32_t;

    struct Class {
        std::vector<Node> nodes;
        std::vector<std::pair<Node, ClassId>> readers; // nodes that have the class as an operand, and their classes
        Data data;
    };

    // The class of the node; `makeData()` is asked when it is new.
    template <class MakeData> ClassId add(Node node, const MakeData& makeData) {
        canonicalise(node);
        if (const auto known = classOf_.find(node); known != classOf_.end())
            return root(known->second);
        const auto id = static_cast<ClassId>(classes_.size());
        for (const ClassId operand : node.operands())
            classes_[operand].readers.emplace_back(node, id);
        classes_.push_back({{node}, {}, makeData()});
        parents_.push_back(id);
        classOf_.emplace(node, id);
        ++nodes_;
        return id;
    }

    std::optional<ClassId> find(Node node) const {
        canonicalise(node);
        const auto known = classOf_.find(node);
        return known == classOf_.end() ? std::nullopt : std::optional(root(known->second));
    }

    // Whether they were two; rebuild() is due then.
    bool merge(ClassId a, ClassId b) {
        a = root(a), b = root(b);
        if (a == b)
            return false;
        if (b < a)
            std::swap(a, b);
        parents_[b] = a;
        Class &kept = classes_[a], &gone = classes_[b];
        std::ranges::move(gone.nodes, std::back_inserter(kept.nodes));
        std::ranges::move(gone.readers, std::back_inserter(kept.readers));
        gone = {};
        dirty_.push_back(a);
        return true;
    }

    void rebuild() {
        while (!dirty_.empty()) {
            std::vector<ClassId> dirty = std::exchange(dirty_, {});
            for (ClassId& id : dirty)
                id = root(id);
            std::ranges::sort(dirty);
            dirty.erase(std::unique(dirty.begin(), dirty.end()), dirty.end());
            for (const ClassId id : dirty)
                repair(id);
        }
        for (ClassId id = 0; id < classes_.size(); ++id)
            if (root(id) == id)
                tidy(classes_[id].nodes);
    }

    ClassId root(ClassId id) const {
        while (parents_[id] != id)
            id = parents_[id] = parents_[parents_[id]];
        return id;
    }
    bool isRoot(ClassId id) const { return parents_[id] == id; }
    const Class& operator[](ClassId id) const { return classes_[root(id)]; }
    std::size_t classes() const { return classes_.size(); } // numbers given so far; see isRoot
    std::size_t nodes() const { return nodes_; }

private:
    struct Hash {
        std::size_t operator()(const Node& node) const { return node.hash(); }
    };

    void canonicalise(Node& node) const {
        for (ClassId& operand : node.operands())
            operand = root(operand);
        node.settle();
    }

    // Readers of a merged class that have become the same node are one.
    void repair(ClassId id) {
        auto readers = std::exchange(classes_[root(id)].readers, {});
        std::unordered_map<Node, ClassId, Hash> seen;
        for (auto& [node, reader] : readers) {
            classOf_.erase(node);
            canonicalise(node);
            const auto [known, isNew] = seen.try_emplace(node, root(reader));
            if (!isNew)
                merge(known->second, reader);
            if (const auto other = classOf_.find(node); other != classOf_.end())
                merge(other->second, reader);
            classOf_[node] = root(reader);
        }
        for (const auto& [node, reader] : seen)
            classes_[root(id)].readers.emplace_back(node, root(reader));
    }

    void tidy(std::vector<Node>& nodes) {
        std::vector<Node> kept;
        for (Node& node : nodes) {
            canonicalise(node);
            if (std::ranges::find(kept, node) == kept.end())
                kept.push_back(node);
        }
        nodes_ -= nodes.size() - kept.size();
        nodes = std::move(kept);
    }

    std::vector<Class> classes_;
    mutable std::vector<ClassId> parents_;
    std::unordered_map<Node, ClassId, Hash> classOf_;
    std::vector<ClassId> dirty_;
    std::size_t nodes_ = 0;
};

} // namespace tunesmith::substitution
