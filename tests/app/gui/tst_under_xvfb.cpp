// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/virtual_screen.h"
#include <QImage>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>

using namespace tunesmith;

// The program itself, with the X11 platform plugin and a virtual screen: what the offscreen platform cannot
// show.
class TstUnderXvfb : public QObject {
    Q_OBJECT
private slots:
    void everything() {
        if (!VirtualScreen::available())
            QSKIP("Xvfb is not installed");
        VirtualScreen screen;
        QVERIFY(screen.start());
        QTemporaryDir folder;
        QProcess window;
        window.setProcessEnvironment(screen.environment(folder.path()));
        window.start(TUNESMITH_WINDOW, {"--sample", "mlp", "--store", folder.filePath("trials.db"), "--theme",
                                        "dark", "--screenshot", folder.path()});
        QVERIFY(window.waitForFinished(120000));
        const QByteArray said = window.readAllStandardError();
        QVERIFY2(window.exitStatus() == QProcess::NormalExit && window.exitCode() == 0, said);
        for (const char* page : {"models", "graph", "tune", "export"}) {
            const QImage picture(folder.filePath(QLatin1String(page) + QStringLiteral(".png")));
            QVERIFY2(picture.width() >= 800 && picture.height() >= 600, page);
            QSet<QRgb> colours;
            for (int y = 0; y < picture.height(); y += 2)
                for (int x = 0; x < picture.width(); x += 2)
                    colours.insert(picture.pixel(x, y));
            QVERIFY2(colours.size() > 30, page); // a blank window has a handful
            QVERIFY2(qGray(picture.pixel(picture.width() / 2, picture.height() - 4)) < 80,
                     page); // dark, as asked
        }
    }
};

QTEST_GUILESS_MAIN(TstUnderXvfb)
#include "tst_under_xvfb.moc"
