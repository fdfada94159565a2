// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/tensor_type.h"
#include "core/loops/expr.h"

namespace tunesmith::loops {

// A tensor expression: what is computed, without how. Each stage makes one tensor element by element; stages read inputs
// and earlier stages. A schedule (schedule.h) turns the program into loops.
struct Axis {
    Var var;
    std::int64_t extent;
};

enum class Reduction : std::uint8_t { none, sum, product, max, min };

// output[axes] = reduction over reduceAxes of body, or just body. `guard` (optional) skips iterations of a reduction, which
// is how padding is written: out-of-range reads never happen and cost no branch once loops are partitioned.
// A maximum over nothing is -infinity (lowest for integers), a sum 0.
struct Stage {
    TensorRef output;
    std::vector<Axis> axes; // one per dimension of output
    std::vector<Axis> reduceAxes;
    Reduction reduction = Reduction::none;
    Expr guard;
    Expr body;
};

struct Program {
    std::string name;
    std::vector<TensorRef> inputs;
    std::vector<Stage> stages; // in topological order
    std::vector<TensorRef> outputs;

    const Stage* stageOf(const TensorRef& tensor) const; // null for inputs
};

bool readsMemory(const Expr& e);
bool reads(const Expr& e, const TensorRef& tensor);
bool reads(const Stage& stage, const TensorRef& tensor); // its guard, too
Expr renameTensors(const Expr& e, const std::map<TensorRef, TensorRef>& names); // loads go to the other tensor
void inlineInto(Stage& reader, const Stage& stage); // replaces loads of an elementwise stage's output by its body

std::string toText(const Program& program);
std::int64_t flopCount(const Program& program); // arithmetic on floats: adds, multiplies, calls count one each

// Helpers to write stages: fresh axes named i0, i1 ... (or r0 ...) and the stage they make.
using Indices = std::vector<Expr>;
Stage compute(const std::string& name, DType type, const Shape& shape, const std::function<Expr(const Indices&)>& body);
// body and guard see the output's indices and the reduction's indices; guard may be empty.
struct ReductionBody {
    Expr value;
    Expr guard; // optional
};
Stage reduce(const std::string& name, DType type, const Shape& shape, Reduction reduction, const Shape& reduceExtents,
             const std::function<ReductionBody(const Indices& output, const Indices& reduced)>& body);

} // namespace tunesmith::loops
