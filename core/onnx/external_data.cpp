// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/external_data.h"

#include <algorithm>
#include <cerrno>

#include <sys/mman.h>

#include "core/base/atomic_file.h"
#include "core/base/mapped_ranges.h"
#include "core/onnx/utf8.h"

namespace tunesmith {
namespace {

Result<MappedBytes> mapWhole(const std::filesystem::path& path) {
    TS_ASSIGN(const InputFile file, InputFile::open(path));
    return mapFile(file, path);
}

bool isInside(const std::filesystem::path& path, const std::filesystem::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// The real path of a location, or the reason why it is refused.
Result<std::filesystem::path> resolve(const std::filesystem::path& folder, const std::string& location) {
    if (!isUtf8(location) || location.find('\0') != std::string::npos)
        return inputError("its external data has a file name that is no text");
    if (folder.empty())
        return inputError("its external data '" + location +
                          "' cannot be found without the folder of the model");
    const std::filesystem::path relative(location);
    const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
    if (location.empty() || relative.is_absolute() || climbs)
        return inputError("its external data '" + location +
                          "' is not a path inside the model's folder, so it is not read");
    std::error_code error;
    const auto home = std::filesystem::canonical(folder, error);
    if (error)
        return readFailure(folder, error.value());
    const auto real = std::filesystem::canonical(home / relative, error);
    if (error)
        return ioError("its external data cannot be read: '" + (folder / relative).string() +
                       "': " + error.message() + "; it belongs beside the model, copy or download it, too");
    if (!isInside(real, home))
        return inputError("its external data '" + location +
                          "' is a link that leaves the model's folder, so it is not read");
    return real;
}

} // namespace

Result<MappedBytes> mapFile(const InputFile& file, const std::filesystem::path& path) {
    const std::size_t size = file.size();
    if (size == 0)
        return MappedBytes{};
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (memory == MAP_FAILED)
        return readFailure(path, errno);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(memory), size);
    addMappedRange(bytes);
    std::shared_ptr<const void> owner(memory, [bytes](const void* mapped) {
        removeMappedRange(bytes);
        ::munmap(const_cast<void*>(mapped), bytes.size());
    });
    return MappedBytes{bytes, std::move(owner)};
}

Result<MappedBytes> ExternalFiles::open(const std::string& location) {
    if (const auto known = files_.find(location); known != files_.end())
        return known->second;
    TS_ASSIGN(const std::filesystem::path path, resolve(folder_, location));
    TS_ASSIGN(MappedBytes mapped, mapWhole(path));
    files_.emplace(location, mapped);
    return mapped;
}

Result<MappedBytes> ExternalFiles::map(const ExternalPlace& place, std::uint64_t size) {
    if (place.hasLength && place.length != size)
        return inputError("its external data is said to be " + std::to_string(place.length) +
                          " bytes long, but its shape needs " + std::to_string(size));
    TS_ASSIGN(MappedBytes file, open(place.location));
    if (place.offset > file.bytes.size() || size > file.bytes.size() - place.offset)
        return inputError("its external data needs bytes " + std::to_string(place.offset) + " to " +
                          std::to_string(place.offset + size) + " of '" + place.location +
                          "', which has only " + std::to_string(file.bytes.size()));
    return MappedBytes{file.bytes.subspan(place.offset, size), file.owner};
}

} // namespace tunesmith
