// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/link.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/module/program.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

bool isExecutable(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> pathFolders() {
    std::vector<fs::path> folders;
    const char* path = std::getenv("PATH");
    std::string text = path ? path : "";
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(':', begin), text.size());
        if (end > begin)
            folders.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return folders;
}

// "/usr/lib/llvm-19/bin", newest first.
std::vector<fs::path> llvmFolders() {
    std::vector<std::pair<int, fs::path>> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/usr/lib", error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("llvm-"))
            found.emplace_back(std::atoi(name.c_str() + 5), entry.path() / "bin");
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<fs::path> folders;
    for (auto& [version, folder] : found)
        folders.push_back(std::move(folder));
    return folders;
}

std::vector<fs::path> linkerCandidates() {
    std::vector<fs::path> candidates;
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        candidates.push_back(self.parent_path() / "ld.lld");
        candidates.push_back(self.parent_path().parent_path() / "libexec/tunesmith/ld.lld");
    }
    for (const fs::path& folder : pathFolders())
        candidates.push_back(folder / "ld.lld-19");
    for (const fs::path& folder : llvmFolders())
        candidates.push_back(folder / "ld.lld");
    for (const fs::path& folder : pathFolders())
        candidates.push_back(folder / "ld.lld");
    return candidates;
}

// The libraries themselves, not what development packages add: their versions are those of the machine that
// exports.
Result<std::vector<std::string>> systemLibraries() {
    static const char* const folders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                                          "/usr/lib64", "/usr/lib"};
    std::vector<std::string> found;
    for (const char* name : {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}) {
        const auto holds = [&](const char* folder) { return fs::exists(fs::path(folder) / name); };
        const auto* folder = std::find_if(std::begin(folders), std::end(folders), holds);
        if (folder != std::end(folders))
            found.push_back(std::string(*folder) + "/" + name);
        else if (std::string(name) == "libc.so.6" ||
                 std::string(name) == "libm.so.6") // the others are parts of newer libcs
            return ioError(
                std::string(name) +
                " is in none of the system's library folders; modules are linked with the GNU C library");
    }
    return found;
}

Status writeScript(const LinkRequest& request, const fs::path& path) {
    std::string script = "{\n  global:\n";
    for (const auto& [name, symbol] : request.exports)
        script += "    " + name + ";\n";
    script += "  local: *;\n};\n";
    TS_ASSIGN(AtomicFile file, AtomicFile::create(path));
    TS_TRY(file.write(std::as_bytes(std::span(script))));
    return file.commit();
}

// The linker's own words, without its name, on one line.
std::string firstError(const ProgramResult& result) {
    const std::string marker = "error: ";
    const std::size_t at = result.errors.find(marker);
    if (at == std::string::npos)
        return result.errors.empty() ? result.ending : result.errors.substr(0, result.errors.find('\n'));
    const std::size_t begin = at + marker.size();
    return result.errors.substr(begin, result.errors.find('\n', begin) - begin);
}

} // namespace

Result<fs::path> findLinker() {
    if (const char* named = std::getenv("TUNESMITH_LLD"); named && *named) {
        if (isExecutable(named))
            return fs::path(named);
        return ioError(std::string("TUNESMITH_LLD names ") + named +
                       ", which is no program; name LLVM's linker ld.lld");
    }
    for (const fs::path& candidate : linkerCandidates())
        if (isExecutable(candidate))
            return candidate;
    return ioError("LLVM's linker ld.lld, which exporting needs, was not found; install the package lld-19 "
                   "or name the linker "
                   "in TUNESMITH_LLD");
}

Status linkSharedLibrary(const LinkRequest& request) {
    TS_ASSIGN(const fs::path linker, findLinker());
    TS_ASSIGN(const std::vector<std::string> libraries, systemLibraries());
    const fs::path script = request.scratch / "exports.map";
    TS_TRY(writeScript(request, script));
    std::vector<std::string> arguments{"-shared",
                                       "-m",
                                       "elf_x86_64",
                                       "-o",
                                       request.output.string(),
                                       "-soname",
                                       request.soname,
                                       "--version-script=" + script.string(),
                                       "--no-undefined",
                                       "--gc-sections",
                                       "--eh-frame-hdr",
                                       "--hash-style=gnu",
                                       "--build-id=sha1",
                                       "--as-needed",
                                       "-z",
                                       "relro",
                                       "-z",
                                       "now",
                                       "-z",
                                       "noexecstack",
                                       "-O2",
                                       "--threads=1"}; // one that it cannot start ends it
    for (const auto& [name, symbol] : request.exports)
        if (name != symbol)
            arguments.push_back("--defsym=" + name + "=" + symbol);
    for (const fs::path& object : request.objects)
        arguments.push_back(object.string());
    arguments.insert(arguments.end(), libraries.begin(), libraries.end());
    TS_ASSIGN(const ProgramResult result, runProgram(linker, arguments));
    if (!result.succeeded)
        return ioError("linking " + request.soname + " failed: " + firstError(result));
    return {};
}

} // namespace tunesmith
