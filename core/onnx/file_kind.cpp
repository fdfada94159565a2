// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/file_kind.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tunesmith {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kGraphField = 7; // of ModelProto
constexpr std::size_t kDeepestMessages = 100; // within each other, as protobuf reads them
constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5;

struct Magic {
    std::size_t offset;
    std::string_view bytes;
    const char* sentence;
};

constexpr Magic kMagics[] = {
    {0, "version https://git-lfs"sv, "this is a Git LFS pointer, not the model itself: fetch the model with 'git lfs pull'"},
    {4, "ORTM"sv, "this is a model in ONNX Runtime's own format (.ort): take the .onnx file that it was made from"},
    {4, "TFL3"sv, "this is a TensorFlow Lite model: convert it with tf2onnx"},
    {0, "GGUF"sv, "this is a GGUF model of llama.cpp: take an ONNX export of it"},
    {0, "\x89HDF"sv, "this is an HDF5 file, as Keras saves models: convert it with tf2onnx"},
    {0, "\x93NUMPY"sv, "this is a NumPy array, not a model"},
    {0, "\x1f\x8b"sv, "this is a gzip archive: unpack it with gunzip"},
    {0, "BZh"sv, "this is a bzip2 archive: unpack it with bunzip2"},
    {0, "\xfd"
        "7zXZ"sv,
     "this is an xz archive: unpack it with unxz"},
    {0, "\x28\xb5\x2f\xfd"sv, "this is a zstd archive: unpack it with unzstd"},
    {0, "7z\xbc\xaf"sv, "this is a 7-Zip archive: unpack it"},
    {257, "ustar"sv, "this is a tar archive: unpack it with tar -xf"},
    {0, "PK\x03\x04"sv, "this is a ZIP archive, as PyTorch saves models: export the model with torch.onnx.export, or unpack the archive"},
    {0, "\x80\x02"sv, "this is a Python pickle, as older PyTorch saves models: export the model with torch.onnx.export"},
};

bool begins(std::string_view text, std::string_view wanted) {
    return text.size() >= wanted.size() && std::ranges::equal(text.substr(0, wanted.size()), wanted, [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
           });
}

std::string textKind(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf"sv))
        text.remove_prefix(3);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
        text.remove_prefix(1);
    if (begins(text, "<!doctype html"sv) || begins(text, "<html"sv) || begins(text, "<head"sv))
        return "this is a web page, not the model: the download wanted a login or the address is that of a page about the model";
    if (begins(text, "<?xml"sv))
        return "this is an XML file, as OpenVINO describes models: take the ONNX file that it was made from";
    if (text.starts_with('{') && text.find("\"") != std::string_view::npos)
        return "this is a JSON file, not a model";
    return {};
}

// Reads a varint; none where the bytes end or it is too long.
std::optional<std::uint64_t> varint(std::span<const std::byte> bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto byte = static_cast<std::uint64_t>(bytes[at++]);
        value |= (byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    return std::nullopt;
}

struct Field {
    std::uint64_t number, length; // of what follows it
    bool isMessage;               // or text
};

// Reads what stands before the content of a field of a message; none where that is no field.
std::optional<Field> fieldAt(std::span<const std::byte> bytes, std::size_t& at) {
    const auto tag = varint(bytes, at);
    if (!tag || *tag >> 3 == 0)
        return std::nullopt;
    const std::uint64_t kind = *tag & 7;
    if (kind == kFixed64 || kind == kFixed32)
        return Field{*tag >> 3, kind == kFixed64 ? 8U : 4U, false};
    const auto value = kind == kVarint || kind == kDelimited ? varint(bytes, at) : std::nullopt;
    if (!value)
        return std::nullopt;
    return Field{*tag >> 3, kind == kDelimited ? *value : 0, kind == kDelimited};
}

} // namespace

std::string foreignKind(std::span<const std::byte> begin) {
    const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
    if (text.starts_with('\x08'))
        return {}; // the version, with which every model begins
    for (const Magic& magic : kMagics)
        if (text.size() >= magic.offset && text.substr(magic.offset).starts_with(magic.bytes))
            return magic.sentence;
    return textKind(text);
}

std::string damageOf(std::span<const std::byte> begin, std::size_t size) {
    int graphs = 0;
    for (std::size_t at = 0; at < begin.size();) {
        const auto field = fieldAt(begin, at);
        if (!field)
            return {};
        graphs += field->isMessage && field->number == kGraphField;
        if (field->length > size - at)
            return graphs == 0 ? std::string()
                               : "it ends in the middle: of the " + std::to_string(field->length) + " bytes of its graph " +
                                     std::to_string(size - at) + " are there; copy or download it again";
        at += static_cast<std::size_t>(field->length);
    }
    return graphs > 1 ? "it holds more than one model, one behind the other: take it apart, or copy or download it again" : std::string();
}

bool nestsTooDeep(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kWays[] = {kGraphField, 1, 5, 6}; // from a model to its graph, to a node, to an attribute, to a graph
    std::vector<std::size_t> ends{bytes.size()};              // of the messages around the place
    for (std::size_t at = 0; !ends.empty();) {
        if (at >= ends.back()) {
            ends.pop_back();
            continue;
        }
        const auto field = fieldAt(bytes.first(ends.back()), at);
        if (!field || field->length > ends.back() - at)
            return false;
        const std::size_t way = ends.size() == 1 ? 0 : (ends.size() - 2) % 3 + 1;
        const std::size_t end = at + static_cast<std::size_t>(field->length);
        if (field->isMessage && field->number == kWays[way])
            ends.push_back(end);
        else
            at = end;
        if (ends.size() > kDeepestMessages)
            return true;
    }
    return false;
}

} // namespace tunesmith
