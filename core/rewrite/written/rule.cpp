// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/rule.h"

#include <algorithm>

#include "core/rewrite/held_weights.h"
#include "core/rewrite/written/inspect.h"

namespace tunesmith::rewrite {
namespace {

class WrittenSubstitution : public Substitution {
public:
    explicit WrittenSubstitution(WrittenRule rule) : Substitution(rule.card), rule_(std::move(rule)) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (!isPlain(draft, anchor) || draft.isWeight(draft.output(anchor)))
            return; // what depends on constants only is computed before the model runs
        if (std::vector<ValueNo> values = rule_.find(draft, anchor); !values.empty())
            found.push_back({anchor, std::move(values)});
    }

    // Who reads what may be different now, so the match must be found again.
    std::string_view apply(Draft& draft, const Match& match) const override {
        std::vector<Match> found;
        if (match.anchor < draft.nodes() && draft.isAlive(match.anchor))
            find(draft, match.anchor, found);
        if (std::ranges::find(found, match) == found.end())
            return "it is not there any more";
        const auto firstNew = static_cast<NodeNo>(draft.nodes());
        const std::vector<ValueNo> results = rule_.build(draft, match);
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i] == kNone)
                return "the shapes do not allow it";
            if (draft.value(results[i]).type != draft.value(match.values[i]).type)
                return "the result would have another shape or type";
        }
        if (!holdsNewWeights(draft, firstNew))
            return "the type of the weights cannot hold what they become";
        for (std::size_t i = 0; i < results.size(); ++i)
            draft.replace(match.values[i], results[i]);
        return {};
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        SampleModel model(table, rule_.opsets, rng);
        return model.finish(rule_.sample(model));
    }

private:
    WrittenRule rule_;
};

} // namespace

SubstitutionPtr written(WrittenRule rule) { return std::make_shared<WrittenSubstitution>(std::move(rule)); }

void addFolding(std::vector<SubstitutionPtr>& all, const WrittenRule& rule, const StillRead& stillRead) {
    const auto foundWhere = [&](auto fits) {
        return [find = rule.find, stillRead, fits](const Draft& draft, NodeNo anchor) {
            std::vector<ValueNo> values = find(draft, anchor);
            return values.empty() || fits(draft, stillRead(draft, anchor)) ? values : std::vector<ValueNo>();
        };
    };
    WrittenRule alone = rule, shared = rule;
    alone.card.conditions.emplace_back("weights of more than 1 MiB have no other reader when the model runs");
    alone.find = foundWhere([](const Draft& draft, const std::vector<ValueNo>& read) {
        double bytes = 0;
        for (const ValueNo weights : read)
            bytes += bytesOf(draft, weights);
        return bytes <= kMayBeTwice;
    });
    shared.card.name += "-of-shared";
    shared.card.simplifies = false;
    shared.card.conditions.emplace_back("others read the weights, too, when the model runs");
    shared.find = foundWhere([](const Draft&, const std::vector<ValueNo>& read) { return !read.empty(); });
    shared.sample = [sample = rule.sample](SampleModel& model) {
        model.shareWeights();
        return sample(model);
    };
    all.push_back(written(std::move(alone)));
    all.push_back(written(std::move(shared)));
}

} // namespace tunesmith::rewrite
