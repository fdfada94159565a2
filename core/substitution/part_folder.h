// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tunesmith::substitution {

using Bytes = std::vector<std::byte>;

// The finished parts of a long computation, a file each, so that it can be killed at any instant and go on with the first part that is missing.
// A part is there whole or not at all. It has a seal of its name, its content and the folder's purpose, which takes the user's secret to make: what is
// torn or came from elsewhere counts as missing, so that nobody else has a say in what is computed. One program at a time works in a folder. Parts are
// written and read by several threads at once.
class PartFolder {
public:
    // After a part's content: how long it is, and its seal (HMAC-SHA256).
    struct Footer {
        std::uint64_t size = 0;
        std::array<unsigned char, 32> seal{};
        bool operator==(const Footer&) const = default;
    };

    // `purpose` is one line that says what is computed; a folder of another purpose, or one with files of somebody else, is refused. Without a key
    // there is one of this object alone, and no other goes on with its parts. Parts that do not count are logged.
    static Result<PartFolder> open(const std::filesystem::path& path, const std::string& purpose, const std::string& key);

    bool resumed() const { return resumed_; } // there were parts when it was opened
    bool has(const std::string& name) const;
    std::size_t size(const std::string& name) const; // in bytes; 0: not there
    std::size_t bytes() const;                       // of all parts

    Status write(const std::string& name, std::span<const std::byte> content);
    Result<Bytes> read(const std::string& name) const { return read(name, 0, size(name)); }
    Result<Bytes> read(const std::string& name, std::size_t offset, std::size_t count) const; // an Error beyond its content

    // Takes away the parts, and the folder if nothing else is in it.
    Status remove();

private:
    struct State {
        mutable std::mutex mutex;
        std::map<std::string, std::size_t> sizes; // of the parts' contents
        std::vector<std::filesystem::path> torn;  // found when it was opened
        int lock = -1;
        ~State();
    };
    PartFolder() = default;
    Status lock();
    Status checkPurpose(const std::string& purpose);
    Status takeStock();
    Result<Footer> footerOf(const std::string& name, std::span<const std::byte> content) const;
    Result<std::optional<std::size_t>> wholeSize(const std::filesystem::path& file) const;
    std::filesystem::path file(const std::string& name) const;

    std::filesystem::path path_;
    std::string key_; // of this purpose
    std::unique_ptr<State> state_ = std::make_unique<State>();
    bool resumed_ = false;
};

} // namespace tunesmith::substitution
