// SPDX-License-Identifier: GPL-3.0-or-later
#include "source_tree.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>

namespace tunesmith::layers {
namespace {

const QString root = QStringLiteral(TUNESMITH_SOURCE_DIR);

} // namespace

QStringList sourceFiles(const QStringList& topFolders) {
    const QStringList patterns{"*.h", "*.hpp", "*.c", "*.cc", "*.cpp", "*.inc"};
    QStringList files;
    for (const QString& folder : topFolders) {
        QDirIterator tree(root + '/' + folder, patterns, QDir::Files, QDirIterator::Subdirectories);
        while (tree.hasNext())
            files << QDir(root).relativeFilePath(tree.next());
    }
    files.sort();
    return files;
}

QString readSource(const QString& path) {
    QFile file(root + '/' + path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace tunesmith::layers
