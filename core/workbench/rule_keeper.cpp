// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_keeper.h"

#include <map>
#include <set>
#include <tuple>

#include "core/workbench/rule_rows.h"

namespace tunesmith {
namespace {

using namespace substitution;

// A verdict counts more than trials, more trials more than few.
std::tuple<int, std::int64_t> knowledge(const RuleRow& row) {
    const int rank = row.status == "untested" ? 0 : row.status == "tested" ? 1 : 2;
    return {rank, rank == 2 ? 0 : row.trials};
}

bool saysSomething(const RuleRow& row) {
    return row.status != "untested" || row.trials > 0 || !row.preconditions.empty() || !row.counterExample.empty() ||
           !row.whyNotProved.empty();
}

// What the store has and what comes in, for as long as rules are added.
class Keeper {
public:
    explicit Keeper(const std::vector<RuleRow>& known) : known_(known.size()) {
        for (const RuleRow& row : known)
            remember(row, false);
    }

    void add(RuleRow row) {
        const auto place = byText_.find(row.text);
        if (place == byText_.end()) {
            row.name = freeName(row.name);
            return remember(row, true);
        }
        auto& [kept, isChanged] = entries_[place->second];
        if (!saysSomething(row) || knowledge(row) < knowledge(kept))
            return;
        row.name = kept.name;
        row.origin = kept.origin;
        row.createdAt = kept.createdAt;
        kept = row;
        isChanged = true;
    }

    std::size_t added() const { return entries_.size() - known_; }

    std::vector<RuleRow> changed() const {
        std::vector<RuleRow> rows;
        for (const auto& [row, isChanged] : entries_)
            if (isChanged)
                rows.push_back(row);
        return rows;
    }

private:
    void remember(const RuleRow& row, bool isChanged) {
        byText_[row.text] = entries_.size();
        names_.insert(row.name);
        entries_.emplace_back(row, isChanged);
    }

    // The name if no rule has it yet, else its family's first number that is free.
    std::string freeName(const std::string& wanted) {
        std::string name = wanted;
        const std::string family = wanted.substr(0, wanted.rfind('/')) + "/";
        while (names_.contains(name))
            name = family + std::to_string(++last_[family]);
        return name;
    }

    const std::size_t known_;
    std::vector<std::pair<RuleRow, bool>> entries_; // and whether they are new or say more
    std::map<std::string, std::size_t> byText_;
    std::set<std::string> names_;
    std::map<std::string, std::size_t> last_; // number that was tried, by family
};

} // namespace

Result<std::size_t> keepIn(Store& store, const std::vector<StoredRule>& rules) {
    TS_ASSIGN(const std::vector<RuleRow> known, store.rules());
    Keeper keeper(known);
    for (const StoredRule& rule : rules)
        keeper.add(rowOf(rule));
    TS_TRY(store.addRules(keeper.changed()));
    return keeper.added();
}

} // namespace tunesmith
