// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <numeric>
#include <set>

#include "core/loops/layout.h"

using namespace tunesmith;
using namespace tunesmith::loops;

class TestLayout : public QObject {
    Q_OBJECT

private slots:
    void textAndSize() {
        const Layout blocked = Layout::blocked(4, 1, 16);
        QCOMPARE(blocked.text(), std::string("NCHW16c"));
        QCOMPARE(blocked.physicalShape({1, 40, 7, 5}), (Shape{1, 3, 7, 5, 16}));
        QCOMPARE(Layout::weights(4, 8, 16).text("OIHW"), std::string("OIHW8i16o"));
        QVERIFY(Layout::blocked(4, 1, 1).isRowMajor());
        QVERIFY(!blocked.isRowMajor());
        QCOMPARE(Layout::rowMajor(0).elementCount({}), std::int64_t{1});
        QCOMPARE(blocked.room({1, 58, 3, 3}, 1), std::int64_t{64});
        QCOMPARE(blocked.room({1, 58, 3, 3}, 2), std::int64_t{3});
        QCOMPARE(Layout::weights(4, 8, 16).room({24, 20, 1, 1}, 0), std::int64_t{32});
    }

    // Packing is a bijection onto distinct places that offset() names; what is left over is zero.
    void packAndUnpack_data() {
        QTest::addColumn<int>("which");
        for (int i = 0; i < 5; ++i)
            QTest::addRow("layout %d", i) << i;
    }
    void packAndUnpack() {
        QFETCH(int, which);
        const std::vector<Layout> layouts{Layout::rowMajor(4), Layout::blocked(4, 1, 8), Layout::weights(4, 4, 8), Layout::permuted({2, 0, 3, 1}),
                                          Layout({{1, 3, 0}, {0, 1, 0}, {2, 1, 0}, {3, 1, 0}, {1, 1, 3}})};
        const Layout& layout = layouts[static_cast<std::size_t>(which)];
        const Shape shape{5, 10, 2, 3};
        std::vector<float> values(static_cast<std::size_t>(elementCount(shape)));
        std::iota(values.begin(), values.end(), 1.0f);
        const Tensor tensor = Tensor::of<float>(shape, values);
        const Tensor packed = pack(tensor, layout);
        QCOMPARE(packed.count(), layout.elementCount(shape));
        const Tensor back = unpack(packed, shape, layout);
        QVERIFY(std::equal(values.begin(), values.end(), back.data<float>().begin()));
        std::set<std::int64_t> places;
        for (std::int64_t i = 0; i < tensor.count(); ++i) {
            const std::vector<Expr> index{Expr(i / 60), Expr(i / 6 % 10), Expr(i / 3 % 2), Expr(i % 3)};
            const std::int64_t place = *constantValue(layout.offset(shape, index));
            QVERIFY(places.insert(place).second);
            QCOMPARE(packed.asDouble(place), tensor.asDouble(i));
        }
        for (std::int64_t i = 0; i < packed.count(); ++i)
            if (!places.contains(i))
                QCOMPARE(packed.asDouble(i), 0.0);
    }
};

QTEST_GUILESS_MAIN(TestLayout)
#include "tst_layout.moc"
