// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/optimize/graph_search.h"
#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"
#include "small_models.h"
#include "tests/core/rewrite/tried_rule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

// Searches that choose from all rules of the generator.
class TestStoredSearch : public QObject {
    Q_OBJECT

    std::vector<SubstitutionPtr> written_ = rewrite::writtenSubstitutions(), stored_;

    std::vector<SubstitutionPtr> all() const {
        std::vector<SubstitutionPtr> rules = written_;
        rules.insert(rules.end(), stored_.begin(), stored_.end());
        return rules;
    }

    static GraphSearchResult searched(const Draft& draft, const std::vector<SubstitutionPtr>& rules, std::int64_t budget) {
        LaunchCost cost;
        GraphSearchOptions options;
        options.budget = budget;
        return take(searchGraph(draft, RuleSet(rules), cost, options));
    }

    static void addModels() {
        QTest::addColumn<int>("model");
        QTest::newRow("fire modules") << 0;
        QTest::newRow("recurrent cell") << 1;
        QTest::newRow("attention") << 2;
    }
    static Graph modelOf(int number) { return number == 0 ? fireModules(3) : number == 1 ? recurrentCell(2) : attention(2); }

private slots:
    void initTestCase() {
        substitution::EnumerationOptions options;
        options.threads = 2;
        const auto rules = *substitution::withoutDerived(take(substitution::findCandidates(take(substitution::TermEnumeration::run(options)))), 2);
        for (const substitution::Rule& rule : rules) {
            substitution::StoredRule stored;
            stored.name = "generated/" + std::to_string(stored_.size());
            stored.rule = rule;
            rewrite::state(*rewrite::verifyRule(rule, 30, 1), stored);
            if (const SubstitutionPtr substitution = rewrite::storedSubstitution(stored))
                stored_.push_back(substitution);
        }
        qInfo("%zu of %zu rules lead somewhere, %lld of these simplify", stored_.size(), rules.size(),
              static_cast<long long>(std::ranges::count_if(stored_, [](const SubstitutionPtr& rule) { return rule->card().simplifies; })));
        QVERIFY(stored_.size() > rules.size() / 2);
    }

    void moreRulesNeverFindLess_data() { addModels(); }
    void moreRulesNeverFindLess() {
        QFETCH(int, model);
        const rewrite::ModelDraft draft = take(rewrite::draftOf(modelOf(model)));
        for (const std::int64_t budget : {1, 10, 100}) {
            const GraphSearchResult fewer = searched(draft.draft, written_, budget), more = searched(draft.draft, all(), budget);
            QVERIFY(more.best->cost <= fewer.best->cost);
        }
    }

    void whatIsFoundIsEqual_data() { addModels(); }
    void whatIsFoundIsEqual() {
        QFETCH(int, model);
        const Graph before = modelOf(model);
        const rewrite::ModelDraft draft = take(rewrite::draftOf(before));
        for (const auto& rules : {stored_, all()}) {
            const GraphSearchResult found = searched(draft.draft, rules, 50);
            for (const StatePtr& state : trailOf(found.best)) {
                const Graph after = take(foldConstants(take(rewrite::graphOf(draft, state->draft)), FoldOptions::weights()));
                QCOMPARE(QString::fromStdString(rewrite::differenceBetween(before, after, {0, 1e-5})), QString());
            }
        }
    }

    // Random walks: any move, not only those that lead to something cheap. Moves that are found near what changed are all that there are.
    void walksKeepWhatTheModelComputes_data() { addModels(); }
    void walksKeepWhatTheModelComputes() {
        QFETCH(int, model);
        const Graph before = modelOf(model);
        const rewrite::ModelDraft source = take(rewrite::draftOf(before));
        const RuleSet rules(all());
        Rng rng(11);
        for (int walk = 0; walk < 6; ++walk) {
            Draft draft = source.draft;
            std::vector<Move> moves = rules.moves(draft);
            for (int step = 0; step < 12 && !moves.empty(); ++step) {
                const Move move = moves[rng.below(moves.size())];
                auto made = rewrite::applied(draft, rules[move.rule], move.match);
                if (!made.draft)
                    continue;
                std::vector<std::uint32_t> simplifications;
                QVERIFY(rules.simplify(*made.draft, &draft, simplifications));
                moves = rules.moves(*made.draft, draft, moves);
                for (const Move& each : rules.moves(*made.draft))
                    QVERIFY2(std::ranges::find(moves, each) != moves.end(), rules[each.rule].card().equation.c_str());
                draft = std::move(*made.draft);
            }
            const Graph after = take(foldConstants(take(rewrite::graphOf(source, draft)), FoldOptions::weights()));
            QCOMPARE(QString::fromStdString(rewrite::differenceBetween(before, after, {0, 1e-4})), QString());
        }
    }
};

QTEST_APPLESS_MAIN(TestStoredSearch)
#include "tst_stored_search.moc"
