// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QElapsedTimer>
#include <QProcess>
#include <QStandardPaths>

namespace tunesmith {

// An X server without a screen, for as long as this lives.
class VirtualScreen {
public:
    ~VirtualScreen() {
        server_.terminate();
        server_.waitForFinished();
    }

    static bool available() { return !program().isEmpty(); }

    bool start() {
        server_.setProcessChannelMode(QProcess::MergedChannels);
        server_.start(program(), {"-displayfd", "1", "-screen", "0", "1400x900x24", "-nolisten", "tcp"});
        QElapsedTimer patience;
        patience.start();
        while (display_.isEmpty() && server_.state() != QProcess::NotRunning && patience.elapsed() < 20000) {
            server_.waitForReadyRead(100);
            while (server_.canReadLine()) // the number of the display; warnings of xkbcomp may come before
                if (const QByteArray line = server_.readLine().trimmed(); line.toInt() > 0 || line == "0")
                    display_ = ":" + line;
        }
        return !display_.isEmpty();
    }

    QByteArray display() const { return display_; }

    // What a program needs to show itself there, with settings and data below `folder`.
    QProcessEnvironment environment(const QString& folder) const {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("DISPLAY", display_);
        environment.insert("QT_QPA_PLATFORM", "xcb");
        environment.insert("XDG_CONFIG_HOME", folder + "/config");
        environment.insert("XDG_DATA_HOME", folder + "/data");
        environment.insert("XDG_RUNTIME_DIR", folder);
        return environment;
    }

private:
    static QString program() { return QStandardPaths::findExecutable(QStringLiteral("Xvfb")); }

    QProcess server_;
    QByteArray display_;
};

} // namespace tunesmith
