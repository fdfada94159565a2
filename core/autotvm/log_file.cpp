// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/log_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/atomic_file.h"

namespace tunesmith::autotvm {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 22; // bytes; a record has less than a thousand

// The lines of a file of which only a part is in memory.
class LineReader {
public:
    explicit LineReader(InputFile file) : file_(std::move(file)), left_(file_.size()) {}

    // The next line without its end, or nothing at the end of the file.
    Result<std::optional<std::string>> next() {
        ++number_;
        std::size_t searched = 0;
        for (;;) {
            if (const auto end = pending_.find('\n', searched); end != std::string::npos)
                return take(end, 1);
            if (left_ == 0)
                return pending_.empty() ? std::optional<std::string>() : take(pending_.size(), 0);
            if (pending_.size() > kLongestLine)
                return inputError("the line is longer than 4 MiB; this is no AutoTVM log");
            searched = pending_.size();
            TS_TRY(more());
        }
    }
    std::size_t number() const { return number_; }

private:
    std::optional<std::string> take(std::size_t length, std::size_t end) {
        std::string line = pending_.substr(0, length);
        pending_.erase(0, length + end);
        return line;
    }
    Status more() {
        std::array<char, 65536> block;
        const std::size_t count = std::min(left_, block.size());
        TS_TRY(file_.read(std::as_writable_bytes(std::span(block).first(count))));
        pending_.append(block.data(), count);
        left_ -= count;
        return {};
    }

    InputFile file_;
    std::size_t left_, number_ = 0;
    std::string pending_;
};

bool isCompressed(std::string_view line) {
    return line.starts_with("\xfd"
                            "7zXZ") ||
           line.starts_with("\x1f\x8b");
}

bool isPassedOver(std::string_view line) {
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string_view::npos || line[first] == '#';
}

Error at(const std::string& path, std::size_t line, const Error& error) {
    return error.isCancelled() ? error : error.within(path + ", line " + std::to_string(line));
}

Status readRecords(const std::string& path, LineReader& lines, const std::function<Status(Record)>& take, LogDamage& damage) {
    std::int64_t records = 0;
    for (;;) {
        TS_ASSIGN(const std::optional<std::string> line, lines.next());
        if (!line)
            return records > 0 || damage.lines == 0 ? Status() : Status(inputError(damage.first));
        if (lines.number() == 1 && isCompressed(*line))
            return inputError("the file is compressed; unpack it first");
        if (isPassedOver(*line))
            continue;
        auto record = parseRecord(*line);
        if (!record.ok() && damage.lines++ == 0)
            damage.first = at(path, lines.number(), record.error()).message;
        if (!record.ok())
            continue;
        ++records;
        TS_TRY(take(std::move(record).value()));
    }
}

} // namespace

Result<LogDamage> readLog(const std::string& path, const std::function<Status(Record)>& take) {
    TS_ASSIGN(InputFile file, InputFile::open(path));
    LineReader lines(std::move(file));
    LogDamage damage;
    if (const Status read = readRecords(path, lines, take, damage); !read.ok())
        return read.error().message == damage.first ? read.error() : at(path, lines.number(), read.error());
    return damage;
}

Result<std::vector<Record>> readLog(const std::string& path) {
    std::vector<Record> records;
    TS_TRY(readLog(path, [&records](Record record) -> Status {
        records.push_back(std::move(record));
        return {};
    }));
    return records;
}

Status writeLog(const std::string& path, const std::vector<Record>& records) {
    TS_ASSIGN(AtomicFile file, AtomicFile::create(path));
    for (const Record& record : records) {
        const std::string line = recordLine(record) + "\n";
        TS_TRY(file.write(std::as_bytes(std::span(line))));
    }
    return file.commit();
}

} // namespace tunesmith::autotvm
