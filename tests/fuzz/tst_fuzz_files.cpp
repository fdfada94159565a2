// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QTest>

#include "core/base/rng.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

using namespace tunesmith;

namespace {

struct Target {
    const char* name;
    bool (*run)(std::span<const std::byte>);
    std::vector<std::pair<std::string, std::string>> (*seeds)();
    int rounds; // of bent seeds: as many as take about a second
};

const Target kTargets[] = {
    {"settings", fuzz::settings, fuzz::settingsSeeds, 4000}, {"npy", fuzz::npy, fuzz::npySeeds, 8000},
    {"rules", fuzz::rules, fuzz::ruleSeeds, 8000},           {"autotvm_log", fuzz::autotvmLog, fuzz::logSeeds, 8000},
    {"module_folder", fuzz::moduleFolder, fuzz::moduleSeeds, 4000}, {"store", fuzz::store, fuzz::storeSeeds, 100},
    {"workload", fuzz::workload, fuzz::workloadSeeds, 2000},
};

// With FUZZ_KEEP=FILE the bytes at hand are kept there, for a broken promise ends the process.
bool understands(const Target& target, const std::string& bytes) {
    if (const QString kept = qEnvironmentVariable("FUZZ_KEEP"); !kept.isEmpty()) {
        QFile file(kept);
        if (!file.open(QIODevice::WriteOnly))
            qFatal("cannot write %s", qPrintable(kept));
        file.write(bytes.data(), static_cast<qint64>(bytes.size()));
    }
    return target.run(std::as_bytes(std::span(bytes)));
}

std::string bent(Rng& rng, std::string bytes) {
    static const std::vector<std::string> pieces{"{", "}", "[", "]", "\"", ":", ",", "null", "-1", "1e999", "9223372036854775807", "-9223372036854775808", "\n", "\\", ";", "(", ")", "where ", "\xff\xfe", std::string("\0", 1)};
    for (std::uint64_t change = 0; change <= rng.below(4); ++change) {
        const std::size_t at = rng.below(bytes.size() + 1);
        switch (rng.below(5)) {
        case 0:
            if (at < bytes.size())
                bytes[at] = static_cast<char>(rng.below(256));
            break;
        case 1: bytes.erase(at, rng.below(5)); break;
        case 2: bytes.resize(at); break;
        case 3: bytes.insert(at, pieces[rng.below(pieces.size())]); break;
        default: bytes.insert(at, bytes.substr(rng.below(bytes.size() + 1), rng.below(16)));
        }
    }
    return bytes;
}

} // namespace

// The targets of a user's files over what is known: seeds, bent seeds, and files that once did harm (regressions/TARGET.WHAT.b64).
class TestFuzzFiles : public QObject {
    Q_OBJECT

private slots:
    void files_data() {
        QTest::addColumn<int>("target");
        for (int i = 0; i < static_cast<int>(std::size(kTargets)); ++i)
            QTest::newRow(kTargets[i].name) << i;
    }
    void files() {
        QFETCH(int, target);
        const Target& subject = kTargets[target];
        const auto seeds = subject.seeds();
        for (const auto& [name, bytes] : seeds)
            QVERIFY2(understands(subject, bytes) != name.starts_with("damaged") || subject.seeds == fuzz::storeSeeds, name.c_str()); // damage of a store may lie where nobody looks
        Rng rng(17);
        const int asked = qEnvironmentVariableIntValue("FUZZ_ROUNDS"); // for more of them
        for (int i = 0; i < (asked > 0 ? asked : subject.rounds); ++i)
            understands(subject, bent(rng, seeds[rng.below(seeds.size())].second));
        const QDir folder(QStringLiteral(REGRESSIONS));
        for (const QString& name : folder.entryList({QString(subject.name) + ".*.b64"}, QDir::Files)) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::ReadOnly));
            understands(subject, QByteArray::fromBase64(file.readAll()).toStdString());
        }
    }
};

QTEST_APPLESS_MAIN(TestFuzzFiles)
#include "tst_fuzz_files.moc"
