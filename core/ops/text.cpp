// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <map>
#include <memory>

#include "core/ops/registry.h"
#include "core/ops/rules.h"

// Operators on words: StringNormalizer and TfIdfVectorizer.
namespace tunesmith::ops {
namespace {

Status requireOneInput(const OpInputs& in, std::size_t highestRank) {
    if (in.count() != 1 || !in.has(0) || in.node.outputs.size() != 1)
        return in.error("takes one input and makes one output");
    if (in.type(0).dims && in.type(0).dims->size() > highestRank)
        return in.error("input " + in.type(0).text() + " has more than " + std::to_string(highestRank) + " dimensions");
    return {};
}

// --- StringNormalizer: words without stop words, in one case; one empty word where none is left.
enum class Case : std::uint8_t { keep, lower, upper };

Result<Case> caseOf(const OpInputs& in) {
    const std::string action = in.node.stringAttr("case_change_action", "NONE");
    if (action != "NONE" && action != "LOWER" && action != "UPPER")
        return in.error("case_change_action must be NONE, LOWER or UPPER, not '" + action + "'");
    return action == "NONE" ? Case::keep : action == "LOWER" ? Case::lower : Case::upper;
}

bool isAscii(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

// Which letters belong together depends on the language for others than those of ASCII.
std::string inCase(std::string text, Case wanted) {
    for (char& c : text)
        if (wanted == Case::lower && c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
        else if (wanted == Case::upper && c >= 'a' && c <= 'z')
            c = static_cast<char>(c - 'a' + 'A');
    return text;
}

Status inferNormalizer(InferContext& in) {
    TS_TRY(requireOneInput(in, 2));
    TS_TRY(requireType(in, 0, [](DType type) { return type == DType::string; }, "string"));
    if (const auto wanted = caseOf(in); !wanted.ok())
        return wanted.error();
    in.outputs[0] = TensorType(DType::string);
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    if (x.empty() || (x.size() == 2 && x[0].known() && x[0].extent != 1))
        return in.error("input " + in.type(0).text() + " must be a row of words");
    in.outputs[0].dims = x.size() == 2 ? Dims{1, Dim()} : Dims{Dim()};
    return {};
}

Status evalNormalizer(EvalContext& context) {
    const OpInputs in(context.node, context.opset, {TensorType()}, {Tensor()});
    TS_ASSIGN(const Case wanted, caseOf(in));
    const bool sensitive = context.node.intAttr("is_case_sensitive", 0) != 0;
    std::vector<std::string> stops;
    if (const auto found = context.node.attributes.find("stopwords"); found != context.node.attributes.end())
        if (const auto* words = std::get_if<std::vector<std::string>>(&found->second))
            stops = *words;
    const bool folds = wanted != Case::keep || (!sensitive && !stops.empty());
    const auto compared = [&](const std::string& word) { return sensitive ? word : inCase(word, Case::lower); };
    for (std::string& stop : stops)
        stop = compared(stop);
    std::vector<std::string> kept;
    for (const std::string& word : context.input(0).strings()) {
        if (folds && !isAscii(word))
            return unsupportedError("node '" + context.node.name + "' (StringNormalizer): the case of '" + word +
                                    "' is not known: only letters of ASCII are supported");
        if (std::ranges::find(stops, compared(word)) == stops.end())
            kept.push_back(inCase(word, wanted));
    }
    if (kept.empty())
        kept.emplace_back();
    const auto count = static_cast<std::int64_t>(kept.size());
    context.outputs[0] = Tensor::ofStrings(context.input(0).rank() == 2 ? Shape{1, count} : Shape{count}, std::move(kept));
    return {};
}

// --- TfIdfVectorizer: how often each n-gram of a pool is met. Numbers are compared as text, which is exact.
using Words = std::vector<std::string>;
constexpr std::int64_t kLongestGram = 1000; // the tree of them is walked down by recursion when it goes

// N-grams by their words; `id` counts the n-grams of the pool from 1, 0 is a mere beginning.
struct Gram {
    std::int64_t id = 0;
    std::map<std::string, std::unique_ptr<Gram>> next;
};

struct Vectorizer {
    Gram grams;
    std::int64_t shortest = 1, longest = 1, skips = 0, columns = 0;
    std::vector<std::int64_t> columnOf; // by id - 1
    std::vector<float> weights;         // by id - 1; empty: 1
    bool counts = true;                 // how often, not only whether
};

Words wordsOf(const Tensor& tensor) {
    if (tensor.type() == DType::string)
        return tensor.strings();
    Words words;
    for (const std::int64_t number : tensor.asInts())
        words.push_back(std::to_string(number));
    return words;
}

Words poolOf(const Node& node) {
    Words pool;
    for (const std::int64_t number : node.intsAttr("pool_int64s"))
        pool.push_back(std::to_string(number));
    const auto found = node.attributes.find("pool_strings");
    const auto* strings = found == node.attributes.end() ? nullptr : std::get_if<Words>(&found->second);
    return strings && !strings->empty() ? *strings : pool;
}

// Sorts the pool, whose part i holds n-grams of i + 1 words, into the tree; ids are given out for all of them.
Result<std::int64_t> fillGrams(const OpInputs& in, const Words& pool, Vectorizer& vectorizer) {
    const auto starts = in.node.intsAttr("ngram_counts");
    std::int64_t id = 0;
    for (std::size_t part = 0; part < starts.size(); ++part) {
        const auto length = static_cast<std::int64_t>(part + 1), total = static_cast<std::int64_t>(pool.size());
        const std::int64_t end = part + 1 < starts.size() ? starts[part + 1] : total;
        if (starts[part] < 0 || end < starts[part] || end > total || (end - starts[part]) % length != 0)
            return in.error("ngram_counts do not divide its pool of " + std::to_string(total) + " words into n-grams");
        for (std::int64_t at = starts[part]; at < end; at += length) {
            ++id;
            if (length < vectorizer.shortest || length > vectorizer.longest)
                continue;
            Gram* gram = &vectorizer.grams;
            for (std::int64_t i = at; i < at + length; ++i) {
                auto& next = gram->next[pool[static_cast<std::size_t>(i)]];
                if (!next)
                    next = std::make_unique<Gram>();
                gram = next.get();
            }
            gram->id = id;
        }
    }
    return id;
}

Result<Vectorizer> vectorizerOf(const OpInputs& in) {
    Vectorizer vectorizer;
    vectorizer.shortest = in.node.intAttr("min_gram_length", 0);
    vectorizer.longest = in.node.intAttr("max_gram_length", 0);
    vectorizer.skips = in.node.intAttr("max_skip_count", -1);
    vectorizer.columnOf = in.node.intsAttr("ngram_indexes");
    if (vectorizer.shortest < 1 || vectorizer.longest < vectorizer.shortest || vectorizer.skips < 0)
        return in.error("min_gram_length, max_gram_length or max_skip_count are missing or not possible");
    if (vectorizer.longest > kLongestGram)
        return in.unsupported("n-grams of more than " + std::to_string(kLongestGram) + " words are not supported");
    const std::string mode = in.node.stringAttr("mode");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
        return in.error("mode must be TF, IDF or TFIDF, not '" + mode + "'");
    vectorizer.counts = mode != "IDF";
    if (mode != "TF")
        vectorizer.weights = in.node.floatsAttr("weights");
    TS_ASSIGN(const std::int64_t grams, fillGrams(in, poolOf(in.node), vectorizer));
    for (const std::int64_t column : vectorizer.columnOf) {
        if (column < 0 || column >= std::int64_t(1) << 40)
            return in.error("ngram_indexes hold " + std::to_string(column));
        vectorizer.columns = std::max(vectorizer.columns, column + 1);
    }
    if (static_cast<std::int64_t>(vectorizer.columnOf.size()) < grams)
        return in.error("ngram_indexes name " + std::to_string(vectorizer.columnOf.size()) + " of " + std::to_string(grams) +
                        " n-grams");
    if (!vectorizer.weights.empty() && vectorizer.weights.size() != vectorizer.columnOf.size())
        return in.error("its " + std::to_string(vectorizer.weights.size()) + " weights do not fit " + std::to_string(vectorizer.columnOf.size()) +
                        " ngram_indexes");
    return vectorizer;
}

Status inferVectorizer(InferContext& in) {
    TS_TRY(requireOneInput(in, 2));
    TS_TRY(requireType(in, 0, [](DType type) { return type == DType::string || type == DType::i32 || type == DType::i64; },
                       "string, int32 or int64"));
    const auto vectorizer = vectorizerOf(in);
    if (!vectorizer.ok())
        return vectorizer.error();
    in.outputs[0] = TensorType(DType::f32);
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    in.outputs[0].dims = x.size() == 2 ? Dims{x[0], vectorizer->columns} : Dims{vectorizer->columns};
    return {};
}

// An n-gram of the pool is met. Where several share a column and are not counted, the last one has it, as in ONNX Runtime.
void meet(const Vectorizer& vectorizer, std::size_t gram, float* row) {
    float& cell = row[vectorizer.columnOf[gram]];
    const float weight = vectorizer.weights.empty() ? 1 : vectorizer.weights[gram];
    cell = vectorizer.counts ? cell + weight : weight;
}

// Counts n-grams whose words stand `distance` apart; single words have no distance and count once.
void countGrams(const Vectorizer& vectorizer, std::span<const std::string> words, std::size_t distance, float* row) {
    for (std::size_t start = 0; start < words.size(); ++start) {
        const Gram* gram = &vectorizer.grams;
        std::int64_t length = 0;
        for (std::size_t at = start; at < words.size(); at += distance) {
            const auto next = gram->next.find(words[at]);
            if (next == gram->next.end())
                break;
            gram = next->second.get();
            if (++length == 1 && distance > 1)
                continue;
            if (gram->id > 0)
                meet(vectorizer, static_cast<std::size_t>(gram->id - 1), row);
        }
    }
}

Status evalVectorizer(EvalContext& context) {
    const Tensor& x = context.input(0);
    const OpInputs in(context.node, context.opset, {TensorType()}, {Tensor()});
    TS_ASSIGN(const Vectorizer vectorizer, vectorizerOf(in));
    const std::int64_t rows = x.rank() == 2 ? x.shape()[0] : 1;
    Tensor result = Tensor::zeros(DType::f32, x.rank() == 2 ? Shape{rows, vectorizer.columns} : Shape{vectorizer.columns});
    const Words words = wordsOf(x);
    const std::size_t length = rows == 0 ? 0 : words.size() / static_cast<std::size_t>(rows);
    for (std::int64_t n = 0; n < rows; ++n) {
        float* const row = result.mutableData<float>().data() + n * vectorizer.columns;
        const auto own = std::span(words).subspan(static_cast<std::size_t>(n) * length, length);
        for (std::size_t distance = 1; distance <= length && distance <= static_cast<std::uint64_t>(vectorizer.skips) + 1; ++distance)
            countGrams(vectorizer, own, distance, row);
    }
    context.outputs[0] = std::move(result);
    return {};
}

// Each word may begin a gram at each distance.
double vectorizerSteps(const OpInputs& in) {
    constexpr double kLookUp = 64; // of a word, in steps of arithmetic
    const Shape shape = in.type(0).shape();
    const double distances = static_cast<double>(in.node.intAttr("max_skip_count", 0)) + 1;
    return kLookUp * static_cast<double>(elementCount(shape)) * std::min(distances, shape.empty() ? 1 : static_cast<double>(shape.back()));
}

Operator onWords(const char* name, std::int64_t since, Status (*infer)(InferContext&), Status (*eval)(EvalContext&)) {
    Operator op;
    op.name = name;
    op.sinceOpset = since;
    op.infer = infer;
    op.eval = eval;
    return op;
}

} // namespace

void registerText(OperatorList& list) {
    list.push_back(onWords("StringNormalizer", 10, inferNormalizer, evalNormalizer));
    list.push_back(onWords("TfIdfVectorizer", 9, inferVectorizer, evalVectorizer));
    list.back().steps = vectorizerSteps;
}

} // namespace tunesmith::ops
