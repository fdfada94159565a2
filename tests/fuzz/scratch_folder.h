// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace tunesmith::fuzz {

// A folder in memory, where there is such a place, that goes with the process.
class ScratchFolder {
public:
    ScratchFolder() {
        std::error_code none;
        std::string pattern = (std::filesystem::is_directory("/dev/shm", none) ? "/dev/shm" : std::filesystem::temp_directory_path().string()) + "/fuzz-XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    ~ScratchFolder() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

    std::filesystem::path write(const std::string& name, std::span<const std::byte> bytes) const {
        std::filesystem::path file = path_ / name;
        std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return file;
    }

private:
    std::filesystem::path path_;
};

inline const ScratchFolder& scratch() {
    static const ScratchFolder folder;
    return folder;
}

} // namespace tunesmith::fuzz
