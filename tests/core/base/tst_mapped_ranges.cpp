// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/mapped_ranges.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/available_memory.h"

using namespace tunesmith;

class TestMappedRanges : public QObject {
    Q_OBJECT

    static constexpr std::size_t kSize = std::size_t{4} << 20, kPage = 4096;

    // Pages of a range that this process has.
    static std::size_t resident(const void* begin) {
        std::vector<std::uint64_t> entries(kSize / kPage);
        const int pages = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        const auto read = ::pread(pages, entries.data(), entries.size() * sizeof entries[0],
                                  static_cast<off_t>(reinterpret_cast<std::uintptr_t>(begin) / kPage * sizeof entries[0]));
        ::close(pages);
        return read <= 0 ? 0 : static_cast<std::size_t>(std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63; }));
    }

    static std::uint64_t sum(std::span<const std::byte> bytes) {
        std::uint64_t all = 0;
        for (const std::byte byte : bytes)
            all += std::to_integer<std::uint64_t>(byte);
        return all;
    }

private slots:
    void pagesOfFilesAreDroppedAndComeBack() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath("weights.bin").toStdString();
        std::ofstream(path, std::ios::binary) << std::string(kSize, '\3');
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        void* const memory = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        QVERIFY(memory != MAP_FAILED);
        const std::span<const std::byte> bytes(static_cast<const std::byte*>(memory), kSize);
        QCOMPARE(sum(bytes), 3 * kSize);
        QVERIFY(resident(memory) > 0);
        QVERIFY(!dropMappedPages(bytes)); // nobody said that it is one
        QVERIFY(resident(memory) > 0);
        addMappedRange(bytes);
        QVERIFY(dropMappedPages(bytes.subspan(100, kSize - 200)));
        QVERIFY(resident(memory) <= 2);
        QCOMPARE(sum(bytes), 3 * kSize);
        removeMappedRange(bytes);
        dropMappedPages(bytes);
        QVERIFY(resident(memory) > 2);
        ::munmap(memory, kSize);
    }

    void otherMemoryStaysAsItIs() {
        const std::vector<std::byte> own(kSize, std::byte{5});
        QVERIFY(!dropMappedPages(own));
        QCOMPARE(sum(own), 5 * kSize);
    }

    void whatIsMovedToAFileIsDroppedToo() {
        const std::vector<std::byte> own(kSize, std::byte{7});
        auto moved = movedToFile(own);
        if (!moved)
            QSKIP("the folder of temporary files takes none without a name");
        const std::span<const std::byte> bytes(moved.get(), kSize);
        QCOMPARE(sum(bytes), 7 * kSize);
        QVERIFY(dropMappedPages(bytes));
        QCOMPARE(resident(bytes.data()), std::size_t{0});
        QCOMPARE(sum(bytes), 7 * kSize);
        moved.reset();
        QVERIFY(!dropMappedPages(bytes)); // the range went with it
    }

    void memoryThatIsThereFits() {
        QVERIFY(fitsInMemory(1 << 20));
        QVERIFY(availableMemory() > 0);
        QVERIFY(!fitsInMemory(std::int64_t{1} << 60));
    }
};

QTEST_APPLESS_MAIN(TestMappedRanges)
#include "tst_mapped_ranges.moc"
