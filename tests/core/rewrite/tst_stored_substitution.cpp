// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/rewrite/verification.h"
#include "tried_rule.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;
using substitution::StoredRule;

namespace {

const std::string kMerge = "matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3)))"
                           " where v1: 2x4, v2: 4x4, v3: 4x4";
const std::string kShared = "conv(v1, v2); conv(v1, v3) = split1a(conv(v1, concat0(v2, v3))); split1b(conv(v1, concat0(v2, v3)))"
                            " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3";
const std::string kChain = "matmul(matmul(v1, v2), v3) = matmul(v1, matmul(v2, v3)) where v1: 4x4, v2: 4x4, v3: 4x4";

} // namespace

// Rules of the store as searches have them.
class StoredSubstitutions : public QObject {
    Q_OBJECT

private slots:
    void directionsThatLeadSomewhere_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("uses"); // of both directions; - where there is none
        const auto row = [](const char* name, const std::string& text, const char* uses) { QTest::newRow(name) << QString::fromStdString(text) << uses; };
        row("regrouping", kChain, "move move");
        row("merging", kMerge, "move move");
        row("a value for what undoes itself", "v1 = transpose(transpose(v1)) where v1: 2x4", "- simplification");
        row("a part for a split of a concat", "v1 = split0a(concat0(v1, v2)) where v1: 2x4, v2: 2x4", "- simplification");
        row("an operator for itself twice", "relu(v1) = relu(relu(v1)) where v1: 2x4", "none simplification");
        row("a constant for nothing", "relu(v1) = conv_relu(v1, conv_identity33) where v1: 2x4x5x5", "none move");
        row("a constant for an operator", "average_pool(v1) = conv(v1, pool_weights) where v1: 2x4x5x5", "none move");
        row("around and back", "relu(v1) = transpose(relu(transpose(v1))) where v1: 2x4", "none move");
        row("more work than it needs", "matmul(v1, v2) = split0a(matmul(concat0(v1, v2), v2)) where v1: 4x4, v2: 4x4", "none move");
        row("twice the data", "conv(v1, v2) = conv(concat1(v1, v1), v2) where v1: 2x2x5x5, v2: 4x2x3x3", "none move");
        row("larger kernels", "conv(v1, v2) = conv(v1, enlarge(v2)) where v1: 2x4x5x5, v2: 4x4x1x3", "none move");
        row("two for one", "mul(add(v1, v2), v3) = add(mul(v1, v3), mul(v2, v3)) where v1: 2x4, v2: 2x4, v3: 2x4", "none move");
        row("operands in another order", "add(mul(v1, v2), v3) = add(v3, mul(v2, v1)) where v1: 2x4, v2: 2x4, v3: 2x4", "none none");
        row("constants", "product_identity = transpose(product_identity)", "- -");
    }
    void directionsThatLeadSomewhere() {
        QFETCH(QString, text);
        QFETCH(QString, uses);
        const Rule rule = substitution::parseRule(text.toStdString()).value();
        const std::vector<bool> directions = directionsOf(rule);
        QStringList told;
        for (const bool fromRight : {false, true}) {
            const DirectionUse use = useOf(Pattern(rule, fromRight));
            const char* const name = use == DirectionUse::none ? "none" : use == DirectionUse::move ? "move" : "simplification";
            told << (std::ranges::count(directions, fromRight) > 0 ? name : "-");
        }
        QCOMPARE(told.join(' '), uses);
    }

    void cardsAreThoseOfTheStore() {
        StoredRule stored = verifiedRule(kShared);
        stored.name = "generated/112";
        const SubstitutionCard both = storedSubstitution(stored)->card();
        QCOMPARE(both.name, std::string("generated/112"));
        QCOMPARE(both.equation, kShared.substr(0, kShared.find(" where")));
        QCOMPARE(both.conditions, stored.preconditions);
        QVERIFY(!both.simplifies);
        QCOMPARE(both.evidence, "tried on " + std::to_string(stored.trials) + " random models");
        stored.status = substitution::RuleStatus::proved;
        stored.proofConditions = {"v1 is small", "v2 is large"};
        QVERIFY(storedSubstitution(stored)->card().evidence.starts_with("proved for all shapes where v1 is small, v2 is large; tried on "));
        stored.whyNotProved = "z3 is not installed";
        QVERIFY(storedSubstitution(stored)->card().evidence.starts_with("not proved: z3 is not installed; tried on "));
        const SubstitutionCard one = storedSubstitution(verifiedRule("v1 = transpose(transpose(v1)) where v1: 2x4"))->card();
        QCOMPARE(one.equation, std::string("transpose(transpose(v1)) = v1"));
        QVERIFY(one.simplifies && one.conditions.empty());
        const SubstitutionCard guarded = storedSubstitution(verifiedRule("relu(v1) = conv_relu(v1, conv_identity33) where v1: 2x4x5x5"))->card();
        QCOMPARE(guarded.conditions, std::vector<std::string>{"convolutions have pads of half a kernel"});
    }

    void whatIsNotVerifiedIsNone() {
        StoredRule stored;
        stored.rule = substitution::parseRule(kMerge).value();
        QVERIFY(!storedSubstitution(stored));
        QVERIFY(storedSubstitution(verifiedRule(kMerge)));
        QVERIFY(!storedSubstitution(verifiedRule("relu(add(v1, v2)) = add(relu(v1), relu(v2)) where v1: 2x4, v2: 2x4")));
        QVERIFY(!storedSubstitution(verifiedRule("conv_relu(v1, v2) = relu(conv(v1, v2)) where v1: 2x4x5x5, v2: 4x4x3x3"))); // a definition
    }

    void bothDirectionsAreFound() {
        const SubstitutionPtr rule = storedSubstitution(verifiedRule(kChain));
        for (const bool left : {false, true}) {
            Model model;
            const auto product = [&](ValueId a, ValueId b) { return model.add("MatMul", {a, b}); };
            const ValueId a = model.input({3, 4}), b = model.weight({4, 5}), c = model.input({5, 2});
            const Tried result = tried(model.build({left ? product(product(a, b), c) : product(a, product(b, c))}), *rule);
            QCOMPARE(result.applied, std::size_t(1));
            QCOMPARE(result.problem, std::string());
        }
        QVERIFY(verify(*rule, 200, 5).holds());
    }

    void itsConditionsAreAsked() {
        Model model;
        const ValueId x = model.input({1, 4, 6, 6});
        const auto conv = [&] { return model.add("Conv", {x, model.weight({4, 2, 3, 3})}, {{"group", std::int64_t(2)}}); };
        const ValueId first = conv();
        const Tried result = tried(model.build({first, conv()}), *storedSubstitution(verifiedRule(kShared)));
        QCOMPARE(result.found, std::size_t(2));
        QCOMPARE(result.applied, std::size_t(0));
        QCOMPARE(result.refusal, std::string("conv(v1, v2) has one group"));
    }

    void aMatchThatIsGoneIsRefused() {
        Model model;
        const ValueId x = model.input({3, 4}), y = model.add("MatMul", {x, model.weight({4, 5})}), z = model.add("MatMul", {x, model.weight({4, 2})});
        const ModelDraft made = draftOf(model.build({y, z})).value();
        const SubstitutionPtr rule = storedSubstitution(verifiedRule(kMerge));
        const std::vector<Match> matches = matchesOf(made.draft, *rule);
        QCOMPARE(matches.size(), std::size_t(2)); // in either order
        const Applied first = applied(made.draft, *rule, matches[0]);
        QVERIFY(first.draft.has_value());
        QCOMPARE(applied(*first.draft, *rule, matches[1]).refusal, std::string_view("it is not there any more"));
    }
};

QTEST_APPLESS_MAIN(StoredSubstitutions)
#include "tst_stored_substitution.moc"
