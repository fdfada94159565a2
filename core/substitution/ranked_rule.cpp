// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/ranked_rule.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace tunesmith::substitution {
namespace {

auto contentOf(const TermShape& shape) { return std::tuple(shape.rank, shape.extents, shape.cuts); }
auto contentOf(const Term& term) { return std::tuple(term.op, term.axis, term.part, term.inputs); }

template <class T> int compareLists(const std::vector<T>& a, const std::vector<T>& b) {
    const auto less = [](const T& x, const T& y) { return contentOf(x) < contentOf(y); };
    return std::ranges::lexicographical_compare(a, b, less) ? -1 : std::ranges::lexicographical_compare(b, a, less) ? 1 : 0;
}

class Writer {
public:
    explicit Writer(Bytes& bytes) : bytes_(bytes) {}
    void number(std::uint32_t value) { raw(&value, sizeof(value)); }
    void raw(const void* data, std::size_t size) {
        const auto* from = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), from, from + size);
    }
    template <class T> void list(const std::vector<T>& values) {
        number(static_cast<std::uint32_t>(values.size()));
        for (const T& value : values)
            one(value);
    }

private:
    void one(std::uint32_t value) { number(value); }
    void one(const TermShape& shape) {
        number(shape.rank);
        raw(shape.extents.data(), sizeof(shape.extents));
        raw(shape.cuts.data(), sizeof(shape.cuts));
    }
    void one(const Term& term) {
        number(static_cast<std::uint32_t>(term.op) | std::uint32_t(term.axis) << 8 | std::uint32_t(term.part) << 16);
        raw(term.inputs.data(), sizeof(term.inputs));
    }

    Bytes& bytes_;
};

// A part has its seal, so it is what a Writer wrote; all the same nothing is read beyond it. What is missing reads as zeros, and isGood() tells.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    bool isGood() const { return good_; }
    std::uint32_t number() {
        std::uint32_t value = 0;
        raw(&value, sizeof(value));
        return value;
    }
    void raw(void* data, std::size_t size) {
        if (size > 0 && fits(size))
            std::memcpy(data, bytes_.data(), size);
        bytes_ = bytes_.subspan(good_ ? size : 0);
    }
    void text(std::string& text) {
        const std::uint32_t size = number();
        text.resize(fits(size) ? size : 0);
        raw(text.data(), text.size());
    }
    template <class T> void list(std::vector<T>& values) {
        const std::uint32_t count = number();
        values.resize(fits(count * std::uint64_t(sizeof(std::uint32_t))) ? count : 0); // none takes less
        for (T& value : values)
            one(value);
    }

private:
    bool fits(std::uint64_t size) { return good_ = good_ && size <= bytes_.size(); }
    void one(std::uint32_t& value) { value = number(); }
    void one(TermShape& shape) {
        shape.rank = static_cast<std::uint8_t>(number());
        raw(shape.extents.data(), sizeof(shape.extents));
        raw(shape.cuts.data(), sizeof(shape.cuts));
    }
    void one(Term& term) {
        const std::uint32_t packed = number();
        term.op = static_cast<TermOp>(packed & 255U);
        term.axis = static_cast<std::uint8_t>(packed >> 8);
        term.part = static_cast<std::uint8_t>(packed >> 16);
        raw(term.inputs.data(), sizeof(term.inputs));
        good_ = good_ && static_cast<std::size_t>(term.op) < kTermOps;
    }

    std::span<const std::byte> bytes_;
    bool good_ = true;
};

// Whether every number names a variable, or a node before the one that reads it.
bool isSound(const Rule& rule) {
    for (TermId id = 0; id < rule.nodes.size(); ++id) {
        const Term& term = rule.nodes[id];
        const bool isInput = term.op == TermOp::input;
        const auto inputs = static_cast<std::size_t>(isInput ? 1 : traits(term.op).inputs);
        for (std::size_t i = 0; i < term.inputs.size(); ++i)
            if (i < inputs ? term.inputs[i] >= (isInput ? rule.variables.size() : id) : term.inputs[i] != kNoTerm)
                return false;
    }
    const auto isNode = [&](TermId id) { return id < rule.nodes.size(); };
    return rule.left.size() == rule.right.size() && std::ranges::all_of(rule.left, isNode) && std::ranges::all_of(rule.right, isNode);
}

Error brokenList() { return inputError("a list of rules in the work folder is broken; remove the folder and begin again"); }

} // namespace

bool RankedRule::operator<(const RankedRule& other) const {
    if (rank() != other.rank())
        return rank() < other.rank();
    if (const int shapes = compareLists(rule.variables, other.rule.variables); shapes != 0)
        return shapes < 0;
    if (const int nodes = compareLists(rule.nodes, other.rule.nodes); nodes != 0)
        return nodes < 0;
    return std::tie(rule.left, rule.right) < std::tie(other.rule.left, other.rule.right);
}

RankedRule ranked(Rule rule) {
    RankedRule made;
    made.operators = rule.operators(rule.left) + rule.operators(rule.right);
    made.variables = static_cast<int>(rule.variables.size());
    made.text = toText(rule);
    made.rule = std::move(rule);
    return made;
}

void append(const RankedRule& ranked, Bytes& bytes) {
    const std::size_t begin = bytes.size();
    Writer writer(bytes);
    writer.number(0); // the length, when it is known
    writer.number(static_cast<std::uint32_t>(ranked.operators));
    writer.number(static_cast<std::uint32_t>(ranked.variables));
    writer.number(static_cast<std::uint32_t>(ranked.text.size()));
    writer.raw(ranked.text.data(), ranked.text.size());
    writer.list(ranked.rule.variables);
    writer.list(ranked.rule.nodes);
    writer.list(ranked.rule.left);
    writer.list(ranked.rule.right);
    const auto length = static_cast<std::uint32_t>(bytes.size() - begin);
    std::memcpy(bytes.data() + begin, &length, sizeof(length));
}

Result<bool> RuleReader::fill(std::size_t count) {
    if (bytes_.size() - at_ >= count)
        return true;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    TS_ASSIGN(const Bytes more, more_(next_, std::max(piece_, count - bytes_.size())));
    next_ += more.size();
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return bytes_.size() >= count;
}

Result<std::optional<RankedRule>> RuleReader::next() {
    TS_ASSIGN(const bool isMore, fill(sizeof(std::uint32_t)));
    if (!isMore)
        return std::optional<RankedRule>();
    const std::uint32_t length = Reader(std::span<const std::byte>(bytes_).subspan(at_)).number();
    TS_ASSIGN(const bool isWhole, fill(length));
    if (!isWhole || length < sizeof(length))
        return brokenList();
    const std::span<const std::byte> one = std::span(bytes_).subspan(at_, length);
    Reader reader(one);
    reader.number();
    RankedRule made;
    made.operators = static_cast<int>(reader.number());
    made.variables = static_cast<int>(reader.number());
    reader.text(made.text);
    reader.list(made.rule.variables);
    reader.list(made.rule.nodes);
    reader.list(made.rule.left);
    reader.list(made.rule.right);
    if (!reader.isGood() || !isSound(made.rule))
        return brokenList();
    at_ += length;
    return std::optional(std::move(made));
}

RuleReader readerOf(const PartFolder& folder, const std::string& part, std::size_t begin, std::size_t piece) {
    const std::size_t size = folder.size(part);
    return {[&folder, part, size](std::size_t offset, std::size_t count) {
                return folder.read(part, std::min(offset, size), std::min(count, size - std::min(offset, size)));
            },
            begin, piece};
}

Result<std::vector<RankedRule>> rulesIn(const PartFolder& folder, const std::string& part) {
    std::vector<RankedRule> rules;
    RuleReader reader = readerOf(folder, part);
    for (;;) {
        TS_ASSIGN(std::optional<RankedRule> rule, reader.next());
        if (!rule)
            return rules;
        rules.push_back(std::move(*rule));
    }
}

} // namespace tunesmith::substitution
