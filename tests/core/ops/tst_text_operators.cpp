// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <limits>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)

// Strings: casts from and to numbers, StringNormalizer, TfIdfVectorizer.
class TextOperatorsTest : public QObject {
    Q_OBJECT
private slots:
    void numbersToText_data();
    void numbersToText();
    void textToNumbers();
    void textThatIsNoNumber_data();
    void textThatIsNoNumber();
    void numbersSurviveAsText();
    void stringsStayStrings();
    void normalizer_data();
    void normalizer();
    void normalizerRefuses();
    void vectorizer_data();
    void vectorizer();
    void vectorizerCountsWords();
    void vectorizerWeighs();
    void vectorizerRefuses_data();
    void vectorizerRefuses();
};

namespace {

using Words = std::vector<std::string>;
const std::int64_t one = 1;

Tensor words(const Words& values) { return Tensor::ofStrings({static_cast<std::int64_t>(values.size())}, values); }

OpCase cast(const Tensor& from, DType to) { return {"Cast", 13, {{"to", static_cast<std::int64_t>(to)}}, {from}}; }

// The pool of ONNX's own examples: four words, then three pairs.
OpCase vectorizerCase(const Tensor& x, std::int64_t shortest, std::int64_t longest, std::int64_t skips) {
    return {"TfIdfVectorizer", 9,
            {{"mode", std::string("TF")}, {"min_gram_length", shortest}, {"max_gram_length", longest}, {"max_skip_count", skips},
             {"ngram_counts", Ints{0, 4}}, {"ngram_indexes", Ints{0, 1, 2, 3, 4, 5, 6}}, {"pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}},
            {x}};
}

Words normalized(const Words& input, std::map<std::string, Attribute> attributes) {
    const auto outputs = runKernel({"StringNormalizer", 10, std::move(attributes), {words(input)}});
    return outputs.ok() ? (*outputs)[0].strings() : Words{outputs.error().message};
}

} // namespace

void TextOperatorsTest::numbersToText_data() {
    QTest::addColumn<double>("number");
    QTest::addColumn<int>("type");
    QTest::addColumn<QString>("text");
    const float infinite = std::numeric_limits<float>::infinity();
    QTest::newRow("fraction") << double(0.039187793F) << int(DType::f32) << "0.039187793";
    QTest::newRow("whole") << 3.0 << int(DType::f32) << "3.0";
    QTest::newRow("zero") << -0.0 << int(DType::f64) << "-0.0";
    QTest::newRow("large") << 1e16 << int(DType::f64) << "1e+16";
    QTest::newRow("still plain") << 1e15 << int(DType::f64) << "1000000000000000.0";
    QTest::newRow("small") << 1e-5 << int(DType::f64) << "1e-05";
    QTest::newRow("still plain small") << 0.0001 << int(DType::f64) << "0.0001";
    QTest::newRow("half") << 0.1 << int(DType::f16) << "0.1";
    QTest::newRow("infinite") << double(infinite) << int(DType::f32) << "INF";
    QTest::newRow("minus infinite") << -double(infinite) << int(DType::f32) << "-INF";
    QTest::newRow("not a number") << double(std::nanf("")) << int(DType::f32) << "NaN";
    QTest::newRow("integer") << -12.0 << int(DType::i8) << "-12";
    QTest::newRow("unsigned") << 200.0 << int(DType::u8) << "200";
}

void TextOperatorsTest::numbersToText() {
    QFETCH(double, number);
    QFETCH(int, type);
    QFETCH(QString, text);
    const auto outputs = runKernel(cast(Tensor::scalar(number).cast(static_cast<DType>(type)), DType::string));
    QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
    QCOMPARE(QString::fromStdString((*outputs)[0].strings()[0]), text);
}

void TextOperatorsTest::textToNumbers() {
    const auto outputs = runKernel(cast(words({"0.5", "-3", "+1e3", "1E-2", "inf", "+INF", "-Inf", "1e999", "nan"}), DType::f32));
    QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
    const float infinite = std::numeric_limits<float>::infinity();
    QCOMPARE(difference((*outputs)[0], floats({9}, {0.5F, -3, 1000, 0.01F, infinite, infinite, -infinite, infinite, std::nanf("")})), QString());
    QCOMPARE((*runKernel(cast(words({"-128", "+127"}), DType::i8)))[0].asInts(), (Ints{-128, 127}));
    QCOMPARE((*runKernel(cast(words({"9223372036854775807"}), DType::i64)))[0].asInt(0), std::numeric_limits<std::int64_t>::max());
    const OpCase like{"CastLike", 15, {}, {words({"2.5"}), Tensor::scalar(0.0)}};
    QCOMPARE(difference((*runKernel(like))[0], Tensor::of<double>({1}, {2.5})), QString());
}

void TextOperatorsTest::textThatIsNoNumber_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("type");
    QTest::newRow("letters") << "abc" << int(DType::f32);
    QTest::newRow("nothing") << "" << int(DType::f32);
    QTest::newRow("a sign") << "+" << int(DType::f32);
    QTest::newRow("two signs") << "+-1" << int(DType::f32);
    QTest::newRow("more behind") << "1.5x" << int(DType::f64);
    QTest::newRow("fraction as integer") << "1.5" << int(DType::i32);
    QTest::newRow("too large") << "128" << int(DType::i8);
    QTest::newRow("negative unsigned") << "-1" << int(DType::u8);
}

void TextOperatorsTest::textThatIsNoNumber() {
    QFETCH(QString, text);
    QFETCH(int, type);
    const auto outputs = runKernel(cast(words({"1", text.toStdString()}), static_cast<DType>(type)));
    QVERIFY(!outputs.ok());
    QVERIFY2(outputs.error().message.find("'" + text.toStdString() + "' is no ") != std::string::npos, outputs.error().message.c_str());
    QCOMPARE(runKernel(cast(words({"True"}), DType::boolean)).error().kind, ErrorKind::unsupported);
    QCOMPARE(runKernel(cast(Tensor::scalar(true), DType::string)).error().kind, ErrorKind::unsupported);
}

void TextOperatorsTest::numbersSurviveAsText() {
    Rng rng(2);
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i64}) {
        Tensor x = randomTensor(rng, DType::f64, {200}, -20, 20);
        for (double& value : x.mutableData<double>())
            value = std::pow(10, std::fabs(value)) * (value < 0 ? -1e-10 : 1e-8);
        x = x.cast(type);
        const auto text = runKernel(cast(x, DType::string));
        QCOMPARE((*runKernel(cast((*text)[0], type)))[0].hash(), x.hash());
    }
}

void TextOperatorsTest::stringsStayStrings() {
    const auto outputs = runKernel(cast(words({"a", ""}), DType::string));
    QCOMPARE((*outputs)[0].strings(), (Words{"a", ""}));
}

void TextOperatorsTest::normalizer_data() {
    QTest::addColumn<QString>("action");
    QTest::addColumn<bool>("sensitive");
    QTest::addColumn<QString>("expected");
    QTest::newRow("removes in any case") << "NONE" << false << "Tuesday,monday morning";
    QTest::newRow("removes in this case") << "NONE" << true << "Monday,Tuesday,monday morning";
    QTest::newRow("upper") << "UPPER" << false << "TUESDAY,MONDAY MORNING";
    QTest::newRow("lower") << "LOWER" << true << "monday,tuesday,monday morning";
}

void TextOperatorsTest::normalizer() {
    QFETCH(QString, action);
    QFETCH(bool, sensitive);
    QFETCH(QString, expected);
    const Words kept = normalized({"Monday", "Tuesday", "monday", "monday morning"},
                                  {{"case_change_action", action.toStdString()}, {"is_case_sensitive", std::int64_t{sensitive}},
                                   {"stopwords", Words{"monday"}}});
    QStringList joined;
    for (const std::string& word : kept)
        joined << QString::fromStdString(word);
    QCOMPARE(joined.join(","), expected);
}

void TextOperatorsTest::normalizerRefuses() {
    QCOMPARE(normalized({"monday"}, {{"stopwords", Words{"monday"}}}), (Words{""})); // one empty word is left
    QCOMPARE(normalized({"Ärger"}, {}), (Words{"Ärger"}));
    const auto outputs = runKernel({"StringNormalizer", 10, {{"case_change_action", std::string("LOWER")}}, {words({"Ärger"})}});
    QCOMPARE(outputs.error().kind, ErrorKind::unsupported);
    QVERIFY(!runKernel({"StringNormalizer", 10, {{"case_change_action", std::string("Title")}}, {words({"a"})}}).ok());
    QVERIFY(!runKernel({"StringNormalizer", 10, {}, {floats({1}, {1})}}).ok());
    QVERIFY(!runKernel({"StringNormalizer", 10, {}, {Tensor::ofStrings({2, 1}, {"a", "b"})}}).ok());
    QVERIFY(!runKernel({"StringNormalizer", 10, {}, {Tensor::ofStrings({}, {"a"})}}).ok());
    const auto row = runKernel({"StringNormalizer", 10, {}, {Tensor::ofStrings({1, 2}, {"a", "b"})}});
    QCOMPARE((*row)[0].shape(), (Shape{1, 2}));
}

void TextOperatorsTest::vectorizer_data() {
    QTest::addColumn<int>("shortest");
    QTest::addColumn<int>("skips");
    QTest::addColumn<QVector<float>>("expected");
    const auto row = [](const char* name, int shortest, int skips, const QVector<float>& expected) {
        QTest::newRow(name) << shortest << skips << expected;
    };
    row("pairs", 2, 0, {0, 0, 0, 0, 1, 1, 1});
    row("words and pairs", 1, 0, {0, 3, 1, 0, 1, 1, 1});
    row("pairs with gaps", 2, 5, {0, 0, 0, 0, 1, 3, 1});
    row("words count once", 1, 5, {0, 3, 1, 0, 1, 3, 1});
}

// 1 1 3 3 3 7 8 6 7 5 6 8 has the pairs 5 6, 7 8 and 6 7 side by side.
void TextOperatorsTest::vectorizer() {
    QFETCH(int, shortest);
    QFETCH(int, skips);
    QFETCH(QVector<float>, expected);
    const Ints x{1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8};
    const auto outputs = runKernel(vectorizerCase(Tensor::ofInts(x).cast(DType::i32), shortest, 2, skips));
    QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
    QCOMPARE(difference((*outputs)[0], floats({7}, {expected.begin(), expected.end()})), QString());
    const auto batch = runKernel(vectorizerCase(Tensor::ofInts(x).reshaped({1, 12}), shortest, 2, skips));
    QCOMPARE(difference((*batch)[0], floats({1, 7}, {expected.begin(), expected.end()})), QString());
}

void TextOperatorsTest::vectorizerCountsWords() {
    OpCase c{"TfIdfVectorizer", 9,
             {{"mode", std::string("TFIDF")}, {"min_gram_length", one}, {"max_gram_length", one}, {"max_skip_count", std::int64_t{0}},
              {"ngram_counts", Ints{0}}, {"ngram_indexes", Ints{1, 0}}, {"pool_strings", Words{"a", "b"}}, {"weights", std::vector<float>{2, 10}}},
             {Tensor::ofStrings({2, 3}, {"a", "b", "a", "c", "c", "b"})}};
    QCOMPARE(difference((*runKernel(c))[0], floats({2, 2}, {10, 4, 10, 0})), QString());
    c.attributes["mode"] = std::string("IDF");
    QCOMPARE(difference((*runKernel(c))[0], floats({2, 2}, {10, 2, 10, 0})), QString());
    c.inputs = {Tensor::ofStrings({2, 0}, {})};
    QCOMPARE(difference((*runKernel(c))[0], floats({2, 2}, {0, 0, 0, 0})), QString());
    const TensorType batch(DType::string, Dims{Dim::named("N"), Dim()});
    QCOMPARE((*runRule("TfIdfVectorizer", 9, c.attributes, {batch}))[0].text(), std::string("float32[N,2]"));
    c.attributes["weights"] = std::vector<float>{2, 10, 1};
    QCOMPARE(refusalDifference(c, "its 3 weights do not fit 2 ngram_indexes"), QString());
}

// A weight belongs to the n-gram at its place in the pool, wherever that n-gram is counted. The numbers are ONNX Runtime's.
void TextOperatorsTest::vectorizerWeighs() {
    OpCase c = vectorizerCase(Tensor::ofInts({5, 6, 6}), 1, 1, 0);
    c.attributes["ngram_counts"] = Ints{0};
    c.attributes["pool_int64s"] = Ints{5, 6};
    c.attributes["weights"] = std::vector<float>{2, 3};
    const auto weighed = [&](const char* mode, const Ints& columns) {
        c.attributes["mode"] = std::string(mode);
        c.attributes["ngram_indexes"] = columns;
        return (*runKernel(c))[0];
    };
    QCOMPARE(difference(weighed("TFIDF", {0, 0}), floats({1}, {8})), QString());
    QCOMPARE(difference(weighed("IDF", {0, 0}), floats({1}, {3})), QString());
    QCOMPARE(difference(weighed("TFIDF", {2, 0}), floats({3}, {6, 0, 2})), QString());
    QCOMPARE(difference(weighed("TF", {2, 0}), floats({3}, {2, 0, 1})), QString());
}

void TextOperatorsTest::vectorizerRefuses_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QVector<int>>("values"); // one: an integer
    QTest::addColumn<QString>("words");
    QTest::newRow("no length") << "min_gram_length" << QVector<int>{0} << "not possible";
    QTest::newRow("lengths the other way round") << "min_gram_length" << QVector<int>{3} << "not possible";
    QTest::newRow("negative gaps") << "max_skip_count" << QVector<int>{-1} << "not possible";
    QTest::newRow("endless n-grams") << "max_gram_length" << QVector<int>{1000000} << "not supported";
    QTest::newRow("counts fall") << "ngram_counts" << QVector<int>{4, 0} << "do not divide";
    QTest::newRow("counts behind the pool") << "ngram_counts" << QVector<int>{0, 40} << "do not divide";
    QTest::newRow("half a pair") << "ngram_counts" << QVector<int>{0, 3} << "do not divide";
    QTest::newRow("negative column") << "ngram_indexes" << QVector<int>{0, 1, 2, 3, 4, 5, -6} << "hold -6";
    QTest::newRow("missing columns") << "ngram_indexes" << QVector<int>{0, 1} << "name 2 of 7";
}

void TextOperatorsTest::vectorizerRefuses() {
    QFETCH(QString, key);
    QFETCH(QVector<int>, values);
    QFETCH(QString, words);
    OpCase c = vectorizerCase(Tensor::ofInts({1, 2}), 1, 2, 0);
    if (values.size() == 1)
        c.attributes[key.toStdString()] = std::int64_t{values[0]};
    else
        c.attributes[key.toStdString()] = Ints(values.begin(), values.end());
    const auto outputs = runKernel(c);
    QVERIFY(!outputs.ok());
    QVERIFY2(outputs.error().message.find(words.toStdString()) != std::string::npos, outputs.error().message.c_str());
    c = vectorizerCase(Tensor::ofInts({1, 2}), 1, 2, 0);
    c.attributes["mode"] = std::string("BM25");
    QVERIFY(!runKernel(c).ok());
    QVERIFY(!runKernel(vectorizerCase(floats({1}, {1}), 1, 2, 0)).ok());
}

QTEST_APPLESS_MAIN(TextOperatorsTest)
#include "tst_text_operators.moc"
