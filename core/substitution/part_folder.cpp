// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/part_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/file.h>
#include <sys/random.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/only_way.h"
#include "core/base/text_file.h"

namespace tunesmith::substitution {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPurpose = 65536;
constexpr const char *kPurpose = "purpose.txt", *kLock = "lock", *kSuffix = ".part";

using Footer = PartFolder::Footer;
using Seal = decltype(Footer::seal);
static_assert(std::has_unique_object_representations_v<Footer>, "it is written as it is");

Result<Seal> sealOf(const std::string& key, std::span<const std::byte> content) {
    Seal seal{};
    unsigned size = 0;
    if (!::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(content.data()), content.size(), seal.data(), &size) || size != seal.size())
        return internalError("OpenSSL computes no HMAC-SHA256");
    return seal;
}

// A key for one use, made of another one.
Result<std::string> keyFor(const std::string& use, const std::string& key) {
    TS_ASSIGN(const Seal seal, sealOf(key, std::as_bytes(std::span(use))));
    return std::string(seal.begin(), seal.end());
}

Result<std::string> randomKey() {
    std::string key(32, '\0');
    if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
        return ioError(std::string("cannot get random bytes: ") + std::strerror(errno));
    return key;
}

Result<Bytes> readRange(const fs::path& file, std::size_t offset, std::size_t count) {
    TS_ASSIGN(InputFile input, InputFile::open(file));
    TS_TRY(input.seek(offset));
    Bytes bytes(count);
    TS_TRY(input.read(bytes));
    return bytes;
}

// A killed program leaves such a file of an AtomicFile.
bool isTemporary(const fs::path& file) { return file.extension() == kSuffix && file.filename().string().starts_with(".tunesmith-"); }

// The purpose comes before the first part: without one, parts are somebody else's.
bool areOurs(const std::vector<fs::path>& files) {
    const bool begun = std::ranges::any_of(files, [](const fs::path& file) { return file.filename() == kPurpose; });
    return std::ranges::all_of(files, [&](const fs::path& file) {
        return file.filename() == kPurpose || file.filename() == kLock || isTemporary(file) || (begun && file.extension() == kSuffix);
    });
}

Result<std::vector<fs::path>> filesIn(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        files.push_back(at->path());
    if (error)
        return ioError("the folder " + folder.string() + " cannot be read: " + error.message());
    return files;
}

Status removeAll(const std::vector<fs::path>& files) {
    std::error_code error;
    for (const fs::path& file : files)
        if (!fs::remove(file, error) && error)
            return ioError("the file " + file.string() + " cannot be removed: " + error.message());
    return {};
}

} // namespace

PartFolder::State::~State() {
    if (lock >= 0)
        ::close(lock);
}

Result<PartFolder> PartFolder::open(const fs::path& path, const std::string& purpose, const std::string& key) {
    PartFolder folder;
    folder.path_ = path;
    TS_ASSIGN(const std::string own, key.empty() ? randomKey() : Result<std::string>(key));
    TS_ASSIGN(folder.key_, keyFor("parts of " + purpose, own));
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        return ioError("the folder " + path.string() + " cannot be made: " + error.message());
    TS_ASSIGN(const std::vector<fs::path> files, filesIn(path));
    if (const std::string others = otherHands(path); !others.empty()) // they could exchange parts that were looked at
        return inputError(others + "; name a work folder that only you can change");
    if (!areOurs(files))
        return inputError("the folder " + path.string() + " has files of something else; name one for this work alone");
    TS_TRY(folder.lock());
    TS_TRY(folder.checkPurpose(purpose));
    TS_TRY(folder.takeStock());
    return folder;
}

Status PartFolder::lock() {
    const fs::path file = path_ / kLock;
    state_->lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (state_->lock < 0)
        return writeFailure(file, errno);
    for (int attempt = 0; attempt < 20; ++attempt) { // a program that was just killed still has it for a moment
        if (::flock(state_->lock, LOCK_EX | LOCK_NB) == 0)
            return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return inputError("another program is at work in the folder " + path_.string() + "; wait for it or name another folder");
}

Status PartFolder::checkPurpose(const std::string& purpose) {
    const fs::path file = path_ / kPurpose;
    std::error_code error;
    if (fs::exists(file, error)) {
        TS_ASSIGN(const std::string found, readText(file, kMostPurpose, "a purpose"));
        if (found != purpose + "\n")
            return inputError("the folder " + path_.string() + " holds the parts of " + found.substr(0, found.find('\n')) + ", not of " + purpose +
                              "; go on with those options, name another folder or remove this one to start anew");
        return {};
    }
    TS_ASSIGN(AtomicFile made, AtomicFile::create(file, Links::replace));
    const std::string line = purpose + "\n";
    TS_TRY(made.write(std::as_bytes(std::span(line))));
    return made.commit();
}

Result<Footer> PartFolder::footerOf(const std::string& name, std::span<const std::byte> content) const {
    TS_ASSIGN(const std::string key, keyFor(name, key_));
    TS_ASSIGN(const Seal seal, sealOf(key, content));
    return Footer{content.size(), seal};
}

// Of the content of a whole part. The end of the file is looked at first: what does not say its own length is not read.
Result<std::optional<std::size_t>> PartFolder::wholeSize(const fs::path& file) const {
    using Size = std::optional<std::size_t>;
    Footer footer{};
    TS_ASSIGN(const InputFile input, InputFile::open(file));
    if (input.size() < sizeof(footer))
        return Size();
    const std::size_t size = input.size() - sizeof(footer);
    TS_ASSIGN(const Bytes end, readRange(file, size, sizeof(footer)));
    std::memcpy(&footer, end.data(), sizeof(footer));
    if (footer.size != size)
        return Size();
    TS_ASSIGN(const Bytes content, readRange(file, 0, size));
    TS_ASSIGN(const Footer right, footerOf(file.stem().string(), content));
    return footer == right ? Size(size) : Size();
}

Status PartFolder::takeStock() {
    TS_ASSIGN(const std::vector<fs::path> files, filesIn(path_));
    for (const fs::path& file : files) {
        if (file.extension() != kSuffix)
            continue;
        if (isTemporary(file)) {
            ::unlink(file.c_str());
            continue;
        }
        TS_ASSIGN(const std::optional<std::size_t> size, wholeSize(file));
        if (size)
            state_->sizes[file.stem().string()] = *size;
        else
            state_->torn.push_back(file);
    }
    resumed_ = !state_->sizes.empty();
    if (!state_->torn.empty())
        logMessage(LogLevel::warning, std::to_string(state_->torn.size()) + " parts in " + path_.string() + " are torn or were not made by this user here, such as " +
                                          state_->torn.front().filename().string() + "; they are made again");
    return {};
}

fs::path PartFolder::file(const std::string& name) const { return path_ / (name + kSuffix); }

bool PartFolder::has(const std::string& name) const {
    const std::lock_guard lock(state_->mutex);
    return state_->sizes.contains(name);
}

std::size_t PartFolder::size(const std::string& name) const {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->sizes.find(name);
    return found == state_->sizes.end() ? 0 : found->second;
}

std::size_t PartFolder::bytes() const {
    const std::lock_guard lock(state_->mutex);
    std::size_t sum = 0;
    for (const auto& [name, size] : state_->sizes)
        sum += size + sizeof(Footer);
    return sum;
}

Status PartFolder::write(const std::string& name, std::span<const std::byte> content) {
    TS_ASSIGN(AtomicFile made, AtomicFile::create(file(name), Links::replace));
    TS_TRY(made.write(content));
    TS_ASSIGN(const Footer footer, footerOf(name, content));
    TS_TRY(made.write(std::as_bytes(std::span(&footer, 1))));
    TS_TRY(made.commit());
    const std::lock_guard lock(state_->mutex);
    state_->sizes[name] = content.size();
    return {};
}

Result<Bytes> PartFolder::read(const std::string& name, std::size_t offset, std::size_t count) const {
    const std::size_t whole = size(name);
    if (offset > whole || count > whole - offset)
        return inputError("the file " + file(name).string() + " is shorter than what is read of it; remove the folder and begin again");
    return readRange(file(name), offset, count);
}

Status PartFolder::remove() {
    std::vector<fs::path> files;
    for (const auto& [name, size] : state_->sizes)
        files.push_back(file(name));
    TS_TRY(removeAll(files));
    state_->sizes.clear();
    std::error_code error;
    if (std::ranges::any_of(state_->torn, [&](const fs::path& file) { return fs::exists(file, error); }))
        return {}; // the purpose stays, so that the folder is known as ours the next time
    TS_TRY(removeAll({path_ / kPurpose, path_ / kLock}));
    ::rmdir(path_.c_str()); // stays if there is something else in it
    return {};
}

} // namespace tunesmith::substitution
