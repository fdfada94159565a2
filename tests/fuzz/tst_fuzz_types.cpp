// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDirIterator>
#include <QTest>

#include "core/base/rng.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/import.h"
#include "core/ops/containers.h"
#include "core/ops/coverage.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "tests/take.h"

using namespace tunesmith;

// Models of single operators with inputs of other types than theirs, one or two of them, of shapes that are not known, and with inputs that are no
// tensors or texts that the model holds. Each is refused in a sentence or computed: no rule, kernel, lowering or expansion reads what is not there. The address sanitizer
// sees a read that this build does not.
class TestFuzzTypes : public QObject {
    Q_OBJECT

    static std::vector<TensorType> otherTypes(const TensorType& own) {
        std::vector<TensorType> types;
        for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean, DType::string})
            if (dtype != own.dtype)
                types.emplace_back(dtype, own.shape());
        const Shape shape = own.shape();
        for (std::size_t i = 0; i < shape.size(); ++i)
            for (const std::int64_t extent : {std::int64_t(0), std::int64_t(1), shape[i] - 1, shape[i] + 1, 2 * shape[i]}) {
                Shape other = shape;
                other[i] = std::max<std::int64_t>(extent, 0);
                if (other != shape)
                    types.emplace_back(own.dtype, other);
            }
        types.emplace_back(own.dtype, Shape{});
        types.emplace_back(own.dtype, Shape{elementCount(shape)});
        Shape longer = shape;
        longer.insert(longer.begin(), 2);
        types.emplace_back(own.dtype, longer);
        if (!shape.empty())
            types.emplace_back(own.dtype, Shape(shape.begin() + 1, shape.end()));
        types.emplace_back(own.dtype); // not even the rank is known
        types.emplace_back(own.dtype, Dims(shape.size()));
        return types;
    }

    static bool isSmall(const Graph& graph) {
        constexpr std::int64_t kFew = 1 << 14; // elements
        std::int64_t elements = 0;
        for (const auto& value : graph.values())
            if (value->type.isStatic())
                elements += elementCount(value->type.shape());
        return elements < kFew;
    }

    using Change = std::pair<std::size_t, TensorType>; // of which input, to what

    // Each of them alone, and some pairs.
    static std::vector<std::vector<Change>> changesOf(const Graph& graph) {
        constexpr int kPairs = 40;
        std::vector<Change> single;
        for (std::size_t i = 0; i < graph.inputs().size(); ++i)
            if (const TensorType& own = graph.value(graph.inputs()[i]).type; own.isStatic())
                for (TensorType& type : otherTypes(own))
                    single.emplace_back(i, std::move(type));
        std::vector<std::vector<Change>> changes;
        for (const Change& change : single)
            changes.push_back({change});
        Rng rng(7);
        for (int i = 0; i < kPairs && single.size() > 1; ++i) {
            const Change &a = single[rng.below(single.size())], &b = single[rng.below(single.size())];
            if (a.first != b.first)
                changes.push_back({a, b});
        }
        return changes;
    }

    // Whether it was computed.
    static bool computes(const Graph& graph, const std::vector<Change>& changes) {
        GraphBuilder builder(graph);
        for (const auto& [input, type] : changes)
            builder.setType(graph.inputs()[input], type);
        for (const ValueId output : graph.outputs())
            builder.setType(output, TensorType()); // what is declared would refuse most of them
        const auto built = builder.build();
        if (!built.ok())
            return false;
        const auto typed = inferShapes(*built);
        if (!typed.ok() || !isSmall(*typed))
            return false;
        static_cast<void>(coverage(*typed));
        static_cast<void>(expandNodes(*typed));
        const auto inputs = randomInputs(*typed, 1);
        RunOptions options;
        options.memoryLimit = std::int64_t(64) << 20;
        return inputs.ok() && Interpreter(*typed).run(*inputs, options).ok();
    }

    // Texts of the shape of a tensor, and of the shapes that numbers steer with.
    static std::vector<Tensor> textsFor(const TensorType& own) {
        std::vector<Tensor> texts;
        for (const Shape& shape : {own.isStatic() ? own.shape() : Shape{1}, Shape{}, Shape{1}, Shape{2}})
            texts.push_back(Tensor::ofStrings(shape, std::vector<std::string>(static_cast<std::size_t>(elementCount(shape)), "1")));
        return texts;
    }

    // Whether it was computed with an input that the model holds as texts.
    static bool computesTexts(const Graph& graph, std::size_t input, const Tensor& texts) {
        GraphBuilder builder(graph);
        builder.replaceUses(graph.inputs()[input], builder.addConstant("texts", texts));
        return computes(take(builder.build()), {});
    }

    // Whether it was computed with an input that is no tensor, whether the model says so or not.
    static bool computesContainer(const Graph& graph, std::size_t input, const Tensor& container, const TensorType& type) {
        GraphBuilder builder(graph);
        builder.setType(graph.inputs()[input], type);
        for (const ValueId output : graph.outputs())
            builder.setType(output, TensorType());
        const auto typed = inferShapes(take(builder.build()));
        if (!typed.ok())
            return false;
        static_cast<void>(coverage(*typed));
        static_cast<void>(expandNodes(*typed));
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
            const TensorType& own = graph.value(graph.inputs()[i]).type;
            inputs.push_back(i == input ? container : own.isStatic() ? Tensor::zeros(own.dtype, own.shape()) : Tensor::sequence({}));
        }
        return Interpreter(*typed).run(inputs).ok();
    }

    // How many of an operator's models with other values were computed; all are counted in `tried`.
    static int computedWithOthers(const Graph& graph, int& tried) {
        int computed = 0;
        const Tensor sequence = Tensor::sequence({Tensor::scalar(1.0F)});
        for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
            for (const Tensor& texts : textsFor(graph.value(graph.inputs()[i]).type))
                ++tried, computed += computesTexts(graph, i, texts);
            for (const Tensor& container : {Tensor::sequence({}), sequence, Tensor::nothing()})
                for (const TensorType& type : {TensorType(), typeOf(container)})
                    ++tried, computed += computesContainer(graph, i, container, type);
        }
        return computed;
    }

private slots:
    void everyOperator() {
        const QString root = qEnvironmentVariable("TUNESMITH_TEST_DATA", QStringLiteral(TUNESMITH_SOURCE_DIR "/../shared"));
        constexpr qint64 kSmall = 8192;
        int computed = 0, refused = 0;
        for (QDirIterator files(root + "/data", {"*.onnx"}, QDir::Files, QDirIterator::Subdirectories); files.hasNext();) {
            const QString name = files.next();
            const auto graph = importOnnx(name.toStdString());
            if (files.fileInfo().size() > kSmall || !graph.ok() || graph->nodeCount() > 2 || !isSmall(*graph))
                continue;
            for (const auto& changes : changesOf(*graph)) {
                if (qEnvironmentVariableIsSet("FUZZ_SAY"))
                    qInfo().noquote() << name << changes.front().first << QString::fromStdString(changes.front().second.text()) << changes.back().first
                                      << QString::fromStdString(changes.back().second.text());
                (computes(*graph, changes) ? computed : refused) += 1;
            }
            if (qEnvironmentVariableIsSet("FUZZ_SAY"))
                qInfo().noquote() << name << "others";
            int others = 0;
            const int taken = computedWithOthers(*graph, others);
            computed += taken;
            refused += others - taken;
        }
        if (computed + refused == 0)
            QSKIP("TUNESMITH_TEST_DATA names no folder with models below data");
        qInfo("%d computed, %d refused", computed, refused);
        QVERIFY(computed > 0 && refused > 0);
    }
};

QTEST_APPLESS_MAIN(TestFuzzTypes)
#include "tst_fuzz_types.moc"
