// SPDX-License-Identifier: GPL-3.0-or-later
// Models of which each part is small and the sum is not: values, folds, nodes, what lies within what. Every command ends by itself, with
// a result or a sentence, within bounds of memory and time.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <functional>

#include "tests/app/cli/attack_models.h"
#include "tests/child_process.h"

using namespace tunesmith::testing;

class TestCliSums : public QObject {
    Q_OBJECT

    struct Run {
        int status;
        QByteArray errors;
        double megabytes, seconds;
        QByteArray told() const { return errors.right(1000) + QByteArray::number(status) + ", " + QByteArray::number(megabytes) + " MB, " + QByteArray::number(seconds) + " s"; }
    };

    QTemporaryDir folder_;

    QString written(const std::string& bytes, const char* name = "model.onnx") const {
        const QString file = folder_.filePath(name);
        writeFile(file.toStdString(), bytes);
        return file;
    }
    static Run run(const QStringList& arguments) {
        ChildProcess process(TEST_CLI, arguments);
        const int status = process.wait(5 * ChildProcess::kPatienceMs);
        return {status, process.takeErrors(), process.peakMegabytes(), process.processorSeconds()};
    }

    // So many turns, of a body that adds; in a choice within it where that is asked for.
    static AttackModel loopOf(std::int64_t turns, bool choice) {
        AttackModel made;
        made.input("x", {4}).input("q", {}, 9);
        auto& count = *made.graph().add_initializer();
        count.set_name("n"), count.set_data_type(7), count.add_int64_data(turns);
        made.node("Loop", {"n", "", "x"}, {"y"}).output("y", {4});
        auto& body = *addAttribute(*made.graph().mutable_node(0), "body", onnx::AttributeProto::GRAPH).mutable_g();
        body.set_name("body");
        tensorType(*body.add_input(), "i", {}, 7), tensorType(*body.add_input(), "c", {}, 9), tensorType(*body.add_input(), "s", {4});
        addNode(body, "Identity", {"c"}, {"co"});
        auto& node = addNode(body, choice ? "If" : "Add", choice ? std::vector<std::string>{"q"} : std::vector<std::string>{"s", "s"}, {"so"});
        for (const char* branch : {"then_branch", "else_branch"})
            if (choice) {
                auto& inner = *addAttribute(node, branch, onnx::AttributeProto::GRAPH).mutable_g();
                inner.set_name(branch);
                addNode(inner, "Add", {"s", "s"}, {"r"});
                tensorType(*inner.add_output(), "r", {4});
            }
        tensorType(*body.add_output(), "co", {}, 9), tensorType(*body.add_output(), "so", {4});
        return made;
    }
    static onnx::GraphProto& bodyOf(AttackModel& loop, bool choice) {
        auto& body = *loop.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
        return choice ? *body.mutable_node(1)->mutable_attribute(0)->mutable_g() : body;
    }
    static void renameInBody(onnx::GraphProto& body, const std::string& from, const std::string& to) {
        for (auto& node : *body.mutable_node())
            for (auto& output : *node.mutable_output())
                output = output == from ? to : output;
        for (auto& output : *body.mutable_output())
            output.set_name(output.name() == from ? to : output.name());
    }

private slots:
    // What is written out has names after a name of a megabyte, which all values of a shape have in their types as well. Comes first: the
    // peak of a child counts that of this process, too.
    void longNames_data() {
        QTest::addColumn<QByteArray>("model");
        const std::string name(1'000'000, 'n');
        const auto add = [](const char* title, AttackModel& made) { QTest::newRow(title) << QByteArray::fromStdString(made.bytes()); };
        AttackModel layer = AttackModel().input("x", {100, 1, 2}).input("w", {1, 8, 2}).input("r", {1, 8, 2}).node("LSTM", {"x", "w", "r"}, {"y"}).attribute("hidden_size", 2);
        layer.graph().mutable_node(0)->set_name(name);
        add("LSTM", layer.output("y", {100, 1, 1, 2}));
        for (const bool choice : {false, true}) {
            AttackModel node = loopOf(5000, choice), value = loopOf(5000, choice), attribute = loopOf(5000, choice);
            bodyOf(node, choice).mutable_node(choice ? 0 : 1)->set_name(name);
            add(choice ? "node of a choice in a loop" : "node of a loop", node);
            renameInBody(bodyOf(value, choice), choice ? "r" : "so", name);
            add(choice ? "value of a choice in a loop" : "value of a loop", value);
            addAttribute(*bodyOf(attribute, choice).mutable_node(choice ? 0 : 1), "more", onnx::AttributeProto::STRING).set_s(name);
            add(choice ? "attribute of a choice in a loop" : "attribute of a loop", attribute);
        }
        AttackModel dimension = chain("Relu", 3000);
        dimension.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(name);
        add("dimension", dimension.output("y", {4}));
    }
    void longNames() {
        QFETCH(const QByteArray, model);
        const QString file = written(model.toStdString());
        for (const QStringList& arguments : {QStringList{"info", file}, QStringList{"export", file, "--onnx", folder_.filePath("out.onnx")},
                                             QStringList{"compile", file, "--untuned", "-o", folder_.filePath("module"), "--memory", "1GiB"}}) {
            const Run done = run(arguments);
            const QByteArray told = arguments.join(' ').toLocal8Bit() + ": " + done.told();
            QVERIFY2(done.status == 0 || (done.status == 1 && done.errors.contains("tunesmith-cli: ") && !done.errors.contains("out of memory")), told);
            QVERIFY2(done.megabytes < 700 && done.seconds < 30, told);
            QDir(folder_.filePath("module")).removeRecursively();
        }
    }

    void refusesWhatExceedsTheBudget() {
        const QString file = written(constantOfShape(std::int64_t(1) << 30));
        for (const char* engine : {"reference", "compiled", "module"}) {
            const Run done = run({"run", file, "--engine", engine, "--memory", "1GiB"});
            QVERIFY2(done.status == 1 && done.errors.contains("does not fit into memory") && done.errors.contains("1.0 GiB"), done.told());
            QVERIFY2(done.seconds < 2 && done.megabytes < 300, done.told());
        }
        const Run compiled = run({"compile", file, "--untuned", "-o", folder_.filePath("module"), "--memory", "1GiB"});
        QVERIFY2(compiled.status == 1 && compiled.seconds < 2 && compiled.megabytes < 300, compiled.told());
        QCOMPARE(run({"info", file, "--memory", "1GiB"}).status, 0); // computes nothing
    }

    void foldsNoMoreThanItMay() {
        const QString file = written(manyConstants(12, std::int64_t(1) << 28));
        const Run done = run({"compile", file, "--untuned", "-o", folder_.filePath("module"), "--memory", "3GiB"});
        QVERIFY2(done.status == 1 && done.errors.contains("(ConstantOfShape) is not folded") && done.errors.contains("does not fit into memory"), done.told());
        QVERIFY2(done.megabytes < 2000, done.told());
        const Run exported = run({"export", file, "--onnx", folder_.filePath("small.onnx")});
        QVERIFY2(exported.status == 0 && exported.megabytes < 200, exported.told()); // its nodes stay
    }

    // The budget counts the text of strings before they are made.
    void textsCount_data() {
        QTest::addColumn<QByteArray>("model");
        const std::string text(100'000, 'a');
        constexpr std::int64_t kMany = 25'000;
        const auto add = [](const char* name, const AttackModel& made) { QTest::newRow(name) << QByteArray::fromStdString(AttackModel(made).output("y", {kMany}, 8).bytes()); };
        add("Tile", AttackModel().text("t", text).ints("n", {kMany}).node("Tile", {"t", "n"}, {"y"}));
        add("Expand", AttackModel().text("t", text).ints("n", {kMany}).node("Expand", {"t", "n"}, {"y"}));
        add("Gather", AttackModel().text("t", text).ints("i", std::vector<std::int64_t>(kMany, 0)).node("Gather", {"t", "i"}, {"y"}));
        add("Where", AttackModel().text("t", text).ints("i", std::vector<std::int64_t>(kMany, 0)).node("Equal", {"i", "i"}, {"c"}).node("Where", {"c", "t", "t"}, {"y"}));
        QTest::newRow("Concat of Concat") << [&] {
            AttackModel made;
            made.text("t0", text);
            for (int i = 0; i < 15; ++i)
                made.node("Concat", {"t" + std::to_string(i), "t" + std::to_string(i)}, {"t" + std::to_string(i + 1)}).attribute("axis", 0);
            return QByteArray::fromStdString(made.output("t15", {1 << 15}, 8).bytes());
        }();
    }
    void textsCount() {
        QFETCH(const QByteArray, model);
        const QString file = written(model.toStdString());
        for (const QStringList& arguments : {QStringList{"info", file}, QStringList{"export", file, "--onnx", folder_.filePath("out.onnx")}}) {
            const Run looked = run(arguments);
            QVERIFY2(looked.status == 0 && looked.megabytes < 1200, looked.told());
        }
        for (const char* engine : {"reference", "compiled"}) {
            const Run done = run({"run", file, "--engine", engine, "--memory", "1GiB"});
            QVERIFY2(done.status == 1 && done.errors.contains("do not fit into the memory"), done.told());
            QVERIFY2(done.megabytes < 1400, done.told());
        }
    }

    // What kernels hold beside their values counts, too.
    void scratchCounts_data() {
        QTest::addColumn<QByteArray>("model");
        const auto add = [](const char* name, const AttackModel& made) { QTest::newRow(name) << QByteArray::fromStdString(made.bytes()); };
        constexpr std::int64_t kLong = 40'000;
        add("ConvTranspose", AttackModel().input("x", {1, 1, kLong}).input("w", {1, 1, kLong}).node("ConvTranspose", {"x", "w"}, {"y"}).output("y", {1, 1, 2 * kLong - 1}));
        add("Attention", AttackModel(23).input("q", {1, 1, kLong, 1}).input("k", {1, 1, kLong, 1}).input("v", {1, 1, kLong, 1}).node("Attention", {"q", "k", "v"}, {"y"}).output("y", {1, 1, kLong, 1}));
    }
    void scratchCounts() {
        QFETCH(const QByteArray, model);
        const Run done = run({"run", written(model.toStdString()), "--engine", "reference", "--memory", "1GiB"});
        QVERIFY2(done.status == 1 && done.errors.contains("do not fit into the memory"), done.told());
        QVERIFY2(done.megabytes < 300 && done.seconds < 5, done.told());
    }

    // Small files, no large results, and hours of arithmetic.
    void longFoldsStay_data() {
        QTest::addColumn<QByteArray>("model");
        const auto add = [](const char* name, const AttackModel& made) { QTest::newRow(name) << QByteArray::fromStdString(made.bytes()); };
        const auto filled = [](std::int64_t opset, const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
            AttackModel made(opset);
            made.input("x", {1}).ints("sa", a).ints("sb", b).node("ConstantOfShape", {"sa"}, {"a"}).node("ConstantOfShape", {"sb"}, {"b"});
            return made;
        };
        add("Conv", filled(17, {1, 16, 1000, 1000}, {16, 16, 101, 101}).node("Conv", {"a", "b"}, {"y"}).output("y", {1, 16, 900, 900}));
        add("ConvTranspose", filled(17, {1, 1, 1000, 1000}, {1, 1, 1000, 1000}).node("ConvTranspose", {"a", "b"}, {"y"}).output("y", {1, 1, 1999, 1999}));
        add("MaxPool", filled(17, {1, 1, 3000, 3000}, {1}).node("MaxPool", {"a"}, {"y"}).attribute("kernel_shape", std::vector<std::int64_t>{1500, 1500}).output("y", {1, 1, 1501, 1501}));
        add("MatMul", filled(17, {8192, 8192}, {8192, 8192}).node("MatMul", {"a", "b"}, {"y"}).output("y", {8192, 8192}));
        add("Einsum", filled(17, {1 << 20}, {1 << 20}).node("Einsum", {"a", "b"}, {"y"}).attribute("equation", "a,b->").output("y", {}));
        add("Det", filled(17, {6000, 6000}, {1}).node("Det", {"a"}, {"y"}).output("y", {}));
        add("cubic Resize", AttackModel().input("x", {1}).ints("sa", std::vector<std::int64_t>(8, 2)).ints("sb", std::vector<std::int64_t>(8, 8))
                                .node("ConstantOfShape", {"sa"}, {"a"}).node("Cast", {"a"}, {"f"}).attribute("to", 1).node("Resize", {"f", "", "", "sb"}, {"y"}).attribute("mode", "cubic").output("y", std::vector<std::int64_t>(8, 8)));
    }
    void longFoldsStay() {
        QFETCH(const QByteArray, model);
        const QString file = written(model.toStdString());
        for (const QStringList& arguments : {QStringList{"info", file}, QStringList{"export", file, "--onnx", folder_.filePath("out.onnx")}, QStringList{"tasks", file}}) {
            const Run done = run(arguments);
            QVERIFY2(done.status == 0 || (done.status == 1 && done.errors.contains("tunesmith-cli: ")), done.told());
            QVERIFY2(done.seconds < 20 && done.megabytes < 2500, arguments.first().toLocal8Bit() + ": " + done.told());
        }
    }

    void theProgramItselfIsBounded() {
        const QString file = written(chain("Identity", 200'000).output("y", {4}).bytes());
        const Run done = run({"info", file, "--memory", "0.001"});
        QVERIFY2(done.status == 0, done.told()); // beside the values there is room for the program
        QCOMPARE(run({"info", file, "--memory", "much"}).status, 2);
    }

    void aMillionNodes() {
        const QString file = written(chain("Identity", 1'000'000).output("y", {4}).bytes());
        const Run done = run({"info", file});
        QVERIFY2(done.status == 0 && done.megabytes < 1200 && done.seconds < 9, done.told());
        qInfo("%s", done.told().constData());
    }

    void longAndWide_data() {
        QTest::addColumn<QByteArray>("model");
        const auto add = [](const char* name, const std::string& bytes) { QTest::newRow(name) << QByteArray::fromStdString(bytes); };
        constexpr int kLong = 30'000;
        add("Identity", chain("Identity", kLong).output("y", {4}).bytes());
        add("Add", chain("Add", kLong, {"x"}).output("y", {4}).bytes());
        add("doubling Add", [] {
            AttackModel made;
            made.input("x", {4});
            for (int i = 0; i < 60; ++i)
                made.node("Add", {i == 0 ? "x" : "v" + std::to_string(i), i == 0 ? "x" : "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
            return made.output("v60", {4}).bytes();
        }());
        add("Gather", chain("Gather", kLong, {"p"}).ints("p", {3, 2, 1, 0}).output("y", {4}).bytes());
        add("Reshape", chain("Reshape", kLong, {"s"}).ints("s", {4}).output("y", {4}).bytes());
        add("Optional", chain("Optional", kLong).node("OptionalHasElement", {"y"}, {"z"}).output("z", {}, 9).bytes());
        add("SequenceConstruct", chain("SequenceConstruct", kLong).node("SequenceLength", {"y"}, {"z"}).output("z", {}, 7).bytes());
        add("Sum of many", AttackModel().input("x", {4}).node("Sum", std::vector<std::string>(100'000, "x"), {"y"}).output("y", {4}).bytes());
        add("Concat of many", AttackModel().input("x", {4}).node("Concat", std::vector<std::string>(100'000, "x"), {"y"}).attribute("axis", 0).output("y", {400'000}).bytes());
        add("Concat within Concat", [] {
            AttackModel made;
            made.input("x", {16}).node("Relu", {"x"}, {"v0"});
            for (int i = 0; i < 3000; ++i)
                made.node("Relu", {"x"}, {"e" + std::to_string(i)}).node("Concat", {"v" + std::to_string(i), "e" + std::to_string(i)}, {"v" + std::to_string(i + 1)}).attribute("axis", 0);
            return made.output("v3000", {16 * 3001}).bytes();
        }());
        add("permutations", permutations(4096, 4));
        add("linear interpolation in many dimensions", interpolation(20, "linear"));
        add("cubic interpolation in some dimensions", interpolation(8, "cubic"));
        add("dimensions of a shape", AttackModel().input("x", {4}).ints("s", std::vector<std::int64_t>(100'000, 1)).node("Reshape", {"x", "s"}, {"y"}).output("y", {4}).bytes());
    }
    void longAndWide() {
        QFETCH(const QByteArray, model);
        const QString file = written(model.toStdString());
        for (const QStringList& arguments : {QStringList{"info", file}, QStringList{"run", file, "--engine", "reference"}, QStringList{"run", file}, QStringList{"tasks", file},
                                             QStringList{"export", file, "--onnx", folder_.filePath("out.onnx")}, QStringList{"optimize", file, "--cost", "kernels", "--budget", "3"}}) {
            const Run done = run(arguments);
            const QByteArray told = arguments.join(' ').toLocal8Bit() + ": " + done.told();
            QVERIFY2(done.status == 0 || (done.status == 1 && done.errors.contains("tunesmith-cli: ")), told);
            QVERIFY2(done.megabytes < 1500 && done.errors.size() < 10'000, told);
        }
    }

    void deepFiles_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("TOML, a key") << "deep.toml" << QByteArray("a.").repeated(100'000) + "a = 1\n";
        QTest::newRow("TOML, a table") << "deep.toml" << "[" + QByteArray("a.").repeated(100'000) + "a]\nb = 1\n";
        QTest::newRow("TOML, lists") << "deep.toml" << "a = " + QByteArray(100'000, '[') + QByteArray(100'000, ']') + "\n";
        QTest::newRow("te, brackets") << "deep.te" << "def f(float32[N=4] A) -> C {\n C[i] = " + QByteArray(100'000, '(') + "A[i]" + QByteArray(100'000, ')') + "\n}\n";
        QTest::newRow("te, a sum") << "deep.te" << "def f(float32[N=4] A) -> C {\n C[i] = " + QByteArray("A[i] + ").repeated(100'000) + "A[i]\n}\n";
        QTest::newRow("te, signs") << "deep.te" << "def f(float32[N=4] A) -> C {\n C[i] = " + QByteArray(100'000, '-') + "A[i]\n}\n";
        QTest::newRow("te, choices") << "deep.te" << "def f(float32[N=4] A) -> C {\n C[i] = " + QByteArray("A[i] > 0.0 ? A[i] : ").repeated(100'000) + "A[i]\n}\n";
        QTest::newRow("te, statements") << "deep.te" << [] {
            QByteArray text = "def f(float32[N=4] A0) -> A20000 {\n";
            for (int i = 0; i < 20'000; ++i)
                text += " A" + QByteArray::number(i + 1) + "[i] = A" + QByteArray::number(i) + "[i] + 1.0\n";
            return text + "}\n";
        }();
        QTest::newRow("rules") << "deep.rules" << QByteArray("relu(").repeated(100'000) + "v1" + QByteArray(100'000, ')') + " = v1 where v1: 2x4\n";
        QTest::newRow("AutoTVM") << "deep.log" << "{\"input\": [\"llvm\", \"conv2d_nchw.x86\", " + QByteArray(100'000, '[') + QByteArray(100'000, ']') + ", {}], \"config\": {}, \"result\": [[0.1], 0, 1.0, 1.0], \"version\": 0.2}\n";
        QTest::newRow("module") << "module/module.json" << "{\"tunesmith_module\": 1, \"graph\": " + QByteArray(1'000'000, '[') + QByteArray(1'000'000, ']') + "}";
        QTest::newRow("module, objects") << "module/module.json" << "{\"tunesmith_module\": 1, \"graph\": " + QByteArray("{\"a\":").repeated(1'000'000) + "1" + QByteArray(1'000'000, '}') + "}";
        QTest::newRow("family") << "module/family.json" << "{\"tunesmith_family\": " + QByteArray(1'000'000, '[') + QByteArray(1'000'000, ']') + "}";
    }
    void deepFiles() {
        QFETCH(const QString, name);
        QFETCH(const QByteArray, text);
        QDir(folder_.path()).mkpath("module");
        for (const char* old : {"module/module.json", "module/family.json"})
            QFile::remove(folder_.filePath(old));
        const QString file = written(text.toStdString(), name.toLatin1().constData()), store = folder_.filePath("s.db"), module = folder_.filePath("module");
        const QList<QStringList> all = name.endsWith(".toml")    ? QList<QStringList>{{"tune", file}, {"jobs", "run", file, "--store", store}, {"sweep", file, "--store", store}}
                                       : name.endsWith(".te")    ? QList<QStringList>{{"info", file}, {"run", file}, {"tasks", file}}
                                       : name.endsWith(".rules") ? QList<QStringList>{{"rules", "import", file, "--store", store}}
                                       : name.endsWith(".log")   ? QList<QStringList>{{"store", "import", file, "--store", store}}
                                                                 : QList<QStringList>{{"run", module}, {"bench", module}};
        for (const QStringList& arguments : all) {
            const Run done = run(arguments);
            const QByteArray told = arguments.join(' ').toLocal8Bit() + ": " + done.told();
            QVERIFY2(done.status == 1 || (done.status == 0 && name.endsWith(".te")), told);
            QVERIFY2(done.seconds < 30 && done.megabytes < 700 && done.errors.size() < 2000, told);
        }
    }
};

QTEST_GUILESS_MAIN(TestCliSums)
#include "tst_cli_sums.moc"
