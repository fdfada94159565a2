// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/runs_in_hand.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

namespace tunesmith {
namespace {

struct Taken {
    std::mutex mutex;
    std::map<std::pair<std::string, std::int64_t>, const RunsInHand*> runs; // of files
};
Taken& taken() {
    static Taken& all = *new Taken; // for stores that are closed at the very end
    return all;
}

std::string fileOf(const std::string& store) {
    std::error_code error;
    const auto file = std::filesystem::weakly_canonical(store, error);
    return error ? store : file.string();
}

} // namespace

RunsInHand::RunsInHand(const std::string& store) : file_(fileOf(store)) {}

RunsInHand::~RunsInHand() {
    const std::lock_guard lock(taken().mutex);
    std::erase_if(taken().runs, [this](const auto& run) { return run.second == this; });
}

bool RunsInHand::take(RunId run) {
    const std::lock_guard lock(taken().mutex);
    return taken().runs.try_emplace({file_, run.value()}, this).first->second == this;
}

void RunsInHand::leave(RunId run) {
    const std::lock_guard lock(taken().mutex);
    const auto found = taken().runs.find({file_, run.value()});
    if (found != taken().runs.end() && found->second == this)
        taken().runs.erase(found);
}

} // namespace tunesmith
