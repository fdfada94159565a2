// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/run_options.h"

#include <nlohmann/json.hpp>

namespace tunesmith {

StoredRunOptions optionsOf(const RunRow& row) {
    const auto json = nlohmann::json::parse(row.options, nullptr, false);
    const auto number = [&json](const char* key, std::int64_t otherwise) {
        return json.is_object() && json.contains(key) && json[key].is_number_integer()
                   ? json[key].get<std::int64_t>()
                   : otherwise;
    };
    return {static_cast<int>(number("threads", 1)), json.is_object() && json.contains("followed_by"),
            number("follows", 0)};
}

} // namespace tunesmith
