// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <QStringList>

namespace tunesmith::layers {

// The C and C++ files under some top folders of the repository, as sorted paths from its root.
QStringList sourceFiles(const QStringList& topFolders);

// A file's text by its path from the root of the repository; empty if it cannot be read.
QString readSource(const QString& path);

} // namespace tunesmith::layers
