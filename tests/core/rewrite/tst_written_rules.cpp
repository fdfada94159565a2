// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/rewrite/verification.h"
#include "core/rewrite/written/written.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

class WrittenRules : public QObject {
    Q_OBJECT

private slots:
    void hold_data() {
        QTest::addColumn<int>("rule");
        int number = 0;
        for (const SubstitutionPtr& rule : writtenSubstitutions())
            QTest::addRow("%s", rule->card().name.c_str()) << number++;
    }

    void hold() {
        QFETCH(int, rule);
        const SubstitutionPtr written = writtenSubstitutions()[static_cast<std::size_t>(rule)];
        const Verdict verdict = verify(*written, 300, 7);
        qInfo("%lld compared, %lld refused, %lld unfit", static_cast<long long>(verdict.counts.compared), static_cast<long long>(verdict.counts.refused),
              static_cast<long long>(verdict.counts.unfit));
        QVERIFY2(verdict.holds(), verdict.counterExample.c_str());
        QVERIFY(verdict.counts.compared >= 300);
        QVERIFY(!written->card().equation.empty());
    }
};

QTEST_APPLESS_MAIN(WrittenRules)
#include "tst_written_rules.moc"
