// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "core/store/sqlite.h"

namespace tunesmith {

// Read-only connections, as many as there are threads reading at once; each is lent to one query at a time.
class ReaderPool {
public:
    ReaderPool(std::string path, sqlite::OpenFlags flags) : path_(std::move(path)), flags_(flags) {}

    class Lease {
    public:
        Lease(ReaderPool& pool, std::unique_ptr<sqlite::Connection> connection)
            : pool_(&pool), connection_(std::move(connection)) {}
        Lease(Lease&&) = default;
        ~Lease() {
            if (connection_)
                pool_->giveBack(std::move(connection_));
        }
        sqlite::Connection& operator*() const { return *connection_; }
        sqlite::Connection* operator->() const { return connection_.get(); }

    private:
        ReaderPool* pool_;
        std::unique_ptr<sqlite::Connection> connection_;
    };

    Result<Lease> borrow();

private:
    void giveBack(std::unique_ptr<sqlite::Connection> connection);

    std::string path_;
    sqlite::OpenFlags flags_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<sqlite::Connection>> idle_; // guarded by mutex_
};

} // namespace tunesmith
