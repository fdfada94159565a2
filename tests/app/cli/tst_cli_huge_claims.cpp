// SPDX-License-Identifier: GPL-3.0-or-later
// Small files that claim what no machine has: elements, bodies within bodies, turns of loops, sizes of packed tensors. Every command
// refuses them with one sentence before it has taken time or memory.
#include <QDir>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include <functional>
#include <limits>

#include "tests/child_process.h"
#include "tests/core/onnx/model_bytes.h"

using namespace tunesmith::testing;

namespace {

constexpr double kMostMegabytes = 200, kMostSeconds = 1;
constexpr std::int64_t kHuge = std::int64_t{1} << 60, kHalf = std::int64_t{1} << 62;
constexpr int kI64 = 7, kBool = 9, kI4 = 22, kF4 = 23, kI2 = 26;
using A = onnx::AttributeProto;
using Make = std::function<std::string()>;

struct Claim {
    const char* name;
    const char* says; // part of the sentence
    Make make;
    bool canBeLookedAt = false; // info and export work; what would compute it refuses
};

std::string bytesOf(const onnx::ModelProto& model) { return model.SerializeAsString(); }

onnx::TensorProto& weight(onnx::ModelProto& model) { return *model.mutable_graph()->mutable_initializer(0); }

// smallModel() whose weight claims other things.
Make bent(std::function<void(onnx::TensorProto&)> bend) {
    return [bend = std::move(bend)] {
        auto model = smallModel();
        bend(weight(model));
        return bytesOf(model);
    };
}

Make external(std::vector<std::pair<std::string, std::string>> entries) {
    return bent([entries = std::move(entries)](onnx::TensorProto& tensor) {
        tensor.clear_raw_data();
        tensor.set_data_location(onnx::TensorProto::EXTERNAL);
        for (const auto& [key, value] : entries) {
            auto* entry = tensor.add_external_data();
            entry->set_key(key);
            entry->set_value(value);
        }
    });
}

void setInts(onnx::TensorProto& tensor, const std::vector<std::int64_t>& values) {
    tensor.set_data_type(kI64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values)
        tensor.add_int64_data(value);
}

// x of `dims` (none: no input) and a list s through one node.
Make node(const char* op, std::vector<std::string> inputs, std::vector<std::int64_t> x, std::vector<std::int64_t> s,
          std::vector<std::pair<const char*, std::vector<std::int64_t>>> attributes = {}) {
    return [=] {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        graph.clear_node();
        graph.clear_initializer();
        graph.mutable_output(0)->clear_type();
        graph.clear_input();
        if (!x.empty())
            tensorType(*graph.add_input(), "x", x);
        if (!s.empty()) {
            auto& list = *graph.add_initializer();
            list.set_name("s");
            setInts(list, s);
        }
        auto& made = addNode(graph, op, inputs, {"y"}, "grows");
        for (const auto& [key, values] : attributes) {
            auto& attribute = addAttribute(made, key, values.size() == 1 ? A::INT : A::INTS);
            if (values.size() == 1)
                attribute.set_i(values[0]);
            else
                for (const std::int64_t value : values)
                    attribute.add_ints(value);
        }
        return bytesOf(model);
    };
}

Make range(std::int64_t from, std::int64_t to) {
    return [=] {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        graph.clear_node();
        graph.clear_initializer();
        graph.mutable_output(0)->clear_type();
        for (const auto& [name, value] : {std::pair("from", from), std::pair("to", to), std::pair("step", to < from ? std::int64_t{-1} : std::int64_t{1})}) {
            auto& scalar = *graph.add_initializer();
            scalar.set_name(name);
            scalar.set_data_type(kI64);
            scalar.add_int64_data(value);
        }
        addNode(graph, "Range", {"from", "to", "step"}, {"y"}, "grows");
        return bytesOf(model);
    };
}

// A loop that adds x to its state as often as it may; `turns` below 0: without a number.
Make loop(std::int64_t turns, bool gathers) {
    return [=] {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        graph.clear_node();
        graph.clear_initializer();
        graph.mutable_output(0)->clear_type();
        auto& count = *graph.add_initializer();
        count.set_name("n");
        count.set_data_type(kI64);
        count.add_int64_data(turns);
        std::vector<std::string> outputs{gathers ? "" : "y"};
        if (gathers)
            outputs.push_back("y");
        auto& made = addNode(graph, "Loop", {turns < 0 ? "" : "n", "", "x"}, outputs, "grows");
        auto& body = *addAttribute(made, "body", A::GRAPH).mutable_g();
        tensorType(*body.add_input(), "i", {}, kI64);
        tensorType(*body.add_input(), "on", {}, kBool);
        tensorType(*body.add_input(), "state", {2, 2});
        addNode(body, "Add", {"state", "x"}, {"next"});
        addNode(body, "Identity", {"on"}, {"still"});
        for (const char* output : {"still", "next", "next"})
            if (gathers || body.output_size() < 2)
                body.add_output()->set_name(output);
        return bytesOf(model);
    };
}

void appendVarint(std::string& to, std::uint64_t value) {
    for (; value >= 128; value >>= 7)
        to += static_cast<char>(value | 128);
    to += static_cast<char>(value);
}

std::string field(int number, const std::string& bytes) {
    std::string text;
    appendVarint(text, static_cast<std::uint64_t>(number) << 3 | 2);
    appendVarint(text, bytes.size());
    return text + bytes;
}

// Bodies within bodies, written by hand, for messages do not nest so deep.
Make nested(const char* op, const char* attribute, int depth) {
    return [=] {
        std::string graph = field(1, field(1, "x") + field(2, "y") + field(4, "Relu")) + field(12, field(1, "y"));
        for (int i = 0; i < depth; ++i) {
            const std::string body = field(5, field(1, attribute) + field(6, graph) + std::string("\xa0\x01\x05", 3));
            graph = field(1, field(1, "c") + field(2, "y") + field(4, op) + body) + field(12, field(1, "y"));
        }
        onnx::ModelProto outer = smallModel();
        auto& shell = *outer.mutable_graph();
        shell.clear_node();
        shell.clear_output();
        tensorType(*shell.add_input(), "c", {}, kBool);
        graph += shell.SerializeAsString();
        outer.clear_graph();
        return bytesOf(outer) + field(7, graph);
    };
}

struct FunctionModel {
    onnx::ModelProto model = smallModel();

    FunctionModel() {
        model.mutable_graph()->clear_node();
        auto& own = *model.add_opset_import();
        own.set_domain("own");
        own.set_version(1);
        call(*model.mutable_graph()->add_node(), "f0", "x", "y");
    }
    static void call(onnx::NodeProto& node, const std::string& name, const char* from, const char* to) {
        node.set_op_type(name);
        node.set_domain("own");
        node.add_input(from);
        node.add_output(to);
    }
    onnx::FunctionProto& add(int index) {
        auto& function = *model.add_functions();
        function.set_name("f" + std::to_string(index));
        function.set_domain("own");
        function.add_input("a");
        function.add_output("b");
        function.add_opset_import()->set_version(13);
        return function;
    }
};

// Functions of which each calls the next one `times` times.
Make calls(int functions, int times) {
    return [=] {
        FunctionModel made;
        for (int i = 0; i < functions; ++i) {
            auto& function = made.add(i);
            for (int k = 0; k < times; ++k)
                FunctionModel::call(*function.add_node(), "f" + std::to_string(i + 1), "a", k == 0 ? "b" : ("t" + std::to_string(k)).c_str());
        }
        return bytesOf(made.model);
    };
}

std::string recursion() {
    FunctionModel made;
    FunctionModel::call(*made.add(0).add_node(), "f1", "a", "b");
    FunctionModel::call(*made.add(1).add_node(), "f0", "a", "b");
    return bytesOf(made.model);
}

// A function with a constant of 1 MB, called a thousand times.
std::string copies() {
    FunctionModel made;
    made.model.mutable_graph()->clear_node();
    for (int i = 0; i < 1000; ++i)
        FunctionModel::call(*made.model.mutable_graph()->add_node(), "f0", i == 0 ? "x" : ("y" + std::to_string(i - 1)).c_str(),
                            i == 999 ? "y" : ("y" + std::to_string(i)).c_str());
    auto& function = made.add(0);
    auto& constant = *function.add_node();
    constant.set_op_type("Constant");
    constant.add_output("k");
    auto& value = *addAttribute(constant, "value", A::TENSOR).mutable_t();
    value.set_data_type(1);
    value.add_dims(1 << 18);
    value.set_raw_data(std::string(1 << 20, '\0'));
    auto& add = *function.add_node();
    add.set_op_type("Add");
    add.add_input("a");
    add.add_input("k");
    add.add_output("b");
    return bytesOf(made.model);
}

onnx::SparseTensorProto sparse(const std::string& name, std::int64_t dense) {
    onnx::SparseTensorProto tensor;
    tensor.add_dims(dense);
    auto& values = *tensor.mutable_values();
    values.set_name(name), values.set_data_type(1), values.add_dims(1), values.add_float_data(1);
    auto& indices = *tensor.mutable_indices();
    indices.set_data_type(kI64), indices.add_dims(1), indices.add_int64_data(0);
    return tensor;
}

Make sparseOnes(int count, std::int64_t dense) {
    return [=] {
        auto model = smallModel();
        for (int i = 0; i < count; ++i)
            *model.mutable_graph()->add_sparse_initializer() = sparse("s" + std::to_string(i), dense);
        return bytesOf(model);
    };
}

Make typed(bool output, std::vector<std::int64_t> dims) {
    return [=] {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        graph.clear_node();
        addNode(graph, "Relu", {"x"}, {"r"}, "first");
        addNode(graph, "Relu", {"r"}, {"y"}, "second");
        tensorType(output ? *graph.add_value_info() : *graph.mutable_input(0), output ? "r" : "x", dims);
        graph.mutable_output(0)->clear_type();
        return bytesOf(model);
    };
}

// A weight of seven packed numbers, with so many bytes or numbers.
Make packed(int type, int bytes, int numbers) {
    return bent([=](onnx::TensorProto& tensor) {
        tensor.set_data_type(type);
        tensor.clear_dims();
        tensor.add_dims(7);
        tensor.clear_raw_data();
        if (bytes > 0)
            tensor.set_raw_data(std::string(static_cast<std::size_t>(bytes), 'x'));
        for (int i = 0; i < numbers; ++i)
            tensor.add_int32_data(1);
    });
}

Make shaped(int type, std::vector<std::int64_t> dims) {
    return bent([=](onnx::TensorProto& tensor) {
        tensor.set_data_type(type);
        tensor.clear_dims();
        for (const std::int64_t dim : dims)
            tensor.add_dims(dim);
    });
}

std::string constantNode() {
    auto model = smallModel();
    auto& constant = addNode(*model.mutable_graph(), "Constant", {}, {"k"}, "grows");
    auto& value = *addAttribute(constant, "value", A::TENSOR).mutable_t();
    value.set_data_type(1);
    value.add_dims(kHuge);
    value.set_raw_data("four");
    return bytesOf(model);
}

const std::vector<Claim>& claims() {
    static const std::vector<Claim> list{
        {"elements of a weight", "'w': it holds 16 bytes", shaped(1, {kHuge})},
        {"elements of a weight, by three", "'w': it holds 16 bytes", shaped(1, {1 << 20, 1 << 20, 1 << 20})},
        {"elements of an int4 weight", "'w': it holds 16 bytes", shaped(kI4, {kHuge})},
        {"elements of an int2 weight", "'w': it holds 16 bytes", shaped(kI2, {kHuge})},
        {"elements of a Constant", "(Constant)", constantNode},
        {"elements of an inner value", "'r' is too large", typed(true, {kHuge})},
        {"elements of an input", "'x' is too large", typed(false, {kHuge})},
        {"elements of an input, by three", "too large", typed(false, {1 << 20, 1 << 20, 1 << 20})},
        {"elements of a sparse weight", "too large", sparseOnes(1, kHuge)},
        {"elements of many sparse weights", "too large", sparseOnes(200, 1 << 24)},
        {"length of external data", "external data", external({{"location", "w.bin"}, {"length", "4611686018427387904"}})},
        {"offset of external data", "w.bin", external({{"location", "w.bin"}, {"offset", "18446744073709551608"}})},
        {"offset beyond all numbers", "bad offset", external({{"location", "w.bin"}, {"offset", std::string(40, '9')}})},
        {"choices within choices", "deep within each other", nested("If", "then_branch", 10'000)},
        {"loops within loops", "deep within each other", nested("Loop", "body", 10'000)},
        {"functions that call each other", "256 deep", calls(10'000, 1)},
        {"functions that call themselves", "calls itself", recursion},
        {"functions that double", "more than 200000 nodes", calls(60, 2)},
        {"functions that multiply", "more than 200000 nodes", calls(6, 10)},
        {"functions with large constants", "more than the model", copies},
        {"int4, too short", "needs 4", packed(kI4, 3, 0)},
        {"int4, unpacked", "needs 4", packed(kI4, 7, 0)},
        {"int4, too many numbers", "needs 4", packed(kI4, 0, 7)},
        {"int4, nothing", "needs 4", packed(kI4, 0, 0)},
        {"int2, too long", "needs 2", packed(kI2, 3, 0)},
        {"float4, too short", "needs 4", packed(kF4, 1, 0)},
        {"float8, too long", "needs 7", packed(17, 70, 0)},
        {"float8, too few numbers", "needs 7", packed(17, 0, 3)},
        {"ConstantOfShape", "'grows'", node("ConstantOfShape", {"s"}, {}, {kHalf})},
        {"Expand", "'grows'", node("Expand", {"x", "s"}, {1}, {kHalf})},
        {"Tile", "'grows'", node("Tile", {"x", "s"}, {4}, {kHalf})},
        {"Reshape", "'grows'", node("Reshape", {"x", "s"}, {4}, {kHalf, 4})},
        {"Pad", "'grows'", node("Pad", {"x", "s"}, {4}, {kHalf, kHalf})},
        {"Resize", "'grows'", node("Resize", {"x", "", "", "s"}, {4}, {kHalf})},
        {"Resize to a long axis", "memory", node("Resize", {"x", "", "", "s"}, {1}, {std::int64_t{1} << 34}), true},
        {"Range", "'grows'", range(0, kHalf)},
        {"Range downwards", "'grows'", range(0, std::numeric_limits<std::int64_t>::min())},
        {"Range over all numbers", "'grows'", range(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max())},
        {"CenterCropPad", "'grows'", node("CenterCropPad", {"x", "s"}, {2}, {kHalf})},
        {"Unsqueeze", "'grows'", node("Unsqueeze", {"x", "s"}, {2}, {kHalf})},
        {"DepthToSpace", "'grows'", node("DepthToSpace", {"x"}, {1, 4, 4, 4}, {}, {{"blocksize", {std::int64_t{1} << 33}}})},
        {"MaxPool", "'grows'",
         node("MaxPool", {"x"}, {1, 1, 4, 4}, {}, {{"kernel_shape", {kHalf, kHalf}}, {"pads", {kHalf - 1, kHalf - 1, kHalf - 1, kHalf - 1}}})},
        {"Loop", "'grows'", loop(kHalf, false), true},
        {"Loop without an end", "never end", loop(-1, false), true},
        {"Loop that gathers", "'grows'", loop(kHalf, true), true},
    };
    return list;
}

} // namespace

class TestCliHugeClaims : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString path(const QString& name) const { return folder_.filePath(name); }

    struct Run {
        int status;
        QByteArray errors;
        double megabytes, seconds;
    };
    static Run run(const QStringList& arguments) {
        ChildProcess process(TEST_CLI, arguments);
        const int status = process.wait();
        return {status, process.takeErrors(), process.peakMegabytes(), process.processorSeconds()};
    }

    void verifyRefused(const QStringList& arguments, const char* says) {
        const Run done = run(arguments);
        const QByteArray told = arguments.join(' ').toLocal8Bit() + ": " + done.errors;
        QVERIFY2(done.status == 1, told);
        QByteArrayList sentences;
        for (const QByteArray& line : done.errors.split('\n'))
            if (line.startsWith("tunesmith-cli: ") && !line.startsWith("tunesmith-cli: warning"))
                sentences.push_back(line);
        QVERIFY2(sentences.size() == 1, told);
        QVERIFY2(sentences[0].contains(says) && sentences[0].size() < 700, told);
        verifySmall(done, told);
    }

    void verifySmall(const Run& done, const QByteArray& told) {
        QVERIFY2(done.megabytes < kMostMegabytes, QByteArray::number(done.megabytes) + " MB: " + told);
        QVERIFY2(done.seconds < kMostSeconds, QByteArray::number(done.seconds) + " s: " + told);
        if (done.megabytes > worst_)
            worstCall_ = told;
        worst_ = std::max(worst_, done.megabytes);
        slowest_ = std::max(slowest_, done.seconds);
    }

    double worst_ = 0, slowest_ = 0;
    QByteArray worstCall_;

private slots:
    void initTestCase() {
        writeFile(path("w.bin").toStdString(), std::string(64, 'x'));
    }
    void cleanupTestCase() { qInfo("at most %.2f s, and %.0f MB: %s", slowest_, worst_, worstCall_.constData()); }

    void claim_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < claims().size(); ++i)
            QTest::newRow(claims()[i].name) << static_cast<int>(i);
    }
    void claim() {
        QFETCH(const int, index);
        const Claim& claim = claims()[static_cast<std::size_t>(index)];
        const QString file = path("claim.onnx");
        writeFile(file.toStdString(), claim.make());
        verifyRefused({"run", file, "--engine", "reference"}, claim.says);
        verifyRefused({"run", file}, claim.says);
        verifyRefused({"compile", file, "--untuned", "-o", path("module")}, claim.says);
        QVERIFY(!QFileInfo::exists(path("module")));
        if (claim.canBeLookedAt) {
            const Run info = run({"info", file});
            QCOMPARE(info.status, 0);
            verifySmall(info, info.errors);
            return;
        }
        verifyRefused({"info", file}, claim.says);
        verifyRefused({"optimize", file, "-o", path("optimized.onnx")}, claim.says);
        verifyRefused({"export", file, "--onnx", path("exported.onnx")}, claim.says);
    }
};

QTEST_GUILESS_MAIN(TestCliHugeClaims)
#include "tst_cli_huge_claims.moc"
