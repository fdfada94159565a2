// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/substitution/axiom_check.h"
#include "core/substitution/rule_text.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

class AxiomsTest : public QObject {
    Q_OBJECT

private slots:
    void axiomsHold_data() {
        QTest::addColumn<std::size_t>("number");
        for (std::size_t i = 0; i < axioms().size(); ++i)
            QTest::newRow(axioms()[i].name.c_str()) << i;
    }
    void axiomsHold() {
        QFETCH(std::size_t, number);
        const AxiomCheck check = checkAxiom(axioms()[number], 2);
        QVERIFY2(check.holds(), check.problem.c_str());
    }

    // Without any one of its conditions, an axiom is wrong.
    void noConditionIsInVain() {
        for (const Axiom& axiom : axioms())
            for (std::size_t i = 0; i < axiom.conditions.size(); ++i) {
                Axiom bold = axiom;
                bold.conditions.erase(bold.conditions.begin() + static_cast<std::ptrdiff_t>(i));
                QVERIFY2(!checkAxiom(bold, 2).holds() || !checkAxiom(bold, 4).holds(), (axiom.name + ", condition " + std::to_string(i)).c_str());
            }
    }

    void wrongOnesAreFoundOut_data() {
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const char* text) { QTest::newRow(name) << QString(text); };
        row("relu of a sum", "relu(add(a, b)) = add(relu(a), relu(b)) where a: 2x2, b: 2x2");
        row("largest of a sum", "max_pool(add(a, b)) = add(max_pool(a), max_pool(b)) where a: 2x2x2x2, b: 2x2x2x2");
        row("matmul commutes", "matmul(a, b) = matmul(b, a) where a: 2x2, b: 2x2");
        row("conv and mean", "average_pool(conv(a, b)) = conv(average_pool(a), b) where a: 2x2x2x2, b: 2x2x3x3");
        row("largest of multiples", "max_pool(scale(a, b)) = scale(max_pool(a), b) where a: 2x2x2x2, b: 1");
        row("concat commutes", "concat0(a, b) = concat0(b, a) where a: 2x2, b: 2x2");
        row("groups", "conv(a, concat0(b, c)) = concat1(conv(a, b), conv(a, c)) where a: 2x2x2x2, b: 2x2x3x3, c: 2x2x3x3");
    }
    void wrongOnesAreFoundOut() {
        QFETCH(QString, text);
        Axiom axiom{"wrong", take(parseRule(text.toStdString())), {}, {}, true};
        axiom.legal = {axiom.rule.left[0], axiom.rule.right[0]};
        QVERIFY(!checkAxiom(axiom, 2).problem.empty());
    }

    void namesAreDifferent() {
        std::set<std::string> names;
        for (const Axiom& axiom : axioms())
            QVERIFY2(names.insert(axiom.name).second, axiom.name.c_str());
    }
};

QTEST_GUILESS_MAIN(AxiomsTest)
#include "tst_axioms.moc"
