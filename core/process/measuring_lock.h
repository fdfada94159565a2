// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/base/stop_token.h"
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace tunesmith {

// Two measurements at a time disturb each other, be they of one window, of two, or of a command line beside
// them. Who measures holds the key; all Tunesmith processes of a user on a machine share one lock, and the
// threads of one process exclude each other too. The kernel takes the lock from a process that dies.
//
// Taking turns: who waits longest need not be next, but a process that gives the key back and takes it again
// at once comes after those that are waiting.
class MeasuringKey {
public:
    MeasuringKey(MeasuringKey&&) noexcept;
    MeasuringKey& operator=(MeasuringKey&&) noexcept;
    ~MeasuringKey(); // gives the key back

private:
    friend class MeasuringLock;
    explicit MeasuringKey(int fd) : fd_(fd) {}
    int fd_;
};

class MeasuringLock {
public:
    // The files are in $XDG_RUNTIME_DIR, else /run/user/UID, else /tmp/tunesmith-UID, or in the user's cache where somebody else has made a thing of
    // that name.
    static Result<MeasuringLock> open();
    static Result<MeasuringLock> openIn(const std::filesystem::path& folder); // for tests

    // The first that is a folder of this user, no link; made where there is nothing. For tests.
    static Result<std::filesystem::path> ownFolderAmong(const std::vector<std::filesystem::path>& places);

    // Waits. Without a timeout until `stop`; the timeout error names the process that holds the key.
    Result<MeasuringKey>
    acquire(const StopToken& stop = {},
            std::optional<std::chrono::steady_clock::duration> timeout = std::nullopt) const;
    Result<std::optional<MeasuringKey>> tryAcquire() const;

private:
    explicit MeasuringLock(std::filesystem::path folder) : folder_(std::move(folder)) {}
    std::filesystem::path folder_; // empty: the user's, looked for each time, for a login's folder goes with it
};

} // namespace tunesmith
