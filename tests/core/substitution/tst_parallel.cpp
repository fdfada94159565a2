// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <atomic>
#include <new>
#include <stdexcept>

#include "core/substitution/parallel.h"

using namespace tunesmith;
using substitution::inParallel;

// Parts of a work on several threads.
class TstParallel : public QObject {
    Q_OBJECT
private slots:
    void allAreDone() {
        std::atomic<std::size_t> sum = 0;
        QVERIFY(inParallel(100, 4, {}, [&](std::size_t i) { return sum += i, Status(); }).ok());
        QCOMPARE(sum.load(), std::size_t(4950));
    }

    void whatAPartThrowsIsAnError_data() {
        QTest::addColumn<bool>("memory");
        QTest::addColumn<QString>("says");
        QTest::newRow("memory") << true << "out of memory";
        QTest::newRow("a bug") << false << "too long";
    }
    void whatAPartThrowsIsAnError() {
        QFETCH(const bool, memory);
        QFETCH(const QString, says);
        const Status status = inParallel(100, 4, {}, [memory](std::size_t i) -> Status {
            if (i == 7 && memory)
                throw std::bad_alloc();
            if (i == 7)
                throw std::length_error("too long");
            return {};
        });
        QVERIFY(!status.ok());
        QCOMPARE(QString::fromStdString(status.error().message), says);
    }
};

QTEST_GUILESS_MAIN(TstParallel)
#include "tst_parallel.moc"
