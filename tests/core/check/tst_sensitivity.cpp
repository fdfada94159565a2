// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/sensitivity.h"

using namespace tunesmith;

namespace {

Tensor floats(const std::vector<float>& values) { return Tensor::of<float>({std::ssize(values)}, values); }

} // namespace

class TestSensitivity : public QObject {
    Q_OBJECT

private slots:
    void nudgesFloatsALittleAndNothingElse() {
        const std::vector<Tensor> inputs{floats({1, -200, 0, 3e-30F}), Tensor::ofInts({1, 2}), Tensor::scalar(4.0)};
        const auto moved = nudgedInputs(inputs, 5);
        bool changed = false;
        for (std::int64_t i = 0; i < 4; ++i) {
            const double a = inputs[0].asDouble(i), b = moved[0].asDouble(i);
            QVERIFY(std::abs(a - b) <= 1.2e-6 * std::abs(a));
            changed = changed || a != b;
        }
        QVERIFY(changed);
        QCOMPARE(moved[0].asDouble(2), 0.0);
        QCOMPARE(moved[1].asInts(), inputs[1].asInts());
        QVERIFY(std::abs(moved[2].asDouble(0) - 4) <= 4e-6 && moved[2].asDouble(0) != 4);
        QCOMPARE(nudgedInputs(inputs, 5)[0].asDouble(1), moved[0].asDouble(1));
    }

    void steadyModelsKeepTheUsualTolerance() {
        const std::vector<Tensor> outputs{floats({1, 2, 3})}, moved{floats({1, 2, 3.000003F})};
        QCOMPARE(toleranceOfSensitive(outputs, moved).absolute, Tolerance().absolute);
        QCOMPARE(toleranceOfSensitive(outputs, moved).relative, Tolerance().relative);
    }

    void sensitiveModelsGetMoreUpToABound() {
        const std::vector<Tensor> outputs{floats({0, 100})};
        QVERIFY(std::abs(toleranceOfSensitive(outputs, std::vector<Tensor>{floats({0.02F, 100})}).absolute - 2e-3) < 1e-6);
        QCOMPARE(toleranceOfSensitive(outputs, std::vector<Tensor>{floats({90, 100})}).absolute, 1e-2);
    }
};

QTEST_APPLESS_MAIN(TestSensitivity)
#include "tst_sensitivity.moc"
