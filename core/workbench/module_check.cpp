// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/module_check.h"

#include <cmath>
#include <cstdio>

#include "core/check/sensitivity.h"
#include "core/module/worker_verbs.h"
#include "core/ops/interpreter.h"
#include "core/workbench/session.h"
#include "core/workbench/step_check.h"
#include "core/workbench/taken_inputs.h"

namespace tunesmith {
namespace {

constexpr int kDraws = 3; // of a model that does not agree at once,
constexpr std::uint64_t kNudges = 2; // and of each

std::string scientific(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", value);
    return text;
}

class ModuleChecker {
public:
    ModuleChecker(const Model& model, const PlannedModel& planned, const std::filesystem::path& folder, const CompileRequest& request)
        : model_(model), planned_(planned), folder_(folder), request_(request) {}

    Result<ModuleCheck> run() {
        TS_ASSIGN(worker_, startWorker());
        TS_ASSIGN(const std::vector<Tensor> inputs, compareWhole(request_.seed)); // first, for the steps' checks leave right values in the module's memory
        TS_ASSIGN(steps_, checkSteps(planned_, folder_, inputs, *worker_, request_.work));
        if (!whole_.plain()) {
            TS_ASSIGN(wiring_, checkWiring(planned_, folder_, inputs, *worker_, request_.work.stop));
            TS_TRY(askFurther(inputs));
        }
        ModuleCheck check = found();
        const double wrong = std::max(steps_.unexplained, right() ? 0 : whole_.difference());
        check.passed = wrong == 0;
        if (check.passed || wrong <= request_.acceptDifference)
            return check;
        std::string remedy;
        if (std::isfinite(wrong))
            remedy = "; to write it all the same, accept a difference of " + scientific(1.05 * wrong) + " of the output's scale (--accept-difference " + scientific(1.05 * wrong) + ")";
        return internalError(model_.name() + ": the compiled module is not written: " + check.text + remedy);
    }

private:
    Result<std::vector<Tensor>> reference(const Graph& graph, const std::vector<Tensor>& inputs) const {
        RunOptions options;
        options.stop = request_.work.stop;
        return Interpreter(graph).run(inputs, options);
    }

    // Of a draw, which it hands out.
    Result<std::vector<Tensor>> compareWhole(std::uint64_t seed) {
        request_.work.report("checking against the reference");
        TS_ASSIGN(TakenInputs drawn, drawTakenInputs(model_.graph(), {request_.inputs, seed}, request_.work.stop));
        TS_ASSIGN(const std::vector<Tensor> outputs, runModule(*worker_, {folder_, 0, drawn.inputs}, kPatience, request_.work.stop));
        expected_ = std::move(drawn.outputs);
        whole_.addDraw(expected_, outputs);
        return std::move(drawn.inputs);
    }

    Status askFurther(std::vector<Tensor> inputs) {
        for (int draw = 0;; ++draw) {
            request_.work.report("asking how sensitive the model is", static_cast<double>(draw) / kDraws);
            const std::uint64_t seed = request_.seed + static_cast<std::uint64_t>(draw);
            for (std::uint64_t nudge = 0; nudge < kNudges; ++nudge)
                TS_TRY(addNudge(inputs, kNudges * seed + nudge));
            if (draw + 1 == kDraws)
                return {};
            TS_ASSIGN(inputs, compareWhole(seed + 1));
        }
    }

    Status addNudge(const std::vector<Tensor>& inputs, std::uint64_t seed) {
        TS_ASSIGN(const Graph weights, nudgedWeights(model_.graph(), seed, nudgeSize()));
        TS_ASSIGN(const std::vector<Tensor> moved, reference(weights, nudgedInputs(inputs, seed, nudgeSize())));
        whole_.addNudge(expected_, moved);
        return {};
    }

    // What kernels round by, where that is more: transforms such as Winograd's do.
    double nudgeSize() const { return std::max(kNudge, steps_.largest); }

    ModuleCheck found() const {
        ModuleCheck check;
        check.seed = request_.seed;
        check.draws = whole_.draws();
        check.maxRelative = whole_.difference();
        check.nudge = whole_.plain() ? 0 : nudgeSize();
        check.nudged = whole_.nudged();
        check.kernels = steps_.judged;
        check.kernelError = steps_.largest;
        check.accepted = request_.acceptDifference;
        check.text = sentence();
        return check;
    }

    bool right() const { return whole_.holds() && wiring_.empty(); }

    // What was found, in one sentence.
    std::string sentence() const {
        if (!steps_.wrong.empty())
            return steps_.wrong;
        const std::string steps = steps_.judged == 1 ? "its one step" : "each of its " + std::to_string(steps_.judged) + " steps";
        const std::string each = steps + " agrees with the reference engine alone (largest error " + scientific(steps_.largest) + ")";
        if (whole_.plain())
            return "outputs agree with the reference engine; largest error " + scientific(whole_.difference()) + " of the output's scale; " + each;
        const std::string nudges = "moving its inputs and weights by " + scientific(nudgeSize()) + " moves its own by " + scientific(whole_.nudged());
        const std::string whole = "outputs differ from the reference engine's by up to " + scientific(whole_.difference()) + " of their scale in " + std::to_string(whole_.draws()) + " draws";
        if (!wiring_.empty())
            return whole + ": " + wiring_ + ", while " + each;
        if (whole_.holds())
            return whole + ", as the model amplifies rounding: " + nudges + "; " + each;
        return whole + " (" + whole_.text() + "), more than rounding explains: " + nudges + "; " + each;
    }

    const Model& model_;
    const PlannedModel& planned_;
    const std::filesystem::path& folder_;
    const CompileRequest& request_;
    std::unique_ptr<WorkerClient> worker_;
    std::vector<Tensor> expected_; // of the last draw
    StepFindings steps_;
    std::string wiring_; // where steps do not fit together
    Agreement whole_;
};

} // namespace

Result<ModuleCheck> checkModule(const Model& model, const PlannedModel& planned, const std::filesystem::path& folder, const CompileRequest& request) {
    return ModuleChecker(model, planned, folder, request).run();
}

nlohmann::json toJson(const ModuleCheck& check) {
    return {{"passed", check.passed},
            {"seed", check.seed},
            {"draws", check.draws},
            {"max_relative_to_scale", check.maxRelative},
            {"nudge", {{"relative", check.nudge}, {"moves_outputs_by", check.nudged}}},
            {"steps", {{"judged", check.kernels}, {"max_relative_to_scale", check.kernelError}}},
            {"tolerance", {{"relative", Tolerance().relative}, {"absolute_of_scale", Tolerance().absolute}}},
            {"accepted_difference", check.accepted},
            {"text", check.text}};
}

} // namespace tunesmith
