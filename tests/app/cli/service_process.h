// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QElapsedTimer>
#include <QProcess>
#include <QStringList>
#include <csignal>

namespace tunesmith::testing {

// A tracker or a server as a program of its own; killed at the latest with this object.
class Service {
public:
    explicit Service(const QStringList& arguments) : arguments_(arguments) { start(); }
    ~Service() { kill(); }

    void start() {
        process_.start(TEST_CLI, arguments_);
        QElapsedTimer clock;
        clock.start();
        while (!process_.canReadLine() && process_.state() != QProcess::NotRunning && clock.elapsed() < 60'000)
            process_.waitForReadyRead(100);
        address_ = QString::fromUtf8(process_.readLine()).trimmed();
    }
    void kill() { // SIGKILL
        process_.kill();
        process_.waitForFinished();
    }
    int terminate() { // the exit status, -1: it had to be killed
        process_.terminate();
        return process_.waitForFinished(10'000) && process_.exitStatus() == QProcess::NormalExit ? process_.exitCode() : -1;
    }
    void signal(int number) const { ::kill(static_cast<pid_t>(process_.processId()), number); }

    qint64 pid() const { return process_.processId(); }
    const QString& address() const { return address_; } // empty: it ended without one
    QByteArray errors() { // all there were so far
        process_.waitForReadyRead(50);
        return errors_ += process_.readAllStandardError();
    }
    // Restarts listen where they did before.
    void listenAgainAt(const QString& address) { arguments_[arguments_.indexOf("--listen") + 1] = address; }

private:
    QStringList arguments_;
    QProcess process_;
    QString address_;
    QByteArray errors_;
};

} // namespace tunesmith::testing
