// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/known_stores.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/store/store.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr const char *kOwn = "own", *kChecked = "checked";

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
    struct statx facts {};
    ::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &facts);
    const auto birth = facts.stx_btime;
    return folder / hexHash(Hasher().add(facts.stx_ino).add(birth.tv_sec).add(std::uint64_t{birth.tv_nsec}).add(id).value());
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
        std::string acquaintance, path;
        std::getline(std::getline(file, acquaintance), path);
        if (!fs::exists(path, error))
            fs::remove(memory, error);
    }
}

} // namespace

Acquaintance acquaintanceWith(const std::string& path, const std::string& id) {
    const fs::path folder = memoryFolder();
    if (folder.empty())
        return Acquaintance::own;
    std::ifstream file(memoryOf(folder, path, id));
    std::string acquaintance;
    std::getline(file, acquaintance);
    return acquaintance == kOwn ? Acquaintance::own : acquaintance == kChecked ? Acquaintance::checked : Acquaintance::none;
}

void rememberStore(const std::string& path, const std::string& id, Acquaintance acquaintance) {
    const fs::path folder = memoryFolder();
    if (folder.empty())
        return;
    forgetRemoved(folder);
    std::error_code error;
    const std::string text = std::string(acquaintance == Acquaintance::own ? kOwn : kChecked) + "\n" + fs::absolute(path, error).string() + "\n";
    if (auto file = AtomicFile::create(memoryOf(folder, path, id)); file.ok() && file->write(std::as_bytes(std::span(text))).ok())
        (void)file->commit(); // else the store is met again
}

} // namespace tunesmith
