// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// Bytes of a file that is mapped read-only and stays mapped as long as somebody holds `owner`.
struct MappedBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};

class InputFile;
Result<MappedBytes> mapFile(const InputFile& file, const std::filesystem::path& path);

// Where the tensors of a model lie outside the model file, as its `external_data` entries say.
struct ExternalPlace {
    std::string location;
    std::uint64_t offset = 0;
    bool hasLength = false;
    std::uint64_t length = 0;
};

// The data files beside a model. A location must stay inside the model's folder: absolute paths, "..", and
// links that leave the folder are refused. Each file is mapped once. Whoever shortens such a file while a
// graph is alive takes the ground from under it, as with every mapped file.
class ExternalFiles {
public:
    explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

    // Exactly `size` bytes. Errors name the file; the caller adds the tensor.
    Result<MappedBytes> map(const ExternalPlace& place, std::uint64_t size);

private:
    Result<MappedBytes> open(const std::string& location);
    std::filesystem::path folder_;
    std::map<std::string, MappedBytes> files_;
};

} // namespace tunesmith
