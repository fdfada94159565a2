// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/rewrite/verification.h"
#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

class GeneratedRules : public QObject {
    Q_OBJECT

private slots:
    void haveConditionsUnderWhichTheyHold() {
        substitution::EnumerationOptions options;
        options.threads = 2;
        const auto all = substitution::TermEnumeration::run(options);
        QVERIFY(all.ok());
        const auto candidates = substitution::findCandidates(*all);
        QVERIFY(candidates.ok());
        const auto rules = substitution::withoutDerived(*candidates, 2);
        QVERIFY(rules.has_value());
        int usable = 0, guarded = 0, never = 0, directions = 0;
        std::int64_t compared = 0;
        QElapsedTimer clock;
        clock.start();
        for (const Rule& rule : *rules)
            for (const bool fromRight : directionsOf(rule)) {
                ++directions;
                const NarrowedRule narrowed = narrow(rule, fromRight, 100, 1);
                compared += narrowed.verdict.counts.compared;
                const PatternSubstitution made("", rule, fromRight, narrowed.conditions);
                usable += narrowed.usable() ? 1 : 0;
                guarded += narrowed.usable() && !narrowed.conditions.empty() ? 1 : 0;
                never += narrowed.verdict.counts.compared == 0 ? 1 : 0;
                QString text = QString::fromStdString(made.card().equation);
                for (const auto& c : made.card().conditions)
                    text += " IF " + QString::fromStdString(c);
                qInfo().noquote() << (narrowed.usable() ? "ok " : "NO ") << narrowed.verdict.counts.compared << narrowed.verdict.counts.refused << narrowed.verdict.counts.unfit << text
                                  << QString::fromStdString(narrowed.counterExample);
            }
        qInfo() << directions << "directions," << usable << "usable," << guarded << "guarded," << never << "never," << compared << "compared in" << clock.elapsed() << "ms";
    }
};

QTEST_APPLESS_MAIN(GeneratedRules)
#include "tst_generated_rules.moc"
