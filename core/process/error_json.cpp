// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/error_json.h"

#include <array>

#include "core/base/printable.h"

namespace tunesmith {
namespace {

struct KindName {
    ErrorKind kind;
    const char* name;
};
constexpr std::array<KindName, 6> kKinds{{{ErrorKind::input, "input"},
                                          {ErrorKind::unsupported, "unsupported"},
                                          {ErrorKind::io, "io"},
                                          {ErrorKind::cancelled, "cancelled"},
                                          {ErrorKind::timeout, "timeout"},
                                          {ErrorKind::internal, "internal"}}};

} // namespace

nlohmann::json errorToJson(const Error& error) {
    for (const KindName& entry : kKinds)
        if (entry.kind == error.kind)
            return {{"kind", entry.name}, {"message", error.message}};
    return {{"kind", "internal"}, {"message", error.message}};
}

Error errorFromJson(const nlohmann::json& json) {
    const auto text = [&](const char* key) {
        const auto found = json.is_object() ? json.find(key) : json.end();
        return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    for (const KindName& entry : kKinds)
        if (text("kind") == entry.name) {
            const bool ours = entry.kind == ErrorKind::cancelled || entry.kind == ErrorKind::timeout;
            return {ours ? ErrorKind::internal : entry.kind, shortened(text("message"))};
        }
    return internalError("another process reported an error that cannot be read: " +
                         json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 200));
}

} // namespace tunesmith
