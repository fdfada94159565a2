// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/family_file.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/graph/npy.h"

namespace tunesmith {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

json toJson(const std::vector<RowAxis>& axes) {
    json list = json::array();
    for (const RowAxis& axis : axes)
        list.push_back({axis.axis, axis.block});
    return list;
}

std::vector<RowAxis> rowAxesFrom(const json& list, std::size_t count) {
    std::vector<RowAxis> axes;
    for (const json& entry : list) {
        axes.push_back({entry.at(0).get<int>(), entry.at(1).get<std::int64_t>()});
        if (axes.back().axis < -1 || axes.back().axis > 64 || axes.back().block < 1)
            throw std::out_of_range("rows along an axis that cannot be");
    }
    if (axes.size() != count)
        throw std::out_of_range("rows of other tensors than there are");
    return axes;
}

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

json toJson(const FamilyMember& member) {
    json rows = json::object();
    for (const auto& [name, axes] : member.rows)
        rows[name] = {{"inputs", toJson(axes.inputs)}, {"outputs", toJson(axes.outputs)}};
    return {{"folder", member.folder}, {"extents", member.extents}, {"rows", rows}};
}

FamilyMember memberFrom(const json& entry, const FamilyInfo& family) {
    FamilyMember member{entry.at("extents").get<Dimensions>(), entry.at("folder").get<std::string>(), {}};
    if (member.folder != memberFolder(member.extents))
        throw std::out_of_range("a module in the folder '" + member.folder + "'");
    for (const auto& [name, rows] : entry.at("rows").items())
        member.rows[name] = {rowAxesFrom(rows.at("inputs"), family.inputs.size()),
                             rowAxesFrom(rows.at("outputs"), family.outputs.size())};
    return member;
}

FamilyInfo familyFrom(const json& document) {
    FamilyInfo family;
    family.name = document.at("name").get<std::string>();
    family.fixed = document.at("fixed").get<Dimensions>();
    for (const auto& [name, range] : document.at("ranges").items()) {
        family.ranges[name] = {range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>()};
        if (range.size() > 2)
            family.mixing[name] = range.at(2).get<std::string>();
    }
    for (const json& input : document.at("inputs")) {
        const auto type = dtypeFromName(input.at("type").get<std::string>());
        if (byteSize(type) == 0)
            throw std::out_of_range("an input of unknown type");
        family.inputs.push_back({input.at("name").get<std::string>(),
                                 TensorType(type, dimsFrom(input.at("shape"))),
                                 input.at("bound").get<std::int64_t>()});
    }
    family.outputs = document.at("outputs").get<std::vector<std::string>>();
    for (const json& entry : document.at("modules"))
        family.members.push_back(memberFrom(entry, family));
    return family;
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
                          {"bound", input.bound}});
    for (const FamilyMember& member : family.members)
        members.push_back(toJson(member));
    for (const auto& [name, range] : family.ranges) {
        ranges[name] = {range.low, range.high};
        if (const auto why = family.mixing.find(name); why != family.mixing.end())
            ranges[name].push_back(why->second);
    }
    const json document{{"format", kFormat}, {"name", family.name}, {"fixed", family.fixed},
                        {"ranges", ranges},  {"inputs", inputs},    {"outputs", family.outputs},
                        {"modules", members}};
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<FamilyInfo> readFamily(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / kFamilyFile;
    std::ifstream file(path);
    if (!file)
        return inputError("'" + folder.string() + "' holds no modules: there is no " + kFamilyFile);
    std::ostringstream text;
    text << file.rdbuf();
    try {
        const json document = json::parse(text.str());
        if (const int format = document.at("format").get<int>(); format > kFormat)
            return inputError("'" + path.string() + "' was written by a newer Tunesmith (format " +
                              std::to_string(format) + ")");
        FamilyInfo family = familyFrom(document);
        family.folder = folder;
        return family;
    } catch (const std::exception& exception) {
        return inputError("'" + path.string() + "' is damaged: " + exception.what() +
                          "; export the modules again");
    }
}

} // namespace tunesmith
