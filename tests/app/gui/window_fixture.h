// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/main_window.h"
#include <QApplication>
#include <QMessageBox>
#include <QPointer>
#include <QTemporaryDir>
#include <QTest>
#include <QUrl>
#include <limits>
#include <memory>

namespace tunesmith {

// A window with a store, settings and files of its own; gone at the end of the test.
class WindowFixture {
public:
    explicit WindowFixture(const QString& store = {}); // empty: one in a folder of its own
    ~WindowFixture();

    MainWindow& window() { return *window_; }
    MainWindow& reopen(); // the same store and settings, as after a new start
    QString path(const QString& name) const { return folder_.filePath(name); }
    QString store() const { return store_; }
    bool open(const QString& sampleOrFile); // waits; false: it failed
    QString notice() const;                 // the text that is shown; empty: none

private:
    QTemporaryDir folder_;
    QString store_;
    QPointer<MainWindow> window_;
};

QAbstractButton* agreement(const QMessageBox& question); // the button that says yes
void drop(MainWindow& window, const QList<QUrl>& urls);

// The longest time that one event kept the window's thread, be it with work or with waiting. Only the time in
// which the thread could have run and another one, or another machine of the same host, had its core does not count.
class EventWatch : public QObject {
public:
    EventWatch();
    ~EventWatch() override;
    double longestMs() const { return longest_; }
    QByteArray culprit() const { return culprit_; }

    void begin(const QObject* receiver, const QEvent* event);
    void end();

private:
    double started_ = 0, stolen_ = 0, longest_ = 0; // ms
    int depth_ = 0, core_ = 0;
    QByteArray name_, culprit_;
};

// How much of this machine its host has run something else on.
class HostTheft {
public:
    HostTheft();
    double fraction() const; // of all cores' time since this was made

private:
    double stolen_ = 0, whole_ = 0;
};

// What our code does to the window it does each time, what a busy machine does it does not: the calmest of a
// few rounds counts. Stops at the first below the limit. Rounds in which the host took the machine away tell nothing; where
// there are no others, the test is to be skipped.
constexpr double kLongestEventMs = 50;
class CalmestRound {
public:
    bool another() const { return honest_ < 3 && rounds_ < 8 && !(longest_ < kLongestEventMs); }
    void ended(const EventWatch& watch);
    double longestMs() const { return longest_; }
    bool tellsNothing() const { return honest_ == 0 && !(longest_ < kLongestEventMs); }
    QByteArray text() const { return text_; } // of all rounds

private:
    HostTheft theft_;
    int rounds_ = 0, honest_ = 0;
    double longest_ = std::numeric_limits<double>::infinity();
    QByteArray text_;
};

// An application that tells an EventWatch, when there is one, about each event that it handles.
class WatchedApplication : public QApplication {
public:
    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override;
};

// main() of a program of tests: with settings of its own and the light theme.
void prepareApplication(const char* name);
void forgetSettings();

template <class Test> int windowTestMain(const char* name, int argc, char** argv) {
    WatchedApplication app(argc, argv);
    prepareApplication(name);
    Test test;
    const int failed = QTest::qExec(&test, argc, argv);
    forgetSettings();
    return failed;
}

} // namespace tunesmith
