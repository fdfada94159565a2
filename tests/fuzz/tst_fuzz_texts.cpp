// SPDX-License-Identifier: GPL-3.0-or-later
#include <cctype>

#include <QDir>
#include <QTest>

#include "core/base/rng.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

using namespace tunesmith;

// The target of tensor expressions over what is known: seeds, bent seeds, and texts that once did harm.
class TestFuzzTexts : public QObject {
    Q_OBJECT

    // With FUZZ_KEEP=FILE the text at hand is kept there, for a broken promise ends the process.
    void run(const std::string& text) {
        if (const QString kept = qEnvironmentVariable("FUZZ_KEEP"); !kept.isEmpty()) {
            QFile file(kept);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.data(), static_cast<qint64>(text.size()));
        }
        fuzz::tensorExpressions(std::as_bytes(std::span(text)));
    }

    // What mutation by bytes seldom finds: the words of the language.
    static std::string word(Rng& rng) {
        static const std::vector<std::string> words{"where ", " in ", "max=! ", "min=! ", "+=! ", "*=! ", " = ", "[i]", "[i, j]", "(", ")", "[", "]", "{", "}", " ? ", " : ", " < ", " <= ",
                                                    " && ", " || ", "!", " + ", " - ", " * ", " / ", " % ", "min(", "max(", "float32(", "int64(", "float16(", "exp(", "X", "Y", "i", "j", "k", "N",
                                                    "0", "1", "2.5", "9223372036854775807", "1e308", ", ", "; ", "bool[N] ", "int8[N] ", "N=", "-> ", "def ", "# ", " | ", "schedule Y { ", " only ", " knob T = ", " require ", "a, b = split(i, ", "c = fuse(i, j) ", " order ",
                                                    " unroll ", " vectorize ", " parallel ", " accumulate at ", " if ", "divisors(", "powers(1, ", "on", "ii", "io", "ko", "ki", "T", "3", "7"};
        return words[rng.below(words.size())];
    }

    // Two words of a text change places, or a number becomes another one: such texts often mean something.
    static void exchange(Rng& rng, std::string& text) {
        const auto inWord = [&](std::size_t at) { return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'); };
        std::vector<std::pair<std::size_t, std::size_t>> words; // begin and length
        for (std::size_t at = 0; at < text.size(); ++at)
            if (inWord(at) && (at == 0 || !inWord(at - 1))) {
                std::size_t length = 1;
                while (inWord(at + length))
                    ++length;
                words.emplace_back(at, length);
            }
        if (words.empty())
            return;
        const auto [begin, length] = words[rng.below(words.size())];
        const auto [other, otherLength] = words[rng.below(words.size())];
        const std::string first = text.substr(begin, length), second = text.substr(other, otherLength);
        if (std::isdigit(static_cast<unsigned char>(first[0]))) {
            text.replace(begin, length, std::to_string(rng.below(12)));
        } else if (begin < other) {
            text.replace(other, otherLength, first).replace(begin, length, second);
        } else {
            text.replace(begin, length, second).replace(other, otherLength, first);
        }
    }

private slots:
    void seeds() {
        for (const auto& [name, text] : fuzz::textSeeds())
            run(text);
    }

    void bentSeeds() {
        Rng rng(12);
        const auto list = fuzz::textSeeds();
        for (int i = 0; i < 20'000; ++i) {
            std::string bent = list[rng.below(list.size())].second;
            for (std::uint64_t change = 0; change <= rng.below(5); ++change) {
                const std::size_t at = rng.below(bent.size());
                switch (rng.below(5)) {
                case 0: bent[at] = static_cast<char>(rng.below(256)); break;
                case 1: bent.erase(at, rng.below(6)); break;
                case 2: bent.insert(at, word(rng)); break;
                case 3: bent.replace(at, 1, word(rng)); break;
                default: bent.insert(at, bent.substr(rng.below(bent.size()), rng.below(16)));
                }
                if (bent.empty())
                    bent = "d";
            }
            run(bent);
        }
    }

    void exchangedWords() {
        Rng rng(13);
        const auto list = fuzz::textSeeds();
        for (int i = 0; i < 10'000; ++i) {
            std::string bent = list[rng.below(list.size())].second;
            for (std::uint64_t change = 0; change <= rng.below(3); ++change)
                exchange(rng, bent);
            run(bent);
        }
    }

    void regressions() {
        const QDir folder(QStringLiteral(REGRESSIONS));
        for (const QString& name : folder.entryList({"*.te"}, QDir::Files)) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::ReadOnly));
            run(file.readAll().toStdString());
        }
    }
};

QTEST_APPLESS_MAIN(TestFuzzTexts)
#include "tst_fuzz_texts.moc"
