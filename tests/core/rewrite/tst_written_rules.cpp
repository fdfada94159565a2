// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/rewrite/trials.h"
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
        const Verdict verdict = verify(*written, 500, 7);
        qInfo("%lld compared, %lld refused, %lld unfit", static_cast<long long>(verdict.counts.compared), static_cast<long long>(verdict.counts.refused),
              static_cast<long long>(verdict.counts.unfit));
        QVERIFY2(verdict.holds(), verdict.counterExample.c_str());
        QVERIFY(verdict.counts.compared >= 500);
        QVERIFY(!written->card().equation.empty());
    }

    // Where a rule's operators allow tensors without elements, it meets some.
    void emptyTensorsAreTriedToo() {
        std::size_t met = 0;
        for (const SubstitutionPtr& rule : writtenSubstitutions()) {
            std::int64_t compared = 0;
            Trials(*rule, 3).run(300, {}, [&](const Draft* draft, const Match&, const Attempt& attempt) {
                const bool empty = draft && std::ranges::any_of(draft->inputs(), [&](ValueNo input) { return elementCount(draft->shape(input)) == 0; });
                compared += empty && attempt.compared() ? 1 : 0;
                return attempt.outcome != Attempt::different;
            });
            met += compared > 0 ? 1 : 0;
        }
        qInfo("%zu of %zu rules", met, writtenSubstitutions().size());
        QVERIFY(4 * met > 3 * writtenSubstitutions().size());
    }
};

QTEST_APPLESS_MAIN(WrittenRules)
#include "tst_written_rules.moc"
