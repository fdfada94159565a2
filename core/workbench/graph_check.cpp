// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/graph_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/check/sensitivity.h"
#include "core/ops/interpreter.h"
#include "core/workbench/taken_inputs.h"

namespace tunesmith {
namespace {

constexpr std::uint64_t kGraphDraws = 3, kGraphNudges = 2; // where one draw is not enough, and of each

std::string shortNumber(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", value);
    return text;
}

bool holdNan(const std::vector<Tensor>& tensors) {
    return std::ranges::any_of(tensors, [](const Tensor& tensor) {
        for (std::int64_t i = 0; isFloat(tensor.type()) && i < tensor.count(); ++i)
            if (std::isnan(tensor.asDouble(i)))
                return true;
        return false;
    });
}

class GraphComparison {
public:
    GraphComparison(const Graph& before, const Graph& after, const InputChoice& inputs, const Work& work) : before_(before), after_(after), choice_(inputs) { options_.stop = work.stop; }

    Result<GraphCheck> run() {
        TS_TRY(draw(choice_.seed));
        if (!agreement_.plain())
            for (std::uint64_t i = 0; i < kGraphDraws; ++i) {
                if (i > 0)
                    TS_TRY(draw(choice_.seed + i));
                for (std::uint64_t nudge = 0; nudge < kGraphNudges; ++nudge)
                    TS_TRY(addNudge(kGraphNudges * (choice_.seed + i) + nudge));
            }
        return GraphCheck{agreement_.holds(), agreement_.difference(), sentence()};
    }

private:
    // Draws floats of both signs, for between 0 and 1 a Relu or an Abs is nothing. Draws positive ones as well where the model makes NaN of
    // these, and instead where it refuses them.
    Status draw(std::uint64_t seed) {
        auto drawn = drawTakenInputs(before_, {choice_.files, seed, -1}, options_.stop);
        if (!drawn.ok() && drawn.error().kind != ErrorKind::input)
            return drawn.error();
        const bool suits = drawn.ok() && !holdNan(drawn->outputs);
        if (drawn.ok())
            TS_TRY(compare(std::move(*drawn)));
        if (suits)
            return {};
        TS_ASSIGN(TakenInputs positive, drawTakenInputs(before_, {choice_.files, seed}, options_.stop));
        return compare(std::move(positive));
    }

    Status compare(TakenInputs drawn) {
        inputs_ = std::move(drawn.inputs);
        expected_ = std::move(drawn.outputs);
        TS_ASSIGN(const std::vector<Tensor> got, Interpreter(after_).run(inputs_, options_));
        agreement_.addDraw(expected_, got);
        return {};
    }

    Status addNudge(std::uint64_t seed) {
        TS_ASSIGN(const Graph weights, nudgedWeights(before_, seed));
        TS_ASSIGN(const std::vector<Tensor> moved, Interpreter(weights).run(nudgedInputs(inputs_, seed), options_));
        agreement_.addNudge(expected_, moved);
        return {};
    }

    std::string sentence() const {
        const std::string difference = shortNumber(agreement_.difference());
        if (agreement_.plain())
            return "outputs agree with the original's; largest error " + difference + " of their scale";
        const std::string found = "outputs differ from the original's by up to " + difference + " of their scale (" + agreement_.text() + "), ";
        const std::string nudges = "moving its inputs and weights by " + shortNumber(kNudge) + " moves its own by " + shortNumber(agreement_.nudged());
        return found + (agreement_.holds() ? "as the model amplifies rounding: " : "more than rounding explains: ") + nudges;
    }

    const Graph& before_;
    const Graph& after_;
    const InputChoice choice_;
    RunOptions options_;
    std::vector<Tensor> inputs_, expected_; // of the last draw
    Agreement agreement_;
};

} // namespace

Result<GraphCheck> compareGraphs(const Graph& before, const Graph& after, const InputChoice& inputs, const Work& work) {
    work.report("checking against the original");
    return GraphComparison(before, after, inputs, work).run();
}

} // namespace tunesmith
