// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "core/rewrite/write_nodes.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {
namespace {

using Perm = std::vector<std::int64_t>;

// Query, key and value after one product: each part of a split along the last axis becomes heads by a Reshape and a Transpose. The whole is
// transposed once, with the parts as the outermost dimension, where splitting moves nothing. What a part's own transposition does beyond the
// first's stays with it.
class HeadMotion : public Substitution {
public:
    HeadMotion()
        : Substitution({"heads-of-parts", "transpose(reshape(split(x)a)); ... = split(transpose(reshape(x)))",
                        {"parts are of one size, along the last axis", "nothing else reads them", "all are reshaped alike, in their last dimension only"}, true}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (isPlain(draft, anchor, "Split") && !headsOf(draft, anchor).transposes.empty())
            found.push_back({anchor, {draft.output(anchor)}});
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        const NodeNo split = madeBy(draft, match.values[0], "Split");
        const Heads heads = split == kNone ? Heads() : headsOf(draft, split);
        if (heads.transposes.empty())
            return "its parts are not reshaped and transposed alike";
        const auto parts = static_cast<std::int64_t>(heads.transposes.size());
        const std::size_t lead = draft.shape(draft.output(split)).size() - 1;
        Shape whole = heads.shape;
        whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(lead), parts);
        const ValueNo split_ = addSplit(draft, addTranspose(draft, addReshape(draft, draft.operand(split, 0), whole), outermost(heads.perms[0], lead)), 0,
                                        std::vector<std::int64_t>(heads.transposes.size(), 1));
        if (split_ == kNone)
            return "the shapes do not allow it";
        return replaceParts(draft, heads, split_);
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        const auto between = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1))); };
        Draft draft(table);
        const std::int64_t heads = between(1, 3), width = between(1, 3), count = between(2, 3);
        Shape lead;
        for (std::int64_t i = 0, rank = between(1, 2); i < rank; ++i)
            lead.push_back(rng.chance(0.02) ? 0 : between(1, 4));
        Shape x = lead, target = lead;
        x.push_back(count * heads * width);
        target.insert(target.end(), {heads, width});
        const ValueNo parts = addSplit(draft, draft.addInput(table->add(TensorType(DType::f32, x)), 1), static_cast<std::int64_t>(lead.size()),
                                       std::vector<std::int64_t>(static_cast<std::size_t>(count), heads * width));
        Perm perm(target.size());
        std::iota(perm.begin(), perm.end(), std::int64_t(0));
        std::vector<ValueNo> outputs;
        for (std::int64_t i = 0; i < count && parts != kNone; ++i) {
            if (i == 0 || rng.chance(0.3))
                for (std::size_t d = perm.size(); d > 1; --d)
                    std::swap(perm[d - 1], perm[rng.below(d)]);
            outputs.push_back(draft.add("Transpose", {addReshape(draft, parts + static_cast<ValueNo>(i), target)}, {{"perm", perm}}));
        }
        if (outputs.empty() || std::ranges::find(outputs, kNone) != outputs.end())
            return std::nullopt;
        draft.setOutputs(std::move(outputs));
        return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
    }

private:
    struct Heads {
        Shape shape;                    // of each part after its Reshape
        std::vector<NodeNo> transposes; // by part; none where the parts differ
        std::vector<Perm> perms;
    };

    static Heads headsOf(const Draft& draft, NodeNo split) {
        Heads heads;
        const Shape& part = draft.shape(draft.output(split));
        const std::vector<std::int64_t> extents = extentsOf(draft, split);
        if (axisOf(draft, split) + 1 != part.size() || extents.size() < 2 || std::ranges::count(extents, extents[0]) != std::ssize(extents))
            return {};
        for (std::size_t i = 0; i < extents.size(); ++i) {
            const NodeNo reshape = onlyReader(draft, draft.output(split, i));
            if (reshape == kNone || !isPlain(draft, reshape, "Reshape") || draft.operand(reshape, 0) != draft.output(split, i))
                return {};
            const NodeNo transpose = onlyReader(draft, draft.output(reshape));
            if (transpose == kNone || !isPlain(draft, transpose, "Transpose") || !add(heads, draft, reshape, transpose))
                return {};
        }
        return std::equal(part.begin(), part.end() - 1, heads.shape.begin()) && gains(heads) ? heads : Heads();
    }

    static bool add(Heads& heads, const Draft& draft, NodeNo reshape, NodeNo transpose) {
        const Shape& shape = draft.shape(draft.output(reshape));
        const Shape& part = draft.shape(draft.operand(reshape, 0));
        if (shape.size() <= part.size() || (!heads.shape.empty() && shape != heads.shape))
            return false;
        heads.shape = shape;
        Perm perm = draft.op(transpose).intsAttr("perm");
        for (std::size_t d = 0; perm.size() < shape.size(); ++d)
            perm.push_back(static_cast<std::int64_t>(shape.size() - 1 - d));
        heads.transposes.push_back(transpose);
        heads.perms.push_back(std::move(perm));
        return true;
    }

    // As many transpositions stay as parts differ from the first; one is made.
    static bool gains(const Heads& heads) { return std::ranges::count(heads.perms, heads.perms[0]) > 1; }

    // The permutation of a part with the parts' dimension, at `lead` of what is transposed, put first.
    static Perm outermost(const Perm& perm, std::size_t lead) {
        Perm made{static_cast<std::int64_t>(lead)};
        for (const std::int64_t d : perm)
            made.push_back(d < static_cast<std::int64_t>(lead) ? d : d + 1);
        return made;
    }

    static std::string_view replaceParts(Draft& draft, const Heads& heads, ValueNo parts) {
        std::vector<ValueNo> made;
        for (std::size_t i = 0; i < heads.transposes.size(); ++i) {
            Shape shape;
            Perm rest;
            for (const std::int64_t d : heads.perms[0])
                shape.push_back(heads.shape[static_cast<std::size_t>(d)]);
            for (const std::int64_t d : heads.perms[i])
                rest.push_back(std::ranges::find(heads.perms[0], d) - heads.perms[0].begin());
            made.push_back(addReshape(draft, parts + static_cast<ValueNo>(i), shape));
            made.back() = made.back() == kNone ? kNone : addTranspose(draft, made.back(), rest);
            if (made.back() == kNone || draft.value(made.back()).type != draft.value(draft.output(heads.transposes[i])).type)
                return "the shapes do not allow it";
        }
        for (std::size_t i = 0; i < made.size(); ++i)
            draft.replace(draft.output(heads.transposes[i]), made[i]);
        return {};
    }
};

} // namespace

void addHeadMotion(std::vector<SubstitutionPtr>& all) { all.push_back(std::make_shared<HeadMotion>()); }

} // namespace tunesmith::rewrite
