// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QDirIterator>
#include <QTest>

#include "core/base/rng.h"
#include "core/check/random_inputs.h"
#include "core/onnx/import.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

using namespace tunesmith;

// The fuzz targets over what is known: seeds, bent seeds, and files that once did harm.
class TestFuzzCorpus : public QObject {
    Q_OBJECT

    // With FUZZ_KEEP=FILE the bytes at hand are kept there, for a broken promise ends the process.
    void runBoth(const std::string& bytes) {
        if (const QString kept = qEnvironmentVariable("FUZZ_KEEP"); !kept.isEmpty()) {
            QFile file(kept);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(bytes.data(), static_cast<qint64>(bytes.size()));
        }
        const auto view = std::as_bytes(std::span(bytes));
        fuzz::import(view);
        fuzz::roundTrip(view);
    }

private slots:
    void seedsAreModels() {
        for (const auto& [name, bytes] : fuzz::seeds()) {
            const auto graph = importOnnxBytes(std::as_bytes(std::span(bytes)));
            const bool lacksFile = name == "outside";
            QVERIFY2(graph.ok() != lacksFile, (name + ": " + (graph.ok() ? "" : graph.error().message)).c_str());
            runBoth(bytes);
        }
    }

    // A seed that nothing computes would lead nowhere.
    void seedsRun() {
        for (const auto& [name, bytes] : fuzz::seeds()) {
            const auto graph = importOnnxBytes(std::as_bytes(std::span(bytes)));
            if (!graph.ok())
                continue;
            const auto typed = inferShapes(*graph, name == "shapes" ? DimBindings{{"n", 2}} : DimBindings());
            QVERIFY2(typed.ok(), (name + ": " + (typed.ok() ? "" : typed.error().message)).c_str());
            const auto inputs = randomInputs(*typed, 1);
            QVERIFY2(inputs.ok(), (name + ": " + (inputs.ok() ? "" : inputs.error().message)).c_str());
            const auto outputs = Interpreter(*typed).run(*inputs);
            QVERIFY2(outputs.ok(), (name + ": " + (outputs.ok() ? "" : outputs.error().message)).c_str());
        }
    }

    void smallModelsOfOthers() {
        const QString root = qEnvironmentVariable("TUNESMITH_TEST_DATA", QStringLiteral(TUNESMITH_SOURCE_DIR "/../shared"));
        constexpr qint64 kSmall = 8192;
        int count = 0;
        for (QDirIterator files(root + "/data", {"*.onnx"}, QDir::Files, QDirIterator::Subdirectories); files.hasNext();) {
            QFile file(files.next());
            if (file.size() > kSmall)
                continue;
            QVERIFY(file.open(QIODevice::ReadOnly));
            runBoth(file.readAll().toStdString());
            ++count;
        }
        if (count == 0)
            QSKIP("TUNESMITH_TEST_DATA names no folder with models below data");
    }

    void bentSeeds() {
        Rng rng(11);
        const auto list = fuzz::seeds();
        for (int i = 0; i < 4000; ++i) {
            std::string bent = list[rng.below(list.size())].second;
            for (std::uint64_t change = 0; change <= rng.below(6); ++change) {
                const std::size_t at = rng.below(bent.size());
                switch (rng.below(4)) {
                case 0: bent[at] = static_cast<char>(rng.below(256)); break;
                case 1: bent[at] = static_cast<char>(bent[at] ^ (1 << rng.below(8))); break;
                case 2: bent.erase(at, rng.below(4)); break;
                default: bent.insert(at, bent.substr(rng.below(bent.size()), rng.below(8)));
                }
            }
            runBoth(bent);
        }
    }

    void regressions() {
        const QDir folder(QStringLiteral(REGRESSIONS));
        for (const QString& name : folder.entryList({"*.b64"}, QDir::Files)) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::ReadOnly));
            runBoth(QByteArray::fromBase64(file.readAll()).toStdString());
        }
    }
};

QTEST_APPLESS_MAIN(TestFuzzCorpus)
#include "tst_fuzz_corpus.moc"
