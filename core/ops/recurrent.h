// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/ops/operator.h"
#include "core/ops/recurrent_cell.h"

namespace tunesmith::ops {

// What LSTM, GRU and RNN differ in, and what their attributes say.
struct RecurrentKind {
    std::int64_t gates;
    std::vector<std::string> functions; // defaults of one direction
    std::size_t outputs;                // with 3, there is a cell state
};

struct RecurrentInputs {
    static constexpr std::size_t x = 0, weights = 1, recurrence = 2, bias = 3, lengths = 4, hidden = 5, cell = 6, peepholes = 7;
};

struct RecurrentAttributes {
    std::size_t directions = 1;
    bool reverse = false, batchFirst = false, linearBeforeReset = false, inputForget = false;
    double clip = std::numeric_limits<double>::infinity();
    std::vector<RecurrentFunction> functions; // of all directions
    std::size_t timeAxis() const { return batchFirst ? 1 : 0; }
};
Result<RecurrentAttributes> readRecurrentAttributes(const Node& node, const RecurrentKind& kind);

// The products of one direction, gate by gate.
struct RecurrentProducts {
    std::function<ValueId(std::int64_t gate)> ofInput;                // [time * batch, hidden]
    std::function<ValueId(std::int64_t gate, ValueId state)> ofState; // [batch, hidden]
};
// `rows`: the input as [time * batch, input].
using RecurrentProductsOf = std::function<RecurrentProducts(std::int64_t direction, ValueId rows)>;

// How a layer comes by its products is its operator's business; without `productsOf` weights are floats as ONNX has them.
// One product for the input of all steps and each gate, then the cell's nodes step by step. For lengths that are known
// and the same for all sequences.
Status expandRecurrent(ExpandContext& context, const RecurrentKind& kind);
Status expandRecurrent(ExpandContext& context, const RecurrentKind& kind, const RecurrentProductsOf& productsOf);

// LSTM for operators that are one but for how they multiply: inputs are LSTM's, of float64 for the kernel.
const RecurrentKind& lstmKind();
Status inferLstm(InferContext& in);
Status evalLstm(EvalContext& context, const RecurrentCell<double>& cell);

} // namespace tunesmith::ops
