// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <unistd.h>
#include <utility>

namespace tunesmith {

// A file descriptor that is closed with its owner.
class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept { return std::swap(fd_, other.fd_), *this; }
    ~Descriptor() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    int get() const { return fd_; } // -1: none
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

} // namespace tunesmith
