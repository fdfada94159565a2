// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/captures.h"

namespace tunesmith {
namespace {

void collectCaptures(const Graph& body, std::vector<std::string>& names) {
    for (const ValueId id : body.captures())
        names.push_back(body.value(id).name);
    for (const auto& node : body.nodes())
        for (const std::string& name : capturedNames(*node))
            if (!body.findValue(name).valid())
                names.push_back(name);
}

} // namespace

std::vector<std::string> capturedNames(const Node& node) {
    std::vector<std::string> names;
    for (const auto& [key, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
            collectCaptures(**body, names);
    return names;
}

} // namespace tunesmith
