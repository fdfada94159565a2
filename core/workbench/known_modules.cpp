// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/known_modules.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <openssl/evp.h>
#include <span>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/only_way.h"
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

// What a worker reads of a module. The rest of its folder is for people.
std::array<fs::path, 3> filesOf(const ModuleInfo& module) { return {module.folder / "module.json", module.library(), module.weights()}; }

// The worker opens the files after their hashes were taken: nobody else may put others there meanwhile. "" where nobody can.
std::string whoElseChanges(const ModuleInfo& module) {
    std::string fault = otherHands(module.folder);
    for (const fs::path& file : filesOf(module))
        if (fault.empty())
            fault = otherHands(file);
    return fault;
}

std::string hexText(std::span<const unsigned char> bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes)
        text += {kDigits[byte >> 4], kDigits[byte & 15]};
    return text;
}

class Sha256 {
public:
    Sha256() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free), good_(EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1) {}
    void add(std::span<const std::byte> bytes) { good_ = good_ && EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) == 1; }
    Result<std::string> digits() {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        if (!good_ || EVP_DigestFinal_ex(state_.get(), digest, &size) != 1)
            return internalError("OpenSSL computes no SHA-256");
        return hexText({digest, size});
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state_;
    bool good_;
};

Result<std::string> sha256OfText(std::string_view text) {
    Sha256 sum;
    sum.add(std::as_bytes(std::span(text)));
    return sum.digits();
}

// The files that a module needs, if they lie in its folder: a link may lead to a secret of the user's.
Result<std::vector<std::string>> ownFiles(const fs::path& folder) {
    TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
    std::error_code error;
    const fs::path place = fs::canonical(folder, error);
    std::vector<std::string> files;
    for (const fs::path& file : filesOf(module))
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
    Sha256 sum;
    std::vector<std::byte> piece(kPiece);
    for (std::size_t left = file.size(); left > 0; left -= piece.size()) {
        piece.resize(std::min(left, kPiece));
        TS_TRY(file.read(piece));
        sum.add(piece);
    }
    return sum.digits();
}

Result<ModuleHash> hashOfModule(const ModuleInfo& module) {
    ModuleHash hash;
    std::string all;
    for (const fs::path& file : filesOf(module)) {
        TS_ASSIGN(const std::string one, sha256OfFile(file));
        all += one + "\n";
        if (file == module.library())
            hash.library = one;
    }
    TS_ASSIGN(hash.whole, sha256OfText(all));
    return hash;
}

void rememberModule(const fs::path& folder) {
    const auto remember = [&]() -> Status {
        TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
        if (const std::string others = whoElseChanges(module); !others.empty()) // it may be another one by now
            return ioError(others);
        TS_ASSIGN(const ModuleHash hash, hashOfModule(module));
        TS_ASSIGN(const KnownModules known, KnownModules::ofUser());
        return known.add(hash.whole, "made", folder);
    };
    if (const Status done = remember(); !done.ok())
        logMessage(LogLevel::warning, folder.string() + " will count as made elsewhere: " + done.error().message);
}

Result<std::string> foreignOrigin(const ModuleInfo& module, bool trust) {
    const std::string others = whoElseChanges(module); // before the hash, which means nothing where there are some
    TS_ASSIGN(const ModuleHash hash, hashOfModule(module));
    const auto list = KnownModules::ofUser();
    const bool listed = list.ok() && list->read().contains(hash.whole);
    if (listed && others.empty())
        return std::string();
    if (trust) {
        if (const Status added = list.ok() ? list->add(hash.whole, "trusted", module.folder) : Status(list.error()); !added.ok())
            logMessage(LogLevel::warning, "the trust in " + module.folder.string() + " is for this time only: " + added.error().message);
        return std::string();
    }
    struct stat info {};
    const std::string date = ::stat(module.library().c_str(), &info) == 0 ? " of " + dateOf(info.st_mtime) : "";
    constexpr std::size_t kShown = 80; // of what module.json says
    const std::string maker = module.version.empty() ? "an unknown program" : module.version.substr(0, kShown);
    return printable(module.folder.string() + (listed ? " can be changed by others, for " + others + " (" : " was not made here as it is (") + module.library().filename().string() + date + ", SHA-256 " + hash.library +
                     ", made by " + maker + " as it says itself), and a module is code: it runs confined, without connections and files but its own. --trust runs it as yours");
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
