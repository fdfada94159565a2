// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/winograd.h"

#include <algorithm>
#include <cmath>

#include "core/loops/simplify.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Indices;
using loops::Program;
using loops::Stage;
using loops::TensorRef;
using Matrix = std::vector<std::vector<double>>;

struct Scaled {
    double factor;
    Expr value;
};

// The sum, begun with what needs no factor: everything else is one addition, or one multiplication and addition at once.
Expr sumOf(std::vector<Scaled> parts) {
    const auto cost = [](const Scaled& part) { return part.factor == 1 ? 0 : part.factor == -1 ? 1 : 2; };
    std::ranges::stable_sort(parts, {}, cost);
    Expr sum;
    for (Scaled& part : parts) {
        const bool isUnit = std::abs(part.factor) == 1;
        Expr value = isUnit ? std::move(part.value) : std::move(part.value) * loops::constantOf(DType::f32, part.factor);
        if (!sum.valid())
            sum = part.factor == -1 ? -std::move(value) : std::move(value);
        else
            sum = part.factor == -1 ? std::move(sum) - std::move(value) : std::move(sum) + std::move(value);
    }
    return sum;
}

// sum of coefficients[i] * term(i). Terms of a group are added up by themselves, over their least factor and with a positive last one: so rows
// of the matrix that differ in signs or in a factor share that sum.
Expr combination(const std::vector<double>& coefficients, const WinogradMatrices::Groups& groups, const std::function<Expr(std::int64_t)>& term) {
    std::vector<Scaled> sums;
    for (const auto& group : groups) {
        double least = 0, last = 0;
        for (const std::size_t i : group)
            if (const double c = coefficients[i]; c != 0) {
                least = least == 0 ? std::abs(c) : std::min(least, std::abs(c));
                last = c;
            }
        if (last == 0)
            continue;
        const double factor = std::copysign(least, last);
        std::vector<Scaled> parts;
        for (const std::size_t i : group)
            if (coefficients[i] != 0)
                parts.push_back({coefficients[i] / factor, term(static_cast<std::int64_t>(i))});
        sums.push_back({factor, sumOf(std::move(parts))});
    }
    return sumOf(std::move(sums));
}

// Row `row` of the matrix times the terms; row is a loop that will be unrolled, so only one alternative stays.
Expr product(const Matrix& matrix, const WinogradMatrices::Groups& groups, const Expr& row, const std::function<Expr(std::int64_t)>& term) {
    Expr chosen = combination(matrix.back(), groups, term);
    for (std::size_t i = matrix.size() - 1; i-- > 0;)
        chosen = loops::select(loops::equal(row, Expr(static_cast<std::int64_t>(i))), combination(matrix[i], groups, term), std::move(chosen));
    return chosen;
}

// Whether `index` is outer + inner + constant; the constant if so.
std::optional<std::int64_t> unitStep(const Expr& index, const loops::Axis& outer, const loops::Axis& inner) {
    const loops::LinearForm form = loops::toLinear(index, {});
    if (form.terms.size() != 2 || form.coefficient(outer.var) != 1 || form.coefficient(inner.var) != 1)
        return std::nullopt;
    return form.constant;
}

bool isVar(const Expr& e, const loops::Var& var) { return e->op == loops::Op::var && e->var == var; }

Stage patchStage(const WinogradConv& form, const Shape& tiles, std::int64_t m) {
    const Shape& x = form.x->shape;
    return loops::reduce("patch", DType::f32, {tiles[0], x[1], tiles[1], tiles[2], m + 2, m + 2}, loops::Reduction::sum, {1},
                         [&](const Indices& i, const Indices&) {
                             const Expr y = i[2] * Expr(m) + i[4] - Expr(form.padTop), c = i[3] * Expr(m) + i[5] - Expr(form.padLeft);
                             return loops::ReductionBody{loops::load(form.x, {i[0], i[1], y, c}), y >= Expr(0) && y < Expr(x[2]) && c >= Expr(0) &&
                                                                                                     c < Expr(x[3])};
                         });
}

} // namespace

const WinogradMatrices& WinogradMatrices::of(std::int64_t m) {
    static const WinogradMatrices two{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                                      {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
                                      {{1, 1, 1, 0}, {0, 1, -1, -1}},
                                      {{0, 2}, {1, 3}},
                                      {{0}, {1, 2}, {3}}};
    static const WinogradMatrices four{{{4, 0, -5, 0, 1, 0},
                                        {0, -4, -4, 1, 1, 0},
                                        {0, 4, -4, -1, 1, 0},
                                        {0, -2, -1, 2, 1, 0},
                                        {0, 2, -1, -2, 1, 0},
                                        {0, 4, 0, -5, 0, 1}},
                                       {{1. / 4, 0, 0},
                                        {-1. / 6, -1. / 6, -1. / 6},
                                        {-1. / 6, 1. / 6, -1. / 6},
                                        {1. / 24, 1. / 12, 1. / 6},
                                        {1. / 24, -1. / 12, 1. / 6},
                                        {0, 0, 1}},
                                       {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
                                       {{0, 2, 4}, {1, 3, 5}},
                                       {{0}, {1, 2}, {3, 4}, {5}}};
    assert(m == 2 || m == 4);
    return m == 2 ? two : four;
}

Tensor winogradFilters(const Tensor& filters, std::int64_t m) {
    const Matrix& g = WinogradMatrices::of(m).g;
    const auto points = static_cast<std::size_t>(m + 2);
    const auto pairs = static_cast<std::size_t>(filters.shape()[0] * filters.shape()[1]);
    Tensor made = Tensor::zeros(DType::f32, {(m + 2) * (m + 2), filters.shape()[0], filters.shape()[1]});
    const auto in = filters.data<float>();
    const auto out = made.mutableData<float>();
    for (std::size_t pair = 0; pair < pairs; ++pair)
        for (std::size_t a = 0; a < points; ++a)
            for (std::size_t b = 0; b < points; ++b) {
                double sum = 0;
                for (std::size_t r = 0; r < 3; ++r)
                    for (std::size_t s = 0; s < 3; ++s)
                        sum += g[a][r] * g[b][s] * static_cast<double>(in[(pair * 3 + r) * 3 + s]);
                out[(a * points + b) * pairs + pair] = static_cast<float>(sum);
            }
    return made;
}

std::optional<WinogradConv> WinogradConv::of(const Stage& conv) {
    const auto& x = conv.body->args[0];
    const auto& w = conv.body->args[1];
    if (w->tensor->shape[2] != 3 || w->tensor->shape[3] != 3 || !isVar(x->args[1], conv.reduceAxes[0].var))
        return std::nullopt;
    const auto top = unitStep(x->args[2], conv.axes[2], conv.reduceAxes[1]), left = unitStep(x->args[3], conv.axes[3], conv.reduceAxes[2]);
    if (!top || !left)
        return std::nullopt;
    return WinogradConv{x->tensor, w->tensor, -*top, -*left};
}

WinogradProgram winogradProgram(const Program& direct, const Stage& conv, const WinogradConv& form, std::int64_t m) {
    const WinogradMatrices& matrices = WinogradMatrices::of(m);
    const Shape& y = conv.output->shape;
    const std::int64_t points = m + 2, channels = form.x->shape[1];
    const Shape tiles{y[0], (y[2] + m - 1) / m, (y[3] + m - 1) / m};
    WinogradProgram made;
    made.program = direct;
    Program& program = made.program;
    const TensorRef filters = loops::makeTensor(form.w->name, DType::f32, {points * points, y[1], channels});
    std::replace(program.inputs.begin(), program.inputs.end(), form.w, filters);

    std::vector<Stage> stages{patchStage(form, tiles, m)};
    made.patch = stages.back().output;
    stages.push_back(loops::compute("rows", DType::f32, made.patch->shape, [&](const Indices& i) {
        return product(matrices.bt, matrices.inputGroups, i[4], [&](std::int64_t r) { return loops::load(made.patch, {i[0], i[1], i[2], i[3], Expr(r), i[5]}); });
    }));
    made.rows = stages.back().output;
    stages.push_back(loops::compute("points", DType::f32, {points, points, tiles[0], tiles[1], tiles[2], channels}, [&](const Indices& i) {
        return product(matrices.bt, matrices.inputGroups, i[1], [&](std::int64_t s) { return loops::load(made.rows, {i[2], i[5], i[3], i[4], i[0], Expr(s)}); });
    }));
    made.points = stages.back().output;
    stages.push_back(loops::reduce("product", DType::f32, {points, points, tiles[0], tiles[1], tiles[2], y[1]}, loops::Reduction::sum, {channels},
                                   [&](const Indices& i, const Indices& r) {
                                       return loops::ReductionBody{loops::load(made.points, {i[0], i[1], i[2], i[3], i[4], r[0]}) *
                                                                       loops::load(filters, {i[0] * Expr(points) + i[1], i[5], r[0]}),
                                                                   {}};
                                   }));
    made.product = stages.back().output;
    stages.push_back(loops::compute("columns", DType::f32, {y[0], y[1], tiles[1], tiles[2], m, points}, [&](const Indices& i) {
        return product(matrices.at, matrices.outputGroups, i[4], [&](std::int64_t r) { return loops::load(made.product, {Expr(r), i[5], i[0], i[2], i[3], i[1]}); });
    }));
    made.columns = stages.back().output;
    Stage result = loops::compute(conv.output->name, DType::f32, y, [&](const Indices& i) {
        return product(matrices.at, matrices.outputGroups, i[3] % Expr(m), [&](std::int64_t s) {
            return loops::load(made.columns, {i[0], i[1], i[2] / Expr(m), i[3] / Expr(m), i[2] % Expr(m), Expr(s)});
        });
    });
    result.output = conv.output;
    Stage last = program.stages.back();
    if (last.output == conv.output)
        last = std::move(result);
    else
        loops::inlineInto(last, result);
    stages.push_back(std::move(last));
    program.stages = std::move(stages);
    return made;
}

} // namespace tunesmith
