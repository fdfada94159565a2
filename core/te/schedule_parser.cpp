// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/schedule_parser.h"

#include <map>
#include <set>

#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

const std::map<std::string, LoopMark::Kind>& markWords() {
    static const std::map<std::string, LoopMark::Kind> words{{"order", LoopMark::Kind::order},
                                                             {"unroll", LoopMark::Kind::unroll},
                                                             {"vectorize", LoopMark::Kind::vectorize},
                                                             {"parallel", LoopMark::Kind::parallel},
                                                             {"accumulate", LoopMark::Kind::accumulate}};
    return words;
}

class ScheduleParser {
public:
    explicit ScheduleParser(Tokens& tokens) : tokens_(tokens), terms_(tokens) {}

    Result<ScheduleText> run() {
        TS_ASSIGN(made_.output, tokens_.name("what is scheduled"));
        TS_ASSIGN(made_.only, tokens_.accept("only"));
        TS_TRY(tokens_.expect("{", "schedule " + made_.output.text));
        TS_ASSIGN(bool done, tokens_.accept("}"));
        while (!done) {
            TS_TRY(item());
            TS_ASSIGN(bool separated, tokens_.accept(";"));
            while (separated) {
                TS_ASSIGN(separated, tokens_.accept(";"));
            }
            TS_ASSIGN(done, tokens_.accept("}"));
        }
        return std::move(made_);
    }

private:
    Status item() {
        const Token first = tokens_.now();
        TS_ASSIGN(Name word, tokens_.name("an item of a schedule (knob, require, outer, inner = split(loop, factor), order, unroll, vectorize, parallel, accumulate at)"));
        if (word.text == "knob")
            return knob();
        if (word.text == "require")
            return requirement();
        if (const auto mark = markWords().find(word.text); mark != markWords().end())
            return this->mark(mark->second, first.place);
        return step(std::move(word));
    }

    Status knob() {
        if (made_.knobs.size() == kMostKnobs)
            return tokens_.error("a schedule has at most " + std::to_string(kMostKnobs) + " knobs");
        KnobText knob;
        TS_ASSIGN(knob.name, tokens_.name("the name of a knob"));
        TS_TRY(tokens_.expect("=", "the name of a knob"));
        bool more = true;
        while (more) {
            if (knob.values.size() == kMostKnobValues)
                return tokens_.error("a knob has at most " + std::to_string(kMostKnobValues) + " values");
            TS_ASSIGN(Term value, terms_.expression());
            knob.values.push_back(std::move(value));
            TS_ASSIGN(more, tokens_.accept("|"));
        }
        made_.knobs.push_back(std::move(knob));
        return {};
    }

    Status requirement() {
        if (made_.requirements.size() == kMostRequirements)
            return tokens_.error("a schedule has at most " + std::to_string(kMostRequirements) + " requirements; join some of them with &&");
        TS_ASSIGN(Term condition, terms_.expression());
        made_.requirements.push_back(std::move(condition));
        return {};
    }

    Status mark(LoopMark::Kind kind, const Place& place) {
        if (made_.marks.size() == kMostMarks)
            return tokens_.error("a schedule says at most " + std::to_string(kMostMarks) + " times how loops run");
        LoopMark mark;
        mark.kind = kind;
        mark.place = place;
        if (kind == LoopMark::Kind::accumulate)
            TS_TRY(tokens_.expect("at", "accumulate"));
        TS_TRY(names(mark.loops, "a loop"));
        TS_ASSIGN(const bool conditional, tokens_.accept("if"));
        if (conditional) {
            TS_ASSIGN(mark.condition, terms_.expression());
        }
        made_.marks.push_back(std::move(mark));
        return {};
    }

    Status names(std::vector<Name>& list, const std::string& what) {
        bool more = true;
        while (more) {
            if (list.size() == kMostLoops)
                return tokens_.error("at most " + std::to_string(kMostLoops) + " loops are named here");
            TS_ASSIGN(Name name, tokens_.name(what));
            list.push_back(std::move(name));
            TS_ASSIGN(more, tokens_.accept(","));
        }
        return {};
    }

    Status step(Name first) {
        if (made_.steps.size() == kMostLoops)
            return tokens_.error("a schedule splits and fuses at most " + std::to_string(kMostLoops) + " times");
        LoopStep step;
        step.made.push_back(std::move(first));
        TS_ASSIGN(const bool several, tokens_.accept(","));
        if (several)
            TS_TRY(names(step.made, "the name of a loop"));
        if (!tokens_.now().is("="))
            return tokens_.error("'" + step.made[0].text + "' begins no item of a schedule: write knob, require, order, unroll, vectorize, parallel, accumulate at, or loops = split(...); here stands " + tokenText(tokens_.now()));
        TS_TRY(tokens_.advance());
        TS_TRY(tokens_.now().is("fuse") ? fuse(step) : split(step));
        made_.steps.push_back(std::move(step));
        return {};
    }

    Status split(LoopStep& step) {
        const Place place = tokens_.now().place;
        if (!tokens_.now().is("split"))
            return tokens_.error("loops are made with split(loop, factor) or fuse(outer, inner); here stands " + tokenText(tokens_.now()));
        TS_TRY(tokens_.advance());
        TS_TRY(tokens_.expect("(", "split"));
        TS_ASSIGN(Name from, tokens_.name("the loop that is split"));
        step.from.push_back(std::move(from));
        TS_TRY(tokens_.expect(",", "the loop that is split"));
        bool more = true;
        while (more) {
            if (step.factors.size() == kMostLoops)
                return tokens_.error("a loop is split into at most " + std::to_string(kMostLoops) + " parts");
            TS_ASSIGN(Term factor, terms_.expression());
            step.factors.push_back(std::move(factor));
            TS_ASSIGN(more, tokens_.accept(","));
        }
        if (step.made.size() != step.factors.size() + 1)
            return errorAt(tokens_.source(), place, "this split makes " + std::to_string(step.factors.size() + 1) + " loops, one more than it has factors, and " + std::to_string(step.made.size()) + " stand before it");
        return tokens_.expect(")", "the factors of a split");
    }

    Status fuse(LoopStep& step) {
        const Place place = tokens_.now().place;
        TS_TRY(tokens_.advance());
        TS_TRY(tokens_.expect("(", "fuse"));
        TS_TRY(names(step.from, "a loop that is fused"));
        if (step.from.size() < 2 || step.made.size() != 1)
            return errorAt(tokens_.source(), place, "fuse makes one loop of two or more, as in ij = fuse(i, j)");
        return tokens_.expect(")", "the loops that are fused");
    }

    Tokens& tokens_;
    TermParser terms_;
    ScheduleText made_;
};

} // namespace

Result<ScheduleText> parseSchedule(Tokens& tokens) { return ScheduleParser(tokens).run(); }

bool isScheduleWord(const std::string& name) {
    static const std::set<std::string> words{"knob", "require", "split", "fuse", "at", "if", "on", "off"};
    return words.contains(name) || markWords().contains(name);
}

} // namespace tunesmith::te
