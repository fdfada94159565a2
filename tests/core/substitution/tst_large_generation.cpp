// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "core/substitution/consequence.h"
#include "core/substitution/large_generation.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

std::vector<TermInput> someInputs() {
    std::vector<TermInput> inputs;
    for (TermInput& input : defaultInputs())
        if (input.name == "x1" || input.name == "x2" || input.name == "w1" || input.name == "w2" || input.name == "s1")
            inputs.push_back(std::move(input));
    return inputs;
}

std::vector<std::string> textsOf(const std::vector<Rule>& rules) {
    std::vector<std::string> texts;
    for (const Rule& rule : rules)
        texts.push_back(toText(rule));
    return texts;
}

} // namespace

// With three operators, of which only terms of two are kept in memory, over few inputs.
class LargeGenerationTest : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    int folders_ = 0;
    LargeGenerationResult whole_;

    LargeGenerationOptions options(int threads = 2) {
        LargeGenerationOptions made;
        made.enumeration.operators = 3;
        made.enumeration.threads = threads;
        made.enumeration.inputs = someInputs();
        made.folder = temporary_.filePath("run" + QString::number(folders_++)).toStdString();
        made.key = "key";
        made.operandsPerPart = 128;
        made.rulesPerPart = 128;
        return made;
    }

    // Begins again until it comes to an end, stopped when `reports` more were made each time.
    LargeGenerationResult generatedWithStops(const LargeGenerationOptions& wanted, int reports, int& starts) {
        for (starts = 1;; ++starts) {
            StopSource source;
            int seen = 0;
            auto made = generateLarge(wanted, source.token(), [&](const LargeGenerationProgress&) {
                if (++seen == reports)
                    source.requestStop();
            });
            if (made.ok() || !made.error().isCancelled())
                return take(std::move(made));
            reports += 2; // some steps are too short to be noticed
        }
    }

    void compareWithWhole(const LargeGenerationResult& other) {
        QCOMPARE(textsOf(other.rules), textsOf(whole_.rules));
        QVERIFY(std::ranges::equal(other.rules, whole_.rules, {}, &Rule::variables, &Rule::variables));
        QCOMPARE(other.ofFewer, whole_.ofFewer);
        QCOMPARE(other.terms, whole_.terms);
        QVERIFY(other.termBytes > 0);
        QCOMPARE(other.candidates, whole_.candidates);
        QCOMPARE(other.counts.untrue, whole_.counts.untrue);
        QCOMPARE(other.counts.renamed, whole_.counts.renamed);
    }

private slots:
    void initTestCase() {
        const LargeGenerationOptions wanted = options();
        whole_ = take(generateLarge(wanted));
        qInfo("%zu terms, %zu pairs and %zu of results, %zu candidates, %zu rules, %zu of them of fewer operators, %zu bytes; %.1f, %.1f, %.1f s", whole_.terms, whole_.counts.pairs,
              whole_.counts.shared, whole_.candidates, whole_.rules.size(), whole_.ofFewer, whole_.diskBytes, whole_.enumerationSeconds, whole_.comparisonSeconds, whole_.pruningSeconds);
        QVERIFY(!whole_.resumed && whole_.diskBytes > 0);
        QVERIFY(!std::filesystem::exists(wanted.folder));
    }

    void rulesAreTrueAndNew() {
        QVERIFY(whole_.rules.size() > whole_.ofFewer && whole_.ofFewer > 10);
        QCOMPARE(whole_.counts.pairs + whole_.counts.shared, whole_.counts.fromOperands + whole_.counts.untrue + whole_.counts.renamed + whole_.candidates);
        for (const Rule& rule : whole_.rules)
            QVERIFY2(holds(rule, 17) && holdsForReals(rule, 17), toText(rule).c_str());
        KnownRewrites fewer;
        for (std::size_t i = 0; i < whole_.rules.size(); ++i)
            if (i < whole_.ofFewer)
                fewer.add(whole_.rules[i]);
            else
                QVERIFY2(!isConsequence(whole_.rules[i], fewer, {2, 1000}), toText(whole_.rules[i]).c_str());
    }

    // What the generator in memory finds follows.
    void nothingIsMissing() {
        EnumerationOptions inMemory = options().enumeration;
        const auto expected = take(findCandidates(take(TermEnumeration::run(inMemory))));
        KnownRewrites known;
        for (const Rule& rule : whole_.rules)
            known.add(rule);
        int missing = 0;
        QVERIFY(expected.size() > whole_.rules.size());
        for (const Rule& rule : expected)
            if (!isImplied(rule, known.all, {3, 2000}) && !isImplied(rule, known.all, {6, 20000})) {
                ++missing;
                qInfo("missing: %s", toText(rule).c_str());
            }
        QCOMPARE(missing, 0);
    }

    void otherThreadsMemoryPartsAndSeedsFindTheSame() {
        compareWithWhole(take(generateLarge(options(1))));
        LargeGenerationOptions little = options(3);
        little.memory = whole_.termBytes + (std::size_t(32) << 20);
        compareWithWhole(take(generateLarge(little)));
        LargeGenerationOptions large = options();
        large.operandsPerPart = 1000;
        large.rulesPerPart = 7;
        compareWithWhole(take(generateLarge(large)));
        LargeGenerationOptions seeded = options();
        seeded.enumeration.seed = 5;
        compareWithWhole(take(generateLarge(seeded)));
    }

    void stoppedAndBegunAgain_data() {
        QTest::addColumn<int>("reports");
        QTest::newRow("at once") << 1;
        QTest::newRow("a little later") << 4;
        QTest::newRow("late") << 9;
    }
    void stoppedAndBegunAgain() {
        QFETCH(int, reports);
        const LargeGenerationOptions wanted = options();
        int starts = 0;
        const LargeGenerationResult made = generatedWithStops(wanted, reports, starts);
        QVERIFY(starts > 1 && made.resumed);
        compareWithWhole(made);
        QVERIFY(!std::filesystem::exists(wanted.folder));
    }

    // By a signal that nothing can be done about, at many instants; now and then with a part that is torn.
    void killedAndBegunAgain() {
        const LargeGenerationOptions wanted = options();
        for (int i = 1; i <= 12; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                (void)generateLarge(wanted);
                _exit(0);
            }
            QTest::qSleep(25 * i);
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
            const QDir folder(QString::fromStdString(wanted.folder.string()));
            const QStringList parts = folder.entryList({"[a-z]*.part"}, QDir::Files);
            if (i % 3 == 0 && !parts.isEmpty())
                QVERIFY(QFile::resize(folder.filePath(parts[37 * i % parts.size()]), 11));
        }
        compareWithWhole(take(generateLarge(wanted)));
    }

    void otherOptionsAreRefused() {
        LargeGenerationOptions wanted = options();
        StopSource source;
        QVERIFY(!generateLarge(wanted, source.token(), [&](const LargeGenerationProgress& progress) {
                     if (progress.diskBytes > 0)
                         source.requestStop();
                 }).ok());
        wanted.enumeration.seed = 3;
        const auto made = generateLarge(wanted);
        QVERIFY(!made.ok());
        const QString why = QString::fromStdString(made.error().message);
        QVERIFY2(why.contains("seed 1") && why.contains("seed 3") && why.contains("start anew"), qPrintable(why));
    }

    void tooLittleMemoryIsRefused() {
        LargeGenerationOptions wanted = options();
        wanted.memory = std::size_t(20) << 20;
        const auto made = generateLarge(wanted);
        QVERIFY(!made.ok());
        const QString why = QString::fromStdString(made.error().message);
        QVERIFY2(why.contains("20 MiB") && why.contains("is the least"), qPrintable(why));
    }
};

QTEST_GUILESS_MAIN(LargeGenerationTest)
#include "tst_large_generation.moc"
