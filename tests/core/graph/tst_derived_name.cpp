// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"

using namespace tunesmith;

class TestDerivedName : public QObject {
    Q_OBJECT

private slots:
    void shortOnesStay() {
        QCOMPARE(derivedName("conv1", ".bias"), std::string("conv1.bias"));
        QCOMPARE(derivedName("", ""), std::string());
        const std::string longest(kLongestDerivedName, 'n');
        QCOMPARE(shortName(longest), longest);
    }

    void longOnesAreCut() {
        const std::string long1(1'000'000, 'n');
        const std::string name = derivedName(long1, ".bias");
        QVERIFY(name.size() <= kLongestDerivedName && name.starts_with(std::string(200, 'n')));
        QCOMPARE(derivedName(long1, ".bias"), name);
        QVERIFY(derivedName(long1, ".scale") != name);
        QVERIFY(derivedName(long1 + "n", ".bias") != name);
        QVERIFY(derivedName(name, ".bias").size() <= kLongestDerivedName && derivedName(name, ".bias") != name);
    }

    // Between two characters, wherever they begin.
    void cutsBetweenCharacters() {
        for (int before = 0; before < 4; ++before) {
            std::string text(before, 'a');
            for (int i = 0; i < 200; ++i)
                text += "\xf0\x9f\x8c\x8d"; // of four bytes
            const std::string name = shortName(text), head = name.substr(0, name.rfind('~'));
            QCOMPARE((head.size() - static_cast<std::size_t>(before)) % 4, std::size_t(0));
            QVERIFY(text.starts_with(head));
        }
    }

    void buildersDeriveShortNames() {
        const std::string long1(1'000'000, 'n');
        GraphBuilder builder;
        const ValueId x = builder.addInput(long1, TensorType(DType::f32, Shape{2}));
        for (int i = 0; i < 3; ++i) {
            const ValueId y = builder.add("Split", {x}, {}, 3, long1);
            QVERIFY(builder.value(y).name.size() <= kLongestDerivedName);
        }
        QCOMPARE(builder.value(x).name, long1); // which users know
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < builder.valueCount(); ++i)
            bytes += builder.value(ValueId(static_cast<std::int64_t>(i))).name.size();
        QVERIFY(bytes < long1.size() + 10 * kLongestDerivedName);
        for (std::size_t i = 1; i < builder.nodeCount(); ++i) // the first one has the name that it was given
            QVERIFY(builder.node(NodeId(static_cast<std::int64_t>(i))).name.size() <= kLongestDerivedName);
    }
};

QTEST_GUILESS_MAIN(TestDerivedName)
#include "tst_derived_name.moc"
