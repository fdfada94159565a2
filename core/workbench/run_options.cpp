// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/run_options.h"

#include <nlohmann/json.hpp>

#include "core/base/json_text.h"
#include "core/schedule/space_kind.h"

namespace tunesmith {

StoredRunOptions optionsOf(const RunRow& row) {
    const auto json = parseJson<nlohmann::json>(row.options);
    const auto number = [&json](const char* key, std::int64_t otherwise) {
        return json.is_object() && json.contains(key) && json[key].is_number_integer()
                   ? json[key].get<std::int64_t>()
                   : otherwise;
    };
    const bool named = json.is_object() && json.contains("space") && json["space"].is_string();
    return {static_cast<int>(number("threads", 1)), json.is_object() && json.contains("followed_by"),
            number("follows", 0), named ? json["space"].get<std::string>() : spaceKindName(SpaceKind::tunesmith)};
}

} // namespace tunesmith
