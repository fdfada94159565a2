// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>

#include "core/base/database_file.h"
#include "core/store/reader_pool.h"
#include "core/store/runs_in_hand.h"
#include "core/store/store.h"
#include "core/store/writer.h"

namespace tunesmith {

// What the parts of Store (store_*.cpp) share. Inside core/store only.
struct Store::Impl {
    Impl(std::string storePath, StoreMode storeMode, const sqlite::OpenFlags& readFlags);

    std::string path;
    OpenDatabase open; // longer than its connections
    RunsInHand hand;
    StoreMode mode;
    std::string owner;
    std::unique_ptr<StoreWriter> writer; // none in a store that is open for reading only
    mutable ReaderPool
        readers; // after the writer, so that it closes first and the writer tidies the log away

    template <class T> Result<T> read(const std::function<Result<T>(sqlite::Connection&)>& body) const {
        TS_ASSIGN(auto lease, readers.borrow());
        return body(*lease);
    }

    template <class T>
    Result<T> write(Durability durability, const std::function<Result<T>(sqlite::Connection&)>& body) {
        if (!writer)
            return notWritable();
        return writer->transaction<T>(durability, body);
    }
    Status change(Durability durability, const std::function<Status(sqlite::Connection&)>& body) {
        return writer ? writer->transaction(durability, body) : Status(notWritable());
    }
    Error notWritable() const {
        return inputError("the store " + path +
                          " was opened for reading only; open it for writing to change it");
    }
};

inline std::int64_t millisecondsSince1970() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// All rows of a statement, each made by `make`.
template <class T>
Result<std::vector<T>> allRows(sqlite::Statement& statement, T (*make)(sqlite::Statement&)) {
    std::vector<T> rows;
    for (;;) {
        TS_ASSIGN(const bool row, statement.step());
        if (!row)
            return rows;
        rows.push_back(make(statement));
    }
}

// The internal number of a workload; an error if the store does not know it.
Result<std::int64_t> workloadNumber(sqlite::Connection& connection, const std::string& key);

// An error unless this run is RUNNING and `owner` is the process that works on it.
Status requireOwnRun(sqlite::Connection& connection, RunId run, const std::string& owner);
Status writeRunState(sqlite::Connection& connection, const RunStateRow& state);

template <class Tag> StrongId<Tag> optionalId(const sqlite::Statement& statement, int column) {
    return statement.isNull(column) ? StrongId<Tag>() : StrongId<Tag>(statement.integer(column));
}
template <class Tag> std::optional<std::int64_t> optionalNumber(StrongId<Tag> id) {
    return id.valid() ? std::optional<std::int64_t>(id.value()) : std::nullopt;
}

} // namespace tunesmith
