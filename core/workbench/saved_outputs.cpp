// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/saved_outputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/base/unfinished.h"
#include "core/graph/npy.h"
#include "core/module/module_info.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = ".tunesmith-outputs";
constexpr std::size_t kMostBytes = 4 << 20; // of the list

void nameFiles(std::vector<RunOutput>& outputs, const fs::path& folder) {
    std::vector<std::string> names;
    for (const RunOutput& output : outputs)
        names.push_back(output.spec.name);
    const std::vector<std::string> files = distinctFileNames(names);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        outputs[i].file = folder / (files[i] + ".npy");
}

// Of earlier runs. A list that cannot be read lists nothing.
OwnFiles writtenBefore(const fs::path& folder) {
    const auto text = readText(folder / kList, kMostBytes, "a list of outputs");
    const auto document = text.ok() ? parseJson<nlohmann::json>(*text) : nlohmann::json();
    return document.is_object() && document.value("files", nlohmann::json()).is_array() ? listedFiles(document) : OwnFiles();
}

bool isOfEarlierRun(const fs::path& file, const OwnFiles& before) {
    const auto listed = std::ranges::find(before, file.filename().string(), &ModuleFile::name);
    std::error_code error;
    if (listed == before.end() || !fs::is_regular_file(fs::symlink_status(file, error)) || fs::file_size(file, error) != listed->bytes)
        return false;
    const auto hash = hashFile(file);
    return hash.ok() && *hash == listed->hash;
}

Status requireFree(const std::vector<RunOutput>& outputs, const OwnFiles& before) {
    std::error_code none;
    for (const RunOutput& output : outputs)
        if (fs::exists(fs::symlink_status(output.file, none)) && !isOfEarlierRun(output.file, before))
            return inputError(output.file.string() + " is there already, and no run wrote it as it is; save into a new folder, or give --replace if outputs may take the place of such files");
    return {};
}

Status write(const std::vector<RunOutput>& outputs) {
    std::vector<AtomicFile> files;
    for (const RunOutput& output : outputs) {
        TS_ASSIGN(AtomicFile file, stagedNpy(output.file, output.tensor));
        files.push_back(std::move(file));
    }
    return doWhole([&]() -> Status {
        for (AtomicFile& file : files)
            TS_TRY(file.commit());
        return {};
    });
}

Status list(const std::vector<RunOutput>& outputs, const fs::path& folder, OwnFiles files) {
    for (const RunOutput& output : outputs) {
        std::error_code error;
        const std::string name = output.file.filename().string();
        std::erase_if(files, [&](const ModuleFile& file) { return file.name == name; });
        TS_ASSIGN(std::string hash, hashFile(output.file));
        files.push_back({name, fs::file_size(output.file, error), std::move(hash)});
    }
    nlohmann::json entries = nlohmann::json::array();
    for (const ModuleFile& file : files)
        entries.push_back({{"name", file.name}, {"bytes", file.bytes}, {"hash", file.hash}});
    const std::string text = nlohmann::json{{"files", entries}}.dump(1) + "\n";
    TS_ASSIGN(AtomicFile file, AtomicFile::create(folder / kList, Links::replace));
    TS_TRY(file.write(std::as_bytes(std::span(text))));
    return file.commit();
}

} // namespace

Status saveOutputs(std::vector<RunOutput>& outputs, const fs::path& folder, bool replace) {
    nameFiles(outputs, folder);
    OwnFiles before = writtenBefore(folder);
    if (!replace)
        TS_TRY(requireFree(outputs, before));
    std::error_code error;
    const bool made = fs::create_directories(folder, error);
    if (error)
        return writeFailure(folder, error.value());
    const Status written = write(outputs);
    if (!written.ok() && made)
        ::rmdir(folder.c_str());
    TS_TRY(written);
    return list(outputs, folder, std::move(before));
}

} // namespace tunesmith
