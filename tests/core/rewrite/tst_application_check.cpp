// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/rewrite/application_check.h"
#include "core/rewrite/evaluate.h"
#include "core/rewrite/write_nodes.h"
#include "rewritten_model.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

// Makes an Abs an operator that is none, unless that is Abs once more.
class Wrong : public Substitution {
public:
    explicit Wrong(std::string op) : Substitution({"wrong-" + op, "abs(x) = " + op + "(x)", {}, false}), op_(std::move(op)) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (draft.is(anchor, "Abs"))
            found.push_back({anchor, {draft.output(anchor)}});
    }
    std::string_view apply(Draft& draft, const Match& match) const override {
        const ValueNo x = draft.operand(match.anchor, 0), made = draft.add(op_, {op_ == "Abs" ? draft.add("Neg", {x}) : x});
        draft.replace(match.values[0], made);
        return {};
    }
    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>&, Rng&) const override { return std::nullopt; }

private:
    std::string op_;
};

std::optional<std::string> mistakeIn(const Graph& graph, const Substitution& rule) {
    const Draft draft = take(draftOf(graph)).draft;
    const std::vector<Match> matches = matchesOf(draft, rule);
    if (matches.empty())
        return "not found";
    const Applied made = appliedOnTrial(draft, rule, matches[0]);
    return made.draft ? mistakeOf(rule, draft, *made.draft) : std::string(made.refusal);
}

Graph aroundAbs(bool more, const Shape& shape = {3, 4}) {
    Model model;
    const ValueId x = model.input(shape), y = model.add("Abs", {model.add("Mul", {x, model.number(2)})});
    return model.build({more ? model.add("Tanh", {model.add("Add", {y, x})}) : y});
}

} // namespace

// What builds with assertions ask of applications.
class ApplicationCheck : public QObject {
    Q_OBJECT

private slots:
    void namesTheRule_data() {
        QTest::addColumn<bool>("more");
        QTest::newRow("a result") << false;
        QTest::newRow("something that is read further on") << true; // and is not computed again
    }
    void namesTheRule() {
        QFETCH(bool, more);
        const auto mistake = mistakeIn(aroundAbs(more), Wrong("Neg"));
        QVERIFY(mistake.has_value());
        QVERIFY2(mistake->starts_with(more ? "wrong-Neg: operand 0 of Add is " : "wrong-Neg: result 0 is "), mistake->c_str());
        QVERIFY(mistakeIn(aroundAbs(more), Wrong("Relu")).has_value());
    }

    void saysNothingOfWhatIsRight() {
        QVERIFY(!mistakeIn(aroundAbs(false), Wrong("Abs")).has_value());
        QVERIFY(!mistakeIn(aroundAbs(true), Wrong("Abs")).has_value());
    }

    // Nothing can be told, and nothing is computed for long.
    void leavesAloneWhatItCannotTell() {
        QVERIFY(!canBeChecked(take(draftOf(aroundAbs(true, {200, 200}))).draft)); // large
        QVERIFY(!mistakeIn(aroundAbs(true, {200, 200}), Wrong("Neg")).has_value());
        Model open;
        const ValueId positions = open.add("NonZero", {open.input({3, 4})});
        QVERIFY(!canBeChecked(take(draftOf(open.build({open.add("Abs", {positions})}))).draft));
        Model random;
        QVERIFY(!canBeChecked(take(draftOf(random.build({random.add("RandomNormalLike", {random.input({3})})}))).draft));
        Model numbers;
        const ValueId index = numbers.graph.addInput("index", TensorType(DType::i64, Shape{2}));
        QVERIFY(!canBeChecked(take(draftOf(numbers.build({numbers.add("Gather", {numbers.input({3}), index})}))).draft));
        Model infinite;
        const ValueId x = infinite.input({3});
        const Graph divided = infinite.build({infinite.add("Abs", {infinite.add("Div", {x, infinite.number(0)})})});
        QVERIFY(!mistakeIn(divided, Wrong("Relu")).has_value());
        Model empty;
        QVERIFY(!mistakeIn(empty.build({empty.add("Abs", {empty.input({0, 4})})}), Wrong("Neg")).has_value());
    }

    // The rules that there are, on what they were made for.
    void findsNoMistakeInWrittenRules() {
        std::size_t checked = 0;
        for (const SubstitutionPtr& rule : writtenSubstitutions()) {
            Rng rng(11);
            for (int i = 0; i < 60; ++i) {
                const std::optional<Draft> draft = rule->sample(std::make_shared<OperatorTable>(), rng);
                for (const Match& match : draft ? matchesOf(*draft, *rule) : std::vector<Match>())
                    if (const Applied made = appliedOnTrial(*draft, *rule, match); made.draft) {
                        checked += canBeChecked(*draft) && canBeChecked(*made.draft) ? 1 : 0;
                        QCOMPARE(QString::fromStdString(mistakeOf(*rule, *draft, *made.draft).value_or("")), QString());
                    }
            }
        }
        QVERIFY2(checked > 1000, std::to_string(checked).c_str());
    }

    void aSixteenthIsInTheSample() {
        const Draft draft = take(draftOf(aroundAbs(true))).draft;
        int sampled = 0;
        for (int i = 0; i < 1600; ++i) {
            Draft other = draft;
            const ValueNo made = other.add("Add", {other.outputs()[0], other.constant(Tensor::scalar(static_cast<float>(i)))});
            other.setOutputs({made});
            QVERIFY(other.settle());
            QCOMPARE(isInCheckedSample(draft, other), isInCheckedSample(draft, other));
            sampled += isInCheckedSample(draft, other) ? 1 : 0;
        }
        QVERIFY2(sampled > 50 && sampled < 150, std::to_string(sampled).c_str());
    }
};

QTEST_APPLESS_MAIN(ApplicationCheck)
#include "tst_application_check.moc"
