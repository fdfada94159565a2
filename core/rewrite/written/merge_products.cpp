// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <map>

#include "core/rewrite/write_nodes.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {
namespace {

// Matrix products that share their left side are one with all columns: query, key and value of attention, the gates of a recurrent cell.
class MergeProducts : public Substitution {
public:
    MergeProducts()
        : Substitution({"merge-products", "matmul(x, v1); matmul(x, v2); ... = split(matmul(x, concat(v1, v2, ...)))", {"right sides are constant matrices"}, false}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (!isUsable(draft, anchor))
            return;
        Match match{anchor, {draft.output(anchor)}};
        for (const NodeNo other : draft.consumers(draft.operand(anchor, 0))) {
            if (!isUsable(draft, other) || draft.operand(other, 0) != draft.operand(anchor, 0) || other == anchor)
                continue;
            if (other < anchor)
                return; // found there
            match.values.push_back(draft.output(other));
        }
        if (match.values.size() < 2)
            return;
        sortByReaders(draft, match.values);
        addGroups(draft, match, found);
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        std::vector<ValueNo> weights;
        std::vector<std::int64_t> extents;
        for (const ValueNo value : match.values) {
            const NodeNo product = draft.maker(value, "MatMul");
            if (product == kNone || !isUsable(draft, product))
                return "a product has changed";
            weights.push_back(draft.operand(product, 1));
            extents.push_back(draft.shape(value).back());
        }
        const ValueNo x = draft.operand(draft.maker(match.values[0], "MatMul"), 0);
        const ValueNo whole = draft.add("MatMul", {x, addConcat(draft, weights, 1)});
        return replaceAll(draft, match.values, addSplit(draft, whole, static_cast<std::int64_t>(draft.shape(match.values[0]).size()) - 1, extents));
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        const auto between = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1))); };
        Draft draft(table);
        Shape x;
        for (std::int64_t i = 0, rank = between(2, 4); i < rank; ++i)
            x.push_back(rng.chance(0.02) ? 0 : between(1, 4));
        const ValueNo data = draft.addInput(table->add(TensorType(DType::f32, x)), 1);
        std::vector<ValueNo> outputs;
        for (std::int64_t i = 0, count = between(2, 4); i < count; ++i)
            outputs.push_back(draft.add("MatMul", {data, randomWeight(draft, {x.back(), between(1, 4)}, rng)}));
        draft.setOutputs(std::move(outputs));
        return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
    }

private:
    // Large weights that other products share, too, are put together with those that the same products share: with any others they would be
    // there twice. Only what is left of that, one product for each such group, is put together whatever shares it.
    static void addGroups(const Draft& draft, const Match& all, std::vector<Match>& found) {
        double shared = 0;
        std::map<std::vector<ValueNo>, std::vector<ValueNo>> groups;
        for (const ValueNo value : all.values) {
            const NodeNo product = draft.maker(value, "MatMul");
            const std::vector<ValueNo> sharers = sharersOf(draft, product);
            shared += sharers.empty() ? 0 : bytesOf(draft, draft.operand(product, 1));
            groups[sharers].push_back(value);
        }
        if (shared <= kMayBeTwice || groups.size() == all.values.size()) {
            found.push_back(all);
            return;
        }
        for (auto& [sharers, values] : groups)
            if (values.size() > 1)
                found.push_back({all.anchor, std::move(values)});
    }

    // What else the product's weights are multiplied with.
    static std::vector<ValueNo> sharersOf(const Draft& draft, NodeNo product) {
        std::vector<ValueNo> sharers;
        for (const NodeNo other : draft.consumers(draft.operand(product, 1)))
            if (other != product && !draft.isWeight(draft.output(other)))
                sharers.push_back(draft.operand(other, 0));
        std::ranges::sort(sharers);
        return sharers;
    }

    // What is read alike becomes neighbours, so that operators on the parts can be one on all of those.
    static void sortByReaders(const Draft& draft, std::vector<ValueNo>& values) {
        std::vector<std::string> kinds;
        const auto kindOf = [&](ValueNo value) {
            std::vector<std::string> readers;
            for (const NodeNo reader : draft.consumers(value)) {
                std::string kind = draft.op(reader).op;
                for (const NodeNo next : draft.consumers(draft.output(reader)))
                    kind += "/" + draft.op(next).op;
                readers.push_back(std::move(kind));
            }
            std::ranges::sort(readers);
            std::string all;
            for (const std::string& reader : readers)
                all += reader + " ";
            const auto known = std::ranges::find(kinds, all);
            const auto place = known - kinds.begin();
            if (known == kinds.end())
                kinds.push_back(all);
            return place;
        };
        std::vector<std::pair<std::ptrdiff_t, ValueNo>> order;
        for (const ValueNo value : values)
            order.emplace_back(kindOf(value), value);
        std::ranges::stable_sort(order, {}, &std::pair<std::ptrdiff_t, ValueNo>::first);
        std::ranges::transform(order, values.begin(), &std::pair<std::ptrdiff_t, ValueNo>::second);
    }

    static bool isUsable(const Draft& draft, NodeNo node) {
        return isPlain(draft, node, "MatMul") && draft.isWeight(draft.operand(node, 1)) && !draft.isWeight(draft.operand(node, 0)) &&
               draft.shape(draft.operand(node, 1)).size() == 2 && draft.shape(draft.operand(node, 0)).size() >= 2;
    }
};

} // namespace

void addProductMerging(std::vector<SubstitutionPtr>& all) { all.push_back(std::make_shared<MergeProducts>()); }

} // namespace tunesmith::rewrite
