// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QFile>
#include <QTemporaryDir>
#include <filesystem>

namespace tunesmith::testing {

// A folder with a problem file, the scratch folder of its builds, and whatever else a test needs.
class ProblemFolder {
public:
    std::filesystem::path write(const QString& name, const QByteArray& text, bool executable = false) const {
        QFile file(folder_.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("cannot write %s", qPrintable(file.fileName()));
        if (executable)
            file.setPermissions(file.permissions() | QFile::ExeOwner);
        return file.fileName().toStdString();
    }
    std::filesystem::path problem(const QByteArray& text) const { return write("problem.toml", "problem = 'external-program'\n" + text); }
    std::filesystem::path scratch() const { // another one each time
        static int count = 0;
        const std::filesystem::path path = folder_.filePath(QString("scratch%1").arg(count++)).toStdString();
        std::filesystem::create_directories(path);
        return path;
    }
    QString path(const QString& name) const { return folder_.filePath(name); }

private:
    QTemporaryDir folder_;
};

} // namespace tunesmith::testing
