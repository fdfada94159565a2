// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tunesmith {

// Copying, comparing and printing JSON recurses into lists and objects, and what a file or a store holds may be made to exhaust the stack by
// that. A value of three characters takes 98 bytes, so a file that is small when packed would exhaust the memory, too. No text of ours nests
// so deep or has so many values.
inline constexpr int kDeepestJson = 256;
inline constexpr std::size_t kMostJsonValues = std::size_t(4) << 20;
std::string jsonExcess(std::string_view text); // "it nests too deep"; empty where it may be parsed

// Bytes of memory that a text takes at most while it is parsed and afterwards, beside itself: up to a hundred times its own. Known without parsing it.
std::size_t jsonMemory(std::string_view text);

// Text as a value of nlohmann's; discarded where it is none or too much.
template <class Json> Json parseJson(std::string_view text) {
    return jsonExcess(text).empty() ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

// A value of nlohmann's as text. Bytes that are not UTF-8 become U+FFFD, and nothing is thrown: for what is shown, and for no path that is opened again.
template <class Json> std::string writeJson(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

} // namespace tunesmith
