// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/rule_merge.h"

#include <algorithm>
#include <queue>

namespace tunesmith::substitution {
namespace {

// Puts rules into parts of some size.
class PartWriter {
public:
    PartWriter(PartFolder& folder, std::string name, std::size_t rulesPerPart) : folder_(folder), name_(std::move(name)), rulesPerPart_(rulesPerPart) {}

    Status add(const RankedRule& rule) {
        append(rule, bytes_);
        return ++rules_ % rulesPerPart_ == 0 ? finish() : Status();
    }
    Status finish() {
        if (bytes_.empty())
            return {};
        TS_TRY(folder_.write(name_ + "-" + std::to_string(parts_++), bytes_));
        bytes_.clear();
        return {};
    }
    std::size_t rules() const { return rules_; }

private:
    PartFolder& folder_;
    std::string name_;
    std::size_t rulesPerPart_, rules_ = 0, parts_ = 0;
    Bytes bytes_;
};

} // namespace

Result<std::size_t> mergeRules(PartFolder& folder, const std::vector<RuleList>& lists, const std::string& name, std::size_t rulesPerPart, std::size_t bytes,
                               const StopToken& stop) {
    using Head = std::pair<RankedRule, std::size_t>; // the next rule of a list
    const auto isLater = [](const Head& a, const Head& b) { return b.first < a.first; };
    std::priority_queue<Head, std::vector<Head>, decltype(isLater)> heads(isLater);
    std::vector<RuleReader> readers;
    const auto advance = [&](std::size_t list) -> Status {
        TS_ASSIGN(std::optional<RankedRule> rule, readers[list].next());
        if (rule)
            heads.emplace(std::move(*rule), list);
        return {};
    };
    for (const RuleList& list : lists) {
        readers.push_back(readerOf(folder, list.part, list.begin, std::clamp<std::size_t>(bytes / lists.size(), 4096, std::size_t(1) << 20)));
        TS_TRY(advance(readers.size() - 1));
    }
    PartWriter writer(folder, name, rulesPerPart);
    std::string last;
    while (!heads.empty()) {
        if (stop.stopRequested())
            return cancelledError();
        const auto [rule, list] = heads.top();
        heads.pop();
        if (rule.text != last)
            TS_TRY(writer.add(rule));
        last = rule.text;
        TS_TRY(advance(list));
    }
    TS_TRY(writer.finish());
    return writer.rules();
}

} // namespace tunesmith::substitution
