// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/family.h"

#include <algorithm>

#include "core/graph/atomic_file.h"
#include "core/graph/npy.h"
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
    for (std::int64_t power = 1; power < range.high; power *= 2)
        if (power > range.low)
            extents.push_back(power);
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

// Says for each ranged dimension whether a member may serve fewer rows, all others being as they are in it.
void addRows(FamilyMember& member, const Graph& model, FamilyInfo& family) {
    for (const auto& [name, extent] : member.extents) {
        Dimensions others = joined(member.extents, family.fixed);
        others.erase(name);
        const auto known = std::ranges::find_if(family.members, [&](const FamilyMember& earlier) {
            Dimensions theirs = joined(earlier.extents, family.fixed);
            theirs.erase(name);
            return theirs == others;
        });
        if (known != family.members.end()) {
            if (const auto rows = known->rows.find(name); rows != known->rows.end())
                member.rows.insert(*rows);
            continue;
        }
        auto rows = independentRows(model, name, others);
        if (rows.ok())
            member.rows.emplace(name, std::move(rows).value());
        else
            family.mixing.emplace(name, rows.error().message);
    }
}

// The dimensions that stay open are named as bindings name them.
std::vector<FamilyTensor> inputsOf(const Model& model, const DimensionRanges& ranges) {
    std::vector<FamilyTensor> inputs;
    const std::vector<WantedInput> wanted = wantedInputs(model.graph());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Value& original = model.original().value(model.original().inputs()[i]);
        FamilyTensor input{wanted[i].name, wanted[i].type, wanted[i].bound};
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
    family.name = model.name();
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

std::string readmeOf(const FamilyInfo& family) {
    std::string text = "# " + family.name +
                       "\n\nOne module per line, each whole in itself; `tunesmith-cli run` on this folder "
                       "takes whichever serves its inputs.\n\n| extents | folder |\n|---|---|\n";
    for (const FamilyMember& member : family.members)
        text += "| " + extentsText(member.extents) + " | " + member.folder + " |\n";
    for (const auto& [name, range] : family.ranges)
        if (const auto why = family.mixing.find(name); why != family.mixing.end())
            text += "\nOther extents of " + name + " need a module of their own: " + why->second + ".\n";
        else if (!range.isFixed())
            text +=
                "\nThe rows of " + name + " are independent: a larger module serves fewer rows, padded.\n";
    return text;
}

Result<CompileResult> compileMember(const FamilyInfo& family, const std::string& source,
                                    const Dimensions& extents, CompileRequest request,
                                    const fs::path& folder) {
    TS_ASSIGN(const Model model, openModel(source, joined(extents, family.fixed), request.work));
    request.folder = folder;
    return compileModel(model, request);
}

Status checkExtents(const FamilyInfo& family, const Dimensions& extents) {
    for (const auto& [name, extent] : extents)
        if (const auto range = family.ranges.find(name); range == family.ranges.end())
            return inputError("'" + family.folder.string() + "' has no open dimension '" + name + "'");
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
    for (const FamilyTensor& input : family.inputs) {
        auto file = choice.files.find(input.name);
        if (file == choice.files.end())
            file = choice.files.find(safeFileName(input.name));
        if (file == choice.files.end())
            continue;
        TS_ASSIGN(const Tensor tensor, readNpy(file->second));
        TS_TRY(takeExtents(input, tensor, extents));
    }
    TS_TRY(checkExtents(family, extents));
    return extents;
}

// The smallest member that is larger in one dimension alone, and may be padded there.
struct Padded {
    const FamilyMember* member = nullptr;
    std::string dimension;
};
Padded findPadded(const FamilyInfo& family, const Dimensions& extents) {
    Padded best;
    for (const FamilyMember& member : family.members)
        for (const auto& [name, rows] : member.rows) {
            Dimensions fewer = member.extents;
            fewer[name] = extents.at(name);
            if (fewer == extents && member.extents.at(name) > extents.at(name) &&
                (!best.member || member.extents.at(name) < best.member->extents.at(best.dimension)))
                best = {&member, name};
        }
    return best;
}

Result<FamilyChoice> compileMissing(FamilyInfo& family, const Dimensions& extents,
                                    const CompileRequest& request) {
    FamilyMember member{extents, memberFolder(extents), {}};
    TS_TRY(compileMember(family, family.model().string(), extents, request, family.folder / member.folder));
    TS_ASSIGN(const Model model,
              openModel(family.model().string(), joined(extents, family.fixed), request.work));
    addRows(member, model.original(), family);
    family.members.push_back(std::move(member));
    TS_ASSIGN(AtomicFile file, AtomicFile::create(family.folder / kFamilyFile));
    const std::string text = toJsonText(family);
    TS_TRY(file.write(std::as_bytes(std::span(text))));
    TS_TRY(file.commit());
    return FamilyChoice{FamilyChoice::How::compiled, family.folder / memberFolder(extents),
                        extentsText(extents) + ": compiled, there was no module for it"};
}

Result<FamilyChoice> choose(FamilyInfo& family, const Dimensions& extents, const CompileRequest& request) {
    const auto exact = std::ranges::find(family.members, extents, &FamilyMember::extents);
    if (exact != family.members.end())
        return FamilyChoice{FamilyChoice::How::exact, family.folder / exact->folder,
                            extentsText(extents) + ": the module " + exact->folder};
    if (const Padded padded = findPadded(family, extents); padded.member)
        return FamilyChoice{FamilyChoice::How::padded, family.folder / padded.member->folder,
                            extentsText(extents) + ": the module " + padded.member->folder + ", padded"};
    return compileMissing(family, extents, request);
}

// Runs a larger module on inputs that are padded to it, and cuts the outputs.
Result<RunResult> runPadded(const FamilyInfo& family, const Dimensions& extents, const RunRequest& request) {
    const Padded padded = findPadded(family, extents);
    const RowAxes& rows = padded.member->rows.at(padded.dimension);
    std::vector<WantedInput> wanted;
    for (const FamilyTensor& input : family.inputs) {
        wanted.push_back({input.name, input.type, input.bound});
        for (Dim& dim : *wanted.back().type.dims)
            if (!dim.known())
                dim = Dim(extents.at(dim.symbol));
    }
    TS_ASSIGN(std::vector<Tensor> inputs, readInputs(wanted, request.inputs));
    for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = withRows(inputs[i], rows.inputs[i], padded.member->extents.at(padded.dimension));
    TS_ASSIGN(Computed computed, computeModule(family.folder / padded.member->folder, std::move(inputs),
                                               request.threads, request.work));
    for (std::size_t i = 0; i < computed.outputs.size(); ++i)
        computed.outputs[i] = withRows(computed.outputs[i], rows.outputs[i], extents.at(padded.dimension));
    return collectOutputs(std::move(computed), family.outputs, request.saveFolder);
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
    TS_ASSIGN(const fs::path place, replaceableFolder(request.folder, isModuleFamily));
    TS_ASSIGN(StagingFolder staging, StagingFolder::create(place));
    FamilyResult result;
    for (const Dimensions& member : extents) {
        request.work.report("compiling for " + extentsText(member));
        TS_ASSIGN(CompileResult module, compileMember(family, fileOrSample, member, request,
                                                      staging.path() / memberFolder(member)));
        module.folder = staging.target() / memberFolder(member);
        result.members.push_back({member, std::move(module)});
        FamilyMember entry{member, memberFolder(member), {}};
        addRows(entry, model.original(), family);
        family.members.push_back(std::move(entry));
    }
    TS_TRY(exportOnnx(model.original(), staging.path() / family.modelFile()));
    TS_TRY(staging.write(kFamilyFile, toJsonText(family)));
    TS_TRY(staging.write("README.md", readmeOf(family)));
    result.folder = staging.target();
    result.mixing = family.mixing;
    TS_TRY(staging.commit());
    return result;
}

bool isModuleFamily(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path / kFamilyFile, error);
}

Result<FamilyRun> runFamily(const fs::path& folder, const Dimensions& dimensions, const RunRequest& request) {
    TS_ASSIGN(FamilyInfo family, readFamily(folder));
    TS_ASSIGN(const Dimensions extents, extentsOf(family, dimensions, request.inputs));
    const CompileRequest compiling{{}, request.store, request.threads, 0, false, 1, request.work};
    TS_ASSIGN(FamilyChoice choice, choose(family, extents, compiling));
    TS_ASSIGN(RunResult result, choice.how == FamilyChoice::How::padded
                                    ? runPadded(family, extents, request)
                                    : runExportedModule(choice.folder, request));
    return FamilyRun{std::move(result), std::move(choice)};
}

Result<FamilyChoice> chooseMember(const fs::path& folder, const Dimensions& dimensions,
                                  const CompileRequest& request) {
    TS_ASSIGN(FamilyInfo family, readFamily(folder));
    TS_ASSIGN(const Dimensions extents, extentsOf(family, dimensions, {}));
    return choose(family, extents, request);
}

} // namespace tunesmith
