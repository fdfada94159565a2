// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/reader_pool.h"

namespace tunesmith {

Result<ReaderPool::Lease> ReaderPool::borrow() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto connection = std::move(idle_.back());
            idle_.pop_back();
            return Lease(*this, std::move(connection));
        }
    }
    TS_ASSIGN(auto connection, sqlite::Connection::open(path_, flags_));
    return Lease(*this, std::move(connection));
}

void ReaderPool::giveBack(std::unique_ptr<sqlite::Connection> connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
}

} // namespace tunesmith
