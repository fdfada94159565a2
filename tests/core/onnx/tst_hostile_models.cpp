// SPDX-License-Identifier: GPL-3.0-or-later
// Every bad file ends in one sentence that names the file, and in nothing else.
#include "core/onnx/import.h"

#include <QTemporaryDir>
#include <QTest>

#include <functional>

#include <sys/stat.h>

#include "core/base/rng.h"
#include "model_bytes.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Bend = std::function<void(onnx::ModelProto&)>;

struct Case {
    const char* name;
    const char* expected; // part of the sentence
    Bend bend;
};

onnx::GraphProto& graphOf(onnx::ModelProto& model) {
    return *model.mutable_graph();
}

void nestSubgraphs(onnx::ModelProto& model, int depth) {
    onnx::GraphProto* graph = model.mutable_graph();
    for (int i = 0; i < depth; ++i) {
        auto& node = addNode(*graph, "If", {"x"}, {"deep" + std::to_string(i)});
        graph = addAttribute(node, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
    }
}

onnx::TensorProto& weight(onnx::ModelProto& model) {
    return *graphOf(model).mutable_initializer(0);
}

const std::vector<Case>& cases() {
    static const std::vector<Case> list{
        {"no graph", "no version or no graph", [](auto& m) { m.clear_graph(); }},
        {"no version", "no version or no graph", [](auto& m) { m.clear_ir_version(); }},
        {"old IR", "IR version 2", [](auto& m) { m.set_ir_version(2); }},
        {"future IR", "IR version 99", [](auto& m) { m.set_ir_version(99); }},
        {"negative IR", "IR version -5", [](auto& m) { m.set_ir_version(-5); }},
        {"old opset", "opset 0", [](auto& m) { m.mutable_opset_import(0)->set_version(0); }},
        {"future opset", "opset 29", [](auto& m) { m.mutable_opset_import(0)->set_version(29); }},
        {"no opset", "which opset", [](auto& m) { m.clear_opset_import(); }},
        {"no outputs", "no outputs", [](auto& m) { graphOf(m).clear_output(); }},
        {"missing output", "output 'z'", [](auto& m) { graphOf(m).mutable_output(0)->set_name("z"); }},
        {"unnamed output", "output without", [](auto& m) { graphOf(m).mutable_output(0)->clear_name(); }},
        {"unnamed input", "has no name", [](auto& m) { graphOf(m).mutable_input(0)->clear_name(); }},
        {"input twice", "listed twice", [](auto& m) { *graphOf(m).add_input() = graphOf(m).input(0); }},
        {"sparse input", "not a tensor",
         [](auto& m) { graphOf(m).mutable_input(0)->mutable_type()->mutable_sparse_tensor_type(); }},
        {"initializer that is declared a sequence", "declared as a sequence of something unknown",
         [](auto& m) {
             auto* input = graphOf(m).add_input();
             input->set_name("w");
             input->mutable_type()->mutable_sequence_type();
         }},
        {"input without a type", "not a tensor", [](auto& m) { graphOf(m).mutable_input(0)->clear_type(); }},
        {"initializer twice", "'w' is given to two values",
         [](auto& m) { *graphOf(m).add_initializer() = graphOf(m).initializer(0); }},
        {"value twice", "'y' is given to two values",
         [](auto& m) { addNode(graphOf(m), "Relu", {"x"}, {"y"}); }},
        {"initializer is an output of a node", "'w' is given to two values",
         [](auto& m) { addNode(graphOf(m), "Relu", {"x"}, {"w"}); }},
        {"input is an output of a node", "'x' is given to two values",
         [](auto& m) { addNode(graphOf(m), "Relu", {"w"}, {"x"}); }},
        {"dangling input of a node", "which nothing produces",
         [](auto& m) { addNode(graphOf(m), "Relu", {"nowhere"}, {"r"}); }},
        {"node without operator", "without a readable operator",
         [](auto& m) { addNode(graphOf(m), "", {"x"}, {"r"}); }},
        {"cycle", "cycle through node",
         [](auto& m) {
             addNode(graphOf(m), "Relu", {"b"}, {"a"}, "one");
             addNode(graphOf(m), "Relu", {"a"}, {"b"}, "two");
         }},
        {"node that reads itself", "cycle through node",
         [](auto& m) { addNode(graphOf(m), "Relu", {"self"}, {"self"}); }},
        {"name that is not text", "not text", [](auto& m) { addFloats(graphOf(m), "\xff\xfe", {1}, {1}); }},
        {"operator that is not text", "without a readable operator",
         [](auto& m) { graphOf(m).mutable_node(0)->set_op_type("\xc0\x80"); }},
        {"attribute twice", "given twice",
         [](auto& m) {
             for (int i = 0; i < 2; ++i)
                 addAttribute(*graphOf(m).mutable_node(0), "axis", onnx::AttributeProto::INT).set_i(i);
         }},
        {"attribute without a kind", "attribute 'odd'",
         [](auto& m) { addAttribute(*graphOf(m).mutable_node(0), "odd", onnx::AttributeProto::UNDEFINED); }},
        {"attribute of a function", "refers to an attribute",
         [](auto& m) {
             addAttribute(*graphOf(m).mutable_node(0), "a", onnx::AttributeProto::INT).set_ref_attr_name("b");
         }},
        {"list of graphs", "not supported",
         [](auto& m) {
             addAttribute(*graphOf(m).mutable_node(0), "a", onnx::AttributeProto::GRAPHS).add_graphs();
         }},
        {"initializer of 3 GB", "16 bytes",
         [](auto& m) {
             weight(m).clear_dims();
             weight(m).add_dims(750'000'000);
         }},
        {"initializer of 3 GB without data", "0 elements",
         [](auto& m) {
             weight(m).clear_dims();
             weight(m).clear_raw_data();
             weight(m).add_dims(750'000'000);
         }},
        {"initializer of 3 GB of strings", "0 strings",
         [](auto& m) {
             weight(m).set_data_type(8);
             weight(m).add_dims(750'000'000);
         }},
        {"shape over 64 bits", "shape is not possible",
         [](auto& m) {
             for (int i = 0; i < 4; ++i)
                 weight(m).add_dims(std::int64_t{1} << 40);
         }},
        {"bytes over 63 bits", "shape is not possible",
         [](auto& m) {
             weight(m).clear_dims();
             weight(m).add_dims(std::int64_t{1} << 62);
         }},
        {"negative extent", "shape is not possible", [](auto& m) { weight(m).set_dims(0, -2); }},
        {"initializer too short", "12 bytes", [](auto& m) { weight(m).mutable_raw_data()->resize(12); }},
        {"initializer too long", "20 bytes", [](auto& m) { weight(m).mutable_raw_data()->resize(20); }},
        {"unknown element type", "number 999", [](auto& m) { weight(m).set_data_type(999); }},
        {"complex numbers", "COMPLEX64", [](auto& m) { weight(m).set_data_type(14); }},
        {"no element type", "UNDEFINED", [](auto& m) { weight(m).set_data_type(0); }},
        {"segments", "segments", [](auto& m) { weight(m).mutable_segment()->set_begin(0); }},
        {"initializer declared otherwise", "declared as",
         [](auto& m) {
             tensorType(*graphOf(m).add_input(), "w", {3, 3});
         }},
        {"initializer of another declared type", "declared as",
         [](auto& m) {
             tensorType(*graphOf(m).add_input(), "w", {2, 2}, 7);
         }},
        {"Constant without a value", "one attribute",
         [](auto& m) { addNode(graphOf(m), "Constant", {}, {"c"}); }},
        {"Constant of an unknown kind", "'value_graph'",
         [](auto& m) {
             addAttribute(addNode(graphOf(m), "Constant", {}, {"c"}), "value_graph",
                          onnx::AttributeProto::INT)
                 .set_i(1);
         }},
        {"sparse index outside", "outside its shape",
         [](auto& m) {
             auto& sparse = *graphOf(m).add_sparse_initializer();
             sparse.add_dims(4);
             auto& values = *sparse.mutable_values();
             values.set_name("s"), values.set_data_type(1), values.add_dims(1), values.add_float_data(1);
             auto& indices = *sparse.mutable_indices();
             indices.set_data_type(7), indices.add_dims(1), indices.add_int64_data(4);
         }},
        {"sparse and huge", "too large",
         [](auto& m) {
             auto& sparse = *graphOf(m).add_sparse_initializer();
             sparse.add_dims(750'000'000);
             auto& values = *sparse.mutable_values();
             values.set_name("s"), values.set_data_type(1), values.add_dims(0);
             auto& indices = *sparse.mutable_indices();
             indices.set_data_type(7), indices.add_dims(0);
         }},
        {"subgraphs nested too deep", "deep within each other", [](auto& m) { nestSubgraphs(m, 200); }},
        {"subgraph reads nothing", "which nothing produces",
         [](auto& m) {
             auto& body = *addAttribute(addNode(graphOf(m), "If", {"x"}, {"i"}, "choice"), "then_branch",
                                        onnx::AttributeProto::GRAPH)
                               .mutable_g();
             addNode(body, "Relu", {"ghost"}, {"r"});
         }},
        {"external data without a folder", "without the folder",
         [](auto& m) {
             weight(m).clear_raw_data();
             weight(m).set_data_location(onnx::TensorProto::EXTERNAL);
             auto* entry = weight(m).add_external_data();
             entry->set_key("location"), entry->set_value("w.bin");
         }},
    };
    return list;
}

void verifySentence(const Error& error, const std::string& file, const std::string& expected) {
    QVERIFY2(error.message.find(expected) != std::string::npos, error.message.c_str());
    QVERIFY2(error.message.find(file) != std::string::npos, error.message.c_str());
    QVERIFY2(error.message.size() < 500 && error.message.find('\n') == std::string::npos,
             error.message.c_str());
    QVERIFY2(error.kind != ErrorKind::internal, error.message.c_str());
}

} // namespace

class TestHostileModels : public QObject {
    Q_OBJECT
private slots:
    void theSmallModelItselfIsFine() {
        const auto graph = importOnnxBytes(asBytes(smallModel().SerializeAsString()));
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        QCOMPARE(graph->nodeCount(), std::size_t{1});
    }

    void bentModel_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void bentModel() {
        QFETCH(int, index);
        const Case& bad = cases()[static_cast<std::size_t>(index)];
        auto model = smallModel();
        bad.bend(model);
        const auto graph = importOnnxBytes(asBytes(model.SerializeAsString()));
        QVERIFY(!graph.ok());
        verifySentence(graph.error(), "model", bad.expected);
    }

    void badFile_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("expected");
        Rng rng(1);
        QByteArray noise(4096, '\0');
        for (char& c : noise)
            c = static_cast<char>(rng.below(256));
        const std::string whole = smallModel().SerializeAsString();
        QTest::newRow("empty") << QByteArray() << "empty";
        QTest::newRow("text") << QByteArray("Dear reader,\nthis is no model.\n") << "not an ONNX model";
        QTest::newRow("noise") << noise << "not an ONNX model";
        QTest::newRow("zeros") << QByteArray(4096, '\0') << "not an ONNX model";
        QTest::newRow("cut off") << QByteArray(whole.data(), static_cast<qsizetype>(whole.size() / 2))
                                 << "ends in the middle";
        QTest::newRow("field that claims 3 GB")
            << QByteArray("\x08\x08\x3a\xff\xff\xff\xff\x0b\x0a", 9) << "ends in the middle";
        QTest::newRow("doubled") << QByteArray::fromStdString(whole + whole) << "more than one model";
        QTest::newRow("Git LFS") << QByteArray("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1\n") << "git lfs pull";
        QTest::newRow("web page") << QByteArray("\n <!DOCTYPE html><html></html>") << "web page";
        QTest::newRow("XML") << QByteArray("<?xml version='1.0'?><net/>") << "OpenVINO";
        QTest::newRow("JSON") << QByteArray("{\"error\": 404}") << "JSON";
        QTest::newRow("gzip") << QByteArray("\x1f\x8b\x08\x00", 4) << "gunzip";
        QTest::newRow("PyTorch") << QByteArray("PK\x03\x04\x00\x00", 6) << "torch.onnx.export";
        QTest::newRow("pickle") << QByteArray("\x80\x02}q", 4) << "torch.onnx.export";
        QTest::newRow("ort") << QByteArray("\x1c\x00\x00\x00ORTM\x00", 9) << ".ort";
        QTest::newRow("tflite") << QByteArray("\x1c\x00\x00\x00TFL3\x00", 9) << "TensorFlow Lite";
        QTest::newRow("array") << QByteArray("\x93NUMPY\x01\x00", 8) << "NumPy";
        QTest::newRow("a tensor") << QByteArray::fromStdString(
                                         smallModel().graph().initializer(0).SerializeAsString())
                                  << "not an ONNX model";
    }
    void badFile() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, expected);
        const auto path = folder_ / "bad.onnx";
        writeFile(path, bytes.toStdString());
        const auto graph = importOnnx(path);
        QVERIFY(!graph.ok());
        verifySentence(graph.error(), path.string(), expected.toStdString());
    }

    // Functions whose bodies call the next one within a branch nest deeper than a file can.
    void bodiesOfFunctionsNestNoDeeperThanCanBeRead() {
        auto model = smallModel();
        auto& own = *model.add_opset_import();
        own.set_domain("own");
        own.set_version(1);
        auto& start = *model.mutable_graph()->mutable_node(0);
        start.set_op_type("f0");
        start.set_domain("own");
        constexpr int kFunctions = 200;
        for (int i = 0; i < kFunctions; ++i) {
            auto& function = *model.add_functions();
            function.set_name("f" + std::to_string(i));
            function.set_domain("own");
            for (const char* input : {"a", "b"})
                function.add_input(input);
            function.add_output("c");
            function.add_opset_import()->set_version(13);
            auto& choice = *function.add_node();
            choice.set_op_type("If");
            choice.add_input("a");
            choice.add_output("c");
            for (const char* branch : {"then_branch", "else_branch"}) {
                auto& graph = *addAttribute(choice, branch, onnx::AttributeProto::GRAPH).mutable_g();
                const bool calls = branch == std::string("then_branch");
                auto& node = addNode(graph, calls ? "f" + std::to_string(i + 1) : "Identity", {"a"}, {"d"});
                if (calls) {
                    node.set_domain("own");
                    node.add_input("b");
                }
                graph.add_output()->set_name("d");
            }
        }
        const auto refused = importOnnxBytes(asBytes(model.SerializeAsString()));
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("64 deep") != std::string::npos, refused.error().message.c_str());
    }

    void badPlace() {
        std::filesystem::create_directory(folder_ / "folder.onnx");
        verifySentence(importOnnx(folder_ / "folder.onnx").error(), "folder.onnx", "is a folder");
        verifySentence(importOnnx(folder_ / "none.onnx").error(), "none.onnx", "No such file");
        QCOMPARE(::mkfifo((folder_ / "pipe.onnx").c_str(), 0600), 0);
        verifySentence(importOnnx(folder_ / "pipe.onnx").error(), "pipe.onnx", "not a regular file");
        QVERIFY(importOnnx(folder_ / "none.onnx").error().kind == ErrorKind::io);
        const auto nested = folder_ / "none.onnx" / "deeper.onnx";
        verifySentence(importOnnx(nested).error(), "deeper.onnx", "cannot read");
    }

    void overTwoGigabytes() {
        const auto path = folder_ / "large.onnx";
        writeFile(path, smallModel().SerializeAsString());
        std::filesystem::resize_file(path, std::uintmax_t{3} << 30); // sparse: takes no space
        verifySentence(importOnnx(path).error(), "large.onnx", "larger than 2 GB");
    }

    void everyTruncationAndManyMutations() {
        auto model = smallModel();
        nestSubgraphs(model, 3);
        const std::string whole = model.SerializeAsString();
        for (std::size_t size = 0; size < whole.size(); ++size)
            if (const auto graph = importOnnxBytes(asBytes(whole.substr(0, size))); !graph.ok())
                verifySentence(graph.error(), "model", "");
        Rng rng(7);
        int survived = 0;
        for (int i = 0; i < 20000; ++i) {
            std::string bent = whole;
            for (std::uint64_t change = 0; change <= rng.below(4); ++change)
                bent[rng.below(bent.size())] = static_cast<char>(rng.below(256));
            const auto graph = importOnnxBytes(asBytes(bent));
            survived += graph.ok();
        }
        QVERIFY2(survived > 0 && survived < 20000, std::to_string(survived).c_str());
    }

    void cancelled() {
        StopSource stop;
        stop.requestStop();
        const auto graph = importOnnxBytes(asBytes(smallModel().SerializeAsString()), {}, {stop.token()});
        QVERIFY(!graph.ok() && graph.error().isCancelled());
    }

    void badTensorFile() {
        const auto path = folder_ / "bad.pb";
        writeFile(path, "\x08\x04\x10\x01");
        verifySentence(readTensorProto(path).error(), "bad.pb", "needs 4");
        writeFile(path, "no tensor");
        verifySentence(readTensorProto(path).error(), "bad.pb", "not a stored tensor");
    }

private:
    QTemporaryDir temporary_;
    std::filesystem::path folder_ = temporary_.path().toStdString();
};

QTEST_GUILESS_MAIN(TestHostileModels)
#include "tst_hostile_models.moc"
