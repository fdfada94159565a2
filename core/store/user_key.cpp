// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/user_key.h"

#include <cstdlib>
#include <filesystem>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/base/own_file.h"
#include "core/store/store.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kBytes = 32;

std::string keyIn(const fs::path& file) {
    const auto key = readOwnFile(file, kBytes);
    return key.ok() && key->size() == kBytes ? *key : std::string();
}

// A file of its own with a new key, which only this user may read; "" where there can be none.
std::string newKeyBeside(const fs::path& file) {
    std::string key(kBytes, '\0');
    std::string path = file.string() + ".XXXXXX";
    const Descriptor made(::mkstemp(path.data()));
    if (!made.isOpen())
        return {};
    constexpr auto kWhole = static_cast<ssize_t>(kBytes);
    if (::getrandom(key.data(), kBytes, 0) == kWhole && ::write(made.get(), key.data(), kBytes) == kWhole && ::fsync(made.get()) == 0)
        return path;
    ::unlink(path.c_str());
    return {};
}

} // namespace

std::string userKey() {
    const auto store = defaultStorePath();
    if (!store.ok())
        return {};
    const fs::path file = fs::path(*store).parent_path() / "store-key";
    if (const std::string key = keyIn(file); !key.empty())
        return key;
    const std::string made = newKeyBeside(file);
    if (made.empty())
        return {};
    // Several programs may make one: the first is the key. In the place of what is none, and where files have one name only, it is renamed.
    if (::link(made.c_str(), file.c_str()) != 0 && keyIn(file).empty() && ::rename(made.c_str(), file.c_str()) == 0)
        return keyIn(file);
    ::unlink(made.c_str());
    return keyIn(file);
}

} // namespace tunesmith
