// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/mapped_ranges.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/work_folder.h"

namespace tunesmith {
namespace {

constexpr std::size_t kFew = std::size_t{256} << 10;
constexpr std::uintptr_t kPage = 4096;

struct Ranges {
    std::mutex mutex;
    std::map<std::uintptr_t, std::uintptr_t> ends; // by begin
};

Ranges& ranges() {
    static Ranges* const all = new Ranges; // tensors may outlive whatever is static
    return *all;
}

std::uintptr_t beginOf(std::span<const std::byte> bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); }

} // namespace

void addMappedRange(std::span<const std::byte> bytes) {
    const std::lock_guard lock(ranges().mutex);
    ranges().ends[beginOf(bytes)] = beginOf(bytes) + bytes.size();
}

void removeMappedRange(std::span<const std::byte> bytes) {
    const std::lock_guard lock(ranges().mutex);
    ranges().ends.erase(beginOf(bytes));
}

bool dropMappedPages(std::span<const std::byte> bytes) {
    if (bytes.size() < kFew)
        return false;
    const std::uintptr_t begin = beginOf(bytes), end = begin + bytes.size();
    const std::lock_guard lock(ranges().mutex); // held, so that nobody maps other things there meanwhile
    const auto after = ranges().ends.upper_bound(begin);
    if (after == ranges().ends.begin() || std::prev(after)->second < end)
        return false;
    const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
    return ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) == 0;
}

bool isMapped(const std::filesystem::path& file) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0)
        return false;
    std::ifstream maps("/proc/self/maps");
    if (!maps)
        return true;
    std::string addresses, access, offset, device, rest;
    for (ino_t number = 0; maps >> addresses >> access >> offset >> device >> number; std::getline(maps, rest))
        if (number == facts.st_ino)
            return true;
    return false;
}

std::shared_ptr<const std::byte> movedToFile(std::span<const std::byte> bytes) {
    int file = -1;
    for (const std::filesystem::path& place : temporaryPlaces())
        if (file < 0)
            file = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0)
        return nullptr;
    std::size_t written = 0;
    for (ssize_t count = 1; count > 0 && written < bytes.size(); written += count > 0 ? static_cast<std::size_t>(count) : 0)
        count = ::write(file, bytes.data() + written, bytes.size() - written);
    void* const memory = written == bytes.size() ? ::mmap(nullptr, written, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    ::close(file);
    if (memory == MAP_FAILED)
        return nullptr;
    const std::span<const std::byte> moved(static_cast<const std::byte*>(memory), bytes.size());
    addMappedRange(moved);
    return {moved.data(), [moved](const std::byte* begin) {
                removeMappedRange(moved);
                ::munmap(const_cast<std::byte*>(begin), moved.size());
            }};
}

} // namespace tunesmith
