// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <limits>

#include "core/module/build.h"
#include "core/module/layout_knowledge.h"
#include "core/module/sub_buffers.h"
#include "core/schedule/template.h"
#include "plan_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using loops::Layout;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Values = std::vector<ValueId>;
using Recipe = std::function<Values(Net&)>;

// Small enough to try every plan.
const std::vector<std::pair<const char*, Recipe>>& nets() {
    static const std::vector<std::pair<const char*, Recipe>> table{
        {"chain", [](Net& n) { return Values{n.conv(n.conv(n.image(3), 3, 16), 16, 20)}; }},
        {"residual", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 12);
             return Values{n.builder.add("Add", {n.conv(a, 12, 12), a})};
         }},
        {"concat", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16);
             return Values{n.conv(n.concat({a, n.builder.add("MaxPool", {a}, {{"kernel_shape", Ints{1, 1}}})}), 32, 4)};
         }},
        {"one piece twice", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16);
             return Values{n.concat({a, a})};
         }},
        {"rows in between", [](Net& n) {
             const ValueId a = n.conv(n.image(8), 8, 16);
             const ValueId flat = n.builder.add("Reshape", {a, n.builder.addConstant("", Tensor::ofInts({1, 4, 12, 12}))});
             return Values{n.conv(flat, 4, 16)};
         }},
    };
    return table;
}

Graph graphOf(int net) {
    Net n;
    n.builder.setOutputs(nets()[static_cast<std::size_t>(net)].second(n));
    return take(prepareGraph(take(inferShapes(take(n.builder.build())))));
}

// Costs at random, the same for the same workload. Those that the problem has not are forbidden.
class RandomCosts {
public:
    RandomCosts(const LayoutProblem& problem, std::uint64_t seed, double forbidden = 0) {
        Rng rng(seed);
        for (const Workload& workload : problem.workloads()) {
            costs_.push_back(rng.chance(forbidden) ? kInfinity : 1 + static_cast<double>(rng.below(64)));
            byKey_[workload.key] = costs_.back();
        }
    }
    const std::vector<double>& all() const { return costs_; }
    double operator()(const Workload& workload) const {
        const auto found = byKey_.find(workload.key);
        return found != byKey_.end() ? found->second : kInfinity;
    }

private:
    std::vector<double> costs_;
    std::map<std::string, double> byKey_;
};

// What a plan costs, by what modules are built of.
double costOf(const Graph& graph, const std::vector<KernelGroup>& groups, const LayoutPlan& plan, const RandomCosts& costs) {
    const auto inPlace = findSubBuffers(graph, groups, plan);
    const Layout rows = Layout::rowMajor(4);
    const auto conversion = [&](ValueId id, const Layout& to, bool always = false) {
        const TensorType& type = graph.value(id).type;
        const Layout from = type.dims->size() == 4 ? layoutOf(plan, graph, id) : to;
        return !always && sameOrder(from, to, type.shape()) ? 0 : costs(take(conversionWorkload(type, from, to)));
    };
    double sum = 0;
    std::set<ValueId> inRows(graph.outputs().begin(), graph.outputs().end());
    for (const KernelGroup& group : groups) {
        if (group.kind == KernelGroup::Kind::alias) {
            inRows.insert(group.inputs[0]);
            continue;
        }
        if (isSlicedConcat(graph, group, plan)) {
            const bool handedOut = std::ranges::find(graph.outputs(), group.outputs[0]) != graph.outputs().end();
            if (handedOut && layoutOf(plan, graph, group.outputs[0]).isRowMajor())
                sum += conversion(group.outputs[0], rows, true);
            std::set<ValueId> placed;
            for (const ValueId piece : graph.node(group.nodes[0]).inputs)
                if (!inPlace.contains(piece) || inPlace.at(piece).whole != group.outputs[0] || !placed.insert(piece).second)
                    sum += conversion(piece, layoutOf(plan, graph, group.outputs[0]), true);
            continue;
        }
        sum += costs(take(extractWorkload(graph, group, plan)).workload);
        for (const ValueId input : group.inputs)
            if (isFeatureMap(graph.value(input)))
                sum += conversion(input, readLayoutOf(plan, graph, group, input));
    }
    for (const ValueId id : inRows)
        if (isFeatureMap(graph.value(id)))
            sum += conversion(id, rows);
    return sum;
}

double leastOfAllPlans(const Graph& graph, const RandomCosts& costs) {
    const auto groups = groupNodes(graph);
    LayoutPlan plan;
    std::vector<Layout*> places;
    for (const KernelGroup& group : groups) {
        if (mayChooseLayout(graph, group))
            places.push_back(&(plan.values[group.outputs[0]] = Layout::rowMajor(4)));
        if (group.kind == KernelGroup::Kind::kernel && graph.node(group.nodes[0]).op != "Concat")
            for (const ValueId input : group.inputs)
                if (isFeatureMap(graph.value(input)))
                    places.push_back(&(plan.reads[{group.nodes.front(), input}] = Layout::rowMajor(4)));
    }
    const std::vector<Layout> layouts{Layout::rowMajor(4), Layout::blocked(4, 1, 4), Layout::blocked(4, 1, 8)};
    double least = kInfinity;
    const auto plans = static_cast<std::size_t>(std::pow(3.0, static_cast<double>(places.size())) + 0.5);
    for (std::size_t index = 0; index < plans; ++index) {
        std::size_t rest = index;
        for (Layout* place : places) {
            *place = layouts[rest % 3];
            rest /= 3;
        }
        least = std::min(least, costOf(graph, groups, plan, costs));
    }
    return least;
}

void addNets() {
    QTest::addColumn<int>("net");
    for (std::size_t i = 0; i < nets().size(); ++i)
        QTest::newRow(nets()[i].first) << static_cast<int>(i);
}

} // namespace

class LayoutProblemTest : public QObject {
    Q_OBJECT

private slots:
    void findsTheCheapestPlan_data() { addNets(); }
    void findsTheCheapestPlan() {
        QFETCH(int, net);
        const Graph graph = graphOf(net);
        const auto groups = groupNodes(graph);
        const LayoutProblem problem = take(LayoutProblem::make(graph, Target()));
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const RandomCosts costs(problem, seed, seed % 2 == 0 ? 0.1 : 0);
            const auto choice = problem.solve(costs.all());
            const double least = leastOfAllPlans(graph, costs);
            QCOMPARE(choice.has_value(), least < kInfinity);
            if (!choice)
                continue;
            QVERIFY(choice->proven);
            QCOMPARE(choice->ms, least);
            QCOMPARE(costOf(graph, groups, choice->plan, costs), least);
            const LayoutChoice greedy = problem.greedy(costs.all());
            QVERIFY(greedy.ms >= choice->ms);
            QCOMPARE(greedy.ms, costOf(graph, groups, greedy.plan, costs));
        }
    }

    // What was promised is what the module consists of.
    void modulesAreWhatWasCounted_data() { addNets(); }
    void modulesAreWhatWasCounted() {
        QFETCH(int, net);
        const Graph graph = graphOf(net);
        const LayoutProblem problem = take(LayoutProblem::make(graph, Target()));
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const RandomCosts costs(problem, seed);
            const auto choice = problem.solve(costs.all());
            QVERIFY(choice.has_value());
            BuildOptions options;
            options.layouts = choice->plan;
            options.chooseConfig = [&](const Workload& workload) { return std::optional(ChosenConfig{take(ScheduleSpace::make(workload, Target())).defaultConfig(), costs(workload)}); };
            double sum = 0;
            for (const PlanStep& step : take(buildModule(graph, options)).steps)
                sum += step.expectedMs;
            QCOMPARE(sum, choice->ms);
        }
    }

    // Where a deviation gains less than the handicap, the greedy choice stands.
    void littleGainsChangeNothing() {
        const Graph graph = graphOf(0);
        const LayoutProblem problem = take(LayoutProblem::make(graph, Target()));
        std::vector<double> costs(problem.workloads().size(), 1.0);
        for (const std::size_t i : problem.greedy(costs).workloads)
            costs[i] = 1.01;
        for (std::size_t i = 0; i < costs.size(); ++i)
            if (problem.isConversion(i))
                costs[i] = 0;
        QVERIFY(problem.solve(costs)->plan != problem.greedyPlan());
        QCOMPARE(problem.solve(costs, 0.05)->plan.values, problem.greedyPlan().values);
    }

    void forbiddenKernelsAreNotUsed() {
        const Graph graph = graphOf(1);
        const LayoutProblem problem = take(LayoutProblem::make(graph, Target()));
        std::vector<double> costs(problem.workloads().size(), 1.0);
        const std::size_t used = problem.greedy(costs).workloads.front();
        costs[used] = kInfinity;
        const auto choice = problem.solve(costs);
        QVERIFY(choice && std::ranges::find(choice->workloads, used) == choice->workloads.end());
        QVERIFY(!problem.solve(std::vector<double>(costs.size(), kInfinity)));
    }

    // A concatenation of many pieces: what is looked at does not explode.
    void manyPieces() {
        Net n;
        std::vector<ValueId> pieces;
        const ValueId x = n.image(3);
        for (int i = 0; i < 12; ++i)
            pieces.push_back(n.conv(x, 3, 5)); // blocks do not divide them
        n.builder.setOutputs({n.conv(n.concat(pieces), 60, 16)});
        const LayoutProblem problem = take(LayoutProblem::make(take(prepareGraph(take(inferShapes(take(n.builder.build()))))), Target()));
        QVERIFY(problem.workloads().size() < 200);
        QVERIFY(problem.solve(RandomCosts(problem, 3).all())->proven);
    }

    // Few are measured, what cannot be is not asked for again, and what comes out is no worse than the greedy choice.
    void learnsByMeasuring_data() { addNets(); }
    void learnsByMeasuring() {
        QFETCH(int, net);
        const Graph graph = graphOf(net);
        const LayoutProblem problem = take(LayoutProblem::make(graph, Target()));
        const RandomCosts costs(problem, 5, 0.2); // some are infinite
        LayoutKnowledge known(problem);
        std::map<std::size_t, int> learnt, ofFamily;
        const auto learn = [&](std::size_t i) {
            const bool possible = std::isfinite(costs.all()[i]) || std::ranges::binary_search(known.greedy(), i);
            known.learn(i, possible ? std::optional(std::min(costs.all()[i], 99.0)) : std::nullopt);
            QCOMPARE(known.isMeasured(i), possible);
            QCOMPARE(++learnt[i], 1);
            if (!problem.isConversion(i) && !std::ranges::binary_search(known.greedy(), i))
                ++ofFamily[problem.family(i)];
        };
        for (const std::size_t i : known.unmeasured(known.greedy()))
            learn(i);
        for (std::vector<std::size_t> wanted = known.promising(); !wanted.empty(); wanted = known.promising())
            for (const std::size_t i : wanted)
                learn(i);
        QVERIFY(known.best().has_value());
        QVERIFY(known.best()->ms <= problem.greedy(known.costs()).ms);
        QVERIFY(learnt.size() < problem.workloads().size());
        for (const auto& [family, count] : ofFamily)
            QVERIFY2(count <= 6, "many layouts of one workload"); // what was asked for at once is measured at once
    }

    void estimatesFollowMeasurements() {
        Net n;
        n.builder.setOutputs({n.conv(n.conv(n.conv(n.image(3), 3, 16), 16, 24), 24, 20)});
        Target target;
        target.isa = Isa::avx512;
        const LayoutProblem problem = take(LayoutProblem::make(take(prepareGraph(take(inferShapes(take(n.builder.build()))))), target));
        const LayoutEstimate estimate(problem);
        std::vector<std::optional<double>> measured(problem.workloads().size());
        for (const double ms : estimate.costs(measured))
            QVERIFY(ms > 0 && ms < 10);
        std::vector<std::size_t> narrow; // from and to blocks of 8
        for (std::size_t i = 0; i < measured.size(); ++i)
            if (channelBlock(problem.workloads()[i].inputLayouts[0]) == 8 && channelBlock(problem.workloads()[i].outputLayouts[0]) == 8 && !problem.isConversion(i))
                narrow.push_back(i);
        QVERIFY(narrow.size() >= 2);
        const double before = estimate.costs(measured)[narrow[1]];
        measured[narrow[0]] = 3 * estimate.costs(measured)[narrow[0]];
        const auto after = estimate.costs(measured);
        QCOMPARE(after[narrow[0]], *measured[narrow[0]]);
        QVERIFY(std::abs(after[narrow[1]] / before - 3) < 1e-9); // wrong by the same factor
    }
};

QTEST_GUILESS_MAIN(LayoutProblemTest)
#include "tst_layout_problem.moc"
