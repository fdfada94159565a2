// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// A file that appears whole or not at all: written under a temporary name in the same folder and renamed by
// commit(). Destroyed without commit(), it leaves nothing behind and the old file untouched. A target that is
// a device or a pipe is written directly, if the user named it. A database, or what SQLite has beside one, is not replaced (`database_file.h`).
// A writer has its temporary file locked: what a killed one left is removed by the next writer of that target. A link is followed and
// survives, unless the caller replaces it: names in a folder that are the program's choice, where the user did not name the link. A link to
// what is not there is refused. Errors name the target and what the system said (no space, no permission).
enum class Links { follow, replace };
class AtomicFile {
public:
    static Result<AtomicFile> create(const std::filesystem::path& target, Links links = Links::follow);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    Status write(std::span<const std::byte> bytes);
    Status close(); // nothing more is written: many files may wait for their commit()
    Status commit();

    int descriptor() const { return descriptor_; }
    Error failure(int errorNumber) const; // "cannot write 'out.onnx': No space left on device"

private:
    AtomicFile() = default;
    void openTemporary();
    Status sync();
    std::filesystem::path target_, temporary_; // no temporary: the target itself is open
    std::shared_ptr<void> lock_; // of a temporary file that is closed
    int descriptor_ = -1;
};

// "cannot read 'x': ..." and "cannot write 'x': ..." with the system's words for an errno.
Error readFailure(const std::filesystem::path& path, int errorNumber);
Error writeFailure(const std::filesystem::path& path, int errorNumber);

// A regular file opened for reading; folders, pipes and devices are refused so that nobody waits for them
// forever, and a database that is open here, so that it keeps its locks (`database_file.h`).
class InputFile {
public:
    static Result<InputFile> open(const std::filesystem::path& path);
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&&) = delete;
    ~InputFile();

    std::size_t size() const { return size_; }
    int descriptor() const { return descriptor_; }
    Status read(std::span<std::byte> bytes); // exactly so many, from where the last read ended
    Status seek(std::size_t offset);         // where the next read begins

private:
    InputFile() = default;
    std::filesystem::path path_;
    int descriptor_ = -1;
    std::size_t size_ = 0;
};

} // namespace tunesmith
