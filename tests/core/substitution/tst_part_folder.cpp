// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/substitution/part_folder.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

const std::string kPurpose = "a count to ten", kKey(32, 'k');

Bytes bytesOf(const char* text) {
    Bytes bytes;
    for (; *text; ++text)
        bytes.push_back(std::byte(*text));
    return bytes;
}

} // namespace

class PartFolderTest : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    QString folder_;

    std::filesystem::path path() const { return folder_.toStdString(); }
    QString file(const char* name) const { return folder_ + "/" + name; }
    PartFolder opened() const { return take(PartFolder::open(path(), kPurpose, kKey)); }
    QString refusal(const std::string& purpose = kPurpose) const {
        const auto folder = PartFolder::open(path(), purpose, kKey);
        return folder.ok() ? QString() : QString::fromStdString(folder.error().message);
    }

private slots:
    void init() {
        static int number = 0;
        folder_ = temporary_.filePath("run" + QString::number(number++) + "/parts");
    }

    void partsAreThereAgain() {
        {
            PartFolder folder = opened();
            QVERIFY(!folder.resumed() && !folder.has("one") && folder.size("one") == 0 && folder.bytes() == 0);
            QVERIFY(folder.write("one", bytesOf("first")).ok() && folder.write("none", {}).ok());
            QVERIFY(folder.has("one") && folder.size("one") == 5 && folder.has("none"));
        }
        const PartFolder folder = opened();
        QVERIFY(folder.resumed() && folder.has("one") && folder.has("none") && !folder.has("two"));
        QCOMPARE(take(folder.read("one")), bytesOf("first"));
        QCOMPARE(take(folder.read("one", 1, 3)), bytesOf("irs"));
        QVERIFY(take(folder.read("none")).empty());
        QVERIFY(!folder.read("one", 3, 100).ok());
    }

    void whatIsTornIsNotThere_data() {
        QTest::addColumn<int>("length");
        QTest::addColumn<int>("changed");
        QTest::newRow("empty") << 0 << -1;
        QTest::newRow("without an end") << 5 << -1;
        QTest::newRow("without the last byte") << 44 << -1;
        QTest::newRow("another byte") << 45 << 2;
        QTest::newRow("another length") << 45 << 5;
        QTest::newRow("another seal") << 45 << 44;
    }
    void whatIsTornIsNotThere() {
        QFETCH(int, length);
        QFETCH(int, changed);
        QVERIFY(opened().write("one", bytesOf("first")).ok());
        QFile part(file("one.part"));
        QVERIFY(part.open(QIODevice::ReadWrite));
        QCOMPARE(part.size(), 45);
        if (changed >= 0) {
            part.seek(changed);
            part.write("#");
        }
        part.resize(length);
        part.close();
        const qint64 size = part.size();
        PartFolder folder = opened();
        QVERIFY(!folder.has("one") && !folder.resumed());
        QCOMPARE(part.size(), size); // it may be somebody else's
        QVERIFY(folder.write("one", bytesOf("first")).ok() && part.size() == 45);
    }

    // Who makes parts of his own cannot make this program believe them.
    void partsFromElsewhereAreMissing() {
        {
            PartFolder foreign = take(PartFolder::open(path(), kPurpose, std::string(32, 'x')));
            QVERIFY(foreign.write("one", bytesOf("first")).ok());
        }
        QVERIFY(!opened().has("one"));
        QVERIFY(opened().write("one", bytesOf("first")).ok());
        QVERIFY(QFile::copy(file("one.part"), file("two.part")));
        {
            const PartFolder folder = opened();
            QVERIFY(folder.has("one") && !folder.has("two")); // a seal is of one name
        }
        const QString before = folder_;
        folder_ += "-of-another-purpose";
        QVERIFY(take(PartFolder::open(path(), "a count to twelve", kKey)).write("three", bytesOf("first")).ok());
        QVERIFY(QFile::copy(file("three.part"), before + "/three.part"));
        folder_ = before;
        QVERIFY(!opened().has("three"));
    }

    void withoutAKeyNobodyGoesOn() {
        QVERIFY(take(PartFolder::open(path(), kPurpose, {})).write("one", bytesOf("first")).ok());
        QVERIFY(!take(PartFolder::open(path(), kPurpose, {})).resumed());
        QVERIFY(!opened().resumed());
    }

    void whatAKilledProgramLeftGoesAway() {
        QVERIFY(opened().write("one", bytesOf("first")).ok());
        QVERIFY(QFile::copy(file("one.part"), file(".tunesmith-1-2.part")));
        const PartFolder folder = opened();
        QVERIFY(folder.has("one") && !QFile::exists(file(".tunesmith-1-2.part")));
    }

    void otherPurposesAreRefused() {
        QVERIFY(opened().write("one", bytesOf("first")).ok());
        const QString why = refusal("a count to twelve");
        QVERIFY2(why.contains(folder_) && why.contains("to ten") && why.contains("to twelve") && why.contains("remove this one to start anew"), qPrintable(why));
        QVERIFY(opened().has("one"));
    }

    void foldersOfOthersAreRefused() {
        QVERIFY(QDir().mkpath(folder_));
        QFile letter(file("letter.txt"));
        QVERIFY(letter.open(QIODevice::WriteOnly));
        letter.close();
        QVERIFY(refusal().contains("files of something else"));
        QCOMPARE(QDir(folder_).entryList(QDir::Files), QStringList{"letter.txt"});
    }

    // Browsers call a download so.
    void partsOfOthersAreRefused() {
        QVERIFY(QDir().mkpath(folder_));
        QFile download(file("film.part"));
        QVERIFY(download.open(QIODevice::WriteOnly));
        download.close();
        QVERIFY(refusal().contains("files of something else"));
        QCOMPARE(QDir(folder_).entryList(QDir::Files), QStringList{"film.part"});
    }

    // A folder from elsewhere may hold links, and parts whose length says nothing of what they hold.
    void foldersFromElsewhere() {
        QVERIFY(opened().write("one", bytesOf("first")).ok());
        constexpr qint64 kHuge = qint64(1) << 40;
        QFile huge(file("huge.part"));
        QVERIFY(huge.open(QIODevice::ReadWrite) && huge.resize(kHuge));
        {
            const PartFolder folder = opened();
            QVERIFY(folder.has("one") && !folder.has("huge"));
        }
        QVERIFY(huge.remove() && QFile::remove(file("lock")) && QFile::link(temporary_.filePath("nothing"), file("lock")));
        QVERIFY2(refusal().contains("lock"), qPrintable(refusal()));
        QVERIFY(!QFile::exists(temporary_.filePath("nothing")));
        QVERIFY(QFile::remove(file("lock")) && QFile::resize(file("purpose.txt"), kHuge));
        QVERIFY2(refusal().contains("a purpose has at most"), qPrintable(refusal()));
    }

    void oneProgramAtATime() {
        const PartFolder folder = opened();
        QVERIFY(refusal().contains("at work"));
    }

    void removesItsOwnOnly() {
        PartFolder folder = opened();
        QVERIFY(folder.write("one", bytesOf("first")).ok());
        for (const char* name : {"letter.txt", "film.part"}) {
            QFile foreign(file(name));
            QVERIFY(foreign.open(QIODevice::WriteOnly));
        }
        QVERIFY(folder.remove().ok());
        QCOMPARE(QDir(folder_).entryList(QDir::Files | QDir::Hidden), (QStringList{"film.part", "letter.txt"}));
        QVERIFY(QFile::remove(file("film.part")) && QFile::remove(file("letter.txt")));
        PartFolder again = opened();
        QVERIFY(again.remove().ok() && !QFile::exists(folder_));
    }

    // A part that nobody wanted again.
    void foldersWithTornPartsStayOurs() {
        QVERIFY(opened().write("one", bytesOf("first")).ok());
        QVERIFY(QFile::resize(file("one.part"), 5));
        QVERIFY(opened().remove().ok() && QFile::exists(file("one.part")));
        PartFolder again = opened();
        QVERIFY(!again.has("one") && again.write("one", bytesOf("first")).ok());
        QVERIFY(again.remove().ok() && !QFile::exists(folder_));
    }

    void saysWhatCannotBeMade() {
        QVERIFY(QDir().mkpath(temporary_.filePath("run")));
        QFile file(temporary_.filePath("run/file"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        folder_ = temporary_.filePath("run/file/parts");
        QVERIFY(refusal().contains("run/file/parts"));
    }
};

QTEST_GUILESS_MAIN(PartFolderTest)
#include "tst_part_folder.moc"
