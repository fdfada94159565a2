// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <QStringList>

#include <optional>

// The layer rule of CONTRIBUTING.md as two pure functions, so that the rule itself can be tested.
namespace tunesmith::layers {

// The rooms of core/, from the ground up.
const QStringList& rooms();

// The targets of the #include lines of a source text, with their quotes or angle brackets. What stands in raw string literals
// (generated C code) is no include.
QStringList includesOf(const QString& source);

// Why a file (path from the root of the repository) may not have this include ("x.h" or <x.h>), or nothing if it may.
std::optional<QString> violation(const QString& file, const QString& include);

} // namespace tunesmith::layers
