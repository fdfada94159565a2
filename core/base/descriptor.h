// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace tunesmith {

// A file descriptor that is closed with its owner.
class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept { return std::swap(fd_, other.fd_), *this; }
    ~Descriptor() { close(); }
    int get() const { return fd_; } // -1: none
    bool isOpen() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void close() {
        if (isOpen())
            ::close(release());
    }
    // To a number above those that a child knows its own descriptors by. False: this process has none left.
    bool lift() {
        *this = Descriptor(::fcntl(fd_, F_DUPFD_CLOEXEC, 10));
        return isOpen();
    }

private:
    int fd_;
};

} // namespace tunesmith
