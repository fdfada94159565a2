// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/rng.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

using namespace tunesmith;

// The target of remote devices' messages over seeds and bent seeds. FUZZ_ROUNDS asks for more of them.
class TestFuzzRemote : public QObject {
    Q_OBJECT

    static void run(const std::string& bytes) { fuzz::remoteMessages(std::as_bytes(std::span(bytes))); }

    static std::string piece(Rng& rng) {
        static const std::vector<std::string> pieces{"{", "}", "[", "]", "\"", ":", ",", "null", "-1", "1e999", "NaN", "\"verb\":", "\"build_kernel\"", "\"threads\":", "\"kernels\":[", "\"kernel\":{}", "\n", std::string("\0", 1),
                                                     "\xff\xff\xff\xff\x0f", "\xc0\x80", "\"measure_ms\":1e300", "\"reference\":{}", "\"status\":1"};
        return pieces[rng.below(pieces.size())];
    }

private slots:
    void seeds() {
        QVERIFY(fuzz::remoteSeeds().size() >= 10);
        for (const std::string& seed : fuzz::remoteSeeds())
            run(seed);
    }

    void bentSeeds() {
        Rng rng(4);
        const auto list = fuzz::remoteSeeds();
        const int rounds = qEnvironmentVariableIntValue("FUZZ_ROUNDS") > 0 ? qEnvironmentVariableIntValue("FUZZ_ROUNDS") : 20'000;
        for (int i = 0; i < rounds; ++i) {
            std::string bent = list[rng.below(list.size())];
            for (std::uint64_t change = 0; change <= rng.below(4); ++change) {
                const std::size_t at = rng.below(bent.size() + 1);
                switch (rng.below(5)) {
                case 0:
                    if (at < bent.size())
                        bent[at] = static_cast<char>(rng.below(256));
                    break;
                case 1: bent.erase(std::min(at, bent.size()), rng.below(5)); break;
                case 2: bent.resize(at); break;
                case 3: bent.insert(at, piece(rng)); break;
                default: { // the same length, so that what is around it stays whole
                    const std::string with = piece(rng);
                    if (at + with.size() <= bent.size())
                        bent.replace(at, with.size(), with);
                }
                }
            }
            run(bent);
        }
    }
};

QTEST_APPLESS_MAIN(TestFuzzRemote)
#include "tst_fuzz_remote.moc"
