// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text_file.h"

#include <span>

#include "core/base/atomic_file.h"

namespace tunesmith {

Result<std::string> readText(const std::filesystem::path& path, std::size_t most, const std::string& kind) {
    TS_ASSIGN(InputFile file, InputFile::open(path));
    if (file.size() > most)
        return inputError(path.string() + ": " + kind + " has at most " + std::to_string(most) + " bytes, and this has " + std::to_string(file.size()));
    std::string text(file.size(), '\0');
    TS_TRY(file.read(std::as_writable_bytes(std::span(text))));
    return text;
}

} // namespace tunesmith
