// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/export.h"
#include "core/onnx/import.h"

#include <QTemporaryDir>
#include <QTest>

#include <atomic>
#include <optional>
#include <thread>

#include "core/base/log.h"
#include "core/onnx/data_places.h"
#include "core/onnx/samples.h"
#include "model_bytes.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;
namespace fs = std::filesystem;

namespace {

onnx::ModelProto externalModel(const std::string& location, const std::string& offset = {},
                               const std::string& length = {}, std::int64_t rows = 2) {
    auto model = smallModel();
    auto& weight = *model.mutable_graph()->mutable_initializer(0);
    weight.clear_raw_data();
    weight.set_dims(0, rows);
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
        if (value.empty())
            return;
        auto* pair = weight.add_external_data();
        pair->set_key(key), pair->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    return model;
}

std::string floats(int count) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i)
        values.push_back(static_cast<float>(i));
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

} // namespace

class TestExternalData : public QObject {
    Q_OBJECT
private slots:
    void init() {
        fs::remove_all(root_ / "case");
        fs::create_directories(root_ / "case" / "home" / "sub");
        writeFile(home_ / "w.bin", floats(8));
        writeFile(home_ / "sub" / "w.bin", floats(8));
        writeFile(home_ / "large.bin", floats(4096));
        writeFile(home_ / "none.bin", "");
        writeFile(root_ / "case" / "secret.bin", floats(8));
        fs::create_symlink(root_ / "case" / "secret.bin", home_ / "leaving.bin");
        fs::create_directory_symlink(root_ / "case", home_ / "out");
        fs::create_symlink("w.bin", home_ / "staying.bin");
    }

    void readable_data() {
        QTest::addColumn<QString>("location");
        QTest::addColumn<QString>("offset");
        QTest::addColumn<QString>("length");
        QTest::addColumn<double>("first");
        QTest::newRow("plain") << "w.bin"
                               << ""
                               << "" << 0.0;
        QTest::newRow("offset and length") << "w.bin"
                                           << "16"
                                           << "16" << 4.0;
        QTest::newRow("offset alone") << "w.bin"
                                      << "4"
                                      << "" << 1.0;
        QTest::newRow("in a folder below") << "sub/w.bin"
                                           << "8"
                                           << "" << 2.0;
        QTest::newRow("with a dot") << "./w.bin"
                                    << ""
                                    << "" << 0.0;
        QTest::newRow("link that stays") << "staying.bin"
                                         << ""
                                         << "" << 0.0;
    }
    void readable() {
        QFETCH(QString, location);
        QFETCH(QString, offset);
        QFETCH(QString, length);
        QFETCH(double, first);
        const auto graph =
            load(externalModel(location.toStdString(), offset.toStdString(), length.toStdString()));
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        QCOMPARE(graph->value(graph->findValue("w")).constant.asDouble(0), first);
    }

    void refused_data() {
        QTest::addColumn<QString>("location");
        QTest::addColumn<QString>("offset");
        QTest::addColumn<QString>("length");
        QTest::addColumn<QString>("expected");
        const QString secret = QString::fromStdString((root_ / "case" / "secret.bin").string());
        QTest::newRow("missing") << "gone.bin"
                                 << ""
                                 << ""
                                 << "No such file";
        QTest::newRow("no location") << ""
                                     << ""
                                     << ""
                                     << "inside the model's folder";
        QTest::newRow("absolute") << secret << ""
                                  << ""
                                  << "inside the model's folder";
        QTest::newRow("upwards") << "../secret.bin"
                                 << ""
                                 << ""
                                 << "inside the model's folder";
        QTest::newRow("upwards in the middle") << "sub/../../secret.bin"
                                               << ""
                                               << ""
                                               << "inside the model's folder";
        QTest::newRow("link out of the folder") << "leaving.bin"
                                                << ""
                                                << ""
                                                << "leaves the model's folder";
        QTest::newRow("through a folder link") << "out/secret.bin"
                                               << ""
                                               << ""
                                               << "leaves the model's folder";
        QTest::newRow("a folder") << "sub"
                                  << ""
                                  << ""
                                  << "is a folder";
        QTest::newRow("empty file") << "none.bin"
                                    << ""
                                    << ""
                                    << "has only 0";
        QTest::newRow("offset beyond the end") << "w.bin"
                                               << "1000"
                                               << ""
                                               << "has only 32";
        QTest::newRow("end beyond the end") << "w.bin"
                                            << "20"
                                            << ""
                                            << "has only 32";
        QTest::newRow("huge offset") << "w.bin"
                                     << "18446744073709551600"
                                     << ""
                                     << "has only 32";
        QTest::newRow("offset over 64 bits") << "w.bin"
                                             << "99999999999999999999"
                                             << ""
                                             << "bad offset";
        QTest::newRow("negative offset") << "w.bin"
                                         << "-4"
                                         << ""
                                         << "bad offset";
        QTest::newRow("offset with a tail") << "w.bin"
                                            << "4x"
                                            << ""
                                            << "bad offset";
        QTest::newRow("negative length") << "w.bin"
                                         << ""
                                         << "-16"
                                         << "bad length";
        QTest::newRow("another length") << "w.bin"
                                        << ""
                                        << "12"
                                        << "said to be 12";
    }
    void refused() {
        QFETCH(QString, location);
        QFETCH(QString, offset);
        QFETCH(QString, length);
        QFETCH(QString, expected);
        const auto graph =
            load(externalModel(location.toStdString(), offset.toStdString(), length.toStdString()));
        QVERIFY(!graph.ok());
        const std::string& text = graph.error().message;
        for (const std::string& part :
             {expected.toStdString(), std::string("initializer 'w'"), std::string("model.onnx")})
            QVERIFY2(text.find(part) != std::string::npos, text.c_str());
        QVERIFY2(text.find('\n') == std::string::npos, text.c_str());
    }

    void claimsThreeGigabytes() {
        const auto graph = load(externalModel("w.bin", {}, {}, 375'000'000));
        QVERIFY(!graph.ok());
        QVERIFY2(graph.error().message.find("has only 32") != std::string::npos,
                 graph.error().message.c_str());
    }

    void nulByteInTheName() { QVERIFY(!load(externalModel(std::string("w.bin\0.txt", 10))).ok()); }

    void largeDataIsMappedAndOutlivesTheFile() {
        const auto graph = load(externalModel("large.bin", {}, {}, 2048));
        QVERIFY(graph.ok());
        fs::remove(home_ / "large.bin");
        QCOMPARE(graph->value(graph->findValue("w")).constant.asDouble(4095), 4095.0);
    }

    void misalignedDataIsReadAllTheSame() {
        writeFile(home_ / "odd.bin", "x" + floats(4096));
        const auto graph = load(externalModel("odd.bin", "1", {}, 2048));
        QVERIFY(graph.ok());
        const auto data = graph->value(graph->findValue("w")).constant.data<float>();
        QCOMPARE(reinterpret_cast<std::uintptr_t>(data.data()) % alignof(float), std::uintptr_t{0});
        QCOMPARE(data[4095], 4095.0f);
    }

    void exportedWithExternalData() {
        const Graph graph = *buildSample("mlp", 3);
        const auto path = home_ / "mlp.onnx";
        const Status written = exportOnnx(graph, path, {.inlineLimit = 1000});
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
        QVERIFY(fs::file_size(path) < 10000);
        QVERIFY(fs::file_size(home_ / "mlp.onnx.data") > 2'000'000);
        const auto again = importOnnx(path);
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().message.c_str());
        QCOMPARE(again->hash(), graph.hash());
        fs::resize_file(home_ / "mlp.onnx.data", 1000);
        QVERIFY(!importOnnx(path).ok());
    }

    // The data of the model that is replaced goes; a file that only has the name stays.
    void dataOfOthersIsKept() {
        const Graph graph = *buildSample("mlp", 3);
        writeFile(home_ / "net.onnx.data", "mine");
        for (int time = 0; time < 3; ++time) {
            const Status written = exportOnnx(graph, home_ / "net.onnx", {.inlineLimit = 1000});
            QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
            QCOMPARE(fs::file_size(home_ / "net.onnx.data"), std::uintmax_t(4));
            QCOMPARE(fs::exists(home_ / "net.onnx.data-2"), time != 1);
            QCOMPARE(fs::exists(home_ / "net.onnx.data-3"), time == 1);
            const auto again = importOnnx(home_ / "net.onnx");
            QVERIFY2(again.ok(), again.ok() ? "" : again.error().message.c_str());
        }
    }

    // A small model may name the same bytes many times.
    void sharedBytesAreWrittenOnce_data() {
        QTest::addColumn<ExportOptions>("options");
        QTest::newRow("large") << ExportOptions{.inlineLimit = 1000};
        QTest::newRow("large for what it repeats") << ExportOptions{.repeatLimit = 1000};
    }
    void sharedBytesAreWrittenOnce() {
        QFETCH(const ExportOptions, options);
        auto model = externalModel("large.bin", {}, {}, 2048);
        for (int i = 0; i < 100; ++i) {
            auto& copy = *model.mutable_graph()->add_initializer();
            copy = model.graph().initializer(0);
            copy.set_name("copy" + std::to_string(i));
            auto& sum = *model.mutable_graph()->add_node();
            sum.set_op_type("Neg");
            sum.add_input(copy.name());
            sum.add_output("negative" + std::to_string(i));
        }
        const auto graph = load(model);
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        QVERIFY(exportOnnx(*graph, home_ / "out.onnx", options).ok());
        QCOMPARE(fs::file_size(home_ / "out.onnx.data"), std::uintmax_t(2048 * 2 * 4));
        QVERIFY(fs::file_size(home_ / "out.onnx") < 20'000);
        QCOMPARE(importOnnx(home_ / "out.onnx")->hash(), graph->hash());
    }

    // A model and its data are two files, and both have the names that the user gave.
    void exportsToOneNameDoNotMix() {
        const Graph graphs[] = {*buildSample("mlp", 3), *buildSample("mlp", 4)};
        for (int round = 0; round < 10; ++round) {
            std::vector<std::thread> writers;
            std::atomic<int> written{0};
            for (const Graph& graph : graphs)
                writers.emplace_back([&, this] { written += exportOnnx(graph, home_ / "one.onnx", {.inlineLimit = 1000}).ok(); });
            for (std::thread& writer : writers)
                writer.join();
            QCOMPARE(written.load(), 2);
            const auto found = importOnnx(home_ / "one.onnx");
            QVERIFY(found.ok() && (found->hash() == graphs[0].hash() || found->hash() == graphs[1].hash()));
        }
        QVERIFY(!fs::exists(home_ / "one.onnx.data-3"));
    }

    void waitsForTheTurn() {
        const Graph graph = *buildSample("mlp", 3);
        const fs::path lock = home_ / ".later.onnx.writing";
        writeFile(lock, ""); // of one that was killed
        auto turn = std::make_optional(take(ExportTurn::take(home_ / "later.onnx")));
        QVERIFY(exportOnnx(graph, home_ / "other.onnx", {.inlineLimit = 1000}).ok()); // nobody waits for another name
        std::atomic<bool> done = false;
        std::thread writer([&, this] { done = exportOnnx(graph, home_ / "later.onnx", {.inlineLimit = 1000}).ok(); });
        QTest::qWait(200);
        const bool waited = !done && !fs::exists(home_ / "later.onnx");
        turn.reset();
        writer.join();
        QVERIFY(waited && done && fs::exists(home_ / "later.onnx.data") && !fs::exists(lock));
    }

    // Several models may read one file.
    void dataThatOthersReadIsKept_data() {
        QTest::addColumn<QString>("other"); // what reads it, too
        for (const char* name : {"b.onnx", "b.onnx.bak", "backup.pb", "../b.onnx", "alias.onnx", "the source", "nobody", "nobody, but another program wrote it"})
            QTest::newRow(name) << name;
    }
    void dataThatOthersReadIsKept() {
        QFETCH(QString, other);
        const fs::path target = home_ / "a.onnx", data = home_ / "a.onnx.data";
        const Graph graph = *buildSample("mlp", 3);
        QVERIFY(exportOnnx(graph, target, {.inlineLimit = 1000}).ok());
        const bool nobody = other == "nobody", foreign = other.startsWith("nobody,"), source = other == "the source";
        auto model = externalModel(other.startsWith("..") ? "home/a.onnx.data" : "a.onnx.data", {}, {}, 2048);
        if (foreign)
            writeFile(target, model.SerializeAsString());
        else if (other == "alias.onnx")
            fs::create_hard_link(target, home_ / "alias.onnx");
        else if (!nobody)
            writeFile(home_ / (source ? "model" : other.toStdString()), model.SerializeAsString());
        Result<Graph> read = source ? importOnnx(home_ / "model") : graph;
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().message.c_str());
        std::string told;
        setLogSink([&](LogLevel, const std::string& message) { told = message; });
        const Status written = exportOnnx(graph, target, {.inlineLimit = 1000});
        setLogSink({});
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
        QCOMPARE(importOnnx(target)->hash(), graph.hash());
        QCOMPARE(fs::exists(data), !nobody);
        QVERIFY2(nobody == told.empty() && nobody != (told.find("a.onnx.data', data of the model that was replaced, stays") != std::string::npos), told.c_str());
    }

private:
    Result<Graph> load(const onnx::ModelProto& model) {
        writeFile(home_ / "model.onnx", model.SerializeAsString());
        return importOnnx(home_ / "model.onnx");
    }
    QTemporaryDir temporary_;
    fs::path root_ = temporary_.path().toStdString();
    fs::path home_ = root_ / "case" / "home";
};

QTEST_GUILESS_MAIN(TestExternalData)
#include "tst_external_data.moc"
