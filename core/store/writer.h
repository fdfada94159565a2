// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "core/store/sqlite.h"

namespace tunesmith {

// What a commit survives (FORMAT.md, "Writers, readers, crashes").
enum class Durability { processDeath, powerLoss };

// The one thread that writes. It owns the writing connection; others hand it work and wait for the result.
class StoreWriter {
public:
    explicit StoreWriter(std::unique_ptr<sqlite::Connection> connection);
    ~StoreWriter(); // does what is queued, then closes

    // One transaction; returns after the commit. Nothing of a failed body stays.
    template <class T>
    Result<T> transaction(Durability durability, std::function<Result<T>(sqlite::Connection&)> body) {
        Result<T> result = internalError("the store was closed");
        perform([&](sqlite::Connection& connection) {
            const Status status = commit(connection, durability, [&]() -> Status {
                result = body(connection);
                return result.ok() ? Status() : Status(result.error());
            });
            if (!status.ok())
                result = status.error();
        });
        return result;
    }
    Status transaction(Durability durability, const std::function<Status(sqlite::Connection&)>& body);
    Status outsideTransaction(const std::function<Status(sqlite::Connection&)>& body); // VACUUM, checkpoint

private:
    using Task = std::function<void(sqlite::Connection&)>;
    struct Queued {
        const Task* task;
        std::promise<void> done;
    };

    void perform(const Task& task); // queues and waits
    void loop();
    Status commit(sqlite::Connection& connection, Durability durability, const std::function<Status()>& body);
    Status fileStillThere() const;

    std::unique_ptr<sqlite::Connection> connection_;
    std::string path_;
    std::uint64_t device_ = 0, inode_ = 0;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Queued*> queue_; // guarded by mutex_
    bool closing_ = false;      // guarded by mutex_
    std::thread thread_;
};

} // namespace tunesmith
