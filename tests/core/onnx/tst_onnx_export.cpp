// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/export.h"

#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include "core/graph/graph_builder.h"
#include "core/onnx/import.h"
#include "core/onnx/samples.h"

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

Graph reluGraph(std::int64_t opset = 13) {
    GraphBuilder builder("relu");
    if (opset)
        builder.setOpset("", opset);
    const ValueId input = builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
    builder.setOutputs({builder.add("Relu", {input})});
    return *builder.build();
}

std::size_t entries(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Files cannot grow over a limit while this lives: what a full disk looks like to the writer.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &old_);
        const rlimit limit{bytes, old_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit old_ = {};
    void (*handler_)(int) = nullptr;
};

} // namespace

class TestOnnxExport : public QObject {
    Q_OBJECT
private slots:
    void init() {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }

    void writesAndReplaces() {
        const fs::path path = folder_ / "m.onnx";
        QVERIFY(exportOnnx(reluGraph(), path).ok());
        QCOMPARE(importOnnx(path)->hash(), reluGraph().hash());
        QVERIFY(exportOnnx(*buildSample("mlp", 1), path).ok());
        QCOMPARE(importOnnx(path)->hash(), buildSample("mlp", 1)->hash());
        QCOMPARE(entries(folder_), std::size_t{1});
    }

    void theLeastVersionThatItsOpsetNeeds_data() {
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("ir");
        const std::pair<int, int> pairs[] = {{7, 7},   {14, 7},  {15, 8},  {18, 8},  {19, 9},  {20, 9},  {21, 10}, {22, 10},
                                             {23, 11}, {24, 12}, {25, 13}, {26, 13}, {27, 13}, {28, 14}};
        for (const auto& [opset, ir] : pairs)
            QTest::addRow("opset %d", opset) << opset << ir;
    }
    void theLeastVersionThatItsOpsetNeeds() {
        QFETCH(const int, opset);
        QFETCH(const int, ir);
        const auto bytes = exportOnnxBytes(reluGraph(opset));
        QVERIFY(bytes.ok());
        QCOMPARE(std::to_integer<int>((*bytes)[0]), 1 << 3); // the field ir_version comes first
        QCOMPARE(std::to_integer<int>((*bytes)[1]), ir);
        QCOMPARE(importOnnxBytes(*bytes)->hash(), reluGraph(opset).hash());
    }

    void everyDomainOfANodeIsImported() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
        Node node;
        node.op = "Gelu";
        node.domain = "com.microsoft";
        node.inputs = {x};
        node.outputs = {builder.addValue("y", TensorType(DType::f32, Shape{2, 3}))};
        builder.setOutputs(node.outputs);
        builder.addNode(node);
        const auto bytes = exportOnnxBytes(*builder.build());
        QVERIFY(bytes.ok());
        std::ofstream(folder_ / "gelu.onnx", std::ios::binary).write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
        const auto back = importOnnx((folder_ / "gelu.onnx").string());
        QVERIFY2(back.ok(), back.ok() ? "" : back.error().message.c_str());
        QCOMPARE(back->opset("com.microsoft"), std::int64_t(1));
        QCOMPARE(back->opset(), std::int64_t(17));
    }

    void writesThroughALink() {
        fs::create_symlink("m.onnx", folder_ / "link.onnx");
        QVERIFY(exportOnnx(reluGraph(), folder_ / "m.onnx").ok());
        QVERIFY(exportOnnx(*buildSample("mlp", 1), folder_ / "link.onnx").ok());
        QVERIFY(fs::is_symlink(folder_ / "link.onnx"));
        QCOMPARE(importOnnx(folder_ / "m.onnx")->hash(), buildSample("mlp", 1)->hash());
    }

    void sameGraphSameBytes() {
        QVERIFY(*exportOnnxBytes(*buildSample("encoder", 5)) == *exportOnnxBytes(*buildSample("encoder", 5)));
    }

    void fullDiskLeavesTheOldFile() {
        const fs::path path = folder_ / "m.onnx";
        QVERIFY(exportOnnx(reluGraph(), path).ok());
        const Graph large = *buildSample("mlp", 1);
        for (const std::uint64_t inlineLimit : {std::uint64_t{1} << 40, std::uint64_t{1000}}) {
            const FileSizeLimit limit(20000);
            const Status written = exportOnnx(large, path, {.inlineLimit = inlineLimit});
            QVERIFY(!written.ok());
            QVERIFY(written.error().kind == ErrorKind::io);
            QVERIFY2(written.error().message.find("m.onnx") != std::string::npos,
                     written.error().message.c_str());
        }
        QCOMPARE(entries(folder_), std::size_t{1});
        QCOMPARE(importOnnx(path)->hash(), reluGraph().hash());
    }

    void fullDevice() {
        if (!fs::exists("/dev/full"))
            QSKIP("there is no /dev/full");
        const Status written = exportOnnx(reluGraph(), "/dev/full");
        QVERIFY(!written.ok());
        QVERIFY2(written.error().message.find("No space left") != std::string::npos,
                 written.error().message.c_str());
        QVERIFY(fs::is_character_file("/dev/full"));
    }

    void badPlaces() {
        fs::create_directory(folder_ / "taken");
        for (const fs::path& path :
             {folder_ / "taken", folder_ / "none" / "m.onnx", fs::path("/proc/m.onnx")}) {
            const Status written = exportOnnx(reluGraph(), path);
            QVERIFY(!written.ok());
            QVERIFY2(written.error().message.find(path.string()) != std::string::npos,
                     written.error().message.c_str());
        }
        QCOMPARE(entries(folder_), std::size_t{1});
    }

    void unwritableFolder() {
        const bool root = ::geteuid() == 0; // who may write everywhere, so be nobody for a moment
        fs::permissions(folder_.parent_path(), fs::perms(0755));
        fs::permissions(folder_, fs::perms(0555));
        if (root && ::seteuid(65534) != 0)
            QSKIP("cannot become another user");
        const Status written = exportOnnx(reluGraph(), folder_ / "m.onnx");
        if (root)
            QCOMPARE(::seteuid(0), 0);
        fs::permissions(folder_, fs::perms::owner_all);
        QVERIFY(!written.ok());
        QVERIFY2(written.error().message.find("ermission") != std::string::npos,
                 written.error().message.c_str());
    }

    void graphWithoutOpsetIsRefused() {
        const auto bytes = exportOnnxBytes(reluGraph(0));
        QVERIFY(!bytes.ok());
        QVERIFY2(bytes.error().message.find("opset") != std::string::npos, bytes.error().message.c_str());
    }

    void overTwoGigabytesIsRefusedInMemory() {
        static const std::byte one{};
        GraphBuilder builder;
        builder.setOpset("", 13);
        // Never read: the size alone decides.
        const ValueId huge = builder.addConstant("w", Tensor::wrap(DType::f32, {750'000'000}, &one, nullptr));
        builder.setOutputs({builder.add("Relu", {huge})});
        const auto bytes = exportOnnxBytes(*builder.build());
        QVERIFY(!bytes.ok());
        QVERIFY2(bytes.error().message.find("2 GB") != std::string::npos, bytes.error().message.c_str());
    }

    void smallGraphsAreFast() {
        const Graph graph = reluGraph();
        QBENCHMARK {
            const auto bytes = exportOnnxBytes(graph);
            QVERIFY(bytes.ok() && importOnnxBytes(*bytes).ok());
        }
    }

private:
    QTemporaryDir temporary_;
    fs::path folder_ = fs::path(temporary_.path().toStdString()) / "out";
};

QTEST_GUILESS_MAIN(TestOnnxExport)
#include "tst_onnx_export.moc"
