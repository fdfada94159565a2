// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cost/model_bytes.h"

#include <array>

#include "core/base/hash.h"

namespace tunesmith {
namespace {

constexpr std::string_view kMagic = "TSCM1";

void put(std::string& out, std::uint64_t value) {
    for (int i = 0; i < 8; ++i)
        out += static_cast<char>((value >> (8 * i)) & 0xff);
}

std::optional<std::uint64_t> take(std::string_view& in) {
    if (in.size() < 8)
        return std::nullopt;
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[static_cast<std::size_t>(i)]))
                 << (8 * i);
    in.remove_prefix(8);
    return value;
}

std::optional<std::string> takeText(std::string_view& in) {
    const auto size = take(in);
    if (!size || *size > in.size())
        return std::nullopt;
    std::string out(in.substr(0, *size));
    in.remove_prefix(*size);
    return out;
}

} // namespace

std::string ModelBytes::pack() const {
    std::string out(kMagic);
    put(out, kind.size());
    out += kind;
    put(out, static_cast<std::uint32_t>(featureVersion));
    put(out, columns);
    put(out, body.size());
    out += body;
    put(out, Hasher().add(std::string_view(out)).value());
    return out;
}

Result<ModelBytes> ModelBytes::unpack(std::string_view bytes, const std::string& kind) {
    const Error damaged =
        inputError("the saved cost model is damaged or none of this program: train it again");
    if (bytes.size() < kMagic.size() + 8 || !bytes.starts_with(kMagic))
        return damaged;
    std::string_view tail = bytes.substr(bytes.size() - 8);
    std::string_view at = bytes.substr(0, bytes.size() - 8);
    if (take(tail) != Hasher().add(at).value())
        return damaged;
    at.remove_prefix(kMagic.size());
    ModelBytes out;
    const auto name = takeText(at);
    const auto version = take(at);
    const auto columns = take(at);
    const auto body = takeText(at);
    if (!name || !version || !columns || !body || !at.empty())
        return damaged;
    if (*name != kind)
        return inputError("the saved cost model is of kind " + *name + ", this one is of kind " + kind +
                          ": train it again");
    out.kind = *name;
    out.featureVersion = static_cast<std::int32_t>(*version);
    out.columns = static_cast<std::uint32_t>(*columns);
    out.body = *body;
    return out;
}

Status checkFeatures(const std::string& model, int modelVersion, std::size_t modelColumns, int version,
                     std::size_t columns) {
    if (version != modelVersion)
        return inputError("cost model " + model + " was trained on features of version " +
                          std::to_string(modelVersion) + ", these are of version " + std::to_string(version) +
                          ": train it again");
    if (columns != modelColumns)
        return inputError("cost model " + model + " was trained on " + std::to_string(modelColumns) +
                          " features, these are " + std::to_string(columns) + ": train it again");
    return {};
}

} // namespace tunesmith
