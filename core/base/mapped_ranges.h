// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace tunesmith {

// Memory that is a file mapped for reading. Its pages count as this process's once they are touched, and come back from the file when
// they are touched again: whoever has gone through large weights drops them. Safe to call from any thread.
void addMappedRange(std::span<const std::byte> bytes);
void removeMappedRange(std::span<const std::byte> bytes);
// Gives the pages of `bytes` back where they lie in such a range, and does nothing where they do not, or where they are few. Whether
// it did.
bool dropMappedPages(std::span<const std::byte> bytes);
// Whether this process has the file mapped, or may have it: its number on another file system counts as well.
bool isMapped(const std::filesystem::path& file);
// The same bytes in a file that has no name and is mapped; none where it cannot be made. What is made of a mapped weight goes there,
// so that it need not stay in memory either.
std::shared_ptr<const std::byte> movedToFile(std::span<const std::byte> bytes);

} // namespace tunesmith
