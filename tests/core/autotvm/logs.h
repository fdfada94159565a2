// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QFile>
#include <QFileInfo>
#include <QStringList>
#include <QTemporaryDir>

#include "tests/child_process.h"

namespace tunesmith::testing {

// Real logs below TUNESMITH_TEST_DATA; compressed ones are unpacked with the program xz.
class Logs {
public:
    static QStringList names() {
        return {"platinum-8124m-bert.kernel.log", "platinum-8124m-resnet_50.graph.log",
                "tophub-cuda_v0.10.log", "tophub-llvm_v0.04.log"};
    }

    // Empty, with a reason, when the log is not there or cannot be unpacked.
    QString path(const QString& name) {
        const QString folder =
            qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared") +
            "/data/autotvm-logs/";
        if (QFileInfo::exists(folder + name))
            return folder + name;
        if (!QFileInfo::exists(folder + name + ".xz")) {
            reason_ = name.toUtf8() + " is not below TUNESMITH_TEST_DATA";
            return {};
        }
        return unpacked(folder + name + ".xz", name);
    }
    const char* reason() const { return reason_.constData(); }

private:
    QString unpacked(const QString& packed, const QString& name) {
        const QString target = folder_.filePath(name);
        if (QFileInfo::exists(target))
            return target;
        ChildProcess xz("xz", {"-dc", packed});
        QFile file(target);
        if (!xz.started() || xz.wait() != 0 || !file.open(QIODevice::WriteOnly)) {
            reason_ = "the program xz is needed to unpack " + packed.toUtf8();
            return {};
        }
        file.write(xz.takeOutput());
        return target;
    }

    QTemporaryDir folder_;
    QByteArray reason_;
};

} // namespace tunesmith::testing
