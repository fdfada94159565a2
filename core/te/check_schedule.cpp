// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/check_schedule.h"

#include <algorithm>
#include <set>

#include "core/te/limits.h"
#include "core/te/schedule_parser.h"

namespace tunesmith::te {
namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names)
        all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "none" : all;
}

bool isListing(const Term& term) { return term.kind == Term::Kind::call && (term.name == "divisors" || term.name == "powers"); }
bool isSwitch(const Term& term) { return term.kind == Term::Kind::name && (term.name == "on" || term.name == "off"); }

class ScheduleChecker {
public:
    ScheduleChecker(const std::string& source, Statement& statement, const std::function<Meaning(const std::string&)>& meaningOf)
        : source_(source), statement_(statement), schedule_(*statement.schedule), meaningOf_(meaningOf) {
        for (const auto* names : {&statement.axes, &statement.reduced})
            for (const Name& name : *names)
                addLoop(name.text, names == &statement.reduced);
    }

    Status run() {
        for (const KnobText& knob : schedule_.knobs)
            TS_TRY(declareKnob(knob.name));
        for (KnobText& knob : schedule_.knobs)
            for (Term& value : knob.values)
                TS_TRY(checkValue(value));
        for (Term& requirement : schedule_.requirements)
            TS_TRY(resolve(requirement));
        for (LoopStep& step : schedule_.steps)
            TS_TRY(check(step));
        for (LoopMark& mark : schedule_.marks)
            TS_TRY(check(mark));
        return checkUsed();
    }

private:
    struct Loop {
        bool reduced;
        std::string fate; // what became of it, if it is no loop any more
    };

    Error error(const Place& place, const std::string& sentence) const { return errorAt(source_, place, sentence); }

    void addLoop(const std::string& name, bool reduced) {
        loops_[name] = {reduced, {}};
        leaves_.push_back(name);
    }

    Status declareKnob(const Name& name) {
        TS_TRY(checkNew(name, "a knob"));
        knobs_[name.text] = false;
        return {};
    }

    Status checkNew(const Name& name, const char* what) const {
        if (isScheduleWord(name.text))
            return error(name.place, quoted(name.text) + " is a word of the language and cannot name " + what);
        if (meaningOf_(name.text) != Meaning::none || loops_.contains(name.text) || knobs_.contains(name.text))
            return error(name.place, quoted(name.text) + " names something else already; " + what + " needs a name of its own");
        return {};
    }

    // Knobs do not depend on each other: that is for requirements to say.
    Status checkValue(Term& value) {
        if (isSwitch(value))
            return {};
        if (isListing(value)) {
            const std::size_t wanted = value.name == "divisors" ? 1 : 2;
            if (value.args.size() != wanted)
                return error(value.place, value.name == "divisors" ? "divisors takes one number, as in divisors(N)" : "powers takes the first and the last number, as in powers(1, 64)");
            for (Term& arg : value.args)
                TS_TRY(resolve(arg, false));
            return {};
        }
        return resolve(value, false);
    }

    Status resolve(Term& term, bool knobs = true) {
        switch (term.kind) {
        case Term::Kind::real: return error(term.place, "a schedule is made of whole numbers");
        case Term::Kind::name: return resolveName(term, knobs);
        case Term::Kind::read: return error(term.place, quoted(term.name) + " cannot be read here: a schedule is known before anything is computed");
        case Term::Kind::call:
            if (isListing(term))
                return error(term.place, quoted(term.name) + " lists the values of a knob, as in knob T = " + term.name + (term.name == "powers" ? "(1, 64)" : "(N)"));
            if ((term.name != "min" && term.name != "max") || term.args.size() != 2)
                return error(term.place, "in a schedule only min(a, b) and max(a, b) can be called");
            break;
        default: break;
        }
        for (Term& arg : term.args)
            TS_TRY(resolve(arg, knobs));
        return {};
    }

    Status resolveName(Term& term, bool knobs) {
        if (meaningOf_(term.name) == Meaning::size) {
            term.kind = Term::Kind::size;
            if (std::ranges::find(statement_.sizes, term.name) == statement_.sizes.end())
                statement_.sizes.push_back(term.name);
            return {};
        }
        const auto knob = knobs_.find(term.name);
        if (knob != knobs_.end() && knobs) {
            knob->second = true;
            return {};
        }
        if (knob != knobs_.end())
            return error(term.place, quoted(term.name) + " is a knob, and the values of another one cannot depend on it; write require for what must hold between them");
        if (loops_.contains(term.name))
            return error(term.place, quoted(term.name) + " is a loop; only knobs and sizes stand for numbers here");
        if (isSwitch(term))
            return error(term.place, quoted(term.name) + " is a value of a knob, as in knob U = on | off");
        return error(term.place, "there is no knob and no size " + quoted(term.name) + "; write knob " + term.name + " = 1 | 2 | 4");
    }

    Result<bool> isReduced(const Name& name) const {
        const auto found = loops_.find(name.text);
        if (found == loops_.end())
            return error(name.place, "there is no loop " + quoted(name.text) + " here; there are " + listed(leaves_));
        if (!found->second.fate.empty())
            return error(name.place, quoted(name.text) + " is no loop any more, it was " + found->second.fate + "; there are " + listed(leaves_));
        return found->second.reduced;
    }

    Status checkOnce(const std::vector<Name>& names) const {
        std::set<std::string> seen;
        for (const Name& name : names)
            if (!seen.insert(name.text).second)
                return error(name.place, quoted(name.text) + " is named twice");
        return {};
    }

    Status check(LoopStep& step) {
        for (Term& factor : step.factors)
            TS_TRY(resolve(factor));
        TS_TRY(checkOnce(step.from));
        TS_ASSIGN(const bool reduced, isReduced(step.from[0]));
        for (const Name& name : step.from) {
            TS_ASSIGN(const bool other, isReduced(name));
            if (other != reduced)
                return error(name.place, quoted(step.from[0].text) + " and " + quoted(name.text) + " cannot be fused: only one of them runs over what is reduced");
        }
        TS_TRY(checkOnce(step.made));
        for (const Name& name : step.made)
            TS_TRY(checkNew(name, "a loop"));
        if (loops_.size() + step.made.size() > kMostLoops)
            return error(step.made[0].place, "a schedule has at most " + std::to_string(kMostLoops) + " loops");
        replace(step, reduced);
        return {};
    }

    void replace(const LoopStep& step, bool reduced) {
        std::vector<std::string> made;
        for (const Name& name : step.made) {
            made.push_back(name.text);
            loops_[name.text] = {reduced, {}};
        }
        for (const Name& name : step.from)
            loops_.at(name.text).fate = (step.fuses() ? "fused into " : "split into ") + listed(made);
        const auto at = std::ranges::find(leaves_, step.from[0].text);
        leaves_.insert(leaves_.erase(at), made.begin(), made.end());
        for (const Name& name : step.from)
            std::erase(leaves_, name.text);
    }

    Status check(LoopMark& mark) {
        if (mark.condition)
            TS_TRY(resolve(*mark.condition));
        for (const Name& name : mark.loops) {
            TS_ASSIGN(const bool reduced, isReduced(name));
            if (mark.kind == LoopMark::Kind::parallel && reduced)
                return error(name.place, "the iterations of " + quoted(name.text) + " add up to the same elements and cannot be parallel");
            if (mark.kind == LoopMark::Kind::accumulate && reduced)
                return error(name.place, quoted(name.text) + " runs over what is reduced; accumulate at a loop outside of it");
        }
        TS_TRY(checkOnce(mark.loops));
        if (mark.kind == LoopMark::Kind::accumulate && (mark.loops.size() != 1 || statement_.reduction == loops::Reduction::none))
            return error(mark.place, mark.loops.size() != 1 ? "accumulate at names one loop, the innermost one outside of what is accumulated" : quoted(statement_.output.text) + " is no reduction and accumulates nothing");
        return mark.kind == LoopMark::Kind::order ? checkOrder(mark) : Status();
    }

    Status checkOrder(const LoopMark& mark) {
        if (orderIsSettled_)
            return error(mark.place, "this order is never taken: the one before it has no condition");
        orderIsSettled_ = !mark.condition;
        std::vector<std::string> missing = leaves_;
        for (const Name& name : mark.loops)
            std::erase(missing, name.text);
        if (!missing.empty())
            return error(mark.place, "this order leaves out " + listed(missing) + "; it names all loops: " + listed(leaves_));
        return {};
    }

    Status checkUsed() const {
        for (const KnobText& knob : schedule_.knobs)
            if (!knobs_.at(knob.name.text))
                return error(knob.name.place, "nothing depends on the knob " + quoted(knob.name.text) + "; use it in a split or a condition, or leave it out");
        return {};
    }

    const std::string& source_;
    Statement& statement_;
    ScheduleText& schedule_;
    const std::function<Meaning(const std::string&)>& meaningOf_;
    std::map<std::string, bool> knobs_; // whether something depends on it
    std::map<std::string, Loop> loops_;
    std::vector<std::string> leaves_; // outermost first
    bool orderIsSettled_ = false;
};

} // namespace

Status checkSchedule(const std::string& source, Statement& statement, const std::function<Meaning(const std::string&)>& meaningOf) {
    return ScheduleChecker(source, statement, meaningOf).run();
}

} // namespace tunesmith::te
