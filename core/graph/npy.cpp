// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/graph/stored_types.h"

namespace tunesmith {
namespace {

static_assert(std::endian::native == std::endian::little, "the byte order below is that of the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLargestHeader = std::size_t{1} << 20; // NumPy itself writes a few hundred bytes
constexpr std::size_t kLargestRank = 64;
constexpr std::size_t kLongestName = 180; // of the 255 that file systems allow, with room for endings

struct NpyCode {
    DType type;
    std::string_view code;
};
constexpr std::array<NpyCode, 12> kCodes{{{DType::boolean, "b1"},
                                          {DType::i8, "i1"},
                                          {DType::i16, "i2"},
                                          {DType::i32, "i4"},
                                          {DType::i64, "i8"},
                                          {DType::u8, "u1"},
                                          {DType::u16, "u2"},
                                          {DType::u32, "u4"},
                                          {DType::u64, "u8"},
                                          {DType::f16, "f2"},
                                          {DType::f32, "f4"},
                                          {DType::f64, "f8"}}};

struct Header {
    DType type = DType::undefined;
    bool bigEndian = false;
    bool fortran = false;
    Shape shape;
};

// The header is a Python dictionary literal with three fixed keys; this reads that much of Python and no
// more.
class HeaderParser {
public:
    explicit HeaderParser(std::string_view text) : text_(text) {}

    Result<Header> parse() {
        if (!take('{'))
            return bad("does not start with '{'");
        while (!take('}')) {
            TS_ASSIGN(const std::string key, quoted());
            if (!take(':'))
                return bad("has a key without a value");
            TS_TRY(value(key));
            take(',');
        }
        if (seen_ != 7)
            return bad("must name descr, fortran_order and shape once each");
        return header_;
    }

private:
    static Error bad(const std::string& what) { return inputError("the header " + what); }

    void skipSpace() {
        while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' || text_.front() == '\t'))
            text_.remove_prefix(1);
    }
    bool take(char wanted) {
        skipSpace();
        if (text_.empty() || text_.front() != wanted)
            return false;
        text_.remove_prefix(1);
        return true;
    }
    bool takeWord(std::string_view word) {
        skipSpace();
        if (!text_.starts_with(word))
            return false;
        text_.remove_prefix(word.size());
        return true;
    }
    Result<std::string> quoted() {
        skipSpace();
        const char quote = text_.empty() ? '\0' : text_.front();
        if (quote != '\'' && quote != '"')
            return bad("is not a dictionary of simple types (structured arrays are not supported)");
        const std::size_t end = text_.find(quote, 1);
        if (end == std::string_view::npos)
            return bad("ends inside a string");
        std::string result(text_.substr(1, end - 1));
        text_.remove_prefix(end + 1);
        return result;
    }

    Status value(const std::string& key) {
        const int bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
        if (!bit || (seen_ & bit))
            return bad("has an unknown or a repeated key");
        seen_ |= bit;
        return bit == 1 ? descr() : bit == 2 ? order() : shape();
    }
    Status descr() {
        TS_ASSIGN(const std::string text, quoted());
        const std::size_t prefix =
            !text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos ? 1 : 0;
        for (const NpyCode& code : kCodes)
            if (text.substr(prefix) == code.code)
                header_.type = code.type;
        header_.bigEndian = text.starts_with('>');
        if (header_.type == DType::undefined)
            return unsupportedError("the element type '" + text.substr(0, 40) + "' is not supported");
        return {};
    }
    Status order() {
        header_.fortran = takeWord("True");
        if (!header_.fortran && !takeWord("False"))
            return bad("must say True or False for fortran_order");
        return {};
    }
    Status shape() {
        if (!take('('))
            return bad("has a shape that is not a tuple");
        while (!take(')')) {
            skipSpace();
            std::int64_t extent = -1;
            const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
            if (error != std::errc() || extent < 0)
                return bad("has a shape with something else than natural numbers in it");
            text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
            takeWord("L"); // Python 2 wrote 3L
            if (!take(',') && !(skipSpace(), text_.starts_with(')')))
                return bad("has a shape that does not end");
            header_.shape.push_back(extent);
        }
        return header_.shape.size() > kLargestRank ? bad("has a shape of too many dimensions") : Status();
    }

    std::string_view text_;
    Header header_;
    int seen_ = 0;
};

struct HeaderText {
    std::string text;
    std::size_t dataOffset;
};

Result<HeaderText> readHeaderText(InputFile& file) {
    std::array<std::byte, 12> start = {};
    if (file.size() < 10)
        return inputError("is not a .npy file");
    TS_TRY(file.read(std::span(start).first(8)));
    if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
        return inputError("is not a .npy file");
    const int version = std::to_integer<int>(start[6]);
    if (version < 1 || version > 3)
        return unsupportedError("is a .npy file of unknown version " + std::to_string(version));
    const std::size_t lengthBytes = version == 1 ? 2 : 4;
    if (file.size() < 8 + lengthBytes)
        return inputError("ends inside the header");
    TS_TRY(file.read(std::span(start).subspan(8, lengthBytes)));
    std::size_t length = 0;
    for (std::size_t i = lengthBytes; i-- > 0;)
        length = length << 8 | std::to_integer<std::size_t>(start[8 + i]);
    if (length > kLargestHeader || length > file.size() - 8 - lengthBytes)
        return inputError("claims a header of " + std::to_string(length) + " bytes, which it does not have");
    std::string text(length, '\0');
    TS_TRY(file.read(std::as_writable_bytes(std::span(text))));
    return HeaderText{std::move(text), 8 + lengthBytes + length};
}

void swapBytes(std::span<std::byte> bytes, std::size_t elementSize) {
    for (std::size_t at = 0; at < bytes.size(); at += elementSize)
        std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + elementSize));
}

// The file holds the elements with the first index running fastest.
Tensor fromFortran(const Tensor& source, const Shape& shape) {
    Tensor result = Tensor::zeros(source.type(), shape);
    const std::size_t size = byteSize(source.type());
    const auto strides = rowMajorStrides(shape);
    Shape index(shape.size(), 0);
    std::int64_t target = 0;
    for (std::int64_t i = 0; i < source.count(); ++i) {
        std::memcpy(result.mutableBytes().data() + target * static_cast<std::int64_t>(size),
                    source.bytes().data() + i * static_cast<std::int64_t>(size), size);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            target += strides[axis];
            if (++index[axis] < shape[axis])
                break;
            target -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    return result;
}

Result<Tensor> readBody(InputFile& file, const Header& header, std::size_t available) {
    const auto count = checkedElementCount(header.shape);
    const std::size_t size = byteSize(header.type);
    if (!count || static_cast<std::size_t>(*count) > available / size)
        return inputError("claims a tensor of shape " + shapeText(header.shape) + ", but holds only " +
                          std::to_string(available) + " bytes of data");
    Tensor tensor = Tensor::zeros(header.type, header.shape);
    TS_TRY(file.read(tensor.mutableBytes()));
    if (header.bigEndian)
        swapBytes(tensor.mutableBytes(), size);
    if (header.type == DType::boolean)
        for (std::byte& byte : tensor.mutableBytes())
            byte = std::byte{byte != std::byte{0}};
    return header.fortran && header.shape.size() > 1 ? fromFortran(tensor, header.shape) : tensor;
}

Result<Tensor> readOpened(InputFile& file) {
    TS_ASSIGN(const HeaderText start, readHeaderText(file));
    TS_ASSIGN(const Header header, HeaderParser(start.text).parse());
    return readBody(file, header, file.size() - start.dataOffset);
}

std::string headerText(const Tensor& tensor) {
    std::string descr;
    for (const NpyCode& code : kCodes)
        if (code.type == tensor.type())
            descr = (byteSize(code.type) == 1 ? "|" : "<") + std::string(code.code);
    std::string shape;
    for (const std::int64_t extent : tensor.shape())
        shape += std::to_string(extent) + (tensor.rank() == 1 ? "," : ", ");
    if (tensor.rank() > 1)
        shape.resize(shape.size() - 2);
    std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    text.append(63 - (10 + text.size()) % 64, ' '); // the data starts at a multiple of 64
    return text + '\n';
}

} // namespace

Result<Tensor> readNpy(const std::filesystem::path& path) {
    TS_ASSIGN(InputFile file, InputFile::open(path));
    auto tensor = readOpened(file);
    if (!tensor.ok() && tensor.error().kind != ErrorKind::io)
        return Error{tensor.error().kind, "'" + path.string() + "': " + tensor.error().message};
    return tensor;
}

Result<AtomicFile> stagedNpy(const std::filesystem::path& path, const Tensor& tensor) {
    if (tensor.type() == DType::bf16)
        return stagedNpy(path, tensor.cast(DType::f32));
    if (isStored(tensor.type()))
        return stagedNpy(path, widenStored(tensor));
    if (tensor.absent() || tensor.type() == DType::string)
        return unsupportedError("cannot write '" + path.string() + "': a tensor of type " +
                                std::string(dtypeName(tensor.type())) + " has no .npy form");
    const std::string header = headerText(tensor);
    if (header.size() > 0xffff)
        return unsupportedError("cannot write '" + path.string() + "': the tensor has too many dimensions");
    std::string start(kMagic);
    start += {'\x01', '\x00', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    start += header;
    TS_ASSIGN(AtomicFile file, AtomicFile::create(path, Links::replace));
    TS_TRY(file.write(std::as_bytes(std::span(start))));
    TS_TRY(file.write(tensor.bytes()));
    TS_TRY(file.close());
    return file;
}

Status writeNpy(const std::filesystem::path& path, const Tensor& tensor) {
    TS_ASSIGN(AtomicFile file, stagedNpy(path, tensor));
    return file.commit();
}

std::string safeFileName(std::string_view name) {
    std::string safe(name);
    for (char& c : safe) {
        const bool kept = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                          c == '_' || c == '.' || c == '-';
        if (!kept)
            c = '_';
    }
    if (safe == "." || safe == "..")
        return std::string(safe.size(), '_');
    if (safe.size() > kLongestName)
        return safe.substr(0, kLongestName - 17) + "-" + hexHash(Hasher().add(name).value());
    return safe.empty() ? "_" : safe;
}

std::vector<std::string> distinctFileNames(const std::vector<std::string>& names) {
    std::vector<std::string> files(names.size());
    std::set<std::string> taken;
    std::map<std::string, int> numbers; // the next one to try
    for (std::size_t i = 0; i < names.size(); ++i)
        if (safeFileName(names[i]) == names[i] && taken.insert(names[i]).second)
            files[i] = names[i];
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string safe = safeFileName(names[i]);
        for (int& number = numbers.try_emplace(safe, 1).first->second; files[i].empty(); ++number)
            if (const std::string file = number == 1 ? safe : safe + "-" + std::to_string(number); taken.insert(file).second)
                files[i] = file;
    }
    return files;
}

} // namespace tunesmith
