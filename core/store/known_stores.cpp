// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/known_stores.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/store/store.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

struct FileFacts {
    std::uint64_t number; // another one at each mount on some file systems
    std::int64_t bornSeconds;
    std::uint32_t bornNanoseconds;
};

FileFacts factsOf(const std::string& path) {
    struct statx facts {};
    ::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &facts);
    return {facts.stx_ino, facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec};
}

std::string machineId() {
    std::ifstream file("/etc/machine-id");
    std::string id;
    std::getline(file, id);
    return id;
}

// "" where nothing can be kept.
fs::path memoryFolder() {
    const auto store = defaultStorePath();
    if (!store.ok())
        return {};
    const fs::path folder = fs::path(*store).parent_path() / "known-stores";
    std::error_code error;
    fs::create_directory(folder, error);
    return error ? fs::path() : folder;
}

fs::path memoryOf(const fs::path& folder, const std::string& path, const std::string& id) {
    const FileFacts file = factsOf(path);
    return folder / hexHash(Hasher().add(file.number).add(file.bornSeconds).add(file.bornNanoseconds).add(id).value());
}

// Of stores that are not there, when there are many: what is on a disk that is not mounted now is to be known tomorrow.
void forgetRemoved(const fs::path& folder) {
    constexpr std::size_t kMany = 500;
    std::error_code error;
    std::vector<fs::path> memories;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        memories.push_back(entry->path());
    if (memories.size() < kMany)
        return;
    for (const fs::path& memory : memories) {
        std::ifstream file(memory);
        std::string path;
        std::getline(file, path);
        if (!fs::exists(path, error))
            fs::remove(memory, error);
    }
}

} // namespace

std::string storeMark(const std::string& path) {
    const FileFacts file = factsOf(path);
    const auto hash = [&](std::string_view part) {
        return hexHash(Hasher().add(part).add(machineId()).add(::geteuid()).add(file.bornSeconds).add(file.bornNanoseconds).value());
    };
    return hash("first half") + hash("second half");
}

bool wasLookedThrough(const std::string& path, const std::string& id) {
    const fs::path folder = memoryFolder();
    std::error_code error;
    return !folder.empty() && fs::exists(memoryOf(folder, path, id), error);
}

void rememberLookedThrough(const std::string& path, const std::string& id) {
    const fs::path folder = memoryFolder();
    if (folder.empty())
        return;
    forgetRemoved(folder);
    std::error_code error;
    const std::string text = fs::absolute(path, error).string() + "\n";
    if (auto file = AtomicFile::create(memoryOf(folder, path, id)); file.ok() && file->write(std::as_bytes(std::span(text))).ok())
        (void)file->commit(); // else it is looked through again
}

} // namespace tunesmith
