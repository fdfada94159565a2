// SPDX-License-Identifier: GPL-3.0-or-later
#include <QRegularExpression>
#include <QTest>
#include <map>

#include "core/workbench/conformance.h"

using namespace tunesmith;

// ONNX's packaged suite through the engines. What does not pass is listed in core/onnx/README.md with the reason; whatever
// passes with the reference kernels passes compiled.
class TestConformance : public QObject {
    Q_OBJECT

    // Sequences and optional values, training, strings, images, and what other domains have.
    static bool isOutOfScope(const std::string& name) {
        static const QRegularExpression scope(
            "sequence|_seq$|_seq_none$|optional|_opt$|adagrad|adam|momentum|gradient|"
            "^test_(string|regex|image_decoder|flexattention|ai_onnx_ml)");
        return scope.match(QString::fromStdString(name)).hasMatch();
    }
    static bool isKnown(const std::string& name) {
        static const QRegularExpression known("^test_castlike_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)(_expanded)?$|"
                                              "^test_resize_downsample_scales_(cubic|linear)_align_corners$|"
                                              "^test_maxunpool_export_with_output_shape$");
        return known.match(QString::fromStdString(name)).hasMatch();
    }

    // Modules neither take nor give strings and numbers of less than 8 bits, and say so; all else they compute.
    static bool mayBeNoModule(const ConformanceCase& one) {
        return one.engine == Engine::module && one.status == ConformanceCase::Status::unsupported;
    }

    struct Passed {
        std::map<Engine, std::size_t> count; // of those in scope
        std::size_t wanted = 0;
        QStringList failures;
    };
    static Passed countPassed(const std::vector<ConformanceCase>& cases) {
        Passed count;
        for (const ConformanceCase& each : cases) {
            if (isOutOfScope(each.name))
                continue;
            const bool ok = each.status == ConformanceCase::Status::passed;
            count.wanted += each.engine == Engine::reference;
            count.count[each.engine] += ok;
            if (!ok && !isKnown(each.name) && !mayBeNoModule(each))
                count.failures << QString::fromStdString(each.name + " (" + engineName(each.engine) + "): " + each.detail);
        }
        return count;
    }

private slots:
    void suites_data() {
        QTest::addColumn<QStringList>("folders");
        QTest::addColumn<bool>("modules"); // of one suite: exporting takes longest
        QTest::addColumn<int>("atLeast");
        const QString packaged = "/usr/share/libonnx-testdata/data/", shared = qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared") + "/data/";
        QTest::newRow("packaged, opsets to 17")
            << QStringList{packaged + "node", packaged + "simple", packaged + "pytorch-converted", packaged + "pytorch-operator"} << false << 1020;
        QTest::newRow("cases of opsets to 28") << QStringList{shared + "onnx-node"} << true << 0;
    }
    void suites() {
        QFETCH(const QStringList, folders);
        QFETCH(const bool, modules);
        QFETCH(const int, atLeast);
        ConformanceRequest request;
        request.engines = {Engine::reference, Engine::compiled};
        if (modules)
            request.engines.push_back(Engine::module);
        for (const QString& folder : folders)
            request.folders.push_back(folder.toStdString());
        if (!std::filesystem::exists(request.folders[0]))
            QSKIP(qPrintable(folders[0] + " is not there"));
        const auto cases = runConformance(request);
        QVERIFY2(cases.ok(), cases.ok() ? "" : cases.error().message.c_str());
        const Passed passed = countPassed(*cases);
        QVERIFY2(passed.failures.isEmpty(), qPrintable(passed.failures.join('\n')));
        QVERIFY(static_cast<int>(passed.count.at(Engine::reference)) >= atLeast && passed.wanted > 0);
        for (const auto& [engine, count] : passed.count) {
            const double share = engine == Engine::module ? 0.95 : 0.97;
            QVERIFY2(static_cast<double>(count) >= share * static_cast<double>(passed.wanted), qPrintable(QString("%1: %2 of %3").arg(engineName(engine)).arg(count).arg(passed.wanted)));
        }
    }
};

QTEST_GUILESS_MAIN(TestConformance)
#include "tst_conformance.moc"
