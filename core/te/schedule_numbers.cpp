// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/schedule_numbers.h"

#include <algorithm>

#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

class Numbers {
public:
    Numbers(const std::string& source, const Sizes& values) : source_(source), values_(values) {}

    Result<std::int64_t> of(const Term& term) const {
        switch (term.kind) {
        case Term::Kind::integer: return term.integer;
        case Term::Kind::name:
        case Term::Kind::size: return values_.at(term.name);
        case Term::Kind::choice: {
            TS_ASSIGN(const std::int64_t condition, of(term.args[0]));
            return of(term.args[condition != 0 ? 1 : 2]);
        }
        case Term::Kind::call:
        case Term::Kind::operation: break;
        default: assert(false && "a checked schedule holds nothing else");
        }
        TS_ASSIGN(const std::int64_t a, of(term.args[0]));
        if (term.args.size() == 1)
            return term.name == "!" ? Result<std::int64_t>(a == 0) : arithmetic(term, '-', 0, a);
        if ((term.name == "&&" && a == 0) || (term.name == "||" && a != 0))
            return std::int64_t(a != 0);
        TS_ASSIGN(const std::int64_t b, of(term.args[1]));
        return combined(term, a, b);
    }

private:
    Result<std::int64_t> combined(const Term& term, std::int64_t a, std::int64_t b) const {
        const std::string& name = term.name;
        if (name == "min" || name == "max")
            return name == "min" ? std::min(a, b) : std::max(a, b);
        if (name == "&&" || name == "||")
            return std::int64_t(b != 0);
        if (name == "==" || name == "!=")
            return std::int64_t((a == b) == (name == "=="));
        if (name == "<" || name == ">=")
            return std::int64_t((a < b) == (name == "<"));
        if (name == "<=" || name == ">")
            return std::int64_t((a <= b) == (name == "<="));
        return arithmetic(term, name[0], a, b);
    }

    Result<std::int64_t> arithmetic(const Term& term, char sign, std::int64_t a, std::int64_t b) const {
        __int128_t result = 0;
        switch (sign) {
        case '+': result = __int128_t(a) + b; break;
        case '-': result = __int128_t(a) - b; break;
        case '*': result = __int128_t(a) * b; break;
        default: result = divided(sign == '/', a, b);
        }
        if (result != static_cast<std::int64_t>(result))
            return errorAt(source_, term.place, "this number leaves the 64 bits that a number of a schedule has");
        return static_cast<std::int64_t>(result);
    }

    static __int128_t divided(bool quotient, __int128_t a, __int128_t b) {
        if (b == 0)
            return 0;
        const __int128_t down = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
        return quotient ? down : a - down * b;
    }

    const std::string& source_;
    const Sizes& values_;
};

std::vector<std::int64_t> divisorsOf(std::int64_t number) {
    std::vector<std::int64_t> small, large;
    for (std::int64_t i = 1; i * i <= number; ++i)
        if (number % i == 0) {
            small.push_back(i);
            if (i * i != number)
                large.push_back(number / i);
        }
    small.insert(small.end(), large.rbegin(), large.rend());
    return small;
}

// Of one term between two bars.
Result<std::vector<std::int64_t>> valuesOf(const std::string& source, const Term& term, const Sizes& sizes) {
    const Numbers numbers(source, sizes);
    if (term.kind != Term::Kind::call || (term.name != "divisors" && term.name != "powers")) {
        TS_ASSIGN(const std::int64_t number, numbers.of(term));
        return std::vector<std::int64_t>{number};
    }
    std::vector<std::int64_t> bounds;
    for (const Term& arg : term.args) {
        TS_ASSIGN(const std::int64_t number, numbers.of(arg));
        if (number < 1 || number > kLargestSize)
            return errorAt(source, arg.place, term.name + " takes numbers between 1 and " + std::to_string(kLargestSize) + ", and this is " + std::to_string(number));
        bounds.push_back(number);
    }
    if (term.name == "divisors")
        return divisorsOf(bounds[0]);
    std::vector<std::int64_t> powers;
    for (std::int64_t power = 1; power <= bounds[1]; power *= 2)
        if (power >= bounds[0])
            powers.push_back(power);
    if (powers.empty())
        return errorAt(source, term.place, "there is no power of two from " + std::to_string(bounds[0]) + " to " + std::to_string(bounds[1]));
    return powers;
}

} // namespace

Result<std::int64_t> numberOf(const std::string& source, const Term& term, const Sizes& values) { return Numbers(source, values).of(term); }

Result<std::vector<KnobChoice>> choicesOf(const std::string& source, const KnobText& knob, const Sizes& sizes) {
    std::vector<KnobChoice> choices;
    const auto add = [&](std::string text, std::int64_t number) {
        if (std::ranges::none_of(choices, [&](const KnobChoice& choice) { return choice.number == number; }))
            choices.push_back({std::move(text), number});
    };
    for (const Term& value : knob.values) {
        if (value.kind == Term::Kind::name) {
            add(value.name, value.name == "on");
            continue;
        }
        TS_ASSIGN(const auto numbers, valuesOf(source, value, sizes));
        for (const std::int64_t number : numbers)
            add(std::to_string(number), number);
        if (choices.size() > kMostKnobValues)
            return errorAt(source, knob.name.place, "the knob '" + knob.name.text + "' has " + std::to_string(choices.size()) + " values and may have " + std::to_string(kMostKnobValues) + "; list fewer of them");
    }
    return choices;
}

} // namespace tunesmith::te
