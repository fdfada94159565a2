// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tunesmith {

// Kernels and workloads that a client has sent or was given, so that they need not travel again. Each client has only its own:
// there is no way to name another one's. The oldest go when there are too many bytes. From any thread.
class KeptBlobs {
public:
    using Blob = std::shared_ptr<const std::vector<std::byte>>;
    explicit KeptBlobs(std::size_t bytes) : capacity_(bytes) {}

    void keep(const std::string& client, const std::string& name, const std::vector<std::byte>& blob);
    Blob find(const std::string& client, const std::string& name) const; // null: this client has no such
    bool isOthers(const std::string& client, const std::string& name) const; // somebody else has it: worth a line in the log

private:
    struct Entry {
        std::string client, name;
        Blob blob;
    };
    mutable std::mutex mutex_;
    std::size_t capacity_, bytes_ = 0;
    std::deque<Entry> entries_; // oldest first
};

} // namespace tunesmith
