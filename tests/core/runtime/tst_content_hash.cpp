// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/runtime/content_hash.h"

#include <QTest>
#include <algorithm>
#include <vector>

// The hash of a module's files: of bytes at once, and of the same bytes in pieces.
class TestContentHash : public QObject {
    Q_OBJECT
private slots:
    void piecesDoNotMatter() {
        std::vector<unsigned char> bytes(300);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<unsigned char>(i * 37 + i / 7);
        for (std::size_t size = 0; size <= bytes.size(); ++size)
            for (const std::size_t piece : {1, 5, 31, 32, 33, 64, 100}) {
                TsContentHash state = ts_hash_begin();
                for (std::size_t at = 0; at < size; at += piece)
                    ts_hash_add(&state, bytes.data() + at, std::min(piece, size - at));
                QCOMPARE(ts_hash_end(&state), ts_content_hash(bytes.data(), size));
            }
    }

    void everyByteMatters() {
        std::vector<unsigned char> bytes(70);
        const std::uint64_t before = ts_content_hash(bytes.data(), bytes.size());
        for (unsigned char& byte : bytes) {
            byte = 1;
            QVERIFY(ts_content_hash(bytes.data(), bytes.size()) != before);
            byte = 0;
        }
        QVERIFY(ts_content_hash(bytes.data(), bytes.size() - 1) != before);
    }
};

QTEST_GUILESS_MAIN(TestContentHash)
#include "tst_content_hash.moc"
