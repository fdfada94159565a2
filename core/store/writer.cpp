// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/writer.h"

#include <sys/stat.h>

namespace tunesmith {

StoreWriter::StoreWriter(std::unique_ptr<sqlite::Connection> connection)
    : connection_(std::move(connection)), path_(connection_->path()) {
    struct stat file {};
    if (::stat(path_.c_str(), &file) == 0) {
        device_ = file.st_dev;
        inode_ = file.st_ino;
    }
    thread_ = std::thread([this] { loop(); });
}

StoreWriter::~StoreWriter() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void StoreWriter::perform(const Task& task) {
    Queued queued{&task, {}};
    auto done = queued.done.get_future();
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back(&queued);
    }
    wake_.notify_one();
    done.wait();
}

void StoreWriter::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty())
            return;
        Queued* next = queue_.front();
        queue_.pop_front();
        lock.unlock();
        (*next->task)(*connection_);
        std::promise<void> done = std::move(next->done); // the caller's `next` may be gone once it is told
        done.set_value();
        lock.lock();
    }
}

Status StoreWriter::fileStillThere() const {
    struct stat file {};
    if (::stat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
        return {};
    return ioError("the store " + path_ +
                   " was moved, replaced or deleted while it was in use; put it back, or open it again");
}

Status StoreWriter::commit(sqlite::Connection& connection, Durability durability,
                           const std::function<Status()>& body) {
    TS_TRY(fileStillThere());
    const bool full = durability == Durability::powerLoss;
    TS_TRY(connection.execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
    return connection.transaction("IMMEDIATE", body);
}

Status StoreWriter::transaction(Durability durability,
                                const std::function<Status(sqlite::Connection&)>& body) {
    Status status;
    perform([&](sqlite::Connection& connection) {
        status = commit(connection, durability, [&] { return body(connection); });
    });
    return status;
}

Status StoreWriter::outsideTransaction(const std::function<Status(sqlite::Connection&)>& body) {
    Status status;
    perform([&](sqlite::Connection& connection) {
        status = fileStillThere();
        if (status.ok())
            status = body(connection);
    });
    return status;
}

} // namespace tunesmith
