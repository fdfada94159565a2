// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/strong_id.h"
#include "core/graph/tensor.h"

namespace tunesmith {

class Graph;
using NodeId = StrongId<struct NodeTag>;
using ValueId = StrongId<struct ValueTag>;

using Attribute = std::variant<std::int64_t, float, std::string, Tensor, std::vector<std::int64_t>, std::vector<float>,
                               std::vector<std::string>, std::shared_ptr<const Graph>>;

std::string attributeText(const Attribute& attribute); // for people: "[3, 3]", "SAME_UPPER", "float32[64]"
void hashAttribute(class Hasher& hasher, const Attribute& attribute);

// One application of an operator. Inputs may hold invalid ids where an optional input is left out.
struct Node {
    std::string name; // unique within its graph once built
    std::string op;   // "Conv"
    std::string domain; // "" is the default ONNX domain
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    std::map<std::string, Attribute> attributes;

    bool has(const std::string& attribute) const { return attributes.contains(attribute); }
    // The attribute, or the fallback when it is absent or of another kind.
    std::int64_t intAttr(const std::string& key, std::int64_t fallback) const { return attr(key, fallback); }
    float floatAttr(const std::string& key, float fallback) const { return attr(key, fallback); }
    std::string stringAttr(const std::string& key, const std::string& fallback = {}) const { return attr(key, fallback); }
    std::vector<std::int64_t> intsAttr(const std::string& key, const std::vector<std::int64_t>& fallback = {}) const {
        return attr(key, fallback);
    }
    std::vector<float> floatsAttr(const std::string& key) const { return attr(key, std::vector<float>{}); }

    bool hasInput(std::size_t index) const { return index < inputs.size() && inputs[index].valid(); }

private:
    template <class T> T attr(const std::string& key, T fallback) const {
        const auto found = attributes.find(key);
        if (found == attributes.end())
            return fallback;
        const T* value = std::get_if<T>(&found->second);
        return value ? *value : fallback;
    }
};

} // namespace tunesmith
