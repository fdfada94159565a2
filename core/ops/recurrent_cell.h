// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/node.h"

namespace tunesmith::ops {

// One step of the recurrent operators. Gates lie side by side: i, o, f, c of LSTM; z, r, h of GRU; the one of RNN.

// An entry of the attribute `activations` with its numbers from activation_alpha and activation_beta.
struct RecurrentFunction {
    const char* op = nullptr; // the operator that computes it; "Affine" and "ScaledTanh" stand for several
    double (*call)(double x, double alpha, double beta) = nullptr;
    double alpha = 0, beta = 0;
};
// The functions of all directions in order. Alphas and betas are taken in turn by those functions that have one, as
// ONNX Runtime does, then come the defaults of the operators of the same name. Errors are without the node's name.
Result<std::vector<RecurrentFunction>> recurrentFunctions(const Node& node, const std::vector<std::string>& defaults,
                                                          std::size_t directions);

// One direction of a recurrent layer with its state. Weights are transposed: a gate's columns are contiguous.
template <class T> struct RecurrentLayer {
    std::int64_t batch = 0, input = 0, hidden = 0, gates = 0;
    std::vector<T> weights, recurrence;      // [input, gates * hidden], [hidden, gates * hidden]
    std::vector<T> inputBias, recurrentBias; // [gates * hidden]
    std::vector<T> peepholes;                // of LSTM: i, o, f; empty: none
    const RecurrentFunction* functions = nullptr;
    double clip = 0; // bounds of what goes into the functions of the gates; infinity: none
    bool linearBeforeReset = false, inputForget = false;

    std::vector<T> x;    // [batch, input] of this step
    std::vector<char> idle; // by sequence: the step before this one lay behind its end
    std::vector<T> h, c; // [batch, hidden]

    double apply(std::size_t function, double value) const;
    // bias + rows * matrix[:, firstGate * hidden ...), for `count` gates: [batch, count * hidden].
    std::vector<T> product(const std::vector<T>& rows, const std::vector<T>& matrix, const std::vector<T>& bias,
                           std::int64_t firstGate, std::int64_t count) const;
};

// The state after the step that takes x; c stays empty where there is none.
template <class T> struct RecurrentState { std::vector<T> h, c; };
template <class T> using RecurrentCell = std::function<RecurrentState<T>(const RecurrentLayer<T>& layer)>;

template <class T> RecurrentState<T> lstmCell(const RecurrentLayer<T>& layer);
template <class T> RecurrentState<T> gruCell(const RecurrentLayer<T>& layer);
template <class T> RecurrentState<T> rnnCell(const RecurrentLayer<T>& layer);

} // namespace tunesmith::ops
