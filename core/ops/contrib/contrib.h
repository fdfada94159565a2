// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/kernel.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {

// Operators of com.microsoft, which ONNX Runtime and its tools write into models. Most compile as nodes of
// ONNX's operators
// (`expand`), so that fusion, templates and modules need to know nothing of them; the reference kernel is
// written from the definition and does not run the expansion, so that each checks the other. Where rounding
// would be lost on the way, and where an expansion would turn packed weights into floats, there is a lowering
// instead.
inline constexpr char kMicrosoft[] = "com.microsoft";

using ExpandRule = std::function<Status(ExpandContext&)>;

// Compiles as other nodes. The rule is asked only where the shape rule holds and all types are static.
void addExpanded(OperatorList& list, const std::string& name, Arity arity, const InferRule& infer,
                 const Kernel& kernel, const ExpandRule& expand);
// Gives the last operator of a list such an expansion.
void addExpansion(OperatorList& list, const ExpandRule& expand);
// Compiles as stages of its own, as addOperator.
void addLowered(OperatorList& list, const std::string& name, Fusion fusion, Arity arity,
                const InferRule& infer, const Kernel& kernel, LowerRule lower, LowerableRule lowerable = {});
// Runs with its reference kernel only.
void addReference(OperatorList& list, const std::string& name, Arity arity, const InferRule& infer,
                  const Kernel& kernel);
// Means what an operator of ONNX means in an opset.
void addCopy(OperatorList& list, const std::string& name, Fusion fusion, const std::string& onnx,
             std::int64_t opset);

// Copies of what is known of the first `count` inputs, to be asked of another rule.
struct KnownInputs {
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    KnownInputs(const OpInputs& in, std::size_t count);
};

// A rule that an operator of ONNX has, for the first `inputs` of this node.
Status inferAs(InferContext& in, const std::string& onnx, std::size_t inputs);
Status evalAs(EvalContext& context, const std::string& onnx, std::size_t inputs);

// A constant in an expansion: int64 numbers from `first` on, one after the other.
ValueId countedFrom(ExpandContext& context, std::int64_t first, const Shape& shape);
// A node of com.microsoft in an expansion.
ValueId addMicrosoft(ExpandContext& context, const std::string& op, std::vector<ValueId> inputs,
                     std::map<std::string, Attribute> attributes);
// The node's attributes without some.
std::map<std::string, Attribute> attributesWithout(const Node& node, const std::vector<std::string>& names);

Tensor permuted(const Tensor& x, const std::vector<std::int64_t>& order); // as Transpose

// The input, where it is there and its shape is known, has these dimensions; `meaning` ends the sentence:
// "one scale per column".
Status requireDims(const OpInputs& in, std::size_t index, const Dims& wanted, const std::string& meaning);
// Two dimensions that must be equal; `what` is a whole sentence.
Status requireEqual(const OpInputs& in, const Dim& a, const Dim& b, const std::string& what);
Status requireRank(const OpInputs& in, std::size_t index, std::size_t rank, const std::string& meaning);
Status requireInt32(const OpInputs& in, std::size_t index);
Status requireInputs(const OpInputs& in, std::initializer_list<std::size_t> indices); // that these are there
Status refuseInput(const OpInputs& in, std::size_t index,
                   const std::string& name); // one that has no meaning on a CPU

std::optional<Dim> dimOf(const OpInputs& in, std::size_t index,
                         std::size_t axis); // none where the rank is not known
bool isIndex(DType type);                   // int32, int64
DType statisticType(DType type); // of a mean or factor that a norm puts out, open where the input's is

} // namespace tunesmith::ops
