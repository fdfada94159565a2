// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/graph/npy.h"
#include "core/module/index_limits.h"
#include "core/onnx/export.h"
#include "core/workbench/compile.h"
#include "core/workbench/run.h"
#include "tests/core/ops/contrib_case.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using I = std::int64_t;

// A node, one of its inputs whose first element is legal, and numbers that are not legal there.
struct Lookup {
    OpCase c;
    std::size_t index;
    std::vector<I> wrong;
};

Tensor small(const Shape& shape, const std::vector<std::int32_t>& values) { return Tensor::of<std::int32_t>(shape, values); }
Tensor number(std::int32_t value) { return Tensor::scalar(value); }
Tensor ids(const Shape& shape, const std::vector<I>& values) { return Tensor::ofInts(values).reshaped(shape); }

OpCase standard(const std::string& op, I opset, std::map<std::string, Attribute> attributes, std::vector<Tensor> inputs) {
    return {.op = op, .opset = opset, .attributes = std::move(attributes), .inputs = std::move(inputs)};
}

std::vector<std::pair<const char*, Lookup>> tables() {
    const Tensor words = counted({5, 2}), places = counted({3, 2}), parts = counted({2, 2}), gain = counted({2});
    const OpCase embed = contrib("EmbedLayerNormalization", {}, {small({1, 2}, {4, 0}), small({1, 2}, {1, 0}), words, places, parts, gain, gain, {}, small({1, 2}, {2, 0})});
    const Tensor rows = bytes({2, 2}, {1, 2, 3, 4}), scale = Tensor::scalar(.1F);
    const OpCase quantised = contrib("QEmbedLayerNormalization", {},
                                     {small({1, 2}, {1, 0}), small({1, 2}, {1, 0}), rows, rows, rows, bytes({2}, {1, 2}), bytes({2}, {1, 2}), {}, scale, scale, scale, scale, scale});
    const std::map<std::string, Attribute> block{{"block_size", I{16}}}, columns{{"block_size", I{16}}, {"gather_axis", I{1}}, {"quantize_axis", I{0}}};
    return {
        {"words", {embed, 0, {5, -1}}},
        {"segments", {embed, 1, {2, -1}}},
        {"places of words", {embed, 8, {3, -1}}},
        {"words of bytes", {quantised, 0, {2, -1}}},
        {"segments of bytes", {quantised, 1, {2, -1}}},
        {"rows in blocks", {contrib("GatherBlockQuantized", block, {counted({5, 16}).cast(DType::u8), ids({1}, {-5}), counted({5, 2})}), 1, {5, -6}}},
        {"columns, two in a byte", {contrib("GatherBlockQuantized", columns, {counted({16, 3}).cast(DType::u8), ids({1}, {5}), counted({1, 6})}), 1, {6, -7}}},
        {"rows of several numbers", {standard("GatherND", 17, {}, {counted({3, 4}), ids({1, 1}, {2})}), 1, {3, -4}}},
        {"classes", {standard("NegativeLogLikelihoodLoss", 17, {}, {counted({1, 3}), ids({1}, {2})}), 1, {3, -1}}},
        {"classes and one that does not count", {standard("NegativeLogLikelihoodLoss", 17, {{"ignore_index", I{5}}, {"reduction", std::string("sum")}}, {counted({1, 3}), ids({1}, {5})}), 1, {6, -1}}},
        {"lengths", {standard("ReverseSequence", 17, {}, {counted({3, 1}), ids({1}, {3})}), 1, {4, -1}}},
        {"rows that are written", {standard("ScatterElements", 17, {}, {counted({3, 1}), ids({1, 1}, {2}), counted({1, 1})}), 1, {3, -4}}},
    };
}

std::vector<std::pair<const char*, Lookup>> places() {
    const Tensor x = counted({1, 2, 4}), angles = counted({3, 2});
    const auto rotated = [&](const Tensor& rows) { return contrib("RotaryEmbedding", {}, {x, rows, angles, angles}); };
    const OpCase own = standard("RotaryEmbedding", 23, {}, {x.reshaped({1, 1, 2, 4}), angles, angles, ids({1, 2}, {2, 0})});
    return {
        {"positions", {rotated(ids({1, 2}, {2, 0})), 1, {3, -1}}},
        {"first position", {rotated(ids({1}, {1})), 1, {2, -1}}},
        {"positions of ONNX", {own, 3, {3, -1}}},
    };
}

std::vector<std::pair<const char*, Lookup>> caches() {
    const std::map<std::string, Attribute> one{{"num_heads", I{1}}}, shared{{"num_heads", I{1}}, {"past_present_share_buffer", I{1}}};
    const Tensor q = counted({1, 1, 2}), two = counted({1, 2, 2}), past = counted({1, 1, 4, 2}), shorter = counted({1, 1, 3, 2}), angles = counted({3, 1});
    const auto group = [](const Tensor& rows, const Tensor& before, std::int32_t last, std::set<std::size_t> constants = {}, std::vector<Tensor> rotation = {}) {
        std::vector<Tensor> inputs{rows, rows, rows, before, before, small({1}, {last}), number(4)};
        inputs.insert(inputs.end(), rotation.begin(), rotation.end());
        return contrib("GroupQueryAttention", {{"num_heads", I{1}}, {"kv_num_heads", I{1}}, {"do_rotary", I{rotation.empty() ? 0 : 1}}}, inputs, 3, std::move(constants));
    };
    const OpCase given = group(q, past, 3, {}, {angles, angles, ids({1, 1}, {2})});
    return {
        {"filled rows", {group(q, past, 3), 5, {4, -1}}},
        {"filled rows of a growing cache", {group(q, shorter, 3, {6}), 5, {4, -1}}},
        {"filled rows before two", {group(two, past, 3), 5, {4, -1}}},
        {"filled rows that are rotated", {group(q, past, 2, {}, {angles, angles}), 5, {3, -1}}},
        {"rotations", {given, 9, {3, -1}}},
        {"total length", {group(q, past, 3), 6, {-1}}},
        {"total length of a growing cache", {group(q, shorter, 3), 6, {3, -1}}},
        {"length of a buffer", {contrib("MultiHeadAttention", one, {q, q, q, {}, {}, {}, shorter, shorter, small({1}, {2})}, 3), 8, {3, -1}}},
        {"length of a packed buffer", {contrib("Attention", shared, {q, counted({2, 6}), counted({6}), {}, counted({2, 1, 1, 3, 2}), {}, small({1}, {2})}, 2), 6, {3, -1}}},
        {"begin of what is written", {standard("TensorScatter", 24, {}, {counted({1, 4, 2}), counted({1, 2, 2}), ids({1}, {2})}), 2, {3, -1}}},
    };
}

// Caches of as many rows as they had, where the total length is an input, as exporters declare them.
Graph declared(const OpCase& c) {
    Graph graph = take(graphOf(c));
    if (c.op != "GroupQueryAttention")
        return graph;
    GraphBuilder builder(graph);
    for (const std::size_t output : {1, 2})
        builder.setType(graph.outputs()[output], TensorType(DType::f32, Shape{1, 1, 4, 2}));
    return take(builder.build());
}

Tensor withFirst(const Tensor& x, I value) {
    Tensor y = Tensor::zeros(DType::i64, x.shape());
    std::ranges::copy(x.asInts(), y.mutableData<I>().begin());
    y.mutableData<I>()[0] = value;
    return y.cast(x.type());
}

} // namespace

Q_DECLARE_METATYPE(Lookup)

// One behaviour: an index that is given and out of range is refused, whoever computes.
class TestIndexLimits : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

    // ids of [2, 2] -> op -> index of rows of a table of 5, beside one of 7.
    static Graph lookups(const std::string& op, DType type, const std::string& gather = "Gather") {
        GraphBuilder builder("lookups");
        builder.setOpset("", 17);
        ValueId ids = builder.addInput("ids", TensorType(type, Shape{2, 2}));
        if (op == "Cast")
            ids = builder.add(op, {ids}, {{"to", I{6}}}); // int32
        else if (op == "Add")
            ids = builder.add("Add", {ids, builder.addConstant("one", type == DType::i64 ? Tensor::scalar<std::int64_t>(1) : Tensor::scalar<std::int32_t>(1))});
        else if (!op.empty())
            ids = builder.add(op, {ids});
        std::vector<ValueId> outputs;
        for (const std::int64_t rows : {7, 5})
            outputs.push_back(builder.add(gather, {builder.addConstant("table" + std::to_string(rows), Tensor::zeros(DType::f32, {rows, 3})), ids}));
        builder.setOutputs(outputs);
        return take(builder.build());
    }

    template <class T> std::string file(const std::vector<T>& values) const {
        Tensor tensor = Tensor::zeros(dtypeOf<T>, {2, 2});
        std::ranges::copy(values, tensor.mutableData<T>().begin());
        take(writeNpy(path("ids.npy"), tensor));
        return path("ids.npy");
    }

    template <class T> void verifyRuns(const std::vector<T>& ids, bool good) const {
        take(exportOnnx(lookups("", dtypeOf<T>), path("lookups.onnx")));
        const Model model = take(openModel(path("lookups.onnx")));
        for (const Engine engine : kEngines) {
            RunRequest request;
            request.inputs.files["ids"] = file(ids);
            request.engine = engine;
            request.threads = 1;
            request.store = path("store.db");
            const auto run = runModel(model, request);
            QVERIFY2(run.ok() == good, engineName(engine));
            if (!good)
                QVERIFY2(run.error().message.find("is out of range") != std::string::npos, run.error().message.c_str());
        }
    }

    static constexpr Engine kEngines[] = {Engine::reference, Engine::compiled, Engine::module};

    std::map<std::string, std::filesystem::path> files(const OpCase& c) const {
        std::map<std::string, std::filesystem::path> files;
        for (std::size_t i = 0; i < c.inputs.size(); ++i) {
            const std::string name = "x" + std::to_string(i);
            if (c.inputs[i].absent() || c.constants.contains(i))
                continue;
            files[name] = path((name + ".npy").c_str());
            take(writeNpy(files[name], c.inputs[i]));
        }
        return files;
    }

    // The model of a case, and a module that keeps the types that the model declares.
    Model made(const OpCase& c) const {
        take(exportOnnx(declared(c), path("lookup.onnx")));
        const Model model = take(openModel(path("lookup.onnx")));
        CompileRequest request;
        request.folder = path("module");
        request.store = path("store.db");
        request.threads = 1;
        request.untuned = true;
        request.inputs = files(c);
        take(compileModel(model, request));
        return model;
    }

    Result<RunResult> run(const Model& model, const OpCase& c, Engine engine) const {
        RunRequest request;
        request.inputs.files = files(c);
        request.engine = engine;
        request.threads = 1;
        request.store = path("store.db");
        return engine == Engine::module ? runExportedModule(path("module"), request) : runModel(model, request);
    }

private slots:
    void everyOperatorRefuses_data() {
        QTest::addColumn<Lookup>("lookup");
        for (const auto& lookups : {tables(), places(), caches()})
            for (const auto& [name, lookup] : lookups)
                QTest::newRow(name) << lookup;
    }
    void everyOperatorRefuses() {
        QFETCH(const Lookup, lookup);
        const Model model = made(lookup.c);
        for (const Engine engine : kEngines) {
            const auto good = run(model, lookup.c, engine);
            QVERIFY2(good.ok(), (engineName(engine) + std::string(": ") + (good.ok() ? "" : good.error().message)).c_str());
            for (const I wrong : lookup.wrong) {
                OpCase c = lookup.c;
                c.inputs[lookup.index] = withFirst(c.inputs[lookup.index], wrong);
                const auto refused = run(model, c, engine);
                QVERIFY2(!refused.ok(), (engineName(engine) + std::string(" takes ") + std::to_string(wrong)).c_str());
                const std::string named = "input 'x" + std::to_string(lookup.index) + "': index " + std::to_string(wrong) + " (element 0)";
                const std::string& message = refused.error().message; // parts do not believe what a model declares of its caches
                const bool byKernel = engine != Engine::module && message.find('(' + c.op + ')') != std::string::npos;
                QVERIFY2(byKernel || message.find(named) != std::string::npos, message.c_str());
            }
        }
    }

    // A cache that would become longer than the model declares has no place in a module; whoever does not believe what is declared makes it.
    void cachesGrowAsDeclared() {
        OpCase c = caches().front().second.c;
        const Model model = made(c);
        c.inputs[5] = small({1}, {4});
        c.inputs[6] = number(5);
        for (const Engine engine : {Engine::reference, Engine::compiled}) {
            const auto longer = run(model, c, engine);
            QVERIFY2(longer.ok(), longer.ok() ? "" : longer.error().message.c_str());
            QCOMPARE(longer->outputs[1].tensor.shape(), (Shape{1, 1, 5, 2}));
        }
        const auto refused = run(model, c, Engine::module);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("input 'x5': index 4 (element 0) is out of range: it must be from 0 to 3") != std::string::npos,
                 refused.error().message.c_str());
    }

    void everyEngineRefuses_data() {
        QTest::addColumn<QList<qint64>>("ids");
        QTest::addColumn<bool>("good");
        QTest::newRow("first and last") << QList<qint64>{0, 4, -5, -1} << true;
        QTest::newRow("too large") << QList<qint64>{0, 0, 0, 5} << false;
        QTest::newRow("too small") << QList<qint64>{-6, 0, 0, 0} << false;
        QTest::newRow("largest") << QList<qint64>{0, std::numeric_limits<qint32>::max(), 0, 0} << false;
        QTest::newRow("smallest") << QList<qint64>{0, 0, std::numeric_limits<qint32>::min(), 0} << false;
    }
    void everyEngineRefuses() {
        QFETCH(const QList<qint64>, ids);
        QFETCH(const bool, good);
        verifyRuns(std::vector<std::int64_t>(ids.begin(), ids.end()), good);
        verifyRuns(std::vector<std::int32_t>(ids.begin(), ids.end()), good);
    }

    void theWholeRangeOfAnIndexIsLookedAt() {
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
        for (const std::int64_t wrong : {kMost, kMost - 4, kLeast, kLeast + 5, std::int64_t(1) << 32})
            verifyRuns(std::vector<std::int64_t>{0, wrong, 0, 0}, false);
    }

    void limits() {
        const std::vector<IndexRange> rows{{-5, 4}}, none{{}};
        QCOMPARE(indexLimits(lookups("", DType::i64)), rows);
        QCOMPARE(indexLimits(lookups("", DType::i32)), rows);
        QCOMPARE(indexLimits(lookups("Identity", DType::i64)), rows);
        QCOMPARE(indexLimits(lookups("Cast", DType::i64)), rows);
        QCOMPARE(indexLimits(lookups("Transpose", DType::i64, "GatherElements")), rows);
        QCOMPARE(indexLimits(lookups("Add", DType::i64)), none); // is another number than what was given
    }

    // A module takes the inputs that are drawn for it.
    void drawnNumbersAreLegal() {
        for (const auto& rows : {tables(), places(), caches()})
            for (const auto& [name, lookup] : rows) {
                const Graph graph = declared(lookup.c);
                const std::vector<IndexRange> limits = indexLimits(graph), drawn = inputBounds(graph);
                for (std::size_t i = 0; i < limits.size(); ++i)
                    QVERIFY2(limits[i].isOpen() || (drawn[i].least >= limits[i].least && drawn[i].most <= limits[i].most), name);
            }
    }

    // A prompt is as long as the total says, whatever is filled; where the total is an input it may be one.
    void limitsOfPrompts() {
        OpCase prompt = caches()[2].second.c;
        QCOMPARE(indexLimits(declared(prompt))[5], (IndexRange{0, 3}));
        prompt.inputs[6] = number(2);
        prompt.constants = {6};
        QCOMPARE(indexLimits(declared(prompt))[5], IndexRange());
        prompt.inputs[6] = number(4);
        QCOMPARE(indexLimits(declared(prompt))[5], (IndexRange{1, 3}));
    }
};

QTEST_GUILESS_MAIN(TestIndexLimits)
#include "tst_index_limits.moc"
