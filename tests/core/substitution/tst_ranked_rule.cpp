// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "core/substitution/candidates.h"
#include "core/substitution/rule_merge.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

const std::vector<RankedRule>& someRules() {
    static const std::vector<RankedRule> rules = [] {
        EnumerationOptions options;
        options.operators = 2;
        std::vector<RankedRule> made;
        for (Rule& rule : take(findCandidates(take(TermEnumeration::run(options)))))
            made.push_back(ranked(std::move(rule)));
        return made;
    }();
    return rules;
}

bool same(const RankedRule& a, const RankedRule& b) {
    return !(a < b) && !(b < a) && a.text == b.text && a.operators == b.operators && a.rule.nodes == b.rule.nodes && a.rule.variables == b.rule.variables &&
           a.rule.left == b.rule.left && a.rule.right == b.rule.right;
}

} // namespace

class RankedRuleTest : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    PartFolder folder(const char* name) const { return take(PartFolder::open(temporary_.filePath(name).toStdString(), "lists of rules", "key")); }

private slots:
    void smallAndGeneralOnesComeFirst() {
        QVERIFY(someRules().size() > 100);
        QVERIFY(std::is_sorted(someRules().begin(), someRules().end()));
        QVERIFY(someRules().front().operators < someRules().back().operators);
    }

    // In pieces that end anywhere within a rule.
    void writtenAndReadAgain() {
        Bytes bytes(7);
        for (const RankedRule& rule : someRules())
            append(rule, bytes);
        for (const std::size_t piece : {std::size_t(1), std::size_t(100), std::size_t(1) << 20}) {
            RuleReader reader([&](std::size_t offset, std::size_t count) {
                const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(offset, bytes.size()));
                return Result<Bytes>(Bytes(begin, begin + std::min(static_cast<std::ptrdiff_t>(count), bytes.end() - begin)));
            }, 7, piece);
            for (const RankedRule& rule : someRules())
                QVERIFY(same(*take(reader.next()), rule));
            QVERIFY(!take(reader.next()));
        }
    }

    void aTornListIsAnError() {
        Bytes bytes;
        append(someRules().front(), bytes);
        bytes.pop_back();
        RuleReader reader([&](std::size_t offset, std::size_t) { return Result<Bytes>(offset == 0 ? bytes : Bytes()); }, 0, 10);
        QVERIFY(!reader.next().ok());
    }

    // Whatever it says: nothing is read beyond its end, and no list is longer than it.
    void aBentListIsReadWithinItsBounds() {
        Bytes whole;
        append(someRules().front(), whole);
        append(someRules().back(), whole);
        for (std::size_t at = 0; at < whole.size(); ++at)
            for (const int value : {0, 1, 0x7f, 0xff}) {
                Bytes bent = whole;
                bent[at] = std::byte(value);
                RuleReader reader([&](std::size_t offset, std::size_t count) {
                    const auto begin = bent.begin() + static_cast<std::ptrdiff_t>(std::min(offset, bent.size()));
                    return Result<Bytes>(Bytes(begin, begin + std::min(static_cast<std::ptrdiff_t>(count), bent.end() - begin)));
                }, 0, 10);
                for (auto rule = reader.next(); rule.ok() && *rule; rule = reader.next())
                    QVERIFY((**rule).rule.nodes.size() < whole.size());
            }
    }

    void listsAreMerged() {
        PartFolder parts = folder("merge");
        std::vector<RuleList> lists;
        for (std::size_t list = 0; list < 5; ++list) { // each rule in two of them
            Bytes bytes(list);
            for (std::size_t i = 0; i < someRules().size(); ++i)
                if (i % 5 == list || i % 4 == list)
                    append(someRules()[i], bytes);
            lists.push_back({"list" + std::to_string(list), list});
            QVERIFY(parts.write(lists.back().part, bytes).ok());
        }
        QCOMPARE(take(mergeRules(parts, lists, "all", 50, 1 << 16, {})), someRules().size());
        std::size_t next = 0;
        for (std::size_t part = 0; parts.has("all-" + std::to_string(part)); ++part)
            for (const RankedRule& rule : take(rulesIn(parts, "all-" + std::to_string(part))))
                QVERIFY(same(rule, someRules()[next++]));
        QCOMPARE(next, someRules().size());
    }

    void mergingStops() {
        PartFolder parts = folder("stop");
        Bytes bytes;
        append(someRules().front(), bytes);
        QVERIFY(parts.write("list", bytes).ok());
        StopSource source;
        source.requestStop();
        const auto merged = mergeRules(parts, {{"list", 0}}, "all", 50, 1 << 16, source.token());
        QVERIFY(!merged.ok() && merged.error().isCancelled());
    }
};

QTEST_GUILESS_MAIN(RankedRuleTest)
#include "tst_ranked_rule.moc"
