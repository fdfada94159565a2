// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/kernel.h"

namespace tunesmith::ops {

// What the operators that move elements without computing on them share: registration, strided copies, index maps.

// Allocates its outputs itself; `types` are what the shape rule says for the concrete inputs. Strings arrive as int64
// indices into a table that the wrapper keeps, so that a kernel which only moves bytes moves them too.
using MoveKernel = std::function<Status(EvalContext&, const std::vector<TensorType>& types)>;

// Like addOperator() of kernel.h, but outputs are not allocated beforehand (an alias shares its input's bytes) and 16-bit
// floats stay as they are.
void addMovement(OperatorList& list, const std::string& name, Fusion fusion, std::int64_t sinceOpset, Arity arity,
                 const InferRule& infer, const MoveKernel& kernel, LowerRule lower = {}, LowerableRule lowerable = {});

// Elements of a buffer seen under another shape; strides and offset count elements, strides may be 0 or negative.
struct View {
    Shape shape, strides;
    std::int64_t offset = 0;
};
View wholeView(const Tensor& tensor);
void copyView(const Tensor& from, const View& source, Tensor& to, const View& target); // shapes must be equal
Tensor gatherView(const Tensor& from, const View& source, Shape shape);                // a new tensor of that shape

// out[i, j, ...] = from[maps[0][i], maps[1][j], ...]; where any map says -1 the one-element tensor `fill` is taken.
using IndexMaps = std::vector<std::vector<std::int64_t>>;
Tensor gatherMapped(const Tensor& from, const IndexMaps& maps, const Tensor& fill);

// Calls visitor with an unsigned integer as wide as the element type.
template <class Visitor> void visitWidth(DType type, Visitor&& visitor) {
    switch (byteSize(type)) {
    case 1: return visitor(std::uint8_t{});
    case 2: return visitor(std::uint16_t{});
    case 4: return visitor(std::uint32_t{});
    default: return visitor(std::uint64_t{});
    }
}
template <class T> const T* rawData(const Tensor& tensor) { return reinterpret_cast<const T*>(tensor.bytes().data()); }
template <class T> T* rawData(Tensor& tensor) { return reinterpret_cast<T*>(tensor.mutableBytes().data()); }

// An integer list that older opsets give as attribute and newer ones as input. `given` is false when it is left out,
// `known` is false for an input without a constant value.
struct IntList {
    bool given = false, known = true;
    std::vector<std::int64_t> values;
};
Result<IntList> intList(const OpInputs& in, const std::string& attribute, std::size_t input); // an Error where the input holds no int32 or int64
std::vector<std::int64_t> intList(const EvalContext& context, const std::string& attribute, std::size_t input,
                                  const std::vector<std::int64_t>& fallback = {});

Status requireConstant(const OpInputs& in, std::size_t index, const char* what); // for lowerable()
Status requireIndexType(const OpInputs& in, std::size_t index);                 // int32 or int64

// Axes counted from the front; an Error when one is out of range or comes twice.
Result<std::vector<std::size_t>> frontAxes(const OpInputs& in, const std::vector<std::int64_t>& axes, std::size_t rank);

// The product of dimensions, where a single named one survives: batch * 1 is batch, batch * 2 is unknown.
Dim productOf(Dims::const_iterator first, Dims::const_iterator last);

// A cast of an element to an index, negative ones counted from the back, and clamped so that a lowered kernel never reads
// outside of its tensor.
loops::Expr safeIndex(const loops::Expr& index, std::int64_t extent);
loops::Expr zeroOf(DType type);
loops::Expr oneOf(DType type);
loops::Expr elementConstant(const Tensor& tensor, std::int64_t index = 0); // of its own type

} // namespace tunesmith::ops
