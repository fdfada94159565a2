// SPDX-License-Identifier: GPL-3.0-or-later
#include "module_testing.h"

#include <QRegularExpression>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/graph/graph_builder.h"
#include "core/module/build.h"
#include "core/ops/interpreter.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;
namespace fs = std::filesystem;

namespace {

const TensorType kRow(DType::f32, Shape{8});
const Tensor kNumbers = Tensor::of<float>({8}, std::vector<float>{3, 0, -1, 0, 7, 2, 0, 5});

using Outputs = std::vector<ValueId>;

struct Net {
    GraphBuilder builder{"steps"};
    ValueId x;

    Net() {
        builder.setOpset("", 17);
        x = builder.addInput("x", kRow);
    }
    ValueId ints(const std::vector<std::int64_t>& values) { return builder.addConstant("", Tensor::ofInts(values)); }
    ValueId real(float value) { return builder.addConstant("", Tensor::scalar(value)); }
    ValueId add(const char* op, const std::vector<ValueId>& inputs, std::map<std::string, Attribute> attributes = {}) {
        return builder.add(op, inputs, std::move(attributes));
    }
    // More than any kernel knows when it is compiled.
    ValueId sum() { return add("ReduceSum", {x}, {{"keepdims", std::int64_t(0)}}); }

    Graph graph(const Outputs& outputs) {
        builder.setOutputs(outputs);
        return take(prepareGraph(take(builder.build())));
    }
};

std::shared_ptr<const Graph> branch(const char* name, const std::function<ValueId(GraphBuilder&, ValueId)>& make) {
    GraphBuilder builder(name);
    builder.setOpset("", 17);
    const ValueId x = builder.addCapture("x", kRow);
    builder.setOutputs({make(builder, x)});
    return std::make_shared<const Graph>(take(builder.build()));
}

// Adds x to a state as often as `turns` says.
std::shared_ptr<const Graph> loopBody() {
    GraphBuilder builder("body");
    builder.setOpset("", 17);
    builder.addInput("turn", TensorType(DType::i64, Shape{}));
    const ValueId goOn = builder.addInput("go_on", TensorType(DType::boolean, Shape{}));
    const ValueId state = builder.addInput("state", kRow);
    const ValueId next = builder.add("Add", {state, builder.addCapture("x", kRow)});
    const ValueId again = builder.add("Identity", {goOn});
    builder.setOutputs({again, next, builder.add("Identity", {next})});
    return std::make_shared<const Graph>(take(builder.build()));
}

using MakeNet = std::function<Outputs(Net&)>;

Outputs topK(Net& net) {
    const ValueId largest = net.builder.add("TopK", {net.add("Neg", {net.x}), net.ints({3})}, {}, 2);
    return {net.add("Exp", {largest})};
}

Outputs nonZero(Net& net) {
    const ValueId places = net.add("Transpose", {net.add("NonZero", {net.x})});
    return {net.add("Abs", {net.x}), net.add("GatherND", {net.add("Neg", {net.x}), places})};
}

Outputs choice(Net& net) {
    const ValueId condition = net.add("Greater", {net.sum(), net.real(0)});
    const auto half = [](GraphBuilder& builder, ValueId x) {
        const ValueId starts = builder.addConstant("", Tensor::ofInts({2})), ends = builder.addConstant("", Tensor::ofInts({5}));
        return builder.add("Slice", {x, starts, ends});
    };
    const auto whole = [](GraphBuilder& builder, ValueId x) { return builder.add("Neg", {x}); };
    return {net.add("If", {condition}, {{"then_branch", branch("then", half)}, {"else_branch", branch("else", whole)}})};
}

Outputs loop(Net& net) {
    const ValueId turns = net.add("Cast", {net.sum()}, {{"to", std::int64_t(7)}});
    const ValueId zeros = net.builder.addConstant("", Tensor::zeros(DType::f32, {8}));
    const ValueId last = net.builder.add("Loop", {turns, ValueId(), zeros}, {{"body", loopBody()}}, 2);
    const ValueId all = net.builder.node(NodeId(static_cast<std::int64_t>(net.builder.nodeCount()) - 1)).outputs[1];
    return {net.add("Sqrt", {net.add("Abs", {last})}), all};
}

// What shares the bytes of an input of the module, and of memory that later kernels write to.
Outputs aliases(Net& net) {
    const ValueId count = net.add("Reshape", {net.add("Size", {net.add("NonZero", {net.x})}), net.ints({1})});
    const ValueId shape = net.add("Concat", {net.ints({-1}), net.add("Sub", {count, net.ints({4})})}, {{"axis", std::int64_t(0)}});
    const ValueId reshaped = net.add("Reshape", {net.add("Exp", {net.x}), shape});
    ValueId later = net.add("Softmax", {net.x});
    for (int i = 0; i < 3; ++i)
        later = net.add("Softmax", {net.add("CumSum", {later, net.builder.addConstant("", Tensor::scalar<std::int64_t>(0))})});
    return {reshaped, later, net.add("Reshape", {net.x, shape})};
}

Outputs drawn(Net& net) { return {net.add("Add", {net.add("RandomNormalLike", {net.x}), net.x})}; }

Outputs strings(Net& net) {
    const ValueId words = net.add("Cast", {net.x}, {{"to", std::int64_t(8)}});
    return {net.add("Cast", {words}, {{"to", std::int64_t(1)}})};
}

Outputs compressed(Net& net) {
    const ValueId chosen = net.add("Compress", {net.x, net.add("Greater", {net.x, net.real(0)})});
    return {net.builder.add("Unique", {net.add("Concat", {chosen, chosen}, {{"axis", std::int64_t(0)}})}, {}, 4)};
}

// Writes a three to the place that the second number names: an error where there is none.
Outputs placed(Net& net) {
    const ValueId place = net.add("Cast", {net.add("Slice", {net.x, net.ints({1}), net.ints({2})})}, {{"to", std::int64_t(7)}});
    const ValueId three = net.add("Reshape", {net.real(3), net.ints({1})});
    return {net.builder.add("ScatterND", {net.x, net.add("Reshape", {place, net.ints({1, 1})}), three}, {}, 1, "the_placer")};
}

Outputs huge(Net& net) {
    const ValueId extent = net.add("Cast", {net.add("Slice", {net.x, net.ints({0}), net.ints({1})})}, {{"to", std::int64_t(7)}});
    const ValueId shape = net.add("Concat", {extent, extent, extent}, {{"axis", std::int64_t(0)}});
    return {net.add("ReduceSum", {net.builder.add("ConstantOfShape", {shape}, {}, 1, "the_grower")}, {{"keepdims", std::int64_t(0)}})};
}

bool same(const Tensor& a, const Tensor& b) {
    return a.type() == b.type() && a.shape() == b.shape() && largestDifference(a, b) < 1e-3; // Exp reaches a thousand
}

std::int64_t residentKb() {
    std::ifstream status("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    status >> total >> resident;
    return resident * 4;
}

} // namespace

// Steps that are no kernels, in modules: as the interpreter computes them, with memory of their own, without a trace outside.
class TestReferenceSteps : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    fs::path exported(const char* name, const Graph& graph) const {
        BuildOptions options;
        options.target = take(hostTarget(2));
        ModulePlan plan = take(buildModule(graph, options));
        plan.name = name;
        const fs::path place = pathIn(folder_, name);
        take(exportModule(plan, place, {}));
        return place;
    }
    fs::path exported(const char* name, const MakeNet& make) const {
        Net net;
        return exported(name, net.graph(make(net)));
    }

    static std::vector<Tensor> compute(LoadedModule& module, const Tensor& x) {
        take(module.setInputs({x}));
        take(module.run());
        return module.outputs();
    }

    QString listing(const fs::path& module, const QStringList& arguments) const {
        const QString library = QString::fromStdString((module / ("lib" + module.filename().string() + ".so")).string());
        return runTool(QStandardPaths::findExecutable("readelf"), arguments + QStringList{library}).output;
    }

private slots:
    void initTestCase() {
        if (!hostSupports(Isa::avx2))
            QSKIP("this processor has no AVX2");
    }

    void computesAsTheInterpreter_data() {
        QTest::addColumn<MakeNet>("make");
        QTest::addColumn<int>("steps"); // of the reference kernels
        QTest::newRow("sorted") << MakeNet(topK) << 1;
        QTest::newRow("places that depend on data") << MakeNet(nonZero) << 3;
        QTest::newRow("a choice of shapes") << MakeNet(choice) << 1;
        QTest::newRow("turns that depend on data") << MakeNet(loop) << 1;
        QTest::newRow("shared bytes") << MakeNet(aliases) << -1;
        QTest::newRow("drawn") << MakeNet(drawn) << 1;
        QTest::newRow("strings between") << MakeNet(strings) << 2;
        QTest::newRow("compressed") << MakeNet(compressed) << 3;
    }
    void computesAsTheInterpreter() {
        QFETCH(MakeNet, make);
        QFETCH(int, steps);
        Net net;
        const Graph graph = net.graph(make(net));
        const fs::path place = exported("computes", graph);
        const auto module = take(LoadedModule::open(place, 0));
        const auto& list = module->info().steps;
        const auto reference = std::ranges::count_if(list, [](const ModuleStep& step) { return !step.reference.empty(); });
        QVERIFY2(steps < 0 ? reference > 0 : reference == steps, qPrintable(QString::number(reference)));
        const Tensor other = Tensor::of<float>({8}, std::vector<float>{0, 0, -1, 2, 0, 1, 0, -9});
        for (const Tensor& x : {kNumbers, other, kNumbers}) {
            const auto wanted = Interpreter(graph).run({x});
            if (!wanted.ok()) // no number of turns or shape of the second input
                continue;
            const std::vector<Tensor> made = compute(*module, x);
            QCOMPARE(made.size(), wanted->size());
            for (std::size_t i = 0; i < made.size(); ++i)
                QVERIFY2(same(made[i], (*wanted)[i]), qPrintable(QString("output %1").arg(i)));
        }
        QVERIFY(module->timeSteps(2).ok());
    }

    void mistakesAreSentences_data() {
        QTest::addColumn<MakeNet>("make");
        QTest::addColumn<float>("good");
        QTest::addColumn<float>("bad");
        QTest::addColumn<QString>("word");
        QTest::newRow("index out of range") << MakeNet(placed) << 2.0F << 9.0F << "the_placer";
        QTest::newRow("too large") << MakeNet(huge) << 2.0F << 1e5F << "the_grower";
        QTest::newRow("larger than numbers") << MakeNet(huge) << 2.0F << 4e6F << "the_grower";
    }
    void mistakesAreSentences() {
        QFETCH(MakeNet, make);
        QFETCH(float, good);
        QFETCH(float, bad);
        QFETCH(QString, word);
        const auto module = take(LoadedModule::open(exported("mistakes", make), 1));
        const auto with = [](float value) { return Tensor::of<float>({8}, std::vector<float>(8, value)); };
        compute(*module, with(good));
        take(module->setInputs({with(bad)}));
        const Status failed = module->run();
        QVERIFY(!failed.ok());
        QVERIFY2(QString::fromStdString(failed.error().message).contains(word), failed.error().message.c_str());
        compute(*module, with(good)); // it goes on
    }

    void theLibraryIsClosed() {
        if (QStandardPaths::findExecutable("readelf").isEmpty())
            QSKIP("no readelf");
        const fs::path module = exported("closed", nonZero);
        const QRegularExpression needed("NEEDED\\).*\\[(.*)\\]");
        const QString dynamic = listing(module, {"-dW"});
        for (auto match = needed.globalMatch(dynamic); match.hasNext();)
            QVERIFY2(QStringList({"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}).contains(match.next().captured(1)), qPrintable(dynamic));
        int visible = 0;
        for (const QString& line : listing(module, {"--dyn-syms", "-W"}).split('\n')) {
            const QStringList words = line.simplified().split(' ');
            if (words.size() != 8 || !words[0].endsWith(':') || words[0] == "Num:" || words[6] == "UND" || words[7].isEmpty())
                continue;
            QVERIFY2(words[7].startsWith("closed_"), qPrintable(line));
            ++visible;
        }
        QCOMPARE(visible, 34);
        QVERIFY(!listing(exported("kernels", [](Net& net) { return Outputs{net.add("Exp", {net.x})}; }), {"-sW"}).contains("ts_reference"));
    }

    void instancesOnSeveralThreads() {
        const fs::path place = exported("several", compressed);
        std::vector<std::thread> threads;
        std::vector<int> right(4, 0);
        for (std::size_t i = 0; i < right.size(); ++i)
            threads.emplace_back([&, i] {
                Net net;
                const Graph graph = net.graph(compressed(net));
                const auto module = take(LoadedModule::open(place, 1));
                for (int run = 0; run < 20; ++run) {
                    const Tensor x = randomTensor({8}, 20 * i + static_cast<std::size_t>(run));
                    right[i] += same(compute(*module, x)[0], take(Interpreter(graph).run({x}))[0]);
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(right, std::vector<int>(4, 20));
    }

    void nothingIsLeaked() {
        const fs::path place = exported("leaks", compressed);
        const auto useOnce = [&] { compute(*take(LoadedModule::open(place, 1)), kNumbers); };
        for (int i = 0; i < 50; ++i)
            useOnce();
        const std::int64_t before = residentKb();
        for (int i = 0; i < 200; ++i)
            useOnce();
        QVERIFY2(residentKb() - before < 2000, qPrintable(QString::number(residentKb() - before)));
    }

    // This program throws with a C++ library of its own, while two modules with theirs are loaded.
    void hostsThrow() {
        const auto a = take(LoadedModule::open(exported("first", huge), 1));
        const auto b = take(LoadedModule::open(exported("second", placed), 1));
        for (int i = 0; i < 3; ++i) {
            try {
                take(a->setInputs({Tensor::of<float>({8}, std::vector<float>(8, 1e5F))}));
                if (const Status failed = a->run(); !failed.ok())
                    throw std::runtime_error(failed.error().message);
                QFAIL("it had to fail");
            } catch (const std::runtime_error& error) {
                QVERIFY(std::strstr(error.what(), "the_grower"));
            }
            QCOMPARE(compute(*b, Tensor::of<float>({8}, std::vector<float>(8, 3)))[0].asDouble(0), 3.0);
        }
    }

    void aProgramInCUsesIt() {
        const QString compiler = QStandardPaths::findExecutable("cc");
        if (compiler.isEmpty())
            QSKIP("no C compiler");
        const fs::path module = exported("in_c", nonZero);
        const QString folder = QString::fromStdString(module.string()), program = folder_.filePath("in_c_example");
        const ProgramRun built = runTool(compiler, {"-std=c11", "-Wall", "-Wextra", "-Werror", "-I" + folder, "-o", program,
                                                    folder + "/example/main.c", "-L" + folder, "-lin_c", "-Wl,-rpath," + folder});
        QVERIFY2(built.status == 0, qPrintable(built.errors));
        std::ofstream(folder_.filePath("x.bin").toStdString(), std::ios::binary)
            .write(reinterpret_cast<const char*>(kNumbers.bytes().data()), static_cast<std::streamsize>(kNumbers.byteCount()));
        const ProgramRun run = runTool(program, {folder_.filePath("x.bin")}, QStringList{"PATH="});
        QVERIFY2(run.status == 0, qPrintable(run.errors));
        QVERIFY2(run.output.contains(" float32 5: -3 1 -7 -2 -5\n"), qPrintable(run.output));
        const QString python = QStandardPaths::findExecutable("python3");
        if (!python.isEmpty()) {
            const ProgramRun script = runTool(python, {"-I", folder + "/example/run.py", folder_.filePath("x.bin")});
            QVERIFY2(script.output.contains(" float32 5: -3 1 -7 -2 -5\n"), qPrintable(script.output + script.errors));
        }
    }
};

QTEST_GUILESS_MAIN(TestReferenceSteps)
#include "tst_reference_steps.moc"
