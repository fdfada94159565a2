// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/stop_token.h"
#include "core/ops/operator.h"

namespace tunesmith {

// Bodies of Loop, Scan and If may run so many times in one run of a graph, all of them together: a loop whose condition stays true
// ends with an Error.
inline constexpr std::int64_t kMostBodyRuns = std::int64_t{1} << 23;

struct RunOptions {
    StopToken stop;
    // Called after each node of the graph (not of bodies) with its outputs and the seconds that it took.
    std::function<void(const Node& node, const std::vector<Tensor>& outputs, double seconds)> observer;
    std::int64_t memoryLimit = 0; // bytes of one node's results, below the budget of the process (base/memory_budget.h); 0: no other limit
    std::int64_t mostBodyRuns = kMostBodyRuns;
};

// The reference engine: runs a graph node by node with the reference kernels, freeing each value after its last use.
// Slow and exact: the oracle for every rewrite, schedule and module. Const and safe to share between threads.
class Interpreter {
public:
    explicit Interpreter(Graph graph) : graph_(std::move(graph)) {}

    const Graph& graph() const { return graph_; }

    // Inputs in the order of graph.inputs(), or by name (absent, or not named: the default, where there is one); outputs in the order of graph.outputs(). Inputs are checked
    // against their declared types, symbolic dimensions against each other.
    Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, const RunOptions& options = {}) const;
    Result<std::vector<Tensor>> run(const std::map<std::string, Tensor>& inputs, const RunOptions& options = {}) const;

private:
    Graph graph_;
};

// Whether tensors fit the graph's inputs; the sentence names the input, what is expected and what was given.
Status checkInputs(const Graph& graph, const std::vector<Tensor>& inputs);
// Orders tensors by the graph's inputs; an Error names what is missing or unknown.
Result<std::vector<Tensor>> orderInputs(const Graph& graph, const std::map<std::string, Tensor>& inputs);

} // namespace tunesmith
