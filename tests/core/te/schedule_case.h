// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cmath>

#include "core/base/rng.h"
#include "core/loops/evaluate.h"
#include "core/loops/evaluate_nest.h"
#include "core/loops/schedule.h"
#include "core/te/apply_schedule.h"
#include "core/te/comprehension.h"
#include "core/te/definition.h"

// The choices of a text's schedules, each as loops that are run and compared with what the text says.
namespace tunesmith::testing {

inline std::string difference(const Tensor& wanted, const Tensor& made) {
    for (std::int64_t i = 0; i < wanted.count(); ++i) {
        const double a = wanted.asDouble(i), b = made.asDouble(i);
        const bool same = isFloat(wanted.type()) ? std::abs(a - b) <= 1e-3 * (1 + std::abs(a)) || (std::isnan(a) && std::isnan(b)) || a == b
                                                 : wanted.asInt(i) == made.asInt(i);
        if (!same)
            return "element " + std::to_string(i) + " is " + std::to_string(b) + " and not " + std::to_string(a);
    }
    return {};
}

// Statement `index` of a checked definition with its sizes, and the elementwise statement behind it if it reads it: as a kernel would.
class ScheduledStatement {
public:
    ScheduledStatement(const te::Definition& definition, std::size_t index, const loops::Program& whole) {
        std::vector<std::string> reads;
        const auto comprehension = te::Comprehension::of(definition, index, reads);
        std::vector<TensorType> types;
        for (const std::string& read : reads)
            types.push_back(typeOf(whole, read));
        auto schedule = comprehension.schedule(types);
        if (!schedule.ok())
            problem = schedule.error().message;
        else
            bound = std::move(*schedule);
        program.name = "nest";
        program.stages = {whole.stages[index]};
        if (index + 1 < whole.stages.size() && readsInPlace(definition.statements[index + 1], definition.statements[index]))
            program.stages.push_back(whole.stages[index + 1]);
        program.outputs = {program.stages.back().output};
        for (const loops::TensorRef& input : whole.inputs)
            program.inputs.push_back(input);
        for (std::size_t i = 0; i < index; ++i)
            program.inputs.push_back(whole.stages[i].output);
    }

    std::size_t choices() const {
        std::size_t count = 1;
        for (const auto& knob : bound->knobs())
            count *= knob.choices.size();
        return count;
    }

    // What is wrong with the choice of this number; empty if nothing is, or if it is not allowed. Values are compared where they do
    // not depend on the order in which they are made.
    std::string check(std::size_t number, const std::vector<Tensor>& inputs, const std::vector<Tensor>& wanted, bool comparable = true) {
        std::vector<std::int64_t> values;
        std::string text;
        for (const auto& knob : bound->knobs()) {
            values.push_back(knob.choices[number % knob.choices.size()].number);
            text += knob.name + " = " + knob.choices[number % knob.choices.size()].text + ", ";
            number /= knob.choices.size();
        }
        const auto plan = bound->plan(values);
        if (!plan.ok())
            return {};
        ++allowed;
        loops::Schedule schedule(program);
        te::applyPlan(*plan, schedule);
        const auto nest = schedule.lower();
        if (!nest.ok())
            return text + nest.error().message;
        if (!te::checkNest(*nest).ok())
            return {};
        const auto made = loops::evaluate(*nest, inputs);
        if (!made.ok())
            return text + made.error().message;
        const std::string wrong = !comparable ? std::string() : difference(wanted[0], made->front());
        return wrong.empty() ? wrong : text + wrong + "\n" + loops::toText(*nest);
    }

    loops::Program program;
    std::optional<te::BoundSchedule> bound;
    std::string problem;
    std::size_t allowed = 0; // choices so far

private:
    static TensorType typeOf(const loops::Program& whole, const std::string& name) {
        for (const loops::TensorRef& input : whole.inputs)
            if (input->name == name)
                return {input->type, input->shape};
        for (const loops::Stage& stage : whole.stages)
            if (stage.output->name == name)
                return {stage.output->type, stage.output->shape};
        return {};
    }

    static bool readsInPlace(const te::Statement& reader, const te::Statement& statement) {
        return reader.reduction == loops::Reduction::none && reader.axes.size() == statement.axes.size() &&
               std::ranges::find(reader.reads, statement.output.text) != reader.reads.end();
    }
};

// A schedule of Y that splits, fuses, orders and annotates whatever there is. It may ask for what cannot be.
inline std::string randomSchedule(Rng& rng, std::vector<std::string> axes, std::vector<std::string> reduced) {
    std::string text = "schedule Y only { ";
    int next = 0;
    for (std::uint64_t steps = rng.below(6); steps > 0; --steps) {
        auto& loops = reduced.empty() || rng.chance(0.6) ? axes : reduced;
        const std::size_t at = rng.below(loops.size()), other = rng.below(loops.size());
        const std::string a = "l" + std::to_string(next++), b = "l" + std::to_string(next++);
        if (at != other && rng.chance(0.4)) {
            text += a + " = fuse(" + loops[at] + ", " + loops[other] + ") ";
            loops[at] = a;
            loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(other));
        } else {
            text += a + ", " + b + " = split(" + loops[at] + ", " + std::to_string(1 + rng.below(9)) + ") ";
            loops[at] = a;
            loops.push_back(b);
        }
    }
    std::vector<std::string> all = axes;
    all.insert(all.end(), reduced.begin(), reduced.end());
    for (std::size_t i = all.size(); i-- > 1;)
        std::swap(all[i], all[rng.below(i + 1)]);
    text += "order ";
    for (std::size_t i = 0; i < all.size(); ++i)
        text += (i ? ", " : "") + all[i];
    if (rng.chance(0.3) && std::ranges::find(axes, all[0]) != axes.end())
        text += " parallel " + all[0];
    for (std::size_t i = 1; i + 1 < all.size(); ++i)
        if (rng.chance(0.3))
            text += " unroll " + all[i];
    return text + (rng.chance(0.5) && all.size() > 1 ? " vectorize " + all.back() : "") + " } ";
}

} // namespace tunesmith::testing
