// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/index_inputs.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/ops/operator.h"

namespace tunesmith {
namespace {

using Extent = std::optional<std::int64_t>; // where it is known

// A node as rules ask about it.
class Asked : public OpInputs {
public:
    Asked(const Graph& graph, const Node& ofNode) : OpInputs(graph, ofNode), graph_(graph) {}

    std::size_t rank(std::size_t input) const { return has(input) && type(input).dims ? type(input).dims->size() : 0; }
    Extent extent(std::size_t input, std::int64_t axis) const { return has(input) ? extentOf(type(input), axis) : Extent(); }
    Extent ofOutput(std::size_t output, std::int64_t axis) const {
        const bool made = output < node.outputs.size() && node.outputs[output].valid();
        return made ? extentOf(graph_.value(node.outputs[output]).type, axis) : Extent();
    }
    Extent number(std::size_t input) const { // of a constant of one element
        const bool stated = isConstant(input) && constant(input).type() == DType::i32 && constant(input).count() == 1;
        return stated ? Extent(constant(input).asInt(0)) : Extent();
    }
    bool says(const char* attribute) const { return node.intAttr(attribute, 0) != 0; }

private:
    static Extent extentOf(const TensorType& type, std::int64_t axis) {
        const std::int64_t rank = type.dims ? std::ssize(*type.dims) : 0;
        if (axis < -rank || axis >= rank)
            return {};
        const Dim& dim = (*type.dims)[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
        return dim.known() ? Extent(dim.extent) : Extent();
    }

    const Graph& graph_;
};

struct Legal {
    IndexRange range = {};
    IndexRange drawn = {0, 0};
};

Legal fromTo(std::int64_t least, std::int64_t most) {
    const std::int64_t first = std::max<std::int64_t>(least, 0);
    return {{least, most}, {first, std::max(most, first)}};
}
Legal below(Extent count) { return count ? fromTo(0, *count - 1) : Legal(); }
Legal fromEitherEnd(Extent count) { return count ? fromTo(-*count, *count - 1) : Legal(); } // negative ones count from the end
// The first of `taken` places one after the other.
Legal firstOf(Extent count, Extent taken) { return count && taken ? fromTo(0, *count - *taken) : Legal{{}, below(count).drawn}; }
Legal onlyDrawn(const Legal& legal) { return {{}, legal.drawn}; }

template <std::size_t data> Legal rowsOf(const Asked& n) { return below(n.extent(data, 0)); }
Legal alongAxis(const Asked& n) { return fromEitherEnd(n.extent(0, n.node.intAttr("axis", 0))); }

// Numbers along several axes: the widest of these says what is surely wrong, the narrowest of all what is surely right.
Legal alongEach(const Asked& n) {
    const auto rank = static_cast<std::int64_t>(n.rank(0));
    const std::int64_t first = std::max<std::int64_t>(n.node.intAttr("batch_dims", 0), 0), depth = n.extent(1, -1).value_or(0);
    std::int64_t widest = 0, narrowest = std::numeric_limits<std::int64_t>::max();
    bool known = depth > 0;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
        const Extent extent = n.extent(0, axis);
        narrowest = std::min(narrowest, extent.value_or(1));
        if (axis >= first && axis - first < depth) {
            known = known && extent;
            widest = std::max(widest, extent.value_or(0));
        }
    }
    const Legal drawn = below(rank > 0 ? Extent(narrowest) : Extent());
    return known && rank > 0 ? Legal{fromEitherEnd(widest).range, drawn.drawn} : onlyDrawn(drawn);
}

// Rows of GatherBlockQuantized, whose last dimension may hold several in a byte.
Legal blockRows(const Asked& n) {
    const std::int64_t axis = n.node.intAttr("gather_axis", 0), bits = n.node.intAttr("bits", 4), rank = static_cast<std::int64_t>(n.rank(0));
    const bool several = (axis == -1 || axis + 1 == rank) && n.has(0) && n.type(0).dtype == DType::u8 && bits > 0 && bits <= 8;
    const Extent count = n.extent(0, axis);
    return fromEitherEnd(count ? Extent(*count * (several ? 8 / bits : 1)) : Extent());
}

// Classes of a loss; one may stand for positions that do not count.
Legal classes(const Asked& n) {
    Legal legal = below(n.extent(0, 1));
    if (n.node.has("ignore_index")) {
        legal.range.least = std::min(legal.range.least, n.node.intAttr("ignore_index", 0));
        legal.range.most = std::max(legal.range.most, n.node.intAttr("ignore_index", 0));
    }
    return legal;
}

// Where TensorScatter begins to write.
Legal writtenRows(const Asked& n) {
    const std::int64_t axis = n.node.intAttr("axis", -2);
    const Legal legal = firstOf(n.extent(0, axis), n.extent(1, axis));
    return n.node.stringAttr("mode", "linear") == "circular" ? onlyDrawn(legal) : legal;
}

Legal lengths(const Asked& n) {
    const Extent time = n.extent(0, n.node.intAttr("time_axis", 0));
    return time ? fromTo(0, *time) : Legal();
}

// Of RotaryEmbedding of com.microsoft: each position, or the first of them.
Legal positions(const Asked& n) {
    const Extent known = n.extent(2, 0);
    return n.rank(1) == 1 ? firstOf(known, n.extent(0, n.rank(0) == 4 ? 2 : 1)) : below(known);
}

// Rows of a cache that are filled before the new ones come: of MultiHeadAttention, where the queries hold keys that are left out, and of Attention.
Legal filledOfHeads(const Asked& n) {
    const std::size_t keys = n.has(1) ? 1 : 0;
    return firstOf(n.extent(6, 2), n.extent(keys, n.rank(keys) == 4 ? 2 : 1));
}
Legal filledOfPacked(const Asked& n) {
    const Legal legal = firstOf(n.extent(4, 3), n.extent(0, 1));
    return n.says("past_present_share_buffer") ? legal : onlyDrawn(legal);
}

// GroupQueryAttention: rows of the caches before and afterwards. A total length that is an input says how long they become, so that is known
// only where the model declares it.
struct GroupCache {
    Extent queries, rows, length, total;
    explicit GroupCache(const Asked& n)
        : queries(n.extent(0, 1)), rows(n.has(3) ? n.extent(3, 2) : Extent(0)), length(n.ofOutput(1, 2)), total(n.number(6)) {
        if (!length)
            length = n.ofOutput(2, 2);
        if (!length && total && rows)
            length = std::max(*total, *rows);
    }
};

// seqlens_k says that with the new rows one more are filled. It says nothing of a prompt, which is as long as the total; where that is an input
// only what is wrong of any prompt is refused.
Legal groupLengths(const Asked& n) {
    const GroupCache cache(n);
    if (!cache.rows)
        return {};
    const std::int64_t queries = cache.queries.value_or(1), before = cache.length ? std::min(*cache.rows, *cache.length - queries) : *cache.rows - queries;
    std::int64_t most = before + queries - 1;
    if (const Extent angles = n.extent(7, 0); angles && n.says("do_rotary") && !n.has(9))
        most = std::min(most, *angles - 1);
    const Legal legal = fromTo(cache.total || queries == 1 ? queries - 1 : 0, most);
    return cache.length && cache.queries && cache.total != cache.queries ? legal : onlyDrawn(legal);
}

// The total length makes caches as long as they are declared.
Legal groupTotal(const Asked& n) {
    const GroupCache cache(n);
    return cache.length && cache.rows ? fromTo(*cache.length > *cache.rows ? *cache.length : 0, *cache.length) : Legal();
}

Legal groupPositions(const Asked& n) {
    return n.says("do_rotary") ? below(n.extent(7, 0)) : onlyDrawn(below(n.extent(7, 0)));
}

constexpr const char* kMicrosoft = "com.microsoft";
struct Rule {
    std::string_view op, domain;
    std::size_t input;
    Legal (*legal)(const Asked&);
};
constexpr Rule kRules[] = {
    {"Gather", "", 1, alongAxis},
    {"GatherElements", "", 1, alongAxis},
    {"ScatterElements", "", 1, alongAxis},
    {"GatherND", "", 1, alongEach},
    {"ScatterND", "", 1, alongEach},
    {"TensorScatter", "", 2, writtenRows},
    {"RoiAlign", "", 2, rowsOf<0>},
    {"RotaryEmbedding", "", 3, rowsOf<1>},
    {"ReverseSequence", "", 1, lengths},
    {"NegativeLogLikelihoodLoss", "", 1, classes},
    {"SoftmaxCrossEntropyLoss", "", 1, classes},
    {"CropAndResize", kMicrosoft, 2, rowsOf<0>},
    {"EmbedLayerNormalization", kMicrosoft, 0, rowsOf<2>},
    {"EmbedLayerNormalization", kMicrosoft, 1, rowsOf<4>},
    {"EmbedLayerNormalization", kMicrosoft, 8, rowsOf<3>},
    {"QEmbedLayerNormalization", kMicrosoft, 0, rowsOf<2>},
    {"QEmbedLayerNormalization", kMicrosoft, 1, rowsOf<4>},
    {"GatherBlockQuantized", kMicrosoft, 1, blockRows},
    {"GatherND", kMicrosoft, 1, alongEach},
    {"Attention", kMicrosoft, 6, filledOfPacked},
    {"MultiHeadAttention", kMicrosoft, 8, filledOfHeads},
    {"GroupQueryAttention", kMicrosoft, 5, groupLengths},
    {"GroupQueryAttention", kMicrosoft, 6, groupTotal},
    {"GroupQueryAttention", kMicrosoft, 9, groupPositions},
    {"RotaryEmbedding", kMicrosoft, 1, positions},
};

} // namespace

std::vector<IndexInput> indexInputs(const Graph& graph, const Node& node) {
    std::vector<IndexInput> found;
    std::optional<Asked> asked;
    for (const Rule& rule : kRules) {
        if (node.op != rule.op || node.domain != rule.domain || !node.hasInput(rule.input))
            continue;
        if (!asked)
            asked.emplace(graph, node);
        const Legal legal = rule.legal(*asked);
        found.push_back({rule.input, legal.range, legal.drawn});
    }
    return found;
}

} // namespace tunesmith
