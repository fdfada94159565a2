// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>

namespace tunesmith {

// Text that may hold names out of files or from other machines, for a terminal, a log or a report. What would steer a terminal or change
// how the rest is read becomes visible: control characters, marks of direction, line separators, invisible characters, as \u202e (also
// within JSON, where it means the same), and each byte that is not UTF-8 as \ufffd.
std::string printable(std::string_view text);      // one line
std::string printableLines(std::string_view text); // ends of lines and tabs stay
// At most so many bytes of it, for a message: text from elsewhere may be of any length. UTF-8 stays UTF-8.
std::string shortened(std::string_view text, std::size_t most = 500);

} // namespace tunesmith
