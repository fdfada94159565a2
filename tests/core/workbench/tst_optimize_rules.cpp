// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/store/store.h"
#include "core/workbench/optimize.h"
#include "core/workbench/rule_import.h"
#include "core/workbench/rule_store.h"

using namespace tunesmith;

namespace {

const QByteArray kRules =
    "matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3))) where v1: 2x4, v2: 4x4, v3: 4x4; name: mine/1\n"
    "v1 = transpose(transpose(v1)) where v1: 2x4; name: mine/2\n"
    "add(matmul(v1, v2), matmul(v1, v3)) = matmul(v1, add(v2, v3)) where v1: 2x4, v2: 4x4, v3: 4x4; name: mine/3\n"
    "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4; name: mine/4\n"
    "relu(add(v1, v2)) = add(relu(v1), relu(v2)) where v1: 2x4, v2: 2x4; name: false/1\n";

// A product of a value with two weights, which rules say is one.
Graph twoProducts() {
    GraphBuilder builder("sums");
    builder.setOpset({}, 13);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{3, 4}));
    const auto turned = [&](ValueId value) { return builder.add("Transpose", {value}, {{"perm", std::vector<std::int64_t>{1, 0}}}); };
    const auto product = [&](std::int64_t seed) {
        Tensor weights = Tensor::zeros(DType::f32, {4, 5});
        for (float& weight : weights.mutableData<float>())
            weight = static_cast<float>((seed = seed * 5 % 17)) / 8;
        return builder.add("MatMul", {turned(turned(x)), builder.addConstant({}, weights)});
    };
    const ValueId first = product(1);
    builder.setOutputs({builder.add("Relu", {builder.add("Add", {first, product(3)})})});
    return std::move(builder.build()).value();
}

bool has(const std::vector<GraphRule>& rules, const std::string& name) {
    return std::ranges::find(rules, name, &GraphRule::name) != rules.end();
}

} // namespace

// Which rules a search works with.
class OptimizeRules : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::string store_;

    OptimizeRequest request(const std::string& rules, const std::vector<std::string>& without = {}) const {
        OptimizeRequest made;
        made.cost = "kernels";
        made.rules = rules;
        made.store = store_;
        made.without = without;
        return made;
    }

    std::string import(const QString& store, const QByteArray& rules, const StopToken& stop = {}) const {
        QFile file(folder_.filePath("rules.txt"));
        if (file.open(QIODevice::WriteOnly))
            file.write(rules);
        file.close();
        const std::string path = folder_.filePath(store).toStdString();
        const auto imported = importRules(path, file.fileName().toStdString(), {100, 0, 2, 1}, {stop, {}});
        return path;
    }

    static std::string problem(const OptimizeRequest& request) {
        const auto made = optimizeModel(openModel("encoder").value(), request);
        return made.ok() ? "" : made.error().message;
    }

private slots:
    void initTestCase() { store_ = import("rules.db", kRules); }

    void setsHaveWhatTheySay() {
        const auto written = graphRules(request("written")).value(), stored = graphRules(request("stored")).value(), all = graphRules(request("all")).value();
        QVERIFY(has(written, "merge-products") && !has(written, "mine/1"));
        QVERIFY(has(stored, "mine/1") && has(stored, "mine/2") && has(stored, "mine/3"));
        QVERIFY(!has(stored, "mine/4") && !has(stored, "false/1"));
        QCOMPARE(stored.size(), std::size_t(3));
        QCOMPARE(all.size(), written.size() + stored.size());
        QCOMPARE(all[0].name, written[0].name); // by hand come first
        QCOMPARE(stored[1].equation, std::string("transpose(transpose(v1)) = v1"));
        QVERIFY(!written[0].conditions.empty());
    }

    void storedRulesAreUsedUnderTheirNames() {
        const std::string file = folder_.filePath("sums.onnx").toStdString();
        QVERIFY(exportOnnx(twoProducts(), file).ok());
        const OptimizedModel made = optimizeModel(openModel(file).value(), request("stored")).value();
        QCOMPARE(made.nodesAfter, 2);
        QCOMPARE(made.steps.size(), std::size_t(2));
        QCOMPARE(made.steps[0].simplifications, std::vector<std::string>{"mine/2"});
        QCOMPARE(made.steps[1].rule, std::string("mine/3"));
        QCOMPARE(made.rules.size(), std::size_t(2));
        const auto use = std::ranges::find(made.rules, "mine/3", &RuleUse::rule);
        QCOMPARE(use->equation, std::string("add(matmul(v1, v2), matmul(v1, v3)) = matmul(v1, add(v2, v3))"));
        QVERIFY(use->gain > 0);
        QVERIFY(made.maxRelativeError && *made.maxRelativeError < 1e-5);
    }

    // Whoever sent the store could write anything into it.
    void aStoreIsNotBelieved() {
        const std::string path = folder_.filePath("praised.db").toStdString(), among = import("among.db", kRules);
        for (const char* status : {"tested", "proved"}) {
            RuleRow row;
            row.text = "relu(v1) = v1 where v1: 2x4";
            row.name = "praised/1";
            row.status = status;
            row.trials = 100000;
            for (const std::string& store : {path, among})
                QVERIFY(Store::open(store, StoreMode::readWrite).value()->addRules({row}).ok());
            OptimizeRequest asked = request("stored");
            asked.store = path;
            QVERIFY(has(graphRules(asked).value(), "praised/1")); // as the store says
            const std::string said = problem(asked);
            QVERIFY2(said.find("no rule of the store that is said to be verified holds") != std::string::npos, said.c_str());
            asked.store = among;
            QVERIFY(has(graphRules(asked).value(), "praised/1"));
            const OptimizedModel made = optimizeModel(openModel("mlp").value(), asked).value();
            QVERIFY(std::ranges::find(made.rules, "praised/1", &RuleUse::rule) == made.rules.end());
        }
    }

    void moreRulesNeverFindLess() {
        for (const std::int64_t budget : {1, 10, 1000}) {
            OptimizeRequest written = request("written"), all = request("all");
            written.budget = all.budget = budget;
            const Model model = openModel("encoder").value();
            QVERIFY(optimizeModel(model, all)->costAfter <= optimizeModel(model, written)->costAfter);
        }
    }

    void withoutARuleOfTheStore() {
        const OptimizedModel made = optimizeModel(openModel("encoder").value(), request("stored", {"mine/1"})).value();
        for (const RuleUse& use : made.rules)
            QVERIFY(use.rule != "mine/1");
        QVERIFY(has(graphRules(request("stored", {"mine/1"})).value(), "mine/1"));
    }

    void withoutARuleOfAnotherSet() {
        QCOMPARE(problem(request("stored", {"merge-products"})), std::string());
        QCOMPARE(problem(request("written", {"mine/1", "false/1"})), std::string());
        QVERIFY(problem(request("all", {"magic"})).find("there is no rule 'magic'") != std::string::npos);
    }

    void sentencesSayWhatToDo_data() {
        QTest::addColumn<QString>("store");
        QTest::addColumn<QStringList>("words");
        StopSource stop; // nothing is tried then
        stop.requestStop();
        import("untested.db", kRules, stop.token());
        import("false.db", kRules.mid(kRules.indexOf("relu(add")));
        import("useless.db", kRules.split('\n')[3] + '\n');
        QTest::newRow("no store") << "none.db" << QStringList{"none.db has no verified rules", "`rules generate --store", "`rules verify --store"};
        QTest::newRow("untested") << "untested.db" << QStringList{"none of the 5 rules", "untested.db is verified", "`rules verify --store"};
        QTest::newRow("refuted") << "false.db" << QStringList{"none of the 1 rules"};
        QTest::newRow("useless") << "useless.db" << QStringList{"no verified rule of the store", "leads a search anywhere"};
    }
    void sentencesSayWhatToDo() {
        QFETCH(QString, store);
        QFETCH(QStringList, words);
        for (const char* set : {"stored", "all"}) {
            OptimizeRequest asked = request(set);
            asked.store = folder_.filePath(store).toStdString();
            const QString said = QString::fromStdString(problem(asked));
            for (const QString& word : words)
                QVERIFY2(said.contains(word), qPrintable(said));
            QCOMPARE(QString::fromStdString(graphRules(asked).error().message), said);
        }
    }

    void unknownSets() { QVERIFY(problem(request("magic")).find("written, stored and all") != std::string::npos); }
};

QTEST_GUILESS_MAIN(OptimizeRules)
#include "tst_optimize_rules.moc"
