// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "core/base/atomic_file.h"

namespace tunesmith {

// Inside core/workbench only: texts for other programs.

inline Status writeText(const std::string& text, const std::filesystem::path& file) { // whole or not at all
    TS_ASSIGN(AtomicFile out, AtomicFile::create(file));
    TS_TRY(out.write(std::as_bytes(std::span(text))));
    return out.commit();
}

// A cell of a table of comma-separated values, in quotes where it has to be (RFC 4180).
inline std::string csvCell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

} // namespace tunesmith
