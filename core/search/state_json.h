// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/json_text.h"
#include "core/base/result.h"
#include "core/search/space.h"

namespace tunesmith {

// For the sources of strategies only: run `read` on a saved state and turn whatever is wrong with it into one
// sentence.
template <class Read> Status readState(const std::string& strategy, std::string_view state, Read read) {
    try {
        read(parseJson<nlohmann::json>(state));
        return {};
    } catch (const nlohmann::json::exception& problem) {
        return inputError("the saved state is none of strategy " + strategy + " (" + problem.what() +
                          "): resume with the strategy that the run was started with");
    }
}

// Throws unless it is of the space.
inline Config configFromState(const nlohmann::json& json, const Space& space) {
    Result<Config> config = parseConfig(json.get<std::string>(), space);
    if (!config.ok())
        throw nlohmann::json::other_error::create(501, config.error().message, &json);
    return std::move(config).value();
}

} // namespace tunesmith
