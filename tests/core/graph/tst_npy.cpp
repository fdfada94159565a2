// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/npy.h"

#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <fstream>

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

constexpr DType kTypes[] = {DType::boolean, DType::i8,  DType::i16, DType::i32, DType::i64, DType::u8,
                            DType::u16,     DType::u32, DType::u64, DType::f16, DType::f32, DType::f64};

std::string npy(const std::string& header, const std::string& data, int version = 1, int lengthOff = 0) {
    std::string bytes = "\x93NUMPY";
    bytes += {static_cast<char>(version), '\0'};
    const std::size_t length = header.size() + static_cast<std::size_t>(lengthOff);
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
        bytes += static_cast<char>(length >> (8 * i) & 255);
    return bytes + header + data;
}

std::string dictionary(const std::string& descr, const std::string& fortran, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

Tensor counting(DType type, const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::i64, shape);
    for (std::size_t i = 0; i < tensor.mutableData<std::int64_t>().size(); ++i)
        tensor.mutableData<std::int64_t>()[i] = static_cast<std::int64_t>(i % 100);
    return tensor.cast(type);
}

} // namespace

class TestNpy : public QObject {
    Q_OBJECT
private slots:
    void roundTrip_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("rank");
        for (const DType type : kTypes)
            for (int rank = 0; rank <= 4; ++rank)
                QTest::addRow("%s of rank %d", std::string(dtypeName(type)).c_str(), rank)
                    << static_cast<int>(type) << rank;
    }
    void roundTrip() {
        QFETCH(int, type);
        QFETCH(int, rank);
        Shape shape{2, 3, 4, 5};
        shape.resize(static_cast<std::size_t>(rank));
        const Tensor tensor = counting(static_cast<DType>(type), shape);
        QVERIFY(writeNpy(file_, tensor).ok());
        QCOMPARE(fs::file_size(file_) % 64, tensor.byteCount() % 64);
        const auto again = readNpy(file_);
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().message.c_str());
        QCOMPARE(again->hash(), tensor.hash());
    }

    void emptyTensor() {
        QVERIFY(writeNpy(file_, Tensor::zeros(DType::f32, {0, 3})).ok());
        QCOMPARE(readNpy(file_)->shape(), (Shape{0, 3}));
    }

    // As numpy.save writes them.
    void foreign_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const std::string& bytes, const char* expected) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << expected;
        };
        const std::string six("\1\0\2\0\3\0\4\0\5\0\6\0", 12), big("\0\1\0\2\0\3\0\4\0\5\0\6", 12);
        row("little endian", npy(dictionary("<i2", "False", "(2, 3)"), six), "int16[2,3] 1 2 3 4 5 6");
        row("big endian", npy(dictionary(">i2", "False", "(2, 3)"), big), "int16[2,3] 1 2 3 4 5 6");
        row("native", npy(dictionary("=i2", "False", "(6,)"), six), "int16[6] 1 2 3 4 5 6");
        row("Fortran", npy(dictionary("<i2", "True", "(2, 3)"), six), "int16[2,3] 1 3 5 2 4 6");
        row("Fortran, big", npy(dictionary(">i2", "True", "(3, 2)"), big), "int16[3,2] 1 4 2 5 3 6");
        row("Fortran, one axis", npy(dictionary("<i2", "True", "(6,)"), six), "int16[6] 1 2 3 4 5 6");
        row("Fortran, three axes", npy(dictionary("|u1", "True", "(2, 1, 3)"), "\1\2\3\4\5\6"),
            "uint8[2,1,3] 1 3 5 2 4 6");
        row("version 2", npy(dictionary("|u1", "False", "(2,)"), "\7\x9", 2), "uint8[2] 7 9");
        row("version 3", npy(dictionary("|u1", "False", "(2,)"), "\7\x9", 3), "uint8[2] 7 9");
        row("scalar", npy(dictionary("|i1", "False", "()"), "\xff"), "int8[] -1");
        row("Python 2",
            npy("{'shape': (2L, 1L), 'descr': \"|b1\", 'fortran_order': False}", std::string("\0\2", 2)),
            "bool[2,1] 0 1");
        row("bytes after the data", npy(dictionary("|u1", "False", "(1,)"), "\7 and more"), "uint8[1] 7");
    }
    void foreign() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, expected);
        write(bytes);
        const auto tensor = readNpy(file_);
        QVERIFY2(tensor.ok(), tensor.ok() ? "" : tensor.error().message.c_str());
        QString text = QString::fromStdString(std::string(dtypeName(tensor->type())) + "[");
        for (std::size_t i = 0; i < tensor->rank(); ++i)
            text += (i ? "," : "") + QString::number(tensor->shape()[i]);
        text += "]";
        for (std::int64_t i = 0; i < tensor->count(); ++i)
            text += " " + QString::number(tensor->asInt(i));
        QCOMPARE(text, expected);
    }

    void hostile_data() {
        QTest::addColumn<QByteArray>("bytes");
        const auto row = [](const char* name, const std::string& bytes) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes);
        };
        const std::string good = npy(dictionary("|u1", "False", "(2,)"), "\7\x9");
        for (std::size_t size = 0; size < good.size(); size += 3)
            QTest::addRow("cut after %zu", size) << QByteArray::fromStdString(good.substr(0, size));
        row("text", "this is no array, but a letter to a friend");
        row("version 9", npy(dictionary("|u1", "False", "(2,)"), "\7\x9", 9));
        row("header longer than the file", npy(dictionary("|u1", "False", "(2,)"), "", 1, 1000));
        row("header of 4 GB", npy(dictionary("|u1", "False", "(2,)"), "", 2, -100));
        row("3 GB claimed", npy(dictionary("<f4", "False", "(750000000,)"), "1234"));
        row("product over 64 bits", npy(dictionary("<f4", "False", "(4294967296, 4294967296, 2)"), "1234"));
        row("extent over 64 bits", npy(dictionary("<f4", "False", "(99999999999999999999,)"), "1234"));
        row("negative extent", npy(dictionary("<f4", "False", "(-1,)"), "1234"));
        row("extent of letters", npy(dictionary("<f4", "False", "(n,)"), "1234"));
        row("shape is no tuple", npy(dictionary("<f4", "False", "[1]"), "1234"));
        row("shape without end", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, ", "1234"));
        row("two numbers without a comma", npy(dictionary("<f4", "False", "(1 1)"), "1234"));
        row("rank of 1000",
            npy(dictionary("|u1", "False", "(" + QString("1,").repeated(1000).toStdString() + ")"), "1"));
        row("order maybe", npy(dictionary("<f4", "Maybe", "(1,)"), "1234"));
        row("objects", npy(dictionary("|O", "False", "(1,)"), "1234"));
        row("complex", npy(dictionary("<c8", "False", "(1,)"), "12345678"));
        row("long double", npy(dictionary("<f16", "False", "(1,)"), "1234567812345678"));
        row("text elements", npy(dictionary("<U2", "False", "(1,)"), "12345678"));
        row("structured", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"));
        row("key twice",
            npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "1234"));
        row("key missing", npy("{'descr': '<f4', 'fortran_order': False}", "1234"));
        row("unknown key", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", "1234"));
        row("key without value", npy("{'descr'", "1234"));
        row("empty header", npy("", "1234"));
    }
    void hostile() {
        QFETCH(QByteArray, bytes);
        write(bytes);
        const auto tensor = readNpy(file_);
        QVERIFY(!tensor.ok());
        QVERIFY2(tensor.error().message.find(file_.string()) != std::string::npos,
                 tensor.error().message.c_str());
        QVERIFY2(tensor.error().message.size() < 400, tensor.error().message.c_str());
    }

    void badPlaces() {
        QVERIFY(readNpy(folder_ / "none.npy").error().kind == ErrorKind::io);
        QVERIFY(readNpy(folder_).error().kind == ErrorKind::io);
        QVERIFY(writeNpy(folder_ / "none" / "t.npy", Tensor::scalar(1.0f)).error().kind == ErrorKind::io);
        QVERIFY(!writeNpy(file_, Tensor()).ok());
        QVERIFY(!writeNpy(file_, Tensor::ofStrings({1}, {"a"})).ok());
        if (fs::exists("/dev/full")) // names of outputs choose no device
            QVERIFY(writeNpy("/dev/full", Tensor::scalar(1.0f)).error().message.find("device") != std::string::npos);
    }

    void linksAreReplaced() {
        const fs::path precious = folder_ / "precious", link = folder_ / "output.npy";
        QVERIFY(writeNpy(precious, Tensor::scalar(1.0f)).ok());
        fs::create_symlink(precious, link);
        QVERIFY(writeNpy(link, Tensor::scalar(2.0f)).ok());
        QCOMPARE(readNpy(precious)->asDouble(0), 1.0);
        QCOMPARE(readNpy(link)->asDouble(0), 2.0);
        fs::remove(link);
    }

    void bfloatIsWidened() {
        QVERIFY(writeNpy(file_, Tensor::scalar(floatToBfloat(1.5f))).ok());
        const auto again = readNpy(file_);
        QCOMPARE(again->type(), DType::f32);
        QCOMPARE(again->asDouble(0), 1.5);
    }

    void fileNames_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("file");
        QTest::newRow("plain") << "conv1_out.0-x"
                               << "conv1_out.0-x";
        QTest::newRow("path") << "/model/layer:0"
                              << "_model_layer_0";
        QTest::newRow("umlaut, two bytes") << QString::fromUtf8("\xc3\xa4") << "__";
        QTest::newRow("empty") << ""
                               << "_";
        QTest::newRow("here") << "."
                              << "_";
        QTest::newRow("up") << ".."
                            << "__";
    }
    void fileNames() {
        QFETCH(QString, name);
        QFETCH(QString, file);
        QCOMPARE(QString::fromStdString(safeFileName(name.toStdString())), file);
    }

    void namesInOneFolder_data() {
        QTest::addColumn<QStringList>("names");
        QTest::addColumn<QStringList>("files");
        QTest::newRow("as they are") << QStringList{"a", "b"} << QStringList{"a", "b"};
        QTest::newRow("two become one") << QStringList{"y:0", "y_0", "y/0"} << QStringList{"y_0-2", "y_0", "y_0-3"};
        QTest::newRow("the number is taken") << QStringList{"y:0", "y_0-2", "y 0"} << QStringList{"y_0", "y_0-2", "y_0-3"};
        QTest::newRow("one name twice") << QStringList{"y", "y"} << QStringList{"y", "y-2"};
        QTest::newRow("none") << QStringList{} << QStringList{};
    }
    void namesInOneFolder() {
        QFETCH(QStringList, names);
        QFETCH(QStringList, files);
        std::vector<std::string> given;
        for (const QString& name : names)
            given.push_back(name.toStdString());
        QStringList found;
        for (const std::string& file : distinctFileNames(given))
            found << QString::fromStdString(file);
        QCOMPARE(found, files);
    }

    void manyOfOneNameTakeNoSquareOfTheTime() {
        const std::vector<std::string> files = distinctFileNames(std::vector<std::string>(100000, "y")); // tried one by one, 5e9 names
        QCOMPARE(files.back(), std::string("y-100000"));
    }

    void longNamesAreShortAndDistinct() {
        const std::string a(300, 'a'), b = a + "b";
        QVERIFY(safeFileName(a).size() < 200 && safeFileName(a).starts_with("aaaa"));
        QVERIFY(safeFileName(a) != safeFileName(b));
        QCOMPARE(safeFileName(a), safeFileName(a));
    }

private:
    void write(const QByteArray& bytes) {
        std::ofstream(file_, std::ios::binary).write(bytes.data(), bytes.size());
    }
    QTemporaryDir temporary_;
    fs::path folder_ = temporary_.path().toStdString();
    fs::path file_ = folder_ / "t.npy";
};

QTEST_GUILESS_MAIN(TestNpy)
#include "tst_npy.moc"
