// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>

namespace tunesmith {

// Copying, comparing and printing JSON recurses into lists and objects, and what a file or a store holds may be made to exhaust the stack by
// that. No text of ours nests so deep.
inline constexpr int kDeepestJson = 256;
bool jsonNestsTooDeep(std::string_view text);

// Text as a value of nlohmann's; discarded where it is none or nests too deep.
template <class Json> Json parseJson(std::string_view text) {
    return jsonNestsTooDeep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

} // namespace tunesmith
