// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTemporaryDir>
#include <memory>

#include "core/store/store.h"
#include "tests/take.h"

namespace tunesmith {

// A store in a folder of its own with two jobs, "one" and "two", for sessions of them.
class TwoJobsStore {
public:
    explicit TwoJobsStore(const std::string& two = R"({"model": "mlp"})") : path_(folder_.filePath("jobs.db").toStdString()), store_(take(Store::open(path_))) {
        JobRow first, second;
        first.name = "one";
        first.what = R"({"model": "mlp", "trials": 40})";
        second.name = "two";
        second.what = two;
        jobs_ = take(store_->addJobs({first, second}));
    }

    const std::string& path() const { return path_; }
    std::string missing() const { return folder_.filePath("none.db").toStdString(); }
    Store& store() const { return *store_; }
    StoredJobId job(std::size_t number) const { return jobs_[number]; }

    JobSessionId begin(const std::string& policy, const std::string& resources) const {
        JobSessionRow row;
        row.policy = policy;
        row.resources = resources;
        return take(store_->beginJobSession(row));
    }

private:
    QTemporaryDir folder_;
    std::string path_;
    std::shared_ptr<Store> store_;
    std::vector<StoredJobId> jobs_;
};

} // namespace tunesmith
