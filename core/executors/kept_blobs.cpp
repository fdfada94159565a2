// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/kept_blobs.h"

#include <algorithm>

namespace tunesmith {

void KeptBlobs::keep(const std::string& client, const std::string& name, const std::vector<std::byte>& blob) {
    const std::lock_guard lock(mutex_);
    const bool known = std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.name == name && entry.client == client; });
    if (known || blob.size() > capacity_)
        return;
    entries_.push_back({client, name, std::make_shared<const std::vector<std::byte>>(blob)});
    bytes_ += blob.size();
    while (bytes_ > capacity_) {
        bytes_ -= entries_.front().blob->size();
        entries_.pop_front();
    }
}

KeptBlobs::Blob KeptBlobs::find(const std::string& client, const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.name == name && entry.client == client; });
    return found == entries_.end() ? nullptr : found->blob;
}

bool KeptBlobs::isOthers(const std::string& client, const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.name == name && entry.client != client; });
}

} // namespace tunesmith
