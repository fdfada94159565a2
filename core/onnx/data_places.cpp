// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/data_places.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <limits>
#include <span>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/mapped_ranges.h"
#include "core/base/unfinished.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kPatience{10};
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr std::uintmax_t kLargestModel = std::numeric_limits<int>::max(); // as protobuf has it
constexpr std::uintmax_t kMostSearched = std::uintmax_t{4} << 30;         // bytes of other models

// As protobuf writes a text: its length, in groups of seven bits, comes before it.
std::string asWritten(const std::string& text) {
    std::string written;
    std::size_t length = text.size();
    for (; length >= 128; length /= 128)
        written += static_cast<char>(length % 128 + 128);
    return written + static_cast<char>(length) + text;
}

// Also where it cannot be read.
bool mayHold(const fs::path& path, const std::string& wanted) {
    auto file = InputFile::open(path);
    if (!file.ok())
        return true;
    const std::boyer_moore_searcher searcher(wanted.begin(), wanted.end());
    std::string text;
    for (std::size_t left = file->size(); left > 0;) {
        const std::size_t before = text.size(), count = std::min(left, std::size_t{1} << 20);
        text.resize(before + count);
        if (!file->read(std::as_writable_bytes(std::span(text).subspan(before))).ok() || std::search(text.begin(), text.end(), searcher) != text.end())
            return true;
        text.erase(0, text.size() - std::min(text.size(), wanted.size())); // it may begin in this block and end in the next
        left -= count;
    }
    return false;
}

// The exporter writes the version first and then its name.
bool isOurs(const fs::path& model) {
    constexpr std::size_t kProducer = 2; // where the field begins
    const std::string wanted = "\x12" + asWritten("tunesmith");
    std::string start(kProducer + wanted.size(), '\0');
    auto file = InputFile::open(model);
    return file.ok() && file->read(std::as_writable_bytes(std::span(start))).ok() && start.ends_with(wanted);
}

bool isAt(const fs::path& path, int descriptor) {
    struct stat there {}, open {};
    return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &open) == 0 && there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

void removeLock(const fs::path& path) { ::unlink(path.c_str()); }

// Every writer of a model begins with its version; a file that cannot be read may be one.
bool mayBeginModel(const fs::path& path) {
    constexpr std::byte kVersion{0x08};
    std::byte first{};
    auto file = InputFile::open(path);
    return !file.ok() || (file->size() > 0 && (!file->read(std::span(&first, 1)).ok() || first == kVersion));
}

// Where copies of a model may be: beside it under any name but that of data, above it, where one was made by hand, under a model's.
bool mayBeModel(const fs::path& path, bool beside) {
    const std::string name = path.filename().string();
    return name.find(".onnx.data") == std::string::npos && (beside || name.find(".onnx") != std::string::npos) && mayBeginModel(path);
}

// A model reads what lies in its folder or below.
bool mayBeNamed(const std::string& data, const fs::path& except) {
    std::uintmax_t searched = 0;
    std::error_code error;
    for (const fs::path& folder : {except.parent_path(), except.parent_path().parent_path()}) {
        for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
            const bool beside = folder == except.parent_path();
            if (at->path() == except || !at->is_regular_file(error) || at->file_size(error) > kLargestModel || !mayBeModel(at->path(), beside))
                continue;
            searched += at->file_size(error);
            if (error || searched > kMostSearched || mayHold(at->path(), data))
                return true;
        }
        if (error)
            return true;
    }
    return false;
}

} // namespace

Result<ExportTurn> ExportTurn::take(const fs::path& model) {
    ExportTurn turn;
    const fs::path path = model.parent_path() / ("." + model.filename().string() + ".writing");
    for (const auto end = std::chrono::steady_clock::now() + kPatience; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(kLookAgain)) {
        Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!lock.isOpen())
            return turn;
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? !isAt(path, lock.get()) : errno == EWOULDBLOCK)
            continue; // another has it, or took it away with the turn
        if (makeUnfinished(path, removeLock, [&] { return lock.get(); }) < 0)
            return cancelledError();
        turn.path_ = path;
        turn.lock_ = std::move(lock);
        return turn;
    }
    return ioError("another program has been writing '" + model.string() + "' for " + std::to_string(kPatience.count()) + " minutes; wait for it, or take another name");
}

ExportTurn::~ExportTurn() {
    if (path_.empty())
        return;
    removeLock(path_);
    forgetUnfinished(path_);
}

Result<DataPlaces> placesOfData(const fs::path& model) {
    DataPlaces places{model, {}, {}, isOurs(model)};
    std::error_code error;
    const bool replaces = fs::exists(model, error);
    for (int number = 1; number < 1000; ++number) {
        fs::path data = model;
        data += number == 1 ? ".data" : ".data-" + std::to_string(number);
        const auto status = fs::symlink_status(data, error);
        if (!fs::exists(status) && places.free.empty())
            places.free = data;
        else if (replaces && fs::is_regular_file(status) && mayHold(model, asWritten(data.filename().string())))
            places.before.push_back(data);
    }
    if (!places.free.empty())
        return places;
    return ioError("'" + model.string() + ".data' and 998 files like it are there; write the model to another folder");
}

void removeReplacedData(const DataPlaces& places) {
    std::error_code ignored;
    for (const fs::path& data : places.before) {
        if (places.ours && !isMapped(data) && !mayBeNamed(data.filename().string(), places.model))
            fs::remove(data, ignored);
        else
            logMessage(LogLevel::warning, "'" + data.string() + "', data of the model that was replaced, stays: other models may read it");
    }
}

} // namespace tunesmith
