// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/substitution/axiom_check.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

// Every axiom at every shape with extents up to 4.
class AxiomsWholeTest : public QObject {
    Q_OBJECT

private slots:
    void axiomsHold_data() {
        QTest::addColumn<std::size_t>("number");
        for (std::size_t i = 0; i < axioms().size(); ++i)
            QTest::newRow(axioms()[i].name.c_str()) << i;
    }
    void axiomsHold() {
        QFETCH(std::size_t, number);
        const AxiomCheck check = checkAxiom(axioms()[number], 4);
        QVERIFY2(check.holds(), check.problem.c_str());
        shapes_ += check.shapes;
    }
    void manyShapesWereTried() {
        qInfo("%lld shapes", static_cast<long long>(shapes_));
        QVERIFY(shapes_ > 200'000);
    }

private:
    std::int64_t shapes_ = 0;
};

QTEST_GUILESS_MAIN(AxiomsWholeTest)
#include "tst_axioms_whole.moc"
