// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/large_pruning.h"

#include <algorithm>

#include "core/substitution/parallel.h"

namespace tunesmith::substitution {
namespace {

constexpr DerivationLimits kQuick{2, 1000}, kThorough{3, 2000}; // most of what follows does so quickly
constexpr std::size_t kBatch = 64;

} // namespace

LargePruning::LargePruning(const std::vector<Rule>& base, PartFolder& folder) : folder_(folder) {
    for (const Rule& rule : base)
        base_.add(rule);
    known_ = base_;
}

Status LargePruning::judge(std::size_t part, const StopToken& stop) {
    const std::string name = "judged-" + std::to_string(part);
    if (folder_.has(name))
        return {};
    TS_ASSIGN(const std::vector<RankedRule> rules, rulesIn(folder_, "candidates-" + std::to_string(part)));
    Bytes left;
    for (const RankedRule& ranked : rules) {
        if (stop.stopRequested())
            return cancelledError();
        if (!isConsequence(ranked.rule, base_, kQuick) && !isConsequence(ranked.rule, base_, kThorough))
            append(ranked, left);
    }
    return folder_.write(name, left);
}

Status LargePruning::load(std::size_t parts) {
    for (std::size_t part = 0; part < parts; ++part) {
        TS_ASSIGN(std::vector<RankedRule> rules, rulesIn(folder_, "judged-" + std::to_string(part)));
        for (RankedRule& ranked : rules)
            rules_.push_back(std::move(ranked.rule));
    }
    isKept_.assign(rules_.size(), 0);
    return {};
}

// Threads judge a batch by what is known before it; what they keep is judged again in order, by the batch as well.
Status LargePruning::prune(int threads, const StopToken& stop, const Observer& observer) {
    for (std::size_t begin = 0; begin < rules_.size(); begin += kBatch) {
        const std::size_t end = std::min(rules_.size(), begin + kBatch);
        const std::string name = "kept-" + std::to_string(begin / kBatch);
        if (!folder_.has(name)) {
            TS_ASSIGN(const Flags found, keptOfBatch(begin, end, threads, stop));
            TS_TRY(folder_.write(name, found));
        }
        TS_ASSIGN(const Flags flags, flagsIn(name, end - begin));
        for (std::size_t i = begin; i < end; ++i)
            if (flags[i - begin] != std::byte(0)) {
                isKept_[i] = 1;
                known_.add(rules_[i]);
            }
        observer(end, rules_.size(), countKept());
    }
    return {};
}

Result<LargePruning::Flags> LargePruning::flagsIn(const std::string& part, std::size_t count) const {
    TS_ASSIGN(Flags flags, folder_.read(part));
    if (flags.size() != count)
        return inputError("the part " + part + " is about " + std::to_string(flags.size()) + " rules instead of " + std::to_string(count) + "; remove the work folder and begin again");
    return flags;
}

Result<LargePruning::Flags> LargePruning::keptOfBatch(std::size_t begin, std::size_t end, int threads, const StopToken& stop) {
    Flags kept(end - begin);
    TS_TRY(inParallel(kept.size(), threads, stop, [&](std::size_t i) {
        kept[i] = std::byte(!isConsequence(rules_[begin + i], known_, kQuick));
        return Status();
    }));
    KnownRewrites now = known_;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (stop.stopRequested())
            return cancelledError();
        if (kept[i] == std::byte(0))
            continue;
        if (now.all.size() > known_.all.size() && isConsequence(rules_[begin + i], now, kQuick))
            kept[i] = std::byte(0);
        else
            now.add(rules_[begin + i]);
    }
    return kept;
}

Status LargePruning::dropWhatLaterOnesSay(int threads, const StopToken& stop, const Observer& observer) {
    std::vector<std::size_t> kept, said;
    for (std::size_t i = 0; i < rules_.size(); ++i)
        if (isKept_[i])
            kept.push_back(i);
    for (std::size_t begin = 0; begin < kept.size(); begin += kBatch) {
        const std::span<const std::size_t> batch = std::span(kept).subspan(begin, std::min(kBatch, kept.size() - begin));
        TS_ASSIGN(const Flags flags, saidByOthers("said-" + std::to_string(begin / kBatch), batch, threads, stop));
        for (std::size_t i = 0; i < flags.size(); ++i)
            if (flags[i] != std::byte(0))
                said.push_back(batch[i]);
        observer(begin + flags.size(), kept.size(), kept.size() - said.size());
    }
    for (const std::size_t i : said) { // two may follow from each other
        if (stop.stopRequested())
            return cancelledError();
        KnownRewrites others = known_.without(rules_[i]);
        if (!isConsequence(rules_[i], others, kQuick))
            continue;
        isKept_[i] = 0;
        known_ = std::move(others);
    }
    return {};
}

Result<LargePruning::Flags> LargePruning::saidByOthers(const std::string& part, std::span<const std::size_t> rules, int threads, const StopToken& stop) {
    if (folder_.has(part))
        return flagsIn(part, rules.size());
    Flags said(rules.size());
    TS_TRY(inParallel(said.size(), threads, stop, [&](std::size_t i) {
        said[i] = std::byte(isConsequence(rules_[rules[i]], known_.without(rules_[rules[i]]), kQuick));
        return Status();
    }));
    TS_TRY(folder_.write(part, said));
    return said;
}

std::size_t LargePruning::countKept() const { return static_cast<std::size_t>(std::ranges::count(isKept_, 1)); }

std::vector<Rule> LargePruning::kept() const {
    std::vector<Rule> kept;
    for (std::size_t i = 0; i < rules_.size(); ++i)
        if (isKept_[i])
            kept.push_back(rules_[i]);
    return kept;
}

} // namespace tunesmith::substitution
