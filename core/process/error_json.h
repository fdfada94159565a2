// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include <nlohmann/json.hpp>

namespace tunesmith {

// An Error on its way between processes: {"kind": "unsupported", "message": "…"}. Whatever else arrives
// becomes an internal error that quotes it, and so do kinds that say that somebody gave up, for that is up to this side. Messages are cut off where they are long: the other side may be foreign code.
nlohmann::json errorToJson(const Error& error);
Error errorFromJson(const nlohmann::json& json);

} // namespace tunesmith
