// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/family.h"

#include <algorithm>
#include <optional>

#include "core/base/atomic_file.h"
#include "core/base/printable.h"
#include "core/graph/npy.h"
#include "core/module/independent_rows.h"
#include "core/module/pad_rows.h"
#include "core/module/staging_folder.h"
#include "core/onnx/export.h"
#include "core/workbench/family_file.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/run_parts.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostMembers = 16;

// The ends of the range and the powers of two between them.
std::vector<std::int64_t> chosenExtents(const DimensionRange& range) {
    std::vector<std::int64_t> extents{range.low};
    for (std::int64_t power = 1; power <= (range.high - 1) / 2; power *= 2)
        if (power * 2 > range.low)
            extents.push_back(power * 2);
    if (!range.isFixed())
        extents.push_back(range.high);
    return extents;
}

Result<std::vector<Dimensions>> memberExtents(const DimensionRanges& ranges) {
    std::vector<Dimensions> members{{}};
    for (const auto& [name, range] : ranges) {
        if (range.isFixed())
            continue;
        std::vector<Dimensions> longer;
        for (const Dimensions& member : members)
            for (const std::int64_t extent : chosenExtents(range)) {
                longer.push_back(member);
                longer.back()[name] = extent;
            }
        members = std::move(longer);
        if (members.size() > kMostMembers)
            return inputError("these ranges would make more than " + std::to_string(kMostMembers) +
                              " modules; narrow them, or give some dimensions one value");
    }
    return members;
}

Dimensions joined(Dimensions a, const Dimensions& b) {
    a.insert(b.begin(), b.end());
    return a;
}

// The dimensions whose rows a larger module cannot serve, as far as the gaps between the modules tell, and
// why.
std::map<std::string, std::string> mixingDimensions(const FamilyInfo& family, const Graph& model) {
    std::map<std::string, std::string> mixing;
    for (const auto& [name, range] : family.ranges) {
        const std::vector<std::int64_t> extents = chosenExtents(range);
        for (std::size_t i = 1; i < extents.size() && !mixing.contains(name); ++i) {
            if (extents[i] == extents[i - 1] + 1)
                continue; // nothing between them
            RowQuestion question{name, extents[i - 1] + 1, extents[i],
                                 joined(family.members.front().extents, family.fixed)};
            question.others.erase(name);
            if (const auto rows = independentRows(model, question); !rows.ok())
                mixing.emplace(name, rows.error().message);
        }
    }
    return mixing;
}

// The dimensions that stay open are named as bindings name them.
std::vector<FamilyTensor> inputsOf(const Model& model, const DimensionRanges& ranges) {
    std::vector<FamilyTensor> inputs;
    const std::vector<WantedInput> wanted = wantedInputs(model.graph());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Value& original = model.original().value(model.original().inputs()[i]);
        FamilyTensor input{wanted[i].name, wanted[i].type, wanted[i].bounds};
        for (std::size_t d = 0; original.type.dims && d < original.type.dims->size(); ++d) {
            const Dim& dim = (*original.type.dims)[d];
            const std::string name = dim.symbol.empty() ? input.name + "." + std::to_string(d) : dim.symbol;
            if (const auto range = ranges.find(name);
                !dim.known() && range != ranges.end() && !range->second.isFixed())
                (*input.type.dims)[d] = Dim::named(name);
        }
        inputs.push_back(std::move(input));
    }
    return inputs;
}

Result<FamilyInfo> describeFamily(const Model& model, const DimensionRanges& ranges) {
    FamilyInfo family;
    family.name = safeFileName(model.name());
    family.ranges = ranges;
    for (const auto& [name, range] : ranges)
        if (range.isFixed())
            family.fixed[name] = range.low;
    if (!model.info().openDimensions.empty())
        return inputError(model.name() + ": dimension '" + model.info().openDimensions.front() +
                          "' is open; give it a value or a range with --dims");
    for (const TensorSpec& input : model.info().inputs)
        if (!input.dims)
            return inputError(model.name() + ": input '" + input.name + "' has no known rank");
    family.inputs = inputsOf(model, ranges);
    for (const TensorSpec& output : model.info().outputs)
        family.outputs.push_back(output.name);
    return family;
}

std::string readmeOf(const FamilyInfo& family, const std::map<std::string, std::string>& mixing) {
    std::string text = "# " + family.name +
                       "\n\nOne module per line, each whole in itself; `tunesmith-cli run` on this folder "
                       "takes whichever serves its inputs.\n\n| extents | folder |\n|---|---|\n";
    for (const FamilyMember& member : family.members)
        text += "| " + printable(extentsText(member.extents)) + " | " + member.folder + " |\n";
    for (const auto& [name, range] : family.ranges)
        if (const auto why = mixing.find(name); why != mixing.end())
            text += "\n" + printable("Other extents of " + name + " need a module of their own: " + why->second) + ".\n";
        else if (!range.isFixed())
            text += "\nFor other extents of " + printable(name) +
                    " a larger module runs padded inputs, once that is proven for them.\n";
    return text;
}

Result<CompileResult> compileMember(const FamilyInfo& family, const std::string& source,
                                    const Dimensions& extents, CompileRequest request,
                                    const fs::path& folder) {
    TS_ASSIGN(const Model model, openModel(source, joined(extents, family.fixed), request.work));
    request.folder = folder;
    if (!request.prefix.empty()) // all of them may be linked into one program
        request.prefix += "_" + modulePrefix(folder.filename().string());
    return compileModel(model, request);
}

Status checkExtents(const FamilyInfo& family, const Dimensions& extents) {
    for (const auto& [name, extent] : extents)
        if (const auto range = family.ranges.find(name); range == family.ranges.end())
            return inputError("'" + family.folder.string() + "' has no dimension '" + name + "'");
        else if (!range->second.contains(extent))
            return inputError(name + "=" + std::to_string(extent) + " is outside of " +
                              std::to_string(range->second.low) + ".." + std::to_string(range->second.high) +
                              ", the range that '" + family.folder.string() + "' was made for");
    for (const auto& [name, range] : family.ranges)
        if (!range.isFixed() && !extents.contains(name))
            return inputError("no input file says how large '" + name + "' is; give it with --dims " + name +
                              "=N");
    return {};
}

// What an input file says about the open dimensions.
Status takeExtents(const FamilyTensor& input, const Tensor& tensor, Dimensions& extents) {
    const Dims& dims = *input.type.dims;
    if (dims.size() != tensor.rank())
        return inputError("input '" + input.name + "' is " + input.type.text() + ", but its file holds " +
                          TensorType(tensor.type(), tensor.shape()).text());
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (dims[d].known())
            continue;
        const auto [found, fresh] = extents.emplace(dims[d].symbol, tensor.shape()[d]);
        if (found->second != tensor.shape()[d])
            return inputError("'" + dims[d].symbol + "' is " + std::to_string(found->second) + ", but " +
                              std::to_string(tensor.shape()[d]) + " in the file of input '" + input.name +
                              "'");
    }
    return {};
}

Result<Dimensions> extentsOf(const FamilyInfo& family, Dimensions extents, const InputChoice& choice) {
    for (const auto& [name, extent] : family.fixed)
        if (const auto given = extents.find(name); given != extents.end() && given->second == extent)
            extents.erase(given);
    std::vector<std::string> names;
    for (const FamilyTensor& input : family.inputs)
        names.push_back(input.name);
    const std::vector<std::string> fileNames = distinctFileNames(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const FamilyTensor& input = family.inputs[i];
        auto file = choice.files.find(input.name);
        if (file == choice.files.end())
            file = choice.files.find(fileNames[i]);
        if (file == choice.files.end())
            continue;
        TS_ASSIGN(const Tensor tensor, readNpy(file->second));
        TS_TRY(takeExtents(input, tensor, extents));
    }
    TS_TRY(checkExtents(family, extents));
    return extents;
}

// A member that is larger in one dimension alone, and what proves that it serves.
struct Padded {
    const FamilyMember* member = nullptr;
    std::string dimension;
    RowAxes rows;
};

// The smallest one. Proven for the very extents, which takes preparing the model twice.
Result<std::optional<Padded>> findPadded(const FamilyInfo& family, const Dimensions& extents,
                                         const Work& work) {
    std::vector<Padded> larger;
    for (const FamilyMember& member : family.members)
        for (const auto& [name, extent] : member.extents) {
            Dimensions fewer = member.extents;
            fewer[name] = extents.at(name);
            if (fewer == extents && extent > extents.at(name))
                larger.push_back({&member, name, {}});
        }
    std::ranges::sort(larger, {},
                      [](const Padded& padded) { return padded.member->extents.at(padded.dimension); });
    if (larger.empty())
        return std::optional<Padded>();
    TS_ASSIGN(const Model model, openModel(family.model().string(), joined(extents, family.fixed), work));
    for (Padded& padded : larger) {
        RowQuestion question{padded.dimension, extents.at(padded.dimension),
                             padded.member->extents.at(padded.dimension), joined(extents, family.fixed)};
        question.others.erase(padded.dimension);
        auto rows = independentRows(model.original(), question);
        if (!rows.ok())
            continue;
        padded.rows = std::move(rows).value();
        return std::optional<Padded>(std::move(padded));
    }
    return std::optional<Padded>();
}

Status writeFamily(const FamilyInfo& family) {
    TS_ASSIGN(AtomicFile file, AtomicFile::create(family.folder / kFamilyFile, Links::replace));
    const std::string text = toJsonText(family);
    TS_TRY(file.write(std::as_bytes(std::span(text))));
    return file.commit();
}

// Another process may have added a module meanwhile: what is there is read again.
Status addMember(const FamilyInfo& family, const FamilyMember& member) {
    TS_ASSIGN(FamilyInfo now, readFamily(family.folder));
    if (std::ranges::find(now.members, member.extents, &FamilyMember::extents) != now.members.end())
        return {};
    now.members.push_back(member);
    return writeFamily(now);
}

// A link there, which the folder may have come with, would have a module elsewhere replaced.
Status checkPlace(const fs::path& member) {
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(member, error)))
        return inputError("'" + member.string() + "' is a link, and the modules of a family lie in its folder; remove it, and it is compiled there");
    return {};
}

struct Chosen {
    FamilyChoice choice;
    std::optional<Padded> padded;
};

Result<Chosen> choose(const FamilyInfo& family, const Dimensions& extents, const CompileRequest& request) {
    const std::string asked = extentsText(extents);
    const auto exact = std::ranges::find(family.members, extents, &FamilyMember::extents);
    if (exact != family.members.end())
        return Chosen{{FamilyChoice::How::exact, family.folder / exact->folder,
                       asked + ": the module " + exact->folder},
                      {}};
    TS_ASSIGN(std::optional<Padded> padded, findPadded(family, extents, request.work));
    if (padded) {
        const std::string& folder = padded->member->folder;
        return Chosen{{FamilyChoice::How::padded, family.folder / folder,
                       asked + ": the module " + folder + ", padded"},
                      std::move(padded)};
    }
    const FamilyMember member{extents, memberFolder(extents)};
    TS_TRY(checkPlace(family.folder / member.folder));
    TS_TRY(compileMember(family, family.model().string(), extents, request, family.folder / member.folder));
    TS_TRY(addMember(family, member));
    return Chosen{{FamilyChoice::How::compiled, family.folder / member.folder,
                   asked + ": compiled, there was no module for it"},
                  {}};
}

bool withRows(std::vector<Tensor>& tensors, const std::vector<RowAxis>& axes, std::int64_t rows) {
    if (tensors.size() != axes.size())
        return false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto changed = tunesmith::withRows(tensors[i], axes[i], rows);
        if (!changed)
            return false;
        tensors[i] = std::move(*changed);
    }
    return true;
}

// Runs a larger module on inputs that are padded to it, and cuts the outputs.
Result<RunResult> runPadded(const FamilyInfo& family, const Dimensions& extents, const Padded& padded,
                            const RunRequest& request) {
    std::vector<WantedInput> wanted;
    for (const FamilyTensor& input : family.inputs) {
        wanted.push_back({input.name, input.type, input.bounds});
        for (Dim& dim : *wanted.back().type.dims)
            if (!dim.known())
                dim = Dim(extents.at(dim.symbol));
    }
    TS_ASSIGN(std::vector<Tensor> inputs, readInputs(wanted, request.inputs));
    const Error other = inputError("'" + family.folder.string() +
                                   "' holds another model than its modules were made of; "
                                   "export the modules again");
    const std::int64_t more = padded.member->extents.at(padded.dimension);
    if (!withRows(inputs, padded.rows.inputs, more))
        return other;
    TS_ASSIGN(Computed computed, computeModule(family.folder / padded.member->folder, std::move(inputs), request));
    if (computed.outputs.size() != family.outputs.size() ||
        !withRows(computed.outputs, padded.rows.outputs, extents.at(padded.dimension)))
        return other;
    return collectOutputs(std::move(computed), family.outputs, request);
}

// Those of the files that there are. What holds something else later is the user's.
Result<std::vector<ModuleFile>> listedIn(const fs::path& folder, const std::vector<std::string>& names) {
    std::vector<ModuleFile> files;
    std::error_code error;
    for (const std::string& name : names)
        if (const std::uintmax_t bytes = fs::file_size(folder / name, error); !error) {
            TS_ASSIGN(const std::string hash, hashFile(folder / name));
            files.push_back({name, bytes, hash});
        }
    return files;
}

} // namespace

Result<FamilyResult> compileFamily(const std::string& fileOrSample, const DimensionRanges& ranges,
                                   const CompileRequest& request) {
    TS_ASSIGN(const std::vector<Dimensions> extents, memberExtents(ranges));
    Dimensions first = extents.front();
    for (const auto& [name, range] : ranges)
        first[name] = range.low;
    TS_ASSIGN(const Model model, openModel(fileOrSample, first, request.work));
    TS_ASSIGN(FamilyInfo family, describeFamily(model, ranges));
    TS_ASSIGN(StagingFolder staging, StagingFolder::create(request.folder, ownFamilyFiles));
    FamilyResult result;
    for (const Dimensions& member : extents) {
        request.work.report("compiling for " + extentsText(member));
        TS_ASSIGN(CompileResult module, compileMember(family, fileOrSample, member, request,
                                                      staging.path() / memberFolder(member)));
        module.folder = staging.target() / memberFolder(member);
        result.members.push_back({member, std::move(module)});
        family.members.push_back({member, memberFolder(member)});
    }
    TS_TRY(exportOnnx(model.original(), staging.path() / family.modelFile()));
    result.folder = staging.target();
    result.mixing = mixingDimensions(family, model.original());
    const std::string readme = readmeOf(family, result.mixing);
    TS_TRY(staging.write("README.md", readme));
    TS_ASSIGN(family.files, listedIn(staging.path(), {"README.md", family.modelFile(), family.modelFile() + ".data"}));
    TS_TRY(staging.write(kFamilyFile, toJsonText(family)));
    TS_TRY(staging.commit());
    return result;
}

bool isModuleFamily(const fs::path& path) {
    std::error_code error;
    return fs::exists(path / kFamilyFile, error); // what is no file is refused by name when it is read
}

Result<FamilyRun> runFamily(const fs::path& folder, const Dimensions& dimensions, const RunRequest& request) {
    TS_ASSIGN(const FamilyInfo family, readFamily(folder));
    TS_ASSIGN(const Dimensions extents, extentsOf(family, dimensions, request.inputs));
    const CompileRequest compiling{{}, request.store, request.threads, 0, false, 1, request.work, request.space};
    TS_ASSIGN(Chosen chosen, choose(family, extents, compiling));
    TS_ASSIGN(RunResult result, chosen.padded ? runPadded(family, extents, *chosen.padded, request)
                                              : runExportedModule(chosen.choice.folder, request));
    return FamilyRun{std::move(result), std::move(chosen.choice)};
}

Result<FamilyChoice> chooseMember(const fs::path& folder, const Dimensions& dimensions,
                                  const InputChoice& inputs, const CompileRequest& request) {
    TS_ASSIGN(const FamilyInfo family, readFamily(folder));
    TS_ASSIGN(const Dimensions extents, extentsOf(family, dimensions, inputs));
    TS_ASSIGN(Chosen chosen, choose(family, extents, request));
    return std::move(chosen.choice);
}

} // namespace tunesmith
