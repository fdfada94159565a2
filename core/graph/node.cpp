// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/node.h"

#include <sstream>

#include "core/base/hash.h"
#include "core/graph/graph.h"

namespace tunesmith {
namespace {

template <class T> std::string listText(const std::vector<T>& values) {
    constexpr std::size_t kShown = 16;
    std::ostringstream text;
    text << '[';
    for (std::size_t i = 0; i < values.size() && i < kShown; ++i)
        text << (i ? ", " : "") << values[i];
    if (values.size() > kShown)
        text << ", ... " << values.size() << " in all";
    text << ']';
    return text.str();
}

struct AttributeText {
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(float value) const { return (std::ostringstream() << value).str(); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const Tensor& value) const { return TensorType(value.type(), value.shape()).text(); }
    std::string operator()(const std::shared_ptr<const Graph>& value) const {
        return "graph of " + std::to_string(value->nodeCount()) + " nodes";
    }
    template <class T> std::string operator()(const std::vector<T>& value) const { return listText(value); }
};

struct AttributeHash {
    Hasher& hasher;
    void operator()(std::int64_t value) const { hasher.add(value); }
    void operator()(float value) const { hasher.add(value); }
    void operator()(const std::string& value) const { hasher.add(std::string_view(value)); }
    void operator()(const Tensor& value) const { hasher.add(value.hash()); }
    void operator()(const std::shared_ptr<const Graph>& value) const { hasher.add(value->hash()); }
    void operator()(const std::vector<std::string>& values) const {
        hasher.add(values.size());
        for (const auto& value : values)
            hasher.add(std::string_view(value));
    }
    template <class T> void operator()(const std::vector<T>& values) const { hasher.add(values); }
};

} // namespace

std::string attributeText(const Attribute& attribute) { return std::visit(AttributeText{}, attribute); }

void hashAttribute(Hasher& hasher, const Attribute& attribute) {
    hasher.add(attribute.index());
    std::visit(AttributeHash{hasher}, attribute);
}

} // namespace tunesmith
