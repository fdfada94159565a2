// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/known_stores.h"

#include <cassert>
#include <climits>
#include <filesystem>
#include <fstream>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <span>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/base/own_file.h"
#include "core/store/store.h"
#include "core/store/user_key.h"

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
        const auto text = readOwnFile(memory, PATH_MAX + 1);
        if (!text.ok() || !fs::exists(text->substr(0, text->find('\n')), error))
            fs::remove(memory, error);
    }
}

} // namespace

StoreMarks::StoreMarks(const std::string& path) : key_(userKey()) {
    const FileFacts file = factsOf(path);
    file_ = machineId() + " " + std::to_string(::geteuid()) + " " + std::to_string(file.bornSeconds) + " " + std::to_string(file.bornNanoseconds);
}

std::string StoreMarks::of(std::initializer_list<std::string_view> what) const {
    std::string text = file_;
    for (const std::string_view part : what) // with their lengths: nothing can move from one to the next
        text.append(" ").append(std::to_string(part.size())).append(":").append(part);
    unsigned char digest[EVP_MAX_MD_SIZE] = {};
    unsigned size = 0;
    const bool made = ::HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size) != nullptr;
    assert(made);
    constexpr char kDigits[] = "0123456789abcdef";
    constexpr std::size_t kMarkBytes = 16;
    std::string mark;
    for (const unsigned char byte : std::span(digest).first(made ? kMarkBytes : 0))
        mark += {kDigits[byte >> 4], kDigits[byte & 15]};
    return mark;
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
