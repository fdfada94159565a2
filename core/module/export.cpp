// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/export.h"

#include <algorithm>
#include <regex>

#include "core/base/hash.h"
#include "core/base/mapped_ranges.h"
#include "core/module/link.h"
#include "core/module/module_info.h"
#include "core/module/plan_object.h"
#include "core/module/staging_folder.h"
#include "core/module/templates.h"
#include "core/runtime/content_hash.h"
#include "core/runtime/embedded.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kPlaceholder = "MODEL"; // in the interface and the templates

std::string withPrefix(std::string_view text, const std::string& prefix) {
    std::string result;
    for (std::size_t at = 0;;) {
        const std::size_t found = std::min(text.find(kPlaceholder, at), text.size());
        result += text.substr(at, found - at);
        if (found == text.size())
            return result;
        result += prefix;
        at = found + kPlaceholder.size();
    }
}

// Every function that the interface declares.
std::map<std::string, std::string> exportedFunctions(std::string_view interface, const std::string& prefix) {
    static const std::regex declaration("MODEL_API[^;]*?\\b(MODEL_[a-z_]+)\\(");
    std::map<std::string, std::string> functions;
    const std::string text(interface);
    for (std::sregex_iterator match(text.begin(), text.end(), declaration), end; match != end; ++match)
        functions[withPrefix((*match)[1].str(), prefix)] = (*match)[1].str();
    return functions;
}

void addProbes(std::map<std::string, std::string>& functions, const std::string& prefix) {
    for (const char* name : kProbeFunctions)
        functions[prefix + "_" + name] = std::string(kPlaceholder) + "_" + name;
}

// The weights file without a copy of the weights: constants in the order of their places, and what fills the gaps.
std::vector<std::span<const std::byte>> weightPieces(const ModulePlan& plan) {
    static constexpr std::byte kGap[64] = {};
    std::vector<std::span<const std::byte>> pieces;
    std::int64_t end = 0;
    const auto fillTo = [&](std::int64_t offset) {
        for (; end < offset; end += static_cast<std::int64_t>(pieces.back().size()))
            pieces.push_back(std::span(kGap).first(static_cast<std::size_t>(std::min<std::int64_t>(offset - end, sizeof kGap))));
    };
    for (const PlanConstant& constant : plan.constants) {
        assert(plan.buffers[constant.buffer].offset >= end && "constants are planned one after the other");
        fillTo(plan.buffers[constant.buffer].offset);
        pieces.push_back(constant.packed.bytes());
        end += static_cast<std::int64_t>(constant.packed.byteCount());
    }
    fillTo(plan.weightBytes);
    return pieces;
}

class Exporter {
public:
    Exporter(const ModulePlan& plan, const ExportInfo& info, StagingFolder& folder)
        : plan_(plan), info_(info), folder_(folder), prefix_(info.prefix.empty() ? modulePrefix(plan.name) : info.prefix) {}

    Result<ExportSummary> run() {
        TS_TRY(writeWeights());
        TS_TRY(writeTexts());
        TS_TRY(writeDescription());
        ExportSummary summary{folder_.target(), prefix_, 0, static_cast<std::size_t>(plan_.weightBytes)};
        std::error_code error;
        summary.libraryBytes = fs::file_size(folder_.path() / library(), error);
        TS_TRY(folder_.commit());
        return summary;
    }

private:
    std::string library() const { return "lib" + prefix_ + ".so"; }

    Status writeWeights() {
        const std::vector<std::span<const std::byte>> pieces = weightPieces(plan_);
        TsContentHash state = ts_hash_begin();
        for (const std::span<const std::byte> piece : pieces) {
            ts_hash_add(&state, piece.data(), piece.size());
            dropMappedPages(piece);
        }
        const std::uint64_t hash = ts_hash_end(&state);
        files_.push_back({{"name", "weights.bin"}, {"bytes", plan_.weightBytes}, {"hash", hexHash(hash)}});
        TS_TRY(folder_.write("weights.bin", pieces));
        return link(hash);
    }

    Status write(const std::string& name, std::span<const std::byte> bytes) {
        files_.push_back({{"name", name},
                          {"bytes", bytes.size()},
                          {"hash", hexHash(ts_content_hash(bytes.data(), bytes.size()))}});
        return folder_.write(name, bytes);
    }

    Status link(std::uint64_t weightHash) {
        LinkRequest request;
        TS_ASSIGN(const std::vector<std::byte> tables, planObject(plan_, info_.version, weightHash));
        TS_TRY(addObject(request, "plan.o", tables));
        for (const KernelObject& kernel : plan_.kernels)
            TS_TRY(addObject(request, kernel.name + ".o", kernel.object));
        for (const EmbeddedFile& object : runtimeObjects())
            TS_TRY(addObject(request, "runtime-" + std::string(object.name), std::as_bytes(object.bytes)));
        if (hasNodes(plan_))
            TS_TRY(addObject(request, std::string(referenceObject().name), std::as_bytes(referenceObject().bytes)));
        request.output = folder_.path() / library();
        request.soname = library();
        request.scratch = folder_.path() / kScratch;
        request.exports = exportedFunctions(runtimeHeaders().front().text(), prefix_);
        if (info_.probes)
            addProbes(request.exports, prefix_);
        TS_TRY(linkSharedLibrary(request));
        std::error_code error;
        fs::remove_all(request.scratch, error);
        TS_ASSIGN(const std::string hash, hashFile(request.output));
        files_.push_back(
            {{"name", library()}, {"bytes", fs::file_size(request.output, error)}, {"hash", hash}});
        return {};
    }

    Status addObject(LinkRequest& request, const std::string& name, std::span<const std::byte> bytes) {
        const std::string path =
            std::string(kScratch) + "/" + std::to_string(request.objects.size()) + "-" + name;
        request.objects.push_back(folder_.path() / path);
        return folder_.write(path, bytes);
    }

    Status writeText(const std::string& name, std::string_view text) {
        const std::string ours = withPrefix(text, prefix_);
        return write(name, std::as_bytes(std::span(ours)));
    }

    Status writeTexts() {
        TS_TRY(writeText(prefix_ + ".h", runtimeHeaders().front().text()));
        for (const EmbeddedFile& file : moduleTemplates()) {
            const std::string name(file.name.substr(0, file.name.rfind(".in")));
            TS_TRY(writeText(name == "README.md" ? name : "example/" + name, file.text()));
        }
        return {};
    }

    Status writeDescription() {
        json document = describePlan(plan_, prefix_);
        document["version"] = info_.version;
        document["files"] = files_;
        document["machine"] = info_.machine;
        document["check"] = info_.check;
        document["records"] = info_.records;
        document["graph"] = info_.graph;
        return folder_.write("module.json",
                             document.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
    }

    static constexpr const char* kScratch = "objects";
    const ModulePlan& plan_;
    const ExportInfo& info_;
    StagingFolder& folder_;
    std::string prefix_;
    json files_ = json::array();
};

} // namespace

Result<ExportSummary> exportModule(const ModulePlan& plan, const fs::path& folder, const ExportInfo& info) {
    TS_TRY(checkPlan(plan));
    TS_TRY(checkPrefix(info.prefix));
    TS_ASSIGN(StagingFolder staging, StagingFolder::create(folder, ownModuleFiles));
    return Exporter(plan, info, staging).run();
}

} // namespace tunesmith
