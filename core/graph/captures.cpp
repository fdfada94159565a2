// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/captures.h"

#include <unordered_set>

namespace tunesmith {
namespace {

// Each name once: bodies within bodies read the same few, and each level would have those of all below it.
class Captures {
public:
    void addFrom(const Graph& body) {
        for (const ValueId id : body.captures())
            add(body.value(id).name);
        for (const auto& node : body.nodes())
            for (const std::string& name : capturedNames(*node))
                if (!body.findValue(name).valid())
                    add(name);
    }
    std::vector<std::string> names;

private:
    void add(const std::string& name) {
        if (seen_.insert(name).second)
            names.push_back(name);
    }
    std::unordered_set<std::string> seen_;
};

} // namespace

std::vector<std::string> capturedNames(const Node& node) {
    Captures captures;
    for (const auto& [key, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
            captures.addFrom(**body);
    return std::move(captures.names);
}

} // namespace tunesmith
