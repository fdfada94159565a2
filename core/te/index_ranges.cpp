// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/index_ranges.h"

#include <algorithm>

#include "core/te/limits.h"
#include "core/te/printer.h"

namespace tunesmith::te {
namespace {

std::int64_t ceilQuotient(std::int64_t a, std::int64_t b) { return -floorQuotient(-a, b); }

// One index of one read with what is known around it.
struct IndexUse {
    const Term* read;
    std::size_t dimension;
    std::int64_t extent;
    IndexForm form;
    std::vector<IndexForm> facts; // each is at least 0 whenever the read happens
};

class RangeFinder {
public:
    RangeFinder(const std::string& source, const Statement& statement, const Sizes& sizes, const Shapes& shapes)
        : source_(source), statement_(statement), shapes_(shapes), forms_(source, sizes, ranges_) {}

    Result<Intervals> run() {
        TS_TRY(takeStated());
        TS_TRY(collectAll());
        for (bool found = true; found;) {
            TS_ASSIGN(found, solveOnce(Indices::ofOneVariable));
            if (!found) {
                TS_ASSIGN(found, solveOnce(Indices::ofOneUnknown));
            }
        }
        TS_TRY(checkFound());
        // Quotients and minima have ranges only now.
        TS_TRY(collectAll());
        for (const IndexUse& use : uses_)
            TS_TRY(prove(use));
        TS_TRY(checkSize());
        return std::move(ranges_);
    }

private:
    Error error(const Place& place, const std::string& sentence) const { return errorAt(source_, place, sentence); }

    Status takeStated() {
        for (const StatedRange& stated : statement_.ranges) {
            TS_ASSIGN(const IndexForm begin, forms_.formOf(stated.begin));
            TS_ASSIGN(const IndexForm end, forms_.formOf(stated.end));
            const std::string& name = stated.variable.text;
            if (!begin.isConstant() || !end.isConstant())
                return error(stated.variable.place, "the ends of the range of '" + name + "' are made of numbers, sizes, + - * / % and brackets only");
            if (end.constant <= begin.constant)
                return error(stated.variable.place, "the range " + std::to_string(begin.constant) + ":" + std::to_string(end.constant) + " of '" + name + "' is empty; it ends before its second number");
            if (begin.constant != 0 && isAxis(name))
                return error(stated.variable.place, "'" + name + "' indexes what is assigned to and starts at 0, not at " + std::to_string(begin.constant));
            ranges_[name] = {begin.constant, end.constant - 1};
        }
        return {};
    }

    bool isAxis(const std::string& name) const {
        return std::ranges::any_of(statement_.axes, [&](const Name& axis) { return axis.text == name; });
    }

    Status collectAll() {
        uses_.clear();
        std::vector<IndexForm> facts;
        for (const Term& guard : statement_.guards)
            TS_TRY(collect(guard, facts)); // a guard is not guarded by itself
        for (const Term& guard : statement_.guards)
            forms_.addFacts(guard, true, facts);
        return collect(statement_.value, facts);
    }

    // All reads with the conditions around them. On the way, whole numbers are kept within their limits wherever they stand
    // (`withinForm`: as part of what was looked at already).
    Status collect(const Term& term, const std::vector<IndexForm>& facts, bool withinForm = false) {
        if (term.kind == Term::Kind::choice) {
            TS_TRY(collect(term.args[0], facts));
            for (const bool holds : {true, false}) {
                std::vector<IndexForm> more = facts;
                forms_.addFacts(term.args[0], holds, more);
                TS_TRY(collect(term.args[holds ? 1 : 2], more));
            }
            return {};
        }
        const bool isForm = term.kind == Term::Kind::operation && term.type == DType::i64;
        if (isForm && !withinForm) {
            const auto form = forms_.formOf(term);
            if (!form.ok())
                return form.error();
        }
        for (std::size_t d = 0; d < term.args.size(); ++d) {
            TS_TRY(collect(term.args[d], facts, isForm || term.kind == Term::Kind::read));
            if (term.kind != Term::Kind::read)
                continue;
            TS_ASSIGN(IndexForm form, forms_.formOf(term.args[d]));
            uses_.push_back({&term, d, shapes_.at(term.name)[d], std::move(form), facts});
        }
        return {};
    }

    // X[k] says more about k than X[i + k] does, which may just leave too little room.
    enum class Indices : std::uint8_t { ofOneVariable, ofOneUnknown };

    // Gives a range to every variable that is the only unknown one of such an index.
    Result<bool> solveOnce(Indices which) {
        Intervals found;
        std::map<std::string, const IndexUse*> ends;
        for (const IndexUse& use : uses_)
            if (const auto unknown = onlyUnknown(use.form); unknown && (which == Indices::ofOneUnknown || use.form.factors.size() == 1))
                narrow(use, *unknown, found, ends);
        for (const auto& [name, use] : ends) {
            const Interval& range = found.at(name);
            if (range.high < range.low)
                return error(use->read->place, "no '" + name + "' keeps " + toText(*use->read) + " within dimension " + std::to_string(use->dimension) + ", which has " + std::to_string(use->extent) + " elements" +
                             (range.low > 0 ? "; indices start at 0, so read from 0 on or guard the read" : ""));
            ranges_[name] = range;
        }
        return !ends.empty();
    }

    std::optional<std::string> onlyUnknown(const IndexForm& form) const {
        std::optional<std::string> unknown;
        for (const auto& [atom, factor] : form.factors) {
            if (!forms_.isVariable(atom))
                return std::nullopt;
            if (ranges_.contains(atom))
                continue;
            if (unknown)
                return std::nullopt;
            unknown = atom;
        }
        return unknown;
    }

    void narrow(const IndexUse& use, const std::string& name, Intervals& found, std::map<std::string, const IndexUse*>& ends) const {
        const std::int64_t factor = use.form.factors.at(name);
        IndexForm others = use.form;
        others.factors.erase(name);
        const Interval rest = forms_.rangeOf(others);
        const bool lowGuarded = isFact(use.form, use.facts), highGuarded = isFact(complement(use), use.facts);
        Interval& range = found.try_emplace(name, Interval{0, kLargestIndex}).first->second;
        // 0 <= factor * name + rest <= extent - 1
        const std::int64_t atLeast = -rest.low, atMost = use.extent - 1 - rest.high;
        if (factor > 0) {
            if (!lowGuarded)
                range.low = std::max(range.low, ceilQuotient(atLeast, factor));
            if (!highGuarded)
                end(name, use, floorQuotient(atMost, factor), range, ends);
        } else {
            if (!lowGuarded)
                end(name, use, floorQuotient(rest.low, -factor), range, ends);
            if (!highGuarded)
                range.low = std::max(range.low, ceilQuotient(rest.high - (use.extent - 1), -factor));
        }
    }

    static void end(const std::string& name, const IndexUse& use, std::int64_t high, Interval& range, std::map<std::string, const IndexUse*>& ends) {
        const bool first = !ends.contains(name);
        if (!first && high >= range.high)
            return;
        range.high = high;
        ends[name] = &use;
    }

    // extent - 1 - form
    static IndexForm complement(const IndexUse& use) {
        IndexForm last;
        last.constant = use.extent - 1;
        return difference(last, use.form).value_or(IndexForm{{}, -1});
    }

    // Whether form >= 0 is said by a condition, whatever the variables are.
    static bool isFact(const IndexForm& form, const std::vector<IndexForm>& facts) {
        return std::ranges::any_of(facts, [&](const IndexForm& fact) {
            const auto more = difference(form, fact);
            return more && more->isConstant() && more->constant >= 0;
        });
    }

    Status checkFound() const {
        for (const auto* names : {&statement_.axes, &statement_.reduced})
            for (const Name& name : *names) {
                const auto range = ranges_.find(name.text);
                if (range == ranges_.end())
                    return error(name.place, "the range of '" + name.text + "' does not follow from what is read; state it, as in where " + name.text + " in 0:16");
                if (range->second.low != 0 && isAxis(name.text))
                    return error(name.place, "'" + name.text + "' would start at " + std::to_string(range->second.low) + " to keep all reads within their tensors; it indexes what is assigned to and starts at 0: shift the reads, or guard them");
            }
        return {};
    }

    bool isNeverNegative(const IndexForm& form, const std::vector<IndexForm>& facts) const {
        if (forms_.rangeOf(form).low >= 0)
            return true;
        return std::ranges::any_of(facts, [&](const IndexForm& fact) {
            const auto more = difference(form, fact);
            return more && forms_.rangeOf(*more).low >= 0;
        });
    }

    Status prove(const IndexUse& use) const {
        if (isNeverNegative(use.form, use.facts) && isNeverNegative(complement(use), use.facts))
            return {};
        const Interval range = forms_.rangeOf(use.form);
        const bool below = !isNeverNegative(use.form, use.facts);
        const std::string index = toText(use.read->args[use.dimension]);
        const std::int64_t worst = below ? range.low : range.high;
        constexpr std::int64_t kFar = std::int64_t(1) << 55;
        const std::string reach = worst > kFar || worst < -kFar ? "has no known bounds" : "reaches " + std::to_string(worst);
        return error(use.read->args[use.dimension].place,
                     "the index " + index + " of '" + use.read->name + "' " + reach + ", outside of 0:" + std::to_string(use.extent) + " (dimension " + std::to_string(use.dimension) +
                         "); state smaller ranges, or guard the read with " + (below ? "0 <= " + index : index + " < " + std::to_string(use.extent)));
    }

    Status checkSize() const {
        __int128_t elements = 1, iterations = 1;
        for (const Name& axis : statement_.axes) {
            elements = std::min<__int128_t>(elements * ranges_.at(axis.text).extent(), __int128_t(1) << 62);
            iterations = elements;
        }
        for (const Name& variable : statement_.reduced)
            iterations = std::min<__int128_t>(iterations * ranges_.at(variable.text).extent(), __int128_t(1) << 62);
        for (const Name& axis : statement_.axes)
            if (ranges_.at(axis.text).extent() > kLargestSize)
                return error(axis.place, "'" + axis.text + "' takes more than " + std::to_string(kLargestSize) + " values");
        if (elements > kMostElements)
            return error(statement_.output.place, "'" + statement_.output.text + "' would have more than " + std::to_string(kMostElements) + " elements");
        if (iterations > kMostIterations)
            return error(statement_.output.place, "'" + statement_.output.text + "' would take more than " + std::to_string(kMostIterations) + " steps");
        return {};
    }

    const std::string& source_;
    const Statement& statement_;
    const Shapes& shapes_;
    Intervals ranges_;
    IndexForms forms_;
    std::vector<IndexUse> uses_;
};

} // namespace

Result<Intervals> indexRanges(const std::string& source, const Statement& statement, const Sizes& sizes, const Shapes& shapes) {
    return RangeFinder(source, statement, sizes, shapes).run();
}

Shape shapeOf(const Statement& statement, const Intervals& ranges) {
    Shape shape;
    for (const Name& axis : statement.axes)
        shape.push_back(ranges.at(axis.text).extent());
    return shape;
}

} // namespace tunesmith::te
