// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/family_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/graph/npy.h"
#include "core/module/module_info.h"
#include "core/workbench/read_inputs.h"

namespace tunesmith {
namespace {

using nlohmann::json;

constexpr const char* kMarker = "tunesmith_family"; // its value is the format
constexpr int kFormat = 1;
constexpr std::size_t kLargestDescription = 64 << 20;

Result<std::string> readDescription(const std::filesystem::path& path) { return readText(path, kLargestDescription, "a description of modules"); }

json toJson(const Dims& dims) {
    json list = json::array();
    for (const Dim& dim : dims)
        list.push_back(dim.known() ? json(dim.extent) : json(dim.symbol));
    return list;
}

Dims dimsFrom(const json& list) {
    Dims dims;
    for (const json& entry : list)
        dims.push_back(entry.is_string() ? Dim::named(entry.get<std::string>())
                                         : Dim(entry.get<std::int64_t>()));
    return dims;
}

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

void require(bool holds, const std::string& otherwise) {
    if (!holds)
        throw std::out_of_range(otherwise);
}

bool isRanged(const FamilyInfo& family, const std::string& name) {
    const auto range = family.ranges.find(name);
    return range != family.ranges.end() && !range->second.isFixed();
}

DimensionRanges rangesFrom(const json& document) {
    DimensionRanges ranges;
    for (const auto& [name, range] : document.items()) {
        ranges[name] = {range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>()};
        require(ranges[name].low >= 1 && ranges[name].low <= ranges[name].high &&
                    ranges[name].high <= kLargestExtent,
                "an impossible range of '" + name + "'");
    }
    return ranges;
}

FamilyTensor inputFrom(const json& entry, const FamilyInfo& family) {
    const auto type = dtypeFromName(entry.at("type").get<std::string>());
    FamilyTensor input{entry.at("name").get<std::string>(), TensorType(type, dimsFrom(entry.at("shape"))), boundsFromJson(entry.at("bound"))};
    require(byteSize(type) > 0, "an input of unknown type");
    for (const Dim& dim : *input.type.dims)
        require((dim.known() && dim.extent <= kLargestExtent) || isRanged(family, dim.symbol),
                "an impossible shape of input '" + input.name + "'");
    return input;
}

FamilyMember memberFrom(const json& entry, const FamilyInfo& family) {
    FamilyMember member{entry.at("extents").get<Dimensions>(), entry.at("folder").get<std::string>()};
    require(member.folder == memberFolder(member.extents), "a module in the folder '" + member.folder + "'");
    std::size_t ranged = 0;
    for (const auto& [name, range] : family.ranges)
        ranged += !range.isFixed();
    require(member.extents.size() == ranged, "a module for other dimensions");
    for (const auto& [name, extent] : member.extents)
        require(isRanged(family, name) && extent >= 1 && extent <= kLargestExtent,
                "a module for other dimensions");
    return member;
}

FamilyInfo familyFrom(const json& document) {
    FamilyInfo family;
    family.name = document.at("name").get<std::string>();
    require(family.name == safeFileName(family.name), "a name that is none of a file");
    family.ranges = rangesFrom(document.at("ranges"));
    for (const auto& [name, range] : family.ranges)
        if (range.isFixed())
            family.fixed[name] = range.low;
    for (const json& input : document.at("inputs"))
        family.inputs.push_back(inputFrom(input, family));
    family.outputs = document.at("outputs").get<std::vector<std::string>>();
    for (const json& entry : document.at("modules"))
        family.members.push_back(memberFrom(entry, family));
    family.files = listedFiles(document);
    return family;
}

// "" where the name is no text.
std::string modelOf(const json& document) {
    FamilyInfo family;
    const auto name = document.find("name");
    if (name == document.end() || !name->is_string())
        return {};
    family.name = *name;
    return family.modelFile();
}

} // namespace

std::string FamilyInfo::modelFile() const {
    return safeFileName(name) + ".onnx";
}

std::string memberFolder(const Dimensions& extents) {
    std::string name;
    for (const auto& [dimension, extent] : extents)
        name += (name.empty() ? "" : "_") + safeFileName(dimension) + "-" + std::to_string(extent);
    return name;
}

std::string extentsText(const Dimensions& extents) {
    std::string text;
    for (const auto& [dimension, extent] : extents)
        text += (text.empty() ? "" : ", ") + dimension + "=" + std::to_string(extent);
    return text;
}

std::string toJsonText(const FamilyInfo& family) {
    json inputs = json::array(), members = json::array(), ranges = json::object();
    for (const FamilyTensor& input : family.inputs)
        inputs.push_back({{"name", input.name},
                          {"type", dtypeName(input.type.dtype)},
                          {"shape", toJson(*input.type.dims)},
                          {"bound", boundsToJson(input.bounds)}});
    for (const FamilyMember& member : family.members)
        members.push_back({{"folder", member.folder}, {"extents", member.extents}});
    for (const auto& [name, range] : family.ranges)
        ranges[name] = {range.low, range.high};
    json files = json::array();
    for (const ModuleFile& file : family.files)
        files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"hash", file.hash}});
    const json document{{kMarker, kFormat}, {"name", family.name},       {"ranges", ranges},
                        {"inputs", inputs}, {"outputs", family.outputs}, {"modules", members}, {"files", files}};
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<OwnFiles> ownFamilyFiles(const std::filesystem::path& folder) {
    std::error_code error;
    const std::filesystem::path path = folder / kFamilyFile;
    if (!std::filesystem::is_regular_file(path, error))
        return std::nullopt;
    const json document = parseJson<json>(readDescription(path).valueOr({}));
    if (!document.is_object() || !document.contains(kMarker))
        return std::nullopt;
    OwnFiles own = listedFiles(document);
    std::erase_if(own, [model = modelOf(document)](const ModuleFile& file) { return file.name != "README.md" && file.name != model && file.name != model + ".data"; });
    if (const auto family = readFamily(folder); family.ok())
        for (const FamilyMember& member : family->members)
            for (const ModuleFile& listed : ownModuleFiles(folder / member.folder).value_or(OwnFiles()))
                own.push_back({member.folder + "/" + listed.name, listed.bytes, listed.hash});
    own.push_back({kFamilyFile, 0, {}});
    return own;
}

Result<FamilyInfo> readFamily(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / kFamilyFile;
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return inputError("'" + folder.string() + "' holds no modules: there is no " + kFamilyFile);
    TS_ASSIGN(const std::string text, readDescription(path));
    try {
        if (const std::string excess = jsonExcess(text); !excess.empty())
            return inputError("'" + path.string() + "' is damaged: " + excess + "; export the modules again");
        const json document = json::parse(text);
        if (const int format = document.at(kMarker).get<int>(); format > kFormat)
            return inputError("'" + path.string() + "' was written by a newer Tunesmith (format " +
                              std::to_string(format) + ")");
        FamilyInfo family = familyFrom(document);
        family.folder = folder;
        return family;
    } catch (const std::exception& exception) {
        return inputError("'" + path.string() + "' is damaged: " + reasonOf(exception) +
                          "; export the modules again");
    }
}

} // namespace tunesmith
