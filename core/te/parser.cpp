// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/parser.h"

#include <algorithm>

#include "core/te/limits.h"
#include "core/te/schedule_parser.h"
#include "core/te/term_parser.h"

namespace tunesmith::te {
namespace {

using loops::Reduction;

class Parser {
public:
    Parser(std::string_view text, const std::string& source) : tokens_(text, source) {}

    Result<Definition> run() {
        TS_TRY(tokens_.start());
        Definition made;
        made.source = tokens_.source();
        if (!tokens_.now().is("def"))
            return tokens_.error("a file begins with a definition, as in def name(float32[N] X) -> Y { Y[i] = exp(X[i]) }");
        TS_TRY(tokens_.advance());
        TS_ASSIGN(made.name, tokens_.name("the name of the definition"));
        TS_TRY(inputs(made));
        TS_TRY(outputs(made));
        TS_TRY(statements(made));
        if (tokens_.now().kind != Token::Kind::end)
            return tokens_.error("a file holds one definition; what begins with " + tokenText(tokens_.now()) + " belongs into another one");
        return made;
    }

private:
    Status inputs(Definition& made) {
        TS_TRY(tokens_.expect("(", "the name of the definition"));
        TS_ASSIGN(bool done, tokens_.accept(")"));
        while (!done) {
            if (made.inputs.size() == kMostInputs)
                return tokens_.error("a definition has at most " + std::to_string(kMostInputs) + " inputs");
            TS_ASSIGN(Input input, this->input());
            made.inputs.push_back(std::move(input));
            TS_ASSIGN(done, tokens_.accept(")"));
            if (!done)
                TS_TRY(tokens_.expect(",", "an input"));
        }
        return {};
    }

    Result<Input> input() {
        Input input;
        const Token token = tokens_.now();
        TS_ASSIGN(const Name type, tokens_.name("the type of an input, as in float32[M, N] X,"));
        input.type = dtypeFromName(type.text);
        if (byteSize(input.type) == 0 || isStored(input.type))
            return errorAt(tokens_.source(), token.place, "'" + type.text + "' is no element type; take float32, float64, int64, bool or another of numpy's names");
        if (tokens_.now().is("["))
            TS_TRY(dimensions(input));
        TS_ASSIGN(input.name, tokens_.name("the name of an input"));
        return input;
    }

    Status dimensions(Input& input) {
        TS_TRY(tokens_.advance());
        TS_ASSIGN(bool done, tokens_.accept("]"));
        while (!done) {
            if (input.dimensions.size() == kMostDimensions)
                return tokens_.error("a tensor has at most " + std::to_string(kMostDimensions) + " dimensions");
            Dimension dimension;
            dimension.name.place = tokens_.now().place;
            if (tokens_.now().kind == Token::Kind::name) {
                TS_ASSIGN(dimension.name, tokens_.name("a size"));
                TS_ASSIGN(const bool stated, tokens_.accept("="));
                if (stated) {
                    TS_ASSIGN(dimension.size, size());
                }
            } else {
                TS_ASSIGN(dimension.size, size());
            }
            input.dimensions.push_back(std::move(dimension));
            TS_ASSIGN(done, tokens_.accept("]"));
            if (!done)
                TS_TRY(tokens_.expect(",", "a size"));
        }
        return {};
    }

    Result<std::int64_t> size() {
        const Token token = tokens_.now();
        if (token.kind != Token::Kind::integer)
            return tokens_.error("a size is a number or a name, with a number if it has one: 64, N or N=64; here stands " + tokenText(token));
        if (token.integer < 1 || token.integer > kLargestSize)
            return tokens_.error("a size lies between 1 and " + std::to_string(kLargestSize));
        TS_TRY(tokens_.advance());
        return token.integer;
    }

    Status outputs(Definition& made) {
        TS_TRY(tokens_.expect("->", "the inputs"));
        TS_ASSIGN(const bool inBrackets, tokens_.accept("("));
        bool more = true;
        while (more) {
            TS_ASSIGN(Name output, tokens_.name("the name of an output"));
            made.outputs.push_back(std::move(output));
            TS_ASSIGN(more, tokens_.accept(","));
        }
        return inBrackets ? tokens_.expect(")", "the outputs") : Status();
    }

    Status statements(Definition& made) {
        TS_TRY(tokens_.expect("{", "the outputs"));
        TS_ASSIGN(bool done, tokens_.accept("}"));
        while (!done) {
            if (made.statements.size() == kMostStatements)
                return tokens_.error("a definition has at most " + std::to_string(kMostStatements) + " statements");
            TS_TRY(statementOrSchedule(made));
            TS_ASSIGN(bool separated, tokens_.accept(";"));
            while (separated) {
                TS_ASSIGN(separated, tokens_.accept(";"));
            }
            TS_ASSIGN(done, tokens_.accept("}"));
        }
        return {};
    }

    // `schedule` is a word of the language only where a name follows it.
    Status statementOrSchedule(Definition& made) {
        const Token word = tokens_.now();
        TS_ASSIGN(Name first, tokens_.name("a statement, as in Y[i] = X[i],"));
        if (word.is("schedule") && tokens_.now().kind == Token::Kind::name && !tokens_.now().is("max") && !tokens_.now().is("min"))
            return schedule(made);
        TS_ASSIGN(Statement next, statement(std::move(first)));
        made.statements.push_back(std::move(next));
        return {};
    }

    Status schedule(Definition& made) {
        TS_ASSIGN(ScheduleText text, parseSchedule(tokens_));
        const Name& output = text.output;
        const auto found = std::ranges::find_if(made.statements, [&](const Statement& statement) { return statement.output.text == output.text; });
        if (found == made.statements.end())
            return errorAt(tokens_.source(), output.place, "no statement up to here assigns to '" + output.text + "'; a schedule follows the statement that it is for");
        if (found->schedule)
            return errorAt(tokens_.source(), output.place, "there is a schedule of '" + output.text + "' already; write one with a knob and conditions, as in unroll k if U");
        found->schedule = std::move(text);
        return {};
    }

    Result<Statement> statement(Name output) {
        Statement made;
        made.output = std::move(output);
        TS_TRY(axes(made));
        TS_TRY(assignment(made));
        TermParser terms(tokens_);
        TS_ASSIGN(made.value, terms.expression());
        TS_ASSIGN(bool more, tokens_.accept("where"));
        while (more) {
            TS_TRY(condition(made, terms));
            TS_ASSIGN(more, tokens_.accept(","));
        }
        return made;
    }

    Status axes(Statement& made) {
        TS_ASSIGN(const bool some, tokens_.accept("["));
        if (!some)
            return {};
        TS_ASSIGN(bool done, tokens_.accept("]"));
        while (!done) {
            if (made.axes.size() == kMostDimensions)
                return tokens_.error("a tensor has at most " + std::to_string(kMostDimensions) + " dimensions");
            TS_ASSIGN(Name axis, tokens_.name("an index variable: what is assigned to is indexed by plain names, each once; one"));
            made.axes.push_back(std::move(axis));
            TS_ASSIGN(done, tokens_.accept("]"));
            if (!done)
                TS_TRY(tokens_.expect(",", "an index variable of what is assigned to"));
        }
        return {};
    }

    Status assignment(Statement& made) {
        const Token sign = tokens_.now();
        if (sign.is("+=") || sign.is("*=") || sign.is("=!"))
            return tokens_.error("a reduction starts from its neutral element: write " + (sign.is("=!") ? std::string("= or +=!") : std::string(sign.text) + "!") + " instead of " + std::string(sign.text));
        const bool extremum = sign.is("max") || sign.is("min");
        made.reduction = sign.is("+=!")   ? Reduction::sum
                         : sign.is("*=!") ? Reduction::product
                         : sign.is("max") ? Reduction::max
                         : sign.is("min") ? Reduction::min
                                          : Reduction::none;
        if (made.reduction == Reduction::none && !sign.is("="))
            return tokens_.error("after '" + made.output.text + "[...]' comes =, +=!, *=!, max=! or min=!; here stands " + tokenText(sign));
        TS_TRY(tokens_.advance());
        return extremum ? tokens_.expect("=!", "'" + std::string(sign.text) + "'") : Status();
    }

    Status condition(Statement& made, TermParser& terms) {
        TS_ASSIGN(Term first, terms.expression());
        if (!tokens_.now().is("in")) {
            made.guards.push_back(std::move(first));
            return {};
        }
        if (first.kind != Term::Kind::name)
            return tokens_.error("a range is stated of one index variable, as in where i in 0:N");
        TS_TRY(tokens_.advance());
        StatedRange range;
        range.variable = {first.name, first.place};
        TS_ASSIGN(range.begin, terms.sum());
        TS_TRY(tokens_.expect(":", "the beginning of a range"));
        TS_ASSIGN(range.end, terms.sum());
        made.ranges.push_back(std::move(range));
        return {};
    }

    Tokens tokens_;
};

} // namespace

Result<Definition> parse(std::string_view text, const std::string& source) {
    if (text.size() > kLargestFile)
        return inputError(source + ": a definition has at most " + std::to_string(kLargestFile) + " bytes, and this has " + std::to_string(text.size()));
    return Parser(text, source).run();
}

} // namespace tunesmith::te
