// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/free_selects.h"

#include <algorithm>
#include <type_traits>

#include "core/loops/passes.h"
#include "core/loops/simplify.h"

namespace tunesmith::loops {
namespace {

class Marker {
public:
    explicit Marker(const Stage& stage) {
        for (const auto* axes : {&stage.axes, &stage.reduceAxes})
            for (const Axis& axis : *axes)
                ranges_.set(axis.var, {0, axis.extent - 1});
        if (stage.guard.valid())
            assume(stage.guard, true);
    }

    Expr marked(const Expr& e) {
        if (e->args.empty())
            return e;
        if (e->op != Op::select)
            return rebuild(e, markedAll(e->args));
        if (staysWithin(e->args[1]) && staysWithin(e->args[2])) {
            const std::vector<Expr> args = markedAll(e->args);
            return freeSelect(args[0], args[1], args[2]);
        }
        Expr condition = marked(e->args[0]);
        const auto side = [&](std::size_t i) { return under(e->args[0], i == 1, [&] { return marked(e->args[i]); }); };
        return select(std::move(condition), side(1), side(2));
    }

private:
    std::vector<Expr> markedAll(const std::vector<Expr>& args) {
        std::vector<Expr> all;
        for (const Expr& arg : args)
            all.push_back(marked(arg));
        return all;
    }

    // Whether nothing is read outside of its tensor when this is computed.
    bool staysWithin(const Expr& e) {
        const auto isWithin = [&](const Expr& arg) { return staysWithin(arg); };
        if (e->op == Op::select) {
            const auto side = [&](std::size_t i) { return under(e->args[0], i == 1, [&] { return staysWithin(e->args[i]); }); };
            return staysWithin(e->args[0]) && side(1) && side(2);
        }
        if (!std::ranges::all_of(e->args, isWithin))
            return false;
        for (std::size_t d = 0; e->op == Op::load && d < e->args.size(); ++d)
            if (!isIndex(e->args[d], e->tensor->shape[d]))
                return false;
        return true;
    }

    bool isIndex(const Expr& index, std::int64_t extent) const {
        const LinearForm form = toLinear(index, ranges_);
        LinearForm room;
        room.constant = extent - 1;
        room.add(form, -1);
        return isNonNegative(form) && isNonNegative(room);
    }

    // By its range, or because something assumed is no larger.
    bool isNonNegative(const LinearForm& form) const {
        return rangeOf(form, ranges_).min >= 0 || std::ranges::any_of(assumed_, [&](const LinearForm& least) {
                   LinearForm rest = form;
                   rest.add(least, -1);
                   return rangeOf(rest, ranges_).min >= 0;
               });
    }

    // One side of a condition may assume that the condition holds (or does not) there.
    template <class Look> std::invoke_result_t<Look> under(const Expr& condition, bool holds, const Look& look) {
        const std::size_t known = assumed_.size();
        assume(condition, holds);
        auto seen = look();
        assumed_.resize(known);
        return seen;
    }

    void assume(const Expr& condition, bool holds) {
        const std::vector<Expr> terms = conjuncts(condition);
        if (!holds && terms.size() > 1)
            return; // one of them fails, nobody knows which
        for (const Expr& term : terms) {
            const auto form = asNonNegative(term, ranges_);
            if (!form)
                continue;
            LinearForm opposite;
            opposite.constant = -1;
            opposite.add(*form, -1);
            assumed_.push_back(holds ? *form : opposite);
        }
    }

    VarRanges ranges_;
    std::vector<LinearForm> assumed_; // each >= 0
};

} // namespace

void markFreeSelects(Stage& stage) { stage.body = Marker(stage).marked(stage.body); }

} // namespace tunesmith::loops
