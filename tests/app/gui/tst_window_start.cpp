// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/resnet50.h"
#include "tests/app/gui/virtual_screen.h"
#include <QGuiApplication>
#include <QImage>
#include <QPixmap>
#include <QScreen>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <optional>

using namespace tunesmith;

namespace {

constexpr int kLimitMs = 1000, kStarts = 5;
constexpr QRect kMiddle(110, 90, 850, 700); // of the window: where the Models page or the graph is

bool isBlank(const QImage& picture) {
    QSet<QRgb> colours;
    for (int y = 0; y < picture.height(); y += 3)
        for (int x = 0; x < picture.width(); x += 3)
            colours.insert(picture.pixel(x, y));
    return colours.size() < 10;
}

QImage onScreen() {
    return QGuiApplication::primaryScreen()
        ->grabWindow(0, kMiddle.x(), kMiddle.y(), kMiddle.width(), kMiddle.height())
        .toImage();
}

struct Shown {
    qint64 ms = 0; // from the start of the program until the screen showed what it shows in the end
    QImage picture;
};

// Starts the program as a person does and watches the screen until nothing has changed for a while. A picture
// that equals `before` is not yet the end.
std::optional<Shown> startAndWatch(const VirtualScreen& screen, const QStringList& files,
                                   const QImage& before) {
    constexpr int kPatience = 60000, kQuiet = 1500;
    const QTemporaryDir folder;
    QProcess program;
    program.setProcessEnvironment(screen.environment(folder.path()));
    QElapsedTimer time;
    time.start();
    program.start(TUNESMITH_WINDOW, QStringList{"--theme", "light"} + files);
    Shown shown;
    while (time.elapsed() < kPatience) {
        const QImage now = onScreen();
        if (now != shown.picture)
            shown = {time.elapsed(), now};
        if (time.elapsed() - shown.ms > kQuiet && !isBlank(shown.picture) && shown.picture != before)
            break;
        QThread::msleep(10);
    }
    const bool inTime = time.elapsed() < kPatience;
    program.terminate();
    program.waitForFinished();
    return inTime ? std::optional(shown) : std::nullopt;
}

} // namespace

class TstWindowStart : public QObject {
    Q_OBJECT
public:
    explicit TstWindowStart(const VirtualScreen& screen) : screen_(screen) {}

private slots:
    // Measured from outside, on the screen: loading the program, reading 102 MB, laying out and painting. One
    // start in a second is enough; what else the machine does can only make it slower.
    void everything() {
        if (screen_.display().isEmpty())
            QSKIP("Xvfb is not installed");
        const QTemporaryDir folder;
        const QString model = folder.filePath("resnet50.onnx");
        QVERIFY(writeResnet50(model.toStdString()).ok());
        QVERIFY(QFileInfo(model).size() > 100'000'000);
        const auto empty = startAndWatch(screen_, {}, {});
        QVERIFY(empty);
        QList<qint64> times;
        for (int i = 0; i < kStarts && (times.isEmpty() || times.last() >= kLimitMs); ++i) {
            const auto shown = startAndWatch(screen_, {model}, empty->picture);
            QVERIFY(shown);
            times << shown->ms;
        }
        qInfo() << "ms until the graph was shown:" << times << "and until an empty window was:" << empty->ms;
        QVERIFY(times.last() < kLimitMs);
    }

private:
    const VirtualScreen& screen_;
};

int main(int argc, char** argv) {
    VirtualScreen screen;
    if (VirtualScreen::available() && screen.start()) {
        qputenv("DISPLAY", screen.display());
        qputenv("QT_QPA_PLATFORM", "xcb");
    }
    QGuiApplication app(argc, argv);
    TstWindowStart test(screen);
    return QTest::qExec(&test, argc, argv);
}
#include "tst_window_start.moc"
