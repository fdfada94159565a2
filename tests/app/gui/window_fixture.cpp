// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/window_fixture.h"
#include "app/gui/settings.h"
#include <QAbstractButton>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QMimeData>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>
#include <QThread>
#include <ctime>
#include <sched.h>
#include <unistd.h>

namespace tunesmith {
namespace {

EventWatch* watch = nullptr;

double nowMs(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// How long this thread has waited for a core, as Linux counts it: the second number of schedstat.
std::optional<double> waitedMs() {
    static QFile file(QStringLiteral("/proc/thread-self/schedstat"));
    if (!file.isOpen() && !file.open(QIODevice::ReadOnly | QIODevice::Unbuffered))
        return {};
    file.seek(0);
    const QList<QByteArray> numbers = file.readAll().split(' ');
    return numbers.size() < 2 ? std::nullopt : std::optional(numbers[1].toDouble() / 1e6);
}

// How long the host of a virtual machine has run something else on a core: `steal` in the core's line of /proc/stat.
double stolenMs(int core) {
    static QFile file(QStringLiteral("/proc/stat"));
    if (!file.isOpen() && !file.open(QIODevice::ReadOnly | QIODevice::Unbuffered))
        return 0;
    file.seek(0);
    for (const QByteArray& line : file.read(4096).split('\n'))
        if (line.startsWith("cpu" + QByteArray::number(core) + ' '))
            return line.split(' ').value(8).toDouble() * 1000. / static_cast<double>(sysconf(_SC_CLK_TCK));
    return 0;
}

// Grows while the thread runs or sleeps, not while it waits for a core.
double threadMs() {
    const auto waited = waitedMs();
    return waited ? nowMs(CLOCK_MONOTONIC) - *waited : nowMs(CLOCK_THREAD_CPUTIME_ID);
}

} // namespace

WindowFixture::WindowFixture(const QString& store)
    : store_(store.isEmpty() ? path(QStringLiteral("trials.db")) : store) {
    QSettings().clear();
    reopen();
}

WindowFixture::~WindowFixture() {
    delete window_;
}

MainWindow& WindowFixture::reopen() {
    if (window_)
        window_->close();
    delete window_;
    window_ = new MainWindow(store());
    window_->show();
    QCoreApplication::processEvents();
    return *window_;
}

bool WindowFixture::open(const QString& sampleOrFile) {
    QSignalSpy opened(window_, &MainWindow::modelOpened), failed(window_, &MainWindow::openFailed);
    if (sampleOrFile.contains(QLatin1Char('/')))
        window_->openFile(sampleOrFile);
    else
        window_->openSample(sampleOrFile);
    (void)QTest::qWaitFor([&] { return opened.count() + failed.count() > 0; }, 60000);
    return opened.count() > 0;
}

QString WindowFixture::notice() const {
    const auto* bar = window_->findChild<NoticeBar*>(QStringLiteral("notice"));
    return bar->isVisibleTo(window_) ? bar->accessibleName() : QString();
}

QAbstractButton* agreement(const QMessageBox& question) {
    for (QAbstractButton* button : question.buttons())
        if (question.buttonRole(button) == QMessageBox::AcceptRole)
            return button;
    return nullptr;
}

void drop(MainWindow& window, const QList<QUrl>& urls) {
    QMimeData data;
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &event);
    QVERIFY(event.isAccepted());
}

EventWatch::EventWatch() {
    watch = this;
}
EventWatch::~EventWatch() {
    watch = nullptr;
}

// Only the outermost event counts: the inner ones happen within it.
void EventWatch::begin(const QObject* receiver, const QEvent* event) {
    if (depth_++ > 0)
        return;
    name_ = QByteArray(receiver->metaObject()->className()) + " type " + QByteArray::number(event->type());
    core_ = sched_getcpu();
    stolen_ = stolenMs(core_);
    started_ = threadMs();
}

void EventWatch::end() {
    if (--depth_ > 0)
        return;
    const double elapsed = threadMs() - started_;
    const double spent = std::max(0., elapsed - (stolenMs(core_) - stolen_));
    if (spent > longest_) {
        longest_ = spent;
        culprit_ = name_;
    }
}

HostTheft::HostTheft() {
    QFile file(QStringLiteral("/proc/stat"));
    if (!file.open(QIODevice::ReadOnly))
        return;
    const QList<QByteArray> numbers = file.readLine().simplified().split(' '); // cpu user nice system idle iowait irq softirq steal ...
    stolen_ = numbers.value(8).toDouble();
    for (int i = 1; i <= 8; ++i)
        whole_ += numbers.value(i).toDouble();
}

double HostTheft::fraction() const {
    const HostTheft now;
    return now.whole_ > whole_ ? (now.stolen_ - stolen_) / (now.whole_ - whole_) : 0;
}

void CalmestRound::ended(const EventWatch& watch) {
    constexpr double kHonest = 0.25; // less is always taken on some hosts, and the watch subtracts it
    const double theft = theft_.fraction();
    ++rounds_;
    honest_ += theft <= kHonest;
    theft_ = {};
    longest_ = std::min(longest_, watch.longestMs());
    text_ += (text_.isEmpty() ? "" : ", ") + QByteArray::number(watch.longestMs(), 'f', 1) + " ms (" +
             watch.culprit() + (theft > kHonest ? "; the host took " + QByteArray::number(100 * theft, 'f', 0) + " %)" : ")");
}

bool WatchedApplication::notify(QObject* receiver, QEvent* event) {
    if (!watch || QThread::currentThread() != thread())
        return QApplication::notify(receiver, event);
    watch->begin(receiver, event);
    const bool handled = QApplication::notify(receiver, event);
    if (watch)
        watch->end();
    return handled;
}

void prepareApplication(const char* name) {
    QStandardPaths::setTestModeEnabled(true);
    QApplication::setOrganizationName(QStringLiteral("Tunesmith"));
    QApplication::setApplicationName(
        QStringLiteral("%1_%2").arg(QLatin1String(name)).arg(QApplication::applicationPid()));
    QApplication::setQuitOnLastWindowClosed(false);
    settings::setTheme(Theme::Mode::light);
    Theme::instance().setMode(Theme::Mode::light);
}

void forgetSettings() {
    QFile::remove(QSettings().fileName());
}

} // namespace tunesmith
