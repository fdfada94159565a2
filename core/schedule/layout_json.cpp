// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/layout_json.h"

#include "core/process/json_number.h"

namespace tunesmith {

nlohmann::json layoutsToJson(const std::vector<loops::Layout>& layouts) {
    nlohmann::json list = nlohmann::json::array();
    for (const loops::Layout& layout : layouts) {
        nlohmann::json axes = nlohmann::json::array();
        for (const auto& axis : layout.axes())
            axes.push_back({axis.dim, axis.divisor, axis.extent});
        list.push_back(std::move(axes));
    }
    return list;
}

std::vector<loops::Layout> layoutsFromJson(const nlohmann::json& list) {
    std::vector<loops::Layout> layouts;
    for (const auto& axes : list) {
        std::vector<loops::Layout::Axis> made;
        for (const auto& axis : axes)
            made.push_back({wholeNumber<std::size_t>(axis.at(0)), wholeNumber<std::int64_t>(axis.at(1)), wholeNumber<std::int64_t>(axis.at(2))});
        layouts.emplace_back(std::move(made));
    }
    return layouts;
}

} // namespace tunesmith
