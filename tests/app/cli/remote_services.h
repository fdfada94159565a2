// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QFile>
#include <QTemporaryDir>
#include <memory>

#include "service_process.h"

namespace tunesmith::testing {

inline constexpr const char* kToken = "a token of this test 0123";

inline QString writeFile(const QTemporaryDir& folder, const QString& name, QByteArray text) {
    QFile file(folder.filePath(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(text.replace(' ', '-')) < 0 || !file.setPermissions(QFile::ReadOwner | QFile::WriteOwner))
        qFatal("cannot write %s", qPrintable(file.fileName()));
    return file.fileName();
}

inline std::unique_ptr<Service> startTracker(const QStringList& more = {}) { return std::make_unique<Service>(QStringList{"tracker", "--listen", "127.0.0.1:0"} + more); }

inline std::unique_ptr<Service> startMock(const QString& tracker, const QString& key, const QStringList& more = {}) {
    return std::make_unique<Service>(QStringList{"server", "--listen", "127.0.0.1:0", "--tracker", tracker, "--key", key, "--threads", "2", "--mock", "--build-ms", "5", "--profile-ms", "20"} + more);
}

} // namespace tunesmith::testing
