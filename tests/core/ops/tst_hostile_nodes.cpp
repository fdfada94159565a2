// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of a few bytes that lie about types, shapes and amounts: each is refused in a sentence or computed, and soon.
#include <QElapsedTimer>
#include <QTest>

#include "contrib_case.h"
#include "core/base/memory_budget.h"
#include "core/ops/containers.h"
#include "core/ops/coverage.h"
#include "core/ops/fold_constants.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Body = std::shared_ptr<const Graph>;
constexpr std::int64_t kHuge = std::int64_t{1} << 40;

Tensor texts(const Shape& shape) { return Tensor::ofStrings(shape, std::vector<std::string>(static_cast<std::size_t>(elementCount(shape)), "6")); }
Tensor zeros(const Shape& shape, DType type = DType::f32) { return Tensor::zeros(type, shape); }

std::string sentenceOf(const OpCase& c) {
    const auto result = runKernel(c);
    return result.ok() ? "computed" : result.error().message;
}

// The sentence of the shape rule, all inputs being known.
std::string ruleSentenceOf(const OpCase& c) {
    std::vector<TensorType> types;
    for (const Tensor& input : c.inputs)
        types.push_back(input.absent() ? TensorType() : TensorType(input.type(), input.shape()));
    const auto result = runRule(nodeOf(c), c.opset, types, c.inputs);
    return result.ok() ? "accepted" : result.error().message;
}

bool says(const std::string& sentence, const char* words) { return sentence.find(words) != std::string::npos; }

// Why an expansion leaves the case, all of whose shapes are known.
std::string leftBecause(const OpCase& c) {
    const Graph graph = take(graphOf(c));
    const Status status = checkExpandable(graph, NodeId(0));
    return status.ok() ? "written out" : status.error().message;
}

// The nodes of an operator that are left after folding.
std::size_t leftAfterFolding(OpCase c) {
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
        c.constants.insert(i);
    const Graph graph = take(foldConstants(take(graphOf(c))));
    return static_cast<std::size_t>(std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node->op == c.op; }));
}

// y = CastLike(x, s), where s is an empty sequence or x, whichever the condition takes: nothing is known of its type.
Graph castLikeAChoice() {
    GraphBuilder then("then"), otherwise("else"), builder("m");
    then.setOutputs({then.add("SequenceEmpty", {}, {}, 1, "empty")});
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1000})), c = builder.addInput("c", TensorType(DType::boolean, Shape{}));
    otherwise.setOutputs({otherwise.add("Identity", {otherwise.addCapture("x", TensorType(DType::f32, Shape{1000}))}, {}, 1, "same")});
    const ValueId s = builder.add("If", {c}, {{"then_branch", std::make_shared<const Graph>(take(then.build()))}, {"else_branch", std::make_shared<const Graph>(take(otherwise.build()))}}, 1, "choice");
    builder.setOutputs({builder.add("CastLike", {x, s}, {}, 1, "like")});
    return take(inferShapes(take(builder.build())));
}

// A loop of four states whose body gives the condition and one of them.
Node shortLoop(std::size_t outputs) {
    GraphBuilder body("body");
    body.addInput("i", TensorType(DType::i64, Shape{}));
    const ValueId goesOn = body.addInput("goes_on", TensorType(DType::boolean, Shape{}));
    std::vector<ValueId> states;
    for (const char* name : {"a", "b", "c", "d"})
        states.push_back(body.addInput(name, TensorType(DType::f32, Shape{1})));
    body.setOutputs({body.add("Identity", {goesOn}, {}, 1, "still"), body.add("Identity", {states[0]}, {}, 1, "same")});
    Node node = nodeOf("Loop", {{"body", std::make_shared<const Graph>(take(body.build()))}}, std::vector<bool>(6, true), static_cast<int>(outputs));
    return node;
}

} // namespace

class TestHostileNodes : public QObject {
    Q_OBJECT

private slots:
    // Whatever the operator, and whichever input: a sequence or an optional value that holds nothing is no tensor.
    void onlyTensorsAreComputed() {
        std::size_t asked = 0;
        for (const Operator* const op : allOperators())
            for (const std::size_t count : {1, 2, 3, 4, 6, 9, 11})
                for (std::size_t place = 0; op->eval && place < count; ++place)
                    for (const Tensor& container : {Tensor::sequence({}), Tensor::sequence({floats({2}, {1, 2})}), Tensor::nothing()}) {
                        OpCase c{op->name, 17, {}, std::vector<Tensor>(count, floats({2}, {1, 2}))};
                        c.domain = op->domain;
                        c.inputs[place] = container;
                        const std::string sentence = sentenceOf(c);
                        QVERIFY2(takesContainers(nodeOf(c), place) || says(sentence, "only tensors are computed"), (describe(c) + ": " + sentence).c_str());
                        ++asked;
                    }
        QVERIFY(asked > 10'000);
    }

    void choicesThatGiveASequence() {
        const Graph graph = castLikeAChoice();
        const auto run = [&](bool sequence) { return Interpreter(graph).run(std::vector{zeros({1000}), Tensor::scalar(sequence)}); };
        QVERIFY(run(false).ok());
        const auto refused = run(true);
        QVERIFY(!refused.ok() && says(refused.error().message, "node 'like' (CastLike): input 1 is a sequence of"));
    }

    void knownSequencesAreLeftAlone() {
        GraphBuilder builder("m");
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{8}));
        builder.setOutputs({builder.add("CastLike", {x, builder.add("SequenceEmpty", {}, {}, 1, "empty")}, {}, 1, "like")});
        const Coverage found = coverage(take(inferShapes(take(builder.build()))));
        QCOMPARE(found.notComputed.size(), std::size_t(1));
        QVERIFY(says(found.notComputed[0].reason, "only tensors are computed"));
    }

    void sequencesOfSequencesAreNotJoined() {
        const Tensor nested = Tensor::sequence({Tensor::sequence({floats({1}, {1})})});
        const OpCase c{"ConcatFromSequence", 17, {{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{1}}}, {nested}};
        QVERIFY2(says(sentenceOf(c), "only tensors are computed"), sentenceOf(c).c_str());
    }

    void mapsWantSequences() {
        GraphBuilder body("body");
        body.setOutputs({body.add("Identity", {body.addInput("e", TensorType())}, {}, 1, "same")});
        const OpCase c{"SequenceMap", 17, {{"body", std::make_shared<const Graph>(take(body.build()))}}, {zeros({4})}};
        QVERIFY2(says(sentenceOf(c), "wants a sequence"), sentenceOf(c).c_str());
        QVERIFY2(says(ruleSentenceOf(c), "wants a sequence"), ruleSentenceOf(c).c_str());
    }

    // A body must give every state, whether the node hands it on or not.
    void loopsNeedAllTheirStates() {
        for (const std::size_t outputs : {1, 2, 4}) {
            EvaluateOptions options;
            options.runBody = [](const Graph&, const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> { return std::vector{inputs[1], inputs[2]}; };
            const auto result = evaluateNode(shortLoop(outputs), 17, {Tensor::scalar(std::int64_t{2}), Tensor::scalar(true), zeros({1}), zeros({1}), zeros({1}), zeros({1})}, options);
            QVERIFY(!result.ok() && says(result.error().message, "body has 6 inputs and 2 outputs, wanted 6 and 5"));
        }
    }

    void conditionsAreTruthValues() {
        const auto refused = [](DType condition, bool loops, DType yielded) {
            GraphBuilder then("then"), otherwise("else"), body("body"), builder("m");
            const ValueId c = builder.addInput("c", TensorType(condition, Shape{})), x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
            then.setOutputs({then.add("Exp", {then.addCapture("x", TensorType(DType::f32, Shape{2}))})});
            otherwise.setOutputs({otherwise.add("Neg", {otherwise.addCapture("x", TensorType(DType::f32, Shape{2}))})});
            body.addInput("i", TensorType(DType::i64, Shape{}));
            const ValueId on = body.addInput("on", TensorType(DType::boolean, Shape{})), state = body.addInput("state", TensorType(DType::f32, Shape{2}));
            body.setOutputs({body.add("Cast", {on}, {{"to", static_cast<std::int64_t>(yielded)}}), body.add("Identity", {state})});
            const auto shared = [](GraphBuilder& graph) { return std::make_shared<const Graph>(take(graph.build())); };
            builder.setOutputs({loops ? builder.add("Loop", {ValueId(), c, x}, {{"body", shared(body)}}, 1, "y")
                                      : builder.add("If", {c}, {{"then_branch", shared(then)}, {"else_branch", shared(otherwise)}}, 1, "y")});
            const auto typed = inferShapes(take(builder.build()));
            return typed.ok() ? std::string() : typed.error().message;
        };
        for (const DType type : {DType::bf16, DType::i64, DType::string, DType::f32})
            for (const bool loops : {false, true})
                QVERIFY2(says(refused(type, loops, DType::boolean), "but must be bool"), std::string(dtypeName(type)).c_str());
        QVERIFY(says(refused(DType::boolean, true, DType::i32), "the condition that its body yields is int32 but must be bool"));
        for (const bool loops : {false, true})
            QCOMPARE(refused(DType::boolean, loops, DType::boolean), std::string());
    }

    void scansGatherTensors() {
        GraphBuilder body("body");
        const ValueId part = body.addInput("part", TensorType());
        body.setOutputs({body.add("Identity", {part}, {}, 1, "same")});
        Node node = nodeOf("Scan", {{"body", std::make_shared<const Graph>(take(body.build()))}, {"num_scan_inputs", std::int64_t{1}}}, {true});
        EvaluateOptions options;
        options.runBody = [](const Graph&, const std::vector<Tensor>&) -> Result<std::vector<Tensor>> { return std::vector{Tensor::sequence({})}; };
        const auto result = evaluateNode(node, 17, {zeros({3, 2})}, options);
        QVERIFY(!result.ok() && says(result.error().message, "a scan output must be a tensor"));
    }

    void textsAreNoNumbers_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < textCases().size(); ++i)
            QTest::newRow((textCases()[i].op + " " + std::to_string(i)).c_str()) << static_cast<int>(i);
    }
    void textsAreNoNumbers() {
        QFETCH(int, row);
        const OpCase& c = textCases()[static_cast<std::size_t>(row)];
        for (const std::string& sentence : {ruleSentenceOf(c), sentenceOf(c)})
            QVERIFY2(says(sentence, " is string but must be "), sentence.c_str());
    }

    void attentionOfOneRank() {
        const auto attend = [](const Shape& q, const Shape& k, const Shape& v) {
            return sentenceOf({"Attention", 24, {{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{4}}}, {zeros(q), zeros(k), zeros(v)}});
        };
        const Shape apart{1, 4, 8, 16}, packed{1, 8, 64}, few{1, 2, 64};
        for (const std::string& sentence : {attend(apart, packed, packed), attend(apart, few, few), attend(packed, apart, apart), attend(apart, apart, packed), attend(packed, packed, apart)})
            QVERIFY2(says(sentence, "must all have 3 or all 4 dimensions"), sentence.c_str());
        QCOMPARE(attend(apart, apart, apart), std::string("computed"));
        QCOMPARE(attend(packed, packed, packed), std::string("computed"));
    }

    // Heads of no size are as many as an attribute says.
    void headsWithoutEnd() {
        const std::int64_t many = std::int64_t{1} << 62;
        const std::map<std::string, Attribute> heads{{"q_num_heads", many}, {"kv_num_heads", std::int64_t{1}}, {"update_rule", std::string("linear")}};
        const std::vector<Tensor> inputs{zeros({1, 1, 0}), zeros({1, 1, 0}), zeros({1, 1, 4})};
        for (const OpCase& c : {OpCase{"Attention", 24, heads, inputs, 4}, OpCase{"LinearAttention", 27, heads, inputs, 2}})
            QVERIFY2(says(sentenceOf(c), "1048576"), sentenceOf(c).c_str());
    }

    void windowsOverPaddingAlone() {
        OpCase c{"MaxPool", 12, {{"kernel_shape", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 1}}, {"storage_order", std::int64_t{1}}}, {zeros({1, 1, 3, 0})}, 2};
        for (const std::int64_t order : {0, 1}) {
            c.attributes["storage_order"] = order;
            const std::vector<Tensor> results = take(runKernel(c));
            QCOMPARE(results[0].asDouble(2), -std::numeric_limits<double>::infinity());
            QCOMPARE(results[1].asInts(), (Ints{-1, -1, -1}));
        }
        c = {"MaxPool", 12, {{"kernel_shape", Ints{2}}, {"dilations", Ints{5}}, {"pads", Ints{3, 3}}}, {floats({1, 2, 1}, {1, 2})}, 2}; // between its taps
        QCOMPARE(take(runKernel(c))[1].asInts(), (Ints{-1, -1, -1, -1}));
    }

    void widthsThatWrapAround() {
        const std::int64_t most = std::numeric_limits<std::int64_t>::max() - 7;
        OpCase c{"Attention", 1, {{"num_heads", std::int64_t{1}}, {"qkv_hidden_sizes", Ints{most, most, 24}}}, {zeros({1, 1, 4}), zeros({4, 8}), zeros({8})}};
        c.domain = "com.microsoft";
        QVERIFY2(says(sentenceOf(c), "hidden size of"), sentenceOf(c).c_str());
    }

    // No kernel is asked for what has no elements: it might count groups or go along other extents for ever.
    void nothingIsComputedAtOnce_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < emptyCases().size(); ++i)
            QTest::newRow((emptyCases()[i].op + " " + std::to_string(i)).c_str()) << static_cast<int>(i);
    }
    void nothingIsComputedAtOnce() {
        QFETCH(int, row);
        const OpCase& c = emptyCases()[static_cast<std::size_t>(row)];
        QElapsedTimer timer;
        timer.start();
        const auto result = runKernel(c);
        if (result.ok())
            QCOMPARE(result->front().count(), std::int64_t(0));
        else
            QVERIFY2(says(result.error().message, "too large") || says(result.error().message, "memory"), result.error().message.c_str());
        QVERIFY(timer.elapsed() < 1000);
    }

    // The state behind all steps has elements, the input has none.
    void layersOfEndlessTime() {
        const OpCase c{"LSTM", 14, {{"hidden_size", std::int64_t{2}}}, {zeros({kHuge, 1, 0}), zeros({1, 8, 0}), zeros({1, 8, 2})}, 2};
        Node node = nodeOf(c);
        node.outputs[0] = ValueId();
        const auto result = evaluateNode(node, 14, c.inputs);
        QVERIFY(!result.ok() && says(result.error().message, "input 0 is too large: float32[1099511627776,1,0]"));
    }

    // Small nodes of work beyond their elements are left to whoever runs the model.
    void longWorkIsNotFolded() {
        QElapsedTimer timer;
        timer.start();
        OpCase einsum{"Einsum", 12, {{"equation", std::string("a,b,c,d,e,f,g,h,i,j->")}}, std::vector<Tensor>(10, zeros({16}))};
        QCOMPARE(leftAfterFolding(einsum), std::size_t(1));
        einsum = {"Einsum", 12, {{"equation", std::string("i,j->ij")}}, {zeros({16}), zeros({16})}};
        QCOMPARE(leftAfterFolding(einsum), std::size_t(0));
        const OpCase align{"RoiAlign", 16, {{"sampling_ratio", std::int64_t{8192}}}, {zeros({1, 1, 4, 4}), zeros({4096, 4}), zeros({4096}, DType::i64)}};
        QCOMPARE(leftAfterFolding(align), std::size_t(1));
        const std::map<std::string, Attribute> grams{{"mode", std::string("TF")}, {"min_gram_length", std::int64_t{2}}, {"max_gram_length", std::int64_t{2}}, {"max_skip_count", std::int64_t{1'000'000'000}},
                                                     {"ngram_counts", Ints{0, 0}}, {"ngram_indexes", Ints{0}}, {"pool_int64s", Ints{0, 1}}};
        QCOMPARE(leftAfterFolding({"TfIdfVectorizer", 9, grams, {zeros({65536}, DType::i64)}}), std::size_t(1));
        const Tensor boxes = zeros({1, 60'000, 4}), scores = zeros({1, 1, 60'000}); // of which all are kept
        QCOMPARE(leftAfterFolding({"NonMaxSuppression", 11, {}, {boxes, scores, Tensor::scalar(std::numeric_limits<std::int64_t>::max())}}), std::size_t(1));
        QVERIFY(timer.elapsed() < 2000);
    }

    void averagesSkipTheTapsOutside() {
        const std::int64_t wide = std::int64_t{1} << 30;
        OpCase c{"QLinearAveragePool", 1, {{"kernel_shape", Ints{wide, wide}}, {"pads", Ints{wide - 1, wide - 1, 0, 0}}},
                 {Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{9}), Tensor::scalar(0.5F), Tensor::scalar(std::uint8_t{1}), Tensor::scalar(0.5F), Tensor::scalar(std::uint8_t{1})}};
        c.domain = "com.microsoft";
        QCOMPARE(take(runKernel(c))[0].asInts(), (Ints{9}));
    }

    // Statistics of rows without elements are as many as there are rows.
    void normsOfNoHiddenUnits() {
        OpCase c{"SkipLayerNormalization", 1, {}, {zeros({1, 1000, 0}, DType::f64), zeros({1, 1000, 0}, DType::f64), zeros({0}, DType::f64)}, 2};
        c.domain = "com.microsoft";
        const Tensor mean = take(runKernel(c))[1];
        QCOMPARE(mean.shape(), (Shape{1, 1000, 1}));
        QCOMPARE(mean.count(), std::int64_t(1000));
    }

    void longLayersAreNotWrittenOut() {
        GraphBuilder builder("m");
        builder.setOpset("", 27);
        std::vector<ValueId> inputs;
        for (const char* name : {"q", "k", "v"})
            inputs.push_back(builder.addInput(name, TensorType(DType::f32, Shape{1, 10'000'000, 1})));
        builder.setOutputs({builder.add("LinearAttention", inputs, {{"update_rule", std::string("linear")}, {"q_num_heads", std::int64_t{1}}, {"kv_num_heads", std::int64_t{1}}}, 1, "a")});
        const Graph graph = take(inferShapes(take(builder.build())));
        const Status status = checkExpandable(graph, NodeId(0));
        QVERIFY2(says(problemOf(status), "10000000 steps are too many to be written out"), problemOf(status).c_str());
        QCOMPARE(take(expandNodes(graph)).nodeCount(), std::size_t(1));
    }

    void manyPlacesAreNotWrittenOut() {
        GraphBuilder builder("m");
        builder.setOpset("com.microsoft", 1);
        Node node = nodeOf("UnfoldTensor", {{"size", std::int64_t{1} << 15}}, {});
        node.domain = "com.microsoft";
        node.inputs = {builder.addInput("x", TensorType(DType::f32, Shape{1, std::int64_t{1} << 30}))};
        node.outputs = {builder.addValue("y")};
        builder.setOutputs(node.outputs);
        builder.addNode(node);
        const Graph graph = take(inferShapes(take(builder.build())));
        const Status status = checkExpandable(graph, NodeId(0));
        QVERIFY2(says(problemOf(status), "places are too many to be written out"), problemOf(status).c_str());
    }

    void cachesWithoutEndAreNotWrittenOut() {
        const Tensor last = Tensor::of<std::int32_t>({1}, std::vector<std::int32_t>{1}), total = Tensor::scalar(std::numeric_limits<std::int32_t>::max());
        OpCase c{"GroupQueryAttention", 1, {{"num_heads", std::int64_t{1}}, {"kv_num_heads", std::int64_t{1}}},
                 {zeros({1, 2, 8}), zeros({1, 2, 8}), zeros({1, 2, 8}), zeros({1, 1, 4, 8}), zeros({1, 1, 4, 8}), last, total}, 3, {6}};
        c.domain = "com.microsoft";
        QVERIFY2(says(leftBecause(c), "keys are too many to be written out"), leftBecause(c).c_str());
    }

    void expansionsThatDoNotFitLeaveTheirNode() {
        const std::int64_t before = valueMemoryLimit();
        OpCase c{"CausalConvWithState", 1, {{"dilation", std::int64_t{1} << 20}}, {zeros({1, 64, 10}), zeros({64, 1, 3})}};
        c.domain = "com.microsoft";
        limitValueMemory(usedValueMemory() + (std::int64_t{32} << 20)); // half a gigabyte of state is to be zero
        const std::string sentence = leftBecause(c);
        limitValueMemory(before);
        QVERIFY2(says(sentence, "do not fit into the memory"), sentence.c_str());
    }

    void manyBiasesAreNoKernel() {
        const auto scaled = [](std::int64_t channels) {
            GraphBuilder builder("m");
            const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, channels, 1, 1}));
            builder.setOutputs({builder.add("ImageScaler", {x}, {{"bias", std::vector<float>(static_cast<std::size_t>(channels), 1)}}, 1, "s")});
            return coverage(take(inferShapes(take(builder.build())))).notCompiled.size();
        };
        QCOMPARE(scaled(64), std::size_t(0));
        QCOMPARE(scaled(300'000), std::size_t(1));
    }

    void longShapesOfImages() {
        const Tensor ones = Tensor::ofInts(Ints(200'000, 1));
        const OpCase c{"Col2Im", 18, {}, {zeros({1, 1, 1}), ones, ones}};
        QElapsedTimer timer;
        timer.start();
        QVERIFY2(says(ruleSentenceOf(c), "at most 253"), ruleSentenceOf(c).substr(0, 200).c_str());
        QVERIFY(timer.elapsed() < 1000);
    }

    void placesNearTheEndOfIntegers() {
        const OpCase c{"TensorScatter", 24, {{"axis", std::int64_t{1}}}, {zeros({1, 4, 2}), zeros({1, 2, 2}), Tensor::ofInts({std::numeric_limits<std::int64_t>::max()})}};
        QVERIFY2(says(sentenceOf(c), "do not fit a cache of 4"), sentenceOf(c).c_str());
    }

private:
    static const std::vector<OpCase>& textCases() {
        static const std::vector<OpCase> cases = [] {
            const Tensor x = zeros({2, 3}), image = zeros({1, 1, 2, 2}), text = texts({1}), two = texts({2}), none;
            const Tensor list = Tensor::ofInts({0}), sequence = Tensor::sequence({x});
            return std::vector<OpCase>{
                {"Reshape", 13, {}, {x, text}},
                {"Squeeze", 13, {}, {x, text}},
                {"Unsqueeze", 13, {}, {x, text}},
                {"Slice", 13, {}, {x, text, list}},
                {"Slice", 13, {}, {x, list, text}},
                {"Slice", 13, {}, {x, list, list, text}},
                {"Slice", 13, {}, {x, list, list, list, text}},
                {"Pad", 13, {}, {x, texts({4})}},
                {"Pad", 18, {}, {x, list, none, text}},
                {"Split", 13, {}, {x, two}, 2},
                {"Expand", 13, {}, {x, two}},
                {"Tile", 13, {}, {x, two}},
                {"ConstantOfShape", 9, {}, {text}},
                {"OneHot", 11, {}, {list, text, zeros({2})}},
                {"OneHot", 11, {}, {text, list, zeros({2})}},
                {"TopK", 11, {}, {x, text}, 2},
                {"Trilu", 14, {}, {x, text}},
                {"Resize", 13, {}, {image, none, texts({4})}},
                {"Resize", 13, {}, {image, none, none, texts({4})}},
                {"Resize", 13, {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}, {image, texts({8}), floats({4}, {1, 1, 1, 1})}},
                {"Upsample", 9, {}, {image, texts({4})}},
                {"SplitToSequence", 11, {}, {x, text}},
                {"CumSum", 14, {}, {x, texts({})}},
                {"ReduceSum", 13, {}, {x, text}},
            };
        }();
        return cases;
    }

    static const std::vector<OpCase>& emptyCases() {
        static const std::vector<OpCase> cases = [] {
            const std::int64_t groups = std::int64_t{1} << 62;
            const Tensor half = Tensor::scalar(0.5F), zero = Tensor::scalar(std::uint8_t{0});
            std::vector<OpCase> made{
                {"Conv", 11, {{"group", groups}}, {zeros({1, 0, 4, 4}), zeros({0, 0, 1, 1})}},
                {"ConvInteger", 10, {{"group", groups}}, {zeros({1, 0, 4, 4}, DType::u8), zeros({0, 0, 1, 1}, DType::u8)}},
                {"QLinearConv", 10, {{"group", groups}}, {zeros({1, 0, 4, 4}, DType::u8), half, zero, zeros({0, 0, 1, 1}, DType::u8), half, zero, half, zero}},
                {"ReverseSequence", 10, {}, {zeros({kHuge, 0, 1}), zeros({0}, DType::i64)}},
                {"Gather", 13, {{"axis", std::int64_t{1}}}, {zeros({kHuge, 0, 1}), zeros({0}, DType::i64)}},
                {"EyeLike", 9, {}, {zeros({kHuge, 0})}},
                {"MatMul", 13, {}, {zeros({kHuge, 0, 1}), zeros({1, 2})}},
                {"Pad", 13, {}, {zeros({kHuge, 0}), Tensor::ofInts({0, 0, 0, 0})}},
                {"Compress", 11, {{"axis", std::int64_t{1}}}, {zeros({kHuge, 0}), zeros({0}, DType::boolean)}},
                {"NonMaxSuppression", 11, {}, {zeros({kHuge, 0, 4}), zeros({kHuge, 1, 0}), Tensor::scalar(std::int64_t{1})}},
            };
            made.push_back({"GroupNorm", 1, {{"groups", groups}, {"channels_last", std::int64_t{1}}, {"activation", std::int64_t{0}}}, {zeros({1, 2, 2, 0}), zeros({0}), zeros({0})}});
            made.back().domain = "com.microsoft";
            return made;
        }();
        return cases;
    }
};

QTEST_APPLESS_MAIN(TestHostileNodes)
#include "tst_hostile_nodes.moc"
