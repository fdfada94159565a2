// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/annealer.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

namespace tunesmith {
namespace {

// The best configs so far. Ties are decided by the hash so that the order never depends on who came first.
class Best {
public:
    Best(std::size_t keep, const Annealer::Exclude& exclude) : keep_(keep), exclude_(exclude) {}

    bool offer(const Config& config, std::uint64_t hash, float score) {
        if (std::isnan(score) || (order_.size() == keep_ && !(Key(score, hash) > *order_.begin())) ||
            exclude_(hash))
            return false;
        if (!configs_.try_emplace(hash, config).second)
            return false;
        order_.emplace(score, hash);
        if (order_.size() > keep_) {
            configs_.erase(order_.begin()->second);
            order_.erase(order_.begin());
        }
        return true;
    }

    std::vector<ScoredConfig> take() {
        std::vector<ScoredConfig> out;
        for (auto it = order_.rbegin(); it != order_.rend(); ++it)
            out.push_back({std::move(configs_.at(it->second)), it->second, it->first});
        return out;
    }

private:
    using Key = std::pair<float, std::uint64_t>;
    std::size_t keep_;
    const Annealer::Exclude& exclude_;
    std::set<Key> order_;
    std::unordered_map<std::uint64_t, Config> configs_;
};

// Scores batches, each config once.
class Memo {
public:
    Memo(const Space& space, const Annealer::Score& score, Best& best)
        : space_(space), score_(score), best_(best) {}

    // Scores of a batch; `changed` becomes true when one of them is among the best.
    std::vector<float> operator()(const std::vector<Config>& configs, bool& changed) {
        std::vector<std::uint64_t> hashes;
        std::vector<Config> fresh;
        std::vector<std::uint64_t> freshHashes;
        for (const Config& config : configs) {
            hashes.push_back(space_.hash(config));
            if (scores_.try_emplace(hashes.back(), 0.0f).second) {
                fresh.push_back(config);
                freshHashes.push_back(hashes.back());
            }
        }
        if (!fresh.empty())
            store(fresh, freshHashes, changed);
        std::vector<float> out;
        for (const std::uint64_t hash : hashes)
            out.push_back(scores_.at(hash));
        return out;
    }

private:
    void store(const std::vector<Config>& fresh, const std::vector<std::uint64_t>& hashes, bool& changed) {
        const std::vector<float> scores = score_(fresh);
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            scores_[hashes[i]] = scores[i];
            changed |= best_.offer(fresh[i], hashes[i], scores[i]);
        }
    }

    const Space& space_;
    const Annealer::Score& score_;
    Best& best_;
    std::unordered_map<std::uint64_t, float> scores_;
};

void scoreWhole(const IndexedSpace& index, Memo& memo) {
    constexpr std::size_t kBatch = 1024;
    std::vector<Config> batch;
    bool changed = false;
    for (std::uint64_t i = 0; i < index.indexCount(); ++i) {
        if (auto config = index.at(i))
            batch.push_back(std::move(*config));
        if (batch.size() == kBatch || i + 1 == index.indexCount()) {
            memo(batch, changed);
            batch.clear();
        }
    }
}

void anneal(const Space& space, const AnnealOptions& options, Memo& memo, std::vector<Config>& chains,
            Rng& rng) {
    bool changed = false;
    std::vector<float> scores = memo(chains, changed);
    std::vector<Config> moved(chains.size());
    std::size_t quiet = 0;
    for (std::size_t step = 0; step < options.steps && quiet < options.patience; ++step) {
        const double temperature = 1.0 - static_cast<double>(step) / static_cast<double>(options.steps);
        for (std::size_t i = 0; i < chains.size(); ++i)
            moved[i] = space.neighbour(chains[i], rng);
        changed = false;
        const std::vector<float> next = memo(moved, changed);
        quiet = changed ? 0 : quiet + 1;
        for (std::size_t i = 0; i < chains.size(); ++i) {
            const double gain = static_cast<double>(next[i]) - static_cast<double>(scores[i]);
            if (gain >= 0 || rng.chance(std::exp(gain / (temperature + 1e-5)))) {
                std::swap(chains[i], moved[i]);
                scores[i] = next[i];
            }
        }
    }
}

} // namespace

std::vector<ScoredConfig> Annealer::best(const Score& score, const Exclude& exclude, std::size_t keep,
                                         std::vector<Config>& chains, Rng& rng) const {
    Best best(keep, exclude);
    Memo memo(space_, score, best);
    if (space_.indexed() && space_.indexed()->indexCount() <= options_.exhaustive) {
        scoreWhole(*space_.indexed(), memo);
    } else {
        while (chains.size() < options_.chains)
            chains.push_back(space_.sample(rng));
        anneal(space_, options_, memo, chains, rng);
    }
    return best.take();
}

} // namespace tunesmith
