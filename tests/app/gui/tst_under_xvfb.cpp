// SPDX-License-Identifier: GPL-3.0-or-later
#include <QImage>
#include <QProcess>
#include <QSet>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

// The program itself, with the X11 platform plugin and a virtual screen: what the offscreen platform cannot
// show.
class TstUnderXvfb : public QObject {
    Q_OBJECT
private slots:
    void everything() {
        const QString server = QStandardPaths::findExecutable(QStringLiteral("Xvfb"));
        if (server.isEmpty())
            QSKIP("Xvfb is not installed");
        QProcess screen;
        screen.setProcessChannelMode(QProcess::MergedChannels);
        screen.start(server, {"-displayfd", "1", "-screen", "0", "1400x900x24", "-nolisten", "tcp"});
        QVERIFY(screen.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(screen.canReadLine() || screen.waitForReadyRead(100), 20000);
        QByteArray number;
        while (screen.canReadLine())
            number = screen.readLine().trimmed(); // the last line; warnings of xkbcomp may come before
        QTemporaryDir folder;
        show(":" + number, folder.path());
        screen.terminate();
        screen.waitForFinished();
    }

private:
    void show(const QByteArray& display, const QString& folder) {
        QProcess window;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("DISPLAY", display);
        environment.insert("QT_QPA_PLATFORM", "xcb");
        environment.insert("XDG_CONFIG_HOME", folder + "/config");
        environment.insert("XDG_RUNTIME_DIR", folder);
        window.setProcessEnvironment(environment);
        window.start(TUNESMITH_WINDOW, {"--sample", "mlp", "--store", folder + "/trials.db", "--theme",
                                        "dark", "--screenshot", folder});
        QVERIFY(window.waitForFinished(120000));
        const QByteArray said = window.readAllStandardError();
        QVERIFY2(window.exitStatus() == QProcess::NormalExit && window.exitCode() == 0, said);
        for (const char* page : {"models", "graph", "tune", "export"}) {
            const QImage picture(folder + QLatin1Char('/') + QLatin1String(page) + QStringLiteral(".png"));
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
