// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph_builder.h"
#include "core/loops/program.h"

namespace tunesmith {

// Everything Tunesmith knows of one operator. One operator (or one close family) is one file of ops/, which also holds its
// line for the registry (registry.cpp). Adding an operator touches nothing else.

// What an operator's rule may look at: the node, the opset of its domain and its inputs.
class OpInputs {
public:
    OpInputs(const Node& ofNode, std::int64_t opsetVersion, std::vector<TensorType> types, std::vector<Tensor> constants)
        : node(ofNode), opset(opsetVersion), types_(std::move(types)), constants_(std::move(constants)) {}
    OpInputs(const Graph& graph, const Node& ofNode); // as the graph has them

    const Node& node;
    const std::int64_t opset;

    std::size_t count() const { return types_.size(); }
    bool has(std::size_t index) const { return node.hasInput(index); }
    const TensorType& type(std::size_t index) const { return types_[index]; } // of an input that is there
    bool isConstant(std::size_t index) const { return has(index) && !constants_[index].absent(); }
    const Tensor& constant(std::size_t index) const { return constants_[index]; } // absent unless isConstant()

    // "node 'conv1' (Conv): " + what, for sentences that people read.
    Error error(const std::string& what) const;
    Error unsupported(const std::string& what) const;

private:
    std::vector<TensorType> types_;
    std::vector<Tensor> constants_;
};

// The shape rule: types of all outputs from types (and constant values) of the inputs. Unknown stays unknown: never guess.
class InferContext : public OpInputs {
public:
    using OpInputs::OpInputs;
    std::vector<TensorType> outputs; // sized to node.outputs before the call
    // Values of outputs that are known although inputs are not constant (Shape of a static input): folded by the driver.
    std::vector<Tensor> values;
    std::shared_ptr<const Graph> subgraph(const std::string& attribute) const;
};

// Runs the body of an If, Loop or Scan on inputs in order; what the body captures is looked up around the node.
using BodyRunner = std::function<Result<std::vector<Tensor>>(const Graph& body, std::vector<Tensor> inputs)>;

// The reference kernel: the oracle. Straightforward, exact, single thread; clear before fast, but no slower than a plain
// loop with a contiguous inner loop. Inputs are concrete and were checked by the shape rule.
class EvalContext {
public:
    EvalContext(const Node& ofNode, std::int64_t opsetVersion, const std::vector<Tensor>& values)
        : node(ofNode), opset(opsetVersion), inputs(values), outputs(ofNode.outputs.size()) {}

    const Node& node;
    const std::int64_t opset;
    const std::vector<Tensor>& inputs; // absent tensors where an optional input is left out
    std::vector<Tensor> outputs;
    BodyRunner runBody; // empty where a node is evaluated on its own (constant folding): control flow then reports an error

    bool has(std::size_t index) const { return index < inputs.size() && !inputs[index].absent(); }
    const Tensor& input(std::size_t index) const { return inputs[index]; }
    // Only where an output is wanted may computing it be skipped when it is not.
    bool wanted(std::size_t index) const { return index < node.outputs.size() && node.outputs[index].valid(); }
    Error error(const std::string& what) const;
};

// The lowering: the same computation as stages of a tensor expression, for static shapes. Everything known at compile
// time (attributes, constant axes, scales) is burnt in.
class LowerContext : public OpInputs {
public:
    using OpInputs::OpInputs;

    std::vector<loops::TensorRef> inputs; // declared as the inputs' static types say; null where left out
    std::vector<TensorType> outputTypes;  // static
    std::vector<loops::Stage> stages;     // the rule appends here
    std::vector<loops::TensorRef> outputs; // the rule names the stage output that is each node output

    const Shape& inputShape(std::size_t index) const { return inputs[index]->shape; }
    Shape outputShape(std::size_t index = 0) const { return outputTypes[index].shape(); }
    DType outputType(std::size_t index = 0) const { return outputTypes[index].dtype; }
    loops::TensorRef add(loops::Stage stage) {
        stages.push_back(std::move(stage));
        return stages.back().output;
    }
    void finish(std::size_t output, loops::Stage stage) { outputs[output] = add(std::move(stage)); }
};

// The expansion: the same computation as nodes of other operators, where one loop nest cannot say it. Refuses with an Error
// of kind unsupported and adds nothing when it is not possible with what is known of the inputs.
class ExpandContext : public OpInputs {
public:
    ExpandContext(GraphBuilder& builder, const Graph& graph, const Node& ofNode);

    GraphBuilder& to;
    const std::int64_t onnxOpset; // of the nodes that the rule adds, whatever the domain of this one
    std::vector<ValueId> outputs; // the rule names the value that stands for each node output that is wanted
    bool wanted(std::size_t index) const { return index < node.outputs.size() && node.outputs[index].valid(); }
    const TensorType& outputType(std::size_t index) const { return graph_.value(node.outputs[index]).type; }
    ValueId captured(const std::string& name) const { return graph_.findValue(name); }
    Status checkBody(const std::string& attribute) const; // whether a body of the node can work with the shapes around it

    std::string derived(const std::string& what) const; // a name after this node's
    // A new node of an ONNX operator after this one's name, as GraphBuilder::add.
    ValueId add(const std::string& op, const std::vector<ValueId>& inputs, std::map<std::string, Attribute> attributes = {});
    ValueId add(const std::string& op, ValueId a, ValueId b) { return add(op, std::vector<ValueId>{a, b}); }
    std::vector<ValueId> addMany(const std::string& op, const std::vector<ValueId>& inputs, std::map<std::string, Attribute> attributes, int count);
    ValueId addConstant(Tensor tensor) { return to.addConstant(derived("constant"), std::move(tensor)); }
    ValueId number(DType type, double value); // a scalar constant
    // These write what opsets say in different ways.
    ValueId reshape(ValueId value, const Shape& shape);
    ValueId unsqueeze(ValueId value, std::int64_t axis);
    ValueId pick(ValueId value, std::int64_t index, std::int64_t axis = 0); // one slice; its axis goes
    ValueId slice(ValueId value, std::int64_t axis, std::int64_t begin, std::int64_t end);
    ValueId transpose(ValueId value, const std::vector<std::int64_t>& order);
    ValueId concat(const std::vector<ValueId>& values, std::int64_t axis);
    ValueId cast(ValueId value, DType type);
    ValueId clip(ValueId value, DType type, double low, double high);
    Status requireShapes() const; // of all inputs: static and not empty
    // An Error where more is to be written out than graphs can hold: steps are nodes each, places elements of a constant.
    static constexpr std::int64_t kMostSteps = 1024, kMostPlaces = std::int64_t{1} << 24;
    Status requireAtMost(std::int64_t most, std::int64_t count, const char* what) const;
    // A value of `type` in the type that kernels compute in, which is float32 for 16-bit floats; and back.
    ValueId widened(ValueId value, DType type);
    ValueId narrowed(ValueId value, DType type);

private:
    const Graph& graph_;
    const std::string stem_; // of names
};

// How an operator may take part in a fused kernel.
enum class Fusion : std::uint8_t {
    opaque,      // alone, or not compiled at all
    elementwise, // output element i depends on element i of each input (after broadcasting)
    injective,   // pure movement: each output element is one input element (transpose, slice, pad, concat, gather)
    alias,       // same bytes under another shape (reshape, squeeze, identity): no kernel at all
    anchor,      // conv, matmul, pool, reduction: elementwise followers can join its last stage
};

struct Operator {
    std::string name;
    std::string domain;
    Fusion fusion = Fusion::opaque;
    std::function<Status(InferContext&)> infer;
    std::function<Status(EvalContext&)> eval;
    std::function<Status(LowerContext&)> lower; // empty: not a tensor expression, runs in the runtime or not at all
    // Whether this node (attributes, input types, constants that the lowering needs) can be lowered; empty: always.
    std::function<Status(const OpInputs&)> lowerable;
    std::function<Status(ExpandContext&)> expand; // empty: no other operators can say it
    bool deterministic = true; // false keeps constant folding away (RandomNormal)
    // How many steps the kernel takes on inputs of known shapes, where neither they nor the outputs bound them. Empty: they do. Who computes
    // without being asked to, as folding does, leaves a node of too many.
    std::function<double(const OpInputs&)> steps;
    std::int64_t sinceOpset = 1;
};

// nullptr when unknown.
const Operator* findOperator(const std::string& name, const std::string& domain = {});
std::vector<const Operator*> allOperators(); // by name

} // namespace tunesmith
