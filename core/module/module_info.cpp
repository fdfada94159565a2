// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/module_info.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/process/json_number.h"
#include "core/runtime/content_hash.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char *kDescription = "module.json", *kWeights = "weights.bin";
constexpr std::size_t kLargestDescription = std::size_t(256) << 20, kLargestLibrary = std::size_t(1) << 30; // weights are beside the library

json describeTensors(const ModulePlan& plan, const std::vector<PlanTensor>& tensors) {
    json list = json::array();
    for (const PlanTensor& tensor : tensors) {
        list.push_back({{"name", tensor.name}, {"type", dtypeName(tensor.type)}, {"shape", tensor.ranked ? json(tensor.shape) : json()}});
        if (tensor.fallback)
            list.back()["default_at"] = plan.buffers[*tensor.fallback].offset; // in the weights
    }
    return list;
}

json describeSteps(const ModulePlan& plan) {
    json list = json::array();
    for (const PlanStep& step : plan.steps)
        list.push_back({{"name", step.name},
                        {"kernel", step.node ? std::string() : plan.kernels[step.kernel].name},
                        {"reference", step.node ? step.node->op : std::string()},
                        {"workload", step.workload},
                        {"config", step.config},
                        {"flops", step.flops},
                        {"expected_ms", step.expectedMs}});
    return list;
}

Result<std::string> readDescription(const fs::path& path) { return readText(path, kLargestDescription, "a description of a module"); }

std::vector<ModuleTensor> parseTensors(const json& list) {
    std::vector<ModuleTensor> tensors;
    for (const json& entry : list) {
        const json& shape = entry.at("shape");
        tensors.push_back({entry.at("name"), dtypeFromName(entry.at("type").get<std::string>()), shape.is_null() ? Shape() : wholeNumbers<std::int64_t>(shape), !shape.is_null()});
        if (entry.contains("default_at"))
            tensors.back().fallback = wholeNumber<std::int64_t>(entry.at("default_at"));
    }
    return tensors;
}

std::vector<ModuleStep> parseSteps(const json& list) {
    std::vector<ModuleStep> steps;
    for (const json& entry : list)
        steps.push_back({entry.at("name"), entry.at("kernel"), entry.at("workload"), entry.at("config"),
                         wholeNumber<std::int64_t>(entry.at("flops")), entry.at("expected_ms"), entry.value("reference", "")});
    return steps;
}

std::vector<ModuleFile> parseFiles(const json& list) {
    std::vector<ModuleFile> files;
    for (const json& entry : list)
        files.push_back({entry.at("name"), wholeNumber<std::uintmax_t>(entry.at("bytes")), entry.at("hash")});
    return files;
}

// Empty where there is no such text.
std::string textAt(const json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Throws json's exceptions.
Result<ModuleInfo> parseInfo(const fs::path& folder, json document) {
    const int format = wholeNumber<int>(document.at("tunesmith_module"));
    if (format < 1)
        return inputError((folder / kDescription).string() + " is damaged (there is no format " + std::to_string(format) + "); export the module again");
    if (format > kModuleFormat)
        return unsupportedError(folder.string() + " was exported by a newer Tunesmith (format " +
                                std::to_string(format) + "); export it again with this one");
    ModuleInfo info;
    info.folder = folder;
    info.name = document.at("name");
    info.prefix = document.at("prefix");
    info.version = document.at("version");
    TS_ASSIGN(info.target.isa, isaFromName(document.at("target").at("isa").get<std::string>()));
    info.target.tuneCpu = document.at("target").at("tune_cpu");
    info.target.threads = wholeNumber<int>(document.at("target").at("threads"));
    info.inputs = parseTensors(document.at("inputs"));
    info.outputs = parseTensors(document.at("outputs"));
    info.steps = parseSteps(document.at("steps"));
    info.files = parseFiles(document.at("files"));
    info.document = std::move(document);
    return info;
}

bool defaultsAreThere(const ModuleInfo& info, std::uintmax_t weightBytes) {
    return std::ranges::all_of(info.inputs, [&](const ModuleTensor& input) {
        if (!input.fallback)
            return true;
        const auto bytes = input.bytes();
        return *input.fallback >= 0 && bytes && static_cast<std::uintmax_t>(*input.fallback) <= weightBytes && static_cast<std::uintmax_t>(*bytes) <= weightBytes - static_cast<std::uintmax_t>(*input.fallback);
    });
}

bool flopsCanBeCounted(const std::vector<ModuleStep>& steps) {
    std::int64_t sum = 0;
    return std::ranges::none_of(steps, [&](const ModuleStep& step) { return step.flops < 0 || __builtin_add_overflow(sum, step.flops, &sum); });
}

Status checkContents(const ModuleInfo& info, const fs::path& description) {
    const auto damaged = [&](const std::string& what) {
        return inputError(description.string() + " is damaged (" + what + "); export the module again");
    };
    if (info.prefix.empty() || modulePrefix(info.prefix) != info.prefix)
        return damaged("'" + info.prefix + "' is no prefix");
    if (info.target.threads < 1)
        return damaged("no threads");
    for (const auto* tensors : {&info.inputs, &info.outputs})
        for (const ModuleTensor& tensor : *tensors)
            if (bitSize(tensor.type) == 0 || (!checkedElementCount(tensor.shape) && (tensors == &info.inputs || !tensor.isOpen())))
                return damaged("'" + tensor.name + "' has no type or shape");
    std::set<std::string_view> names;
    for (const ModuleTensor& input : info.inputs)
        if (!names.insert(input.name).second)
            return damaged("two inputs are called '" + input.name.substr(0, 80) + "'");
    if (!flopsCanBeCounted(info.steps))
        return damaged("the operations of its steps cannot be counted");
    bool library = false, weights = false;
    std::uintmax_t weightBytes = 0;
    for (const ModuleFile& file : info.files) {
        if (fs::path(file.name).is_absolute() || file.name.find("..") != std::string::npos)
            return damaged("'" + file.name + "' leaves the folder");
        library |= info.folder / file.name == info.library();
        if (info.folder / file.name == info.weights()) {
            weights = true;
            weightBytes = file.bytes;
        }
    }
    if (!library || !weights)
        return damaged("the library or the weights are not listed");
    return defaultsAreThere(info, weightBytes) ? Status() : damaged("a default value of an input lies outside of the weights");
}

// Examples and headers may be changed or left out by their owner; what runs must be there.
Status checkFiles(const ModuleInfo& info) {
    for (const ModuleFile& file : info.files) {
        const fs::path path = info.folder / file.name;
        if (path != info.library() && path != info.weights())
            continue;
        std::error_code error;
        const std::uintmax_t bytes = fs::file_size(path, error);
        if (error)
            return ioError("the module in " + info.folder.string() + " lacks " + file.name +
                           "; copy it whole or export it again");
        if (bytes != file.bytes)
            return inputError(path.string() + " has " + std::to_string(bytes) + " bytes instead of " +
                              std::to_string(file.bytes) + "; copy the module whole or export it again");
        if (path == info.library() && bytes > kLargestLibrary)
            return inputError(path.string() + " is too large for a library of a module; export the module again");
    }
    return {};
}

} // namespace

std::optional<std::int64_t> ModuleTensor::bytes() const {
    const auto elements = checkedElementCount(shape);
    std::int64_t bits = 0;
    if (isOpen() || !elements || __builtin_mul_overflow(*elements, bitSize(type), &bits))
        return {};
    return bits / 8 + (bits % 8 != 0);
}

std::int64_t ModuleInfo::flops() const {
    std::int64_t sum = 0;
    for (const ModuleStep& step : steps)
        sum += step.flops;
    return sum;
}

std::string modulePrefix(const std::string& name) {
    std::string prefix;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        prefix += plain ? c : '_';
    }
    prefix = prefix.substr(0, 100);
    if (prefix.empty())
        return "model";
    if (prefix[0] >= '0' && prefix[0] <= '9')
        prefix = "m" + prefix;
    // Names that begin so belong to the C library or to the runtime, and so do libraries of these names.
    constexpr std::string_view kLibraries[] = {"c", "dl", "m", "pthread", "rt", "util"};
    if (prefix[0] == '_' || prefix == "MODEL" || prefix.starts_with("tunesmith") || std::ranges::find(kLibraries, prefix) != std::end(kLibraries))
        prefix = "model_" + prefix;
    return prefix;
}

Status checkPrefix(const std::string& prefix) {
    if (prefix.empty() || modulePrefix(prefix) == prefix)
        return {};
    return inputError("'" + prefix + "' cannot be the prefix of a module's C functions; '" + modulePrefix(prefix) + "' can");
}

json describePlan(const ModulePlan& plan, const std::string& prefix) {
    return {{"tunesmith_module", kModuleFormat},
            {"name", plan.name},
            {"prefix", prefix},
            {"target",
             {{"isa", isaName(plan.target.isa)},
              {"tune_cpu", plan.target.tuneCpu},
              {"threads", plan.target.threads},
              {"key", plan.target.key()}}},
            {"inputs", describeTensors(plan, plan.inputs)},
            {"outputs", describeTensors(plan, plan.outputs)},
            {"steps", describeSteps(plan)},
            {"arena_bytes", plan.arenaBytes},
            {"weight_bytes", plan.weightBytes}};
}

bool isModuleFolder(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / kDescription, error); // what is no file is refused by name when it is read
}

// A description from elsewhere may list any file of which somebody knows what it holds.
bool isNameOfExport(const std::string& name, const std::string& prefix) {
    return name == kWeights || name == "README.md" || name == "lib" + prefix + ".so" || name == prefix + ".h" || name.starts_with("example/");
}

OwnFiles listedFiles(const json& document) {
    OwnFiles files;
    for (const json& entry : document.value("files", json::array()))
        if (const std::string hash = textAt(entry, "hash"); !hash.empty() && entry.contains("bytes") && entry["bytes"].is_number_unsigned())
            files.push_back({textAt(entry, "name"), entry["bytes"].get<std::uintmax_t>(), hash});
    return files;
}

std::optional<OwnFiles> ownModuleFiles(const fs::path& folder) {
    const auto text = readDescription(folder / kDescription);
    const json document = text.ok() ? parseJson<json>(*text) : json();
    if (!document.is_object() || !document.contains("tunesmith_module"))
        return std::nullopt;
    OwnFiles own = listedFiles(document);
    std::erase_if(own, [prefix = textAt(document, "prefix")](const ModuleFile& file) { return !isNameOfExport(file.name, prefix); });
    own.push_back({kDescription, 0, {}});
    return own;
}

// "[json.exception.out_of_range.403] key 'inputs' not found" -> "key 'inputs' not found".
std::string reasonOf(const std::exception& exception) {
    const std::string text = exception.what();
    const std::size_t end = text.starts_with("[json.exception.") ? text.find("] ") : std::string::npos;
    const std::string reason = end == std::string::npos ? text : text.substr(end + 2);
    return reason.substr(0, reason.find("; last read")); // a piece of the file, which may be long
}

Result<ModuleInfo> readModuleInfo(const fs::path& folder) {
    const fs::path description = folder / kDescription;
    std::error_code error;
    if (!fs::exists(description, error))
        return inputError(folder.string() + " is no exported module: it has no module.json");
    TS_ASSIGN(const std::string text, readDescription(description));
    try {
        if (const std::string excess = jsonExcess(text); !excess.empty())
            return inputError(description.string() + " is damaged (" + excess + "); export the module again");
        json document = json::parse(text);
        if (!document.is_object() || !document.contains("tunesmith_module"))
            return inputError(description.string() +
                              " is no description of a module; export the module again");
        TS_ASSIGN(ModuleInfo info, parseInfo(folder, std::move(document)));
        TS_TRY(checkContents(info, description));
        TS_TRY(checkFiles(info));
        return info;
    } catch (const json::exception& exception) {
        return inputError(description.string() + " is damaged (" + reasonOf(exception) + "); export the module again");
    }
}

Result<std::string> hashFile(const fs::path& path) {
    constexpr std::size_t kPiece = std::size_t(1) << 20;
    TS_ASSIGN(InputFile file, InputFile::open(path));
    TsContentHash hash = ts_hash_begin();
    std::vector<std::byte> piece;
    for (std::size_t left = file.size(); left > 0; left -= piece.size()) {
        piece.resize(std::min(left, kPiece));
        TS_TRY(file.read(piece));
        ts_hash_add(&hash, piece.data(), piece.size());
    }
    return hexHash(ts_hash_end(&hash));
}

Status checkLibrary(const ModuleInfo& info) {
    for (const ModuleFile& file : info.files) {
        if (info.folder / file.name != info.library())
            continue;
        TS_ASSIGN(const std::string hash, hashFile(info.library()));
        if (hash != file.hash)
            return inputError(info.library().string() + " is damaged; copy or export the module again");
    }
    return {};
}

} // namespace tunesmith
