// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <string>

namespace tunesmith {

// Names and values out of a file may be anything: markup, many lines, a million characters. A widget that
// measures or paints such a text as it is blocks, or grows until painting fails.

constexpr int kNameLength = 120, kValueLength = 2000;

// On one line, without marks of direction (U+FFFD takes their places), and with at most `most` characters, the last of which then is "…".
QString oneLine(const QString& text, int most = kNameLength);
QString oneLine(const std::string& utf8, int most = kNameLength);

// For setToolTip(), which takes for HTML what looks so: shown as it is, cut to what fits on a screen.
QString plainToolTip(const QString& text);

} // namespace tunesmith
