// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/einsum_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/ops/broadcast.h"

namespace tunesmith::ops {
namespace {

// One comma-separated part: its letters and where the ellipsis stands among them.
struct Term {
    std::string letters;
    std::optional<std::size_t> ellipsis;
};

bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Result<Term> parseTerm(const std::string& text) {
    Term term;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (isLetter(text[i])) {
            term.letters += text[i];
        } else if (text.compare(i, 3, "...") == 0 && !term.ellipsis) {
            term.ellipsis = term.letters.size();
            i += 2;
        } else {
            return inputError("'" + text + "' must be letters and at most one ellipsis");
        }
    }
    return term;
}

struct Equation {
    std::vector<Term> inputs;
    std::optional<Term> output;
};

Result<Equation> parse(std::string text) {
    std::erase(text, ' ');
    Equation equation;
    if (const auto arrow = text.find("->"); arrow != std::string::npos) {
        TS_ASSIGN(equation.output, parseTerm(text.substr(arrow + 2)));
        text.resize(arrow);
    }
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        TS_ASSIGN(Term term, parseTerm(text.substr(begin, end - begin)));
        equation.inputs.push_back(std::move(term));
        begin = end + 1;
    }
    return equation;
}

class Planner {
public:
    Planner(Equation equation, const std::vector<Dims>& inputs) : equation_(std::move(equation)), inputs_(inputs) {}

    Result<EinsumPlan> run() {
        TS_TRY(countEllipsis());
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            TS_TRY(takeInput(i));
        TS_TRY(equation_.output ? takeOutput(*equation_.output) : implyOutput());
        for (std::size_t label = 0; label < plan_.extents.size(); ++label)
            if (std::find(plan_.output.begin(), plan_.output.end(), label) == plan_.output.end())
                plan_.summed.push_back(label);
        return plan_;
    }

private:
    Status countEllipsis() {
        if (equation_.inputs.size() != inputs_.size())
            return inputError("has " + std::to_string(equation_.inputs.size()) + " terms for " +
                              std::to_string(inputs_.size()) + " inputs");
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const Term& term = equation_.inputs[i];
            const std::size_t rank = inputs_[i].size(), letters = term.letters.size();
            if (term.ellipsis ? rank < letters : rank != letters)
                return inputError("names " + std::to_string(letters) + " dimensions of input " + std::to_string(i) +
                                  ", which has " + std::to_string(rank));
            if (term.ellipsis)
                ellipsis_ = std::max(ellipsis_, rank - letters);
        }
        plan_.extents.assign(ellipsis_, Dim(1));
        return {};
    }

    Status takeInput(std::size_t index) {
        const Term& term = equation_.inputs[index];
        const Dims& dims = inputs_[index];
        const std::size_t covered = dims.size() - term.letters.size();
        std::vector<std::size_t> labels;
        for (std::size_t at = 0; at <= term.letters.size(); ++at) {
            for (std::size_t k = 0; term.ellipsis && *term.ellipsis == at && k < covered; ++k)
                labels.push_back(ellipsis_ - covered + k);
            if (at < term.letters.size())
                labels.push_back(labelOf(term.letters[at]));
        }
        for (std::size_t d = 0; d < dims.size(); ++d)
            TS_TRY(merge(index, d, labels));
        plan_.terms.push_back(std::move(labels));
        return {};
    }

    std::size_t labelOf(char letter) {
        ++uses_[letter];
        const auto [found, fresh] = letters_.emplace(letter, plan_.extents.size());
        if (fresh)
            plan_.extents.emplace_back(1);
        return found->second;
    }

    Status merge(std::size_t index, std::size_t d, const std::vector<std::size_t>& labels) {
        const Dims& dims = inputs_[index];
        for (std::size_t before = 0; before < d; ++before)
            if (labels[before] == labels[d] && dims[before].known() && dims[d].known() &&
                dims[before].extent != dims[d].extent)
                return inputError("takes a diagonal of input " + std::to_string(index) + ", whose extents are " +
                                  dimText(dims[before]) + " and " + dimText(dims[d]));
        Dim& extent = plan_.extents[labels[d]];
        const auto merged = broadcastDim(extent, dims[d]);
        if (!merged)
            return inputError("wants the extents " + dimText(extent) + " and " + dimText(dims[d]) + " of input " +
                              std::to_string(index) + " to be equal");
        extent = *merged;
        return {};
    }

    Status takeOutput(const Term& term) {
        if (!term.ellipsis && ellipsis_ > 0)
            return inputError("has an ellipsis in its inputs but none in its output");
        for (std::size_t at = 0; at <= term.letters.size(); ++at) {
            if (term.ellipsis && *term.ellipsis == at)
                takeEllipsis();
            if (at == term.letters.size())
                break;
            const char letter = term.letters[at];
            const auto found = letters_.find(letter);
            if (found == letters_.end() || term.letters.find(letter) != at)
                return inputError(std::string("has '") + letter + "' in its output " +
                                  (found == letters_.end() ? "but in no input" : "twice"));
            plan_.output.push_back(found->second);
        }
        return {};
    }

    // Without an output: the ellipsis, then the letters that occur once, in alphabetical order.
    Status implyOutput() {
        takeEllipsis();
        for (const auto& [letter, uses] : uses_)
            if (uses == 1)
                plan_.output.push_back(letters_.at(letter));
        return {};
    }

    void takeEllipsis() {
        for (std::size_t k = 0; k < ellipsis_; ++k)
            plan_.output.push_back(k);
    }

    Equation equation_;
    const std::vector<Dims>& inputs_;
    EinsumPlan plan_;
    std::size_t ellipsis_ = 0; // dimensions that the longest ellipsis covers
    std::map<char, std::size_t> letters_, uses_;
};

} // namespace

Result<EinsumPlan> planEinsum(const std::string& equation, const std::vector<Dims>& inputs) {
    Result<Equation> parsed = parse(equation);
    if (!parsed.ok())
        return parsed.error().within("equation '" + equation + "'");
    Result<EinsumPlan> plan = Planner(*std::move(parsed), inputs).run();
    if (!plan.ok())
        return inputError("equation '" + equation + "' " + plan.error().message);
    return plan;
}

} // namespace tunesmith::ops
