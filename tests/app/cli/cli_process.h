// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QJsonObject>
#include <QStringList>

namespace tunesmith::testing {

// One call of the real tunesmith-cli, from outside.
struct CliResult {
    int status = -1; // of the program; -1: it crashed or did not end in time
    QByteArray out, errors;

    QJsonObject json() const; // of stdout; empty unless it is exactly one object
    // The one sentence of a failure, without progress lines; empty unless there is exactly one.
    QByteArray sentence() const;
};

CliResult runCli(const QStringList& arguments,
                 const QString& standardOutput = {}); // the data folder is a temporary one
QString testDataFile(const QString& path);            // below TUNESMITH_TEST_DATA; empty when missing

} // namespace tunesmith::testing
