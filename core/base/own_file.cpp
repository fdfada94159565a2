// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/own_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/descriptor.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

struct OwnFile {
    Descriptor descriptor;
    std::size_t size = 0;
};

Error refused(const fs::path& path, const std::string& why) {
    return ioError("'" + path.string() + "' " + why + ", so it is not used; remove it");
}

Error tooLong(const fs::path& path, std::size_t most) {
    return refused(path, "has more than " + std::to_string(most) + " bytes");
}

Result<OwnFile> openOwnFile(const fs::path& path, int flags) {
    OwnFile file{Descriptor(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600))};
    struct stat facts {};
    if (!file.descriptor.isOpen() || ::fstat(file.descriptor.get(), &facts) != 0)
        return (flags & O_WRONLY) != 0 ? writeFailure(path, errno) : readFailure(path, errno);
    if (!S_ISREG(facts.st_mode))
        return refused(path, "is not a regular file");
    if ((facts.st_uid != ::geteuid() && facts.st_uid != 0) || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refused(path, "can be changed by others");
    file.size = static_cast<std::size_t>(facts.st_size);
    return file;
}

} // namespace

Result<std::string> readOwnFile(const fs::path& path, std::size_t most) {
    TS_ASSIGN(const OwnFile file, openOwnFile(path, O_RDONLY));
    if (file.size > most)
        return tooLong(path, most);
    std::string text(file.size, '\0');
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t count = ::read(file.descriptor.get(), text.data() + at, text.size() - at);
        if (count < 0 && errno != EINTR)
            return readFailure(path, errno);
        if (count == 0)
            text.resize(at);
        at += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return text;
}

Status appendToOwnFile(const fs::path& path, const std::string& text, std::size_t most) {
    TS_ASSIGN(const OwnFile file, openOwnFile(path, O_WRONLY | O_APPEND | O_CREAT));
    if (file.size + text.size() > most)
        return tooLong(path, most);
    if (::write(file.descriptor.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return writeFailure(path, errno);
    return {};
}

} // namespace tunesmith
