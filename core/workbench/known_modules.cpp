// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/known_modules.h"

#include <algorithm>
#include <ctime>
#include <openssl/evp.h>
#include <span>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/own_file.h"
#include "core/base/printable.h"
#include "core/measure/memory.h"
#include "core/store/store.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kMostBytes = std::size_t(16) << 20; // of the list: 100,000 modules

bool isHash(const std::string& word) {
    return word.size() == kHashDigits && std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string dateOf(std::time_t time) {
    std::tm parts{};
    char text[16] = "";
    if (::gmtime_r(&time, &parts))
        std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return text;
}

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// Or root's, who can change everything.
bool isOnlyOurs(const fs::path& path, mode_t kind) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind && (info.st_uid == ::geteuid() || info.st_uid == 0) && (info.st_mode & kOthersWrite) == 0;
}

// The worker opens the library after its hash was taken: nobody else may put another one there meanwhile.
bool isOnlyOurs(const ModuleInfo& module) {
    std::error_code error;
    const fs::path folder = fs::canonical(module.folder, error);
    return !error && isOnlyOurs(folder, S_IFDIR) && isOnlyOurs(module.library(), S_IFREG);
}

void keepToOurselves(const fs::path& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && (info.st_mode & kOthersWrite) != 0)
        ::chmod(path.c_str(), info.st_mode & 07777 & ~kOthersWrite); // where it fails, the module counts as foreign
}

std::string hexText(std::span<const unsigned char> bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes)
        text += {kDigits[byte >> 4], kDigits[byte & 15]};
    return text;
}

// The files that a module needs, if they lie in its folder: a link may lead to a secret of the user's.
Result<std::vector<std::string>> ownFiles(const fs::path& folder) {
    TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
    std::error_code error;
    const fs::path place = fs::canonical(folder, error);
    std::vector<std::string> files;
    for (const fs::path& file : {module.folder / "module.json", module.library(), module.weights()})
        if (const fs::path real = fs::canonical(file, error); !error && real.parent_path() == place)
            files.push_back(real.string());
    return files;
}

} // namespace

Result<KnownModules> KnownModules::ofUser() {
    TS_ASSIGN(const std::string store, defaultStorePath());
    return KnownModules(fs::path(store).parent_path() / "known-modules");
}

std::map<std::string, KnownModule> KnownModules::read() const {
    std::map<std::string, KnownModule> known;
    const auto text = readOwnFile(file_, kMostBytes);
    if (!text.ok())
        return known;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string hash, how, when, folder;
        words >> hash >> how >> when >> folder;
        if (isHash(hash) && (how == "made" || how == "trusted") && !folder.empty())
            known[hash] = {how, when};
    }
    return known;
}

Status KnownModules::add(const std::string& hash, const std::string& how, const fs::path& folder) const {
    if (read().contains(hash))
        return {};
    std::string place = folder.string();
    std::ranges::replace_if(place, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
    // In one piece, and after whatever an earlier write has left unfinished.
    const std::string line = "\n" + hash + " " + how + " " + dateOf(std::time(nullptr)) + " " + place + "\n";
    return appendToOwnFile(file_, line, kMostBytes);
}

Result<std::string> sha256OfFile(const fs::path& path) {
    constexpr std::size_t kPiece = std::size_t(1) << 20;
    TS_ASSIGN(InputFile file, InputFile::open(path));
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    bool good = EVP_DigestInit_ex(state.get(), EVP_sha256(), nullptr) == 1;
    std::vector<std::byte> piece(kPiece);
    for (std::size_t left = file.size(); left > 0; left -= piece.size()) {
        piece.resize(std::min(left, kPiece));
        TS_TRY(file.read(piece));
        good = good && EVP_DigestUpdate(state.get(), piece.data(), piece.size()) == 1;
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!good || EVP_DigestFinal_ex(state.get(), digest, &size) != 1)
        return internalError("no SHA-256 of " + path.string());
    return hexText({digest, size});
}

void rememberModule(const fs::path& folder) {
    const auto remember = [&]() -> Status {
        TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
        TS_ASSIGN(const std::string hash, sha256OfFile(module.library()));
        TS_ASSIGN(const KnownModules known, KnownModules::ofUser());
        for (const fs::path& path : {module.folder, module.library()})
            keepToOurselves(path); // some have a umask that lets their group write
        return known.add(hash, "made", folder);
    };
    if (const Status done = remember(); !done.ok())
        logMessage(LogLevel::warning, folder.string() + " will count as made elsewhere: " + done.error().message);
}

Result<std::string> foreignOrigin(const ModuleInfo& module, bool trust) {
    TS_ASSIGN(const std::string hash, sha256OfFile(module.library()));
    const auto list = KnownModules::ofUser();
    const bool listed = list.ok() && list->read().contains(hash);
    if (listed && isOnlyOurs(module))
        return std::string();
    if (trust) {
        if (const Status added = list.ok() ? list->add(hash, "trusted", module.folder) : Status(list.error()); !added.ok())
            logMessage(LogLevel::warning, "the trust in " + module.folder.string() + " is for this time only: " + added.error().message);
        return std::string();
    }
    struct stat info {};
    const std::string date = ::stat(module.library().c_str(), &info) == 0 ? " of " + dateOf(info.st_mtime) : "";
    constexpr std::size_t kShown = 80; // of what module.json says
    const std::string maker = module.version.empty() ? "an unknown program" : module.version.substr(0, kShown);
    return printable(module.folder.string() + (listed ? " can be changed by others (" : " was not made here (") + module.library().filename().string() + date + ", SHA-256 " + hash + ", made by " +
                     maker + " as it says itself), and a module is code: it runs confined, without connections and files but its own. --trust runs it as yours");
}

Result<std::unique_ptr<WorkerClient>> startModuleWorker(const std::string& foreign, const std::vector<fs::path>& folders) {
    if (foreign.empty())
        return startWorker();
    WorkerOptions options;
    options.confinement = Confinement{};
    for (const fs::path& folder : folders) {
        TS_ASSIGN(const std::vector<std::string> files, ownFiles(folder));
        options.confinement->readable.insert(options.confinement->readable.end(), files.begin(), files.end());
    }
    options.memoryLimit = static_cast<std::uint64_t>(usableMemoryMb()) << 20;
    TS_ASSIGN(auto worker, WorkerClient::start(options));
    const auto gaps = confinementGaps(*worker);
    if (!gaps.ok())
        return unsupportedError(foreign + ". But this machine cannot confine it: " + gaps.error().message);
    for (const std::string& gap : *gaps)
        logMessage(LogLevel::warning, "a module from elsewhere runs confined, but " + gap);
    return worker;
}

} // namespace tunesmith
