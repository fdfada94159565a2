// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/database_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::array kCompanions{"-wal"sv, "-shm"sv, "-journal"sv};

struct OpenOnes {
    std::mutex mutex;
    std::list<fs::path> databases;
};
OpenOnes& openOnes() {
    static OpenOnes& ones = *new OpenOnes; // for stores that are closed at the very end
    return ones;
}

bool isSame(const struct stat& file, const std::string& path) {
    struct stat there {};
    return ::stat(path.c_str(), &there) == 0 && there.st_ino == file.st_ino && there.st_dev == file.st_dev;
}

bool isDatabase(const fs::path& file) {
    constexpr std::string_view kBegin("SQLite format 3\0", 16);
    std::error_code error;
    if (isOpenDatabase(file))
        return true;
    if (!fs::is_regular_file(file, error))
        return false;
    std::array<char, kBegin.size()> begin{};
    std::ifstream text(file, std::ios::binary);
    return text.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) == kBegin;
}

} // namespace

OpenDatabase::OpenDatabase(const fs::path& database) {
    std::error_code error;
    const fs::path path = fs::absolute(database, error);
    const std::lock_guard lock(openOnes().mutex);
    place_ = openOnes().databases.insert(openOnes().databases.end(), error ? database : path);
}

OpenDatabase::~OpenDatabase() {
    const std::lock_guard lock(openOnes().mutex);
    openOnes().databases.erase(place_);
}

bool isOpenDatabase(const fs::path& file) {
    const std::lock_guard lock(openOnes().mutex);
    struct stat facts {};
    if (openOnes().databases.empty() || ::stat(file.c_str(), &facts) != 0)
        return false;
    return std::ranges::any_of(openOnes().databases, [&facts](const fs::path& database) {
        const auto isCompanion = [&](std::string_view end) { return isSame(facts, database.string().append(end)); };
        return isSame(facts, database.string()) || std::ranges::any_of(kCompanions, isCompanion);
    });
}

std::optional<fs::path> databaseOf(const fs::path& file) {
    std::error_code error;
    fs::path real = fs::weakly_canonical(file, error);
    if (error)
        real = file;
    if (isDatabase(real))
        return real;
    for (const std::string_view end : kCompanions)
        if (const std::string name = real.string(); name.ends_with(end))
            if (fs::path database = name.substr(0, name.size() - end.size()); isDatabase(database))
                return database;
    return std::nullopt;
}

} // namespace tunesmith
