// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/loops/program.h"

namespace tunesmith::te {

// A file as the parser understands it. What names mean and which types terms have is filled in by check_names and
// check_types.

struct Place {
    int line = 1, column = 1;
};

inline std::string quoted(const std::string& name) { return "'" + name + "'"; } // in sentences about it

struct Term {
    enum class Kind : std::uint8_t {
        integer, real,
        name,           // before check_names: a variable, a size or a tensor without dimensions
        variable, size, // `name`
        read,           // tensor `name` at the indices `args`
        call,           // function or cast `name`
        operation,      // `name` is the sign; one or two args
        choice,         // args: condition, then, otherwise
    };
    Kind kind = Kind::integer;
    Place place;
    std::string name;
    std::int64_t integer = 0;
    double real = 0;
    std::vector<Term> args;
    DType type = DType::undefined; // undefined: numbers and sizes, which take the type of what they meet
    bool fraction = false;         // of those: cannot become an integer
};

struct Name {
    std::string text;
    Place place;
};

// where VARIABLE in BEGIN:END
struct StatedRange {
    Name variable;
    Term begin, end;
};

// A knob of a schedule: its values are numbers over sizes, on, off, divisors(n) and powers(first, last).
struct KnobText {
    Name name;
    std::vector<Term> values;
};

// outer, inner = split(loop, factor), with a name more than there are factors; or one = fuse(outer, inner), without factors.
struct LoopStep {
    std::vector<Name> made, from;
    std::vector<Term> factors;

    bool fuses() const { return factors.empty(); }
};

struct LoopMark {
    enum class Kind : std::uint8_t { order, unroll, vectorize, parallel, accumulate };
    Kind kind = Kind::order;
    Place place;
    std::vector<Name> loops;
    std::optional<Term> condition; // always if there is none
};

// How one statement is computed, with knobs that are left to tuning. Names in terms are knobs and sizes.
struct ScheduleText {
    Name output;
    bool only = false; // no other schedule stands beside it
    std::vector<KnobText> knobs;
    std::vector<Term> requirements;
    std::vector<LoopStep> steps;
    std::vector<LoopMark> marks;
};

// One comprehension: output[axes] = value, or a reduction of the values over all variables that occur on the right only.
struct Statement {
    Name output;
    std::vector<Name> axes;
    loops::Reduction reduction = loops::Reduction::none;
    Term value;
    std::vector<StatedRange> ranges;
    std::vector<Term> guards;
    std::optional<ScheduleText> schedule;
    // By check_names: variables that are reduced over, tensors that are read and sizes that are used, in the order of their appearance.
    std::vector<Name> reduced;
    std::vector<std::string> reads, sizes;
    DType type = DType::undefined; // by check_types, of the output
};

// A number, a name, or a name with the number that it stands for unless somebody says otherwise.
struct Dimension {
    Name name; // empty text: a number
    std::optional<std::int64_t> size;
};

struct Input {
    Name name;
    DType type = DType::undefined;
    std::vector<Dimension> dimensions;
};

struct Definition {
    std::string source; // the file's name, for errors
    Name name;
    std::vector<Input> inputs;
    std::vector<Name> outputs;
    std::vector<Statement> statements;
};

using Sizes = std::map<std::string, std::int64_t>;
using Shapes = std::map<std::string, Shape>; // of tensors

inline std::string placeText(const std::string& source, const Place& place) {
    return source + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}
inline Error errorAt(const std::string& source, const Place& place, const std::string& sentence) {
    return inputError(placeText(source, place) + ": " + sentence);
}

} // namespace tunesmith::te
