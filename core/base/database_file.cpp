// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/database_file.h"

#include <array>
#include <fstream>
#include <string>
#include <string_view>

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::array kInUse{"-wal"sv, "-shm"sv};
constexpr std::array kCompanions{"-wal"sv, "-shm"sv, "-journal"sv};

bool isDatabase(const fs::path& file) {
    constexpr std::string_view kBegin("SQLite format 3\0", 16);
    std::error_code error;
    if (!fs::is_regular_file(file, error))
        return false;
    for (const std::string_view end : kInUse)
        if (fs::exists(file.string().append(end), error))
            return true;
    std::array<char, kBegin.size()> begin{};
    std::ifstream text(file, std::ios::binary);
    return text.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) == kBegin;
}

} // namespace

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
