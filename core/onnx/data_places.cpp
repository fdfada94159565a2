// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/data_places.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <limits>
#include <span>
#include <sys/file.h>
#include <thread>

#include "core/base/atomic_file.h"
#include "core/base/log.h"
#include "core/base/mapped_ranges.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kPatience{1};
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

bool isCalledModel(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.find(".onnx") != std::string::npos && name.find(".onnx.data") == std::string::npos;
}

// A model reads what lies in its folder or below. A copy beside it may have any name, one above was made by hand.
bool mayBeNamed(const fs::path& data, const fs::path& except) {
    std::uintmax_t searched = 0;
    std::error_code error;
    for (const fs::path& folder : {except.parent_path(), except.parent_path().parent_path()}) {
        for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
            const bool beside = folder == except.parent_path();
            if (at->path() == except || at->path() == data || !at->is_regular_file(error) || !(beside || isCalledModel(at->path())) || at->file_size(error) > kLargestModel)
                continue;
            searched += at->file_size(error);
            if (error || searched > kMostSearched || mayHold(at->path(), data.filename().string()))
                return true;
        }
        if (error)
            return true;
    }
    return false;
}

} // namespace

Result<FolderTurn> FolderTurn::take(const fs::path& folder) {
    FolderTurn turn;
    turn.folder_ = Descriptor(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (turn.folder_.isOpen() && ::flock(turn.folder_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (std::chrono::steady_clock::now() > end)
            return ioError("another program is writing a model into '" + folder.string() + "'; wait for it, or write to another folder");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return turn;
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
        if (places.ours && !isMapped(data) && !mayBeNamed(data, places.model))
            fs::remove(data, ignored);
        else
            logMessage(LogLevel::warning, "'" + data.string() + "', data of the model that was replaced, stays: other models may read it");
    }
}

} // namespace tunesmith
