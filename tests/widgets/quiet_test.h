// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QTest>

namespace tunesmith {

// Makes any Qt warning that is printed while a test function runs a failure of it. Use from init() and
// cleanup().
class QuietTest {
public:
    static void start() {
        warnings().clear();
        previous() = qInstallMessageHandler(handle);
    }
    static void finish() {
        qInstallMessageHandler(previous());
        QVERIFY2(warnings().isEmpty(), warnings().constData());
    }

private:
    static QtMessageHandler& previous() {
        static QtMessageHandler handler = nullptr;
        return handler;
    }
    static QByteArray& warnings() {
        static QByteArray text;
        return text;
    }
    static void handle(QtMsgType type, const QMessageLogContext& context, const QString& message) {
        // The offscreen platform cannot do this; it says so once for every popup.
        const bool platform = message.contains(QLatin1String("This plugin does not support"));
        if (type != QtDebugMsg && type != QtInfoMsg && !platform)
            warnings() += message.toUtf8() + '\n';
        if (previous())
            previous()(type, context, message);
    }
};

} // namespace tunesmith
