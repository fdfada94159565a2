// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/rewrite/verification.h"
#include "core/rewrite/written/merging.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

class Merging : public QObject {
    Q_OBJECT

private slots:
    void holdsForRandomModels_data() {
        QTest::addColumn<int>("rule");
        for (std::size_t i = 0; i < rules().size(); ++i)
            QTest::newRow(rules()[i]->card().name.c_str()) << static_cast<int>(i);
    }

    void holdsForRandomModels() {
        QFETCH(int, rule);
        const Verdict verdict = verify(*rules()[static_cast<std::size_t>(rule)], 300, 7);
        QVERIFY2(verdict.holds(), verdict.counterExample.c_str());
        QCOMPARE_GE(verdict.counts.compared, 300);
        qInfo() << verdict.counts.compared << verdict.counts.refused << verdict.counts.unfit;
    }

private:
    static const std::vector<SubstitutionPtr>& rules() {
        static const std::vector<SubstitutionPtr> all = [] {
            std::vector<SubstitutionPtr> made;
            addConvolutionMerging(made);
            addProductMerging(made);
            addSplitMotion(made);
            addSplitConcat(made);
            addHeadMotion(made);
            return made;
        }();
        return all;
    }
};

QTEST_APPLESS_MAIN(Merging)
#include "tst_merging.moc"
