// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli_process.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QProcess>
#include <QTemporaryDir>

namespace tunesmith::testing {

QJsonObject CliResult::json() const {
    QJsonParseError error;
    const auto document = QJsonDocument::fromJson(out, &error);
    return error.error == QJsonParseError::NoError ? document.object() : QJsonObject();
}

QByteArray CliResult::sentence() const {
    QByteArray found;
    for (const QByteArray& line : errors.split('\n'))
        if (line.startsWith("tunesmith-cli: ")) {
            if (!found.isEmpty())
                return {};
            found = line.mid(15);
        }
    return found;
}

// Of the test and of all programs that it starts: to others their stores would come from elsewhere.
static const struct DataFolder {
    DataFolder() { qputenv("XDG_DATA_HOME", folder.path().toUtf8()); }
    QTemporaryDir folder;
} dataFolder;

CliResult runCli(const QStringList& arguments, const QString& standardOutput) {
    QProcess process;
    if (!standardOutput.isEmpty())
        process.setStandardOutputFile(standardOutput);
    process.start(TEST_CLI, arguments);
    CliResult result;
    if (process.waitForFinished(400'000) && process.exitStatus() == QProcess::NormalExit)
        result.status = process.exitCode();
    result.out = process.readAllStandardOutput();
    result.errors = process.readAllStandardError();
    return result;
}

QString testDataFile(const QString& path) {
    const QString root =
        qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared");
    const QFileInfo file(root + "/" + path);
    return file.exists() ? file.absoluteFilePath() : QString();
}

} // namespace tunesmith::testing
