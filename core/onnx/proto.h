// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Debian's generated classes of the ONNX schema. Included by the .cpp files of this folder only: a second
// generated copy of package `onnx` in one process aborts it, and the header takes seconds to compile.
#include <onnx/onnx_pb.h>
#include <onnx/onnx-data_pb.h>

namespace tunesmith {

// Attributes that a Graph has no form for (types, sparse tensors) travel as text: this prefix and the
// serialized message.
inline constexpr char kOpaqueAttribute[] = "onnx.AttributeProto:";

// Files of the first IR versions leave the type out: it is then what is there. A field of another type than the stated one says nothing.
inline onnx::AttributeProto::AttributeType kindOf(const onnx::AttributeProto& proto) {
    using A = onnx::AttributeProto;
    if (proto.type() != A::UNDEFINED)
        return proto.type();
    return proto.has_f()          ? A::FLOAT
           : proto.has_i()        ? A::INT
           : proto.has_s()        ? A::STRING
           : proto.has_t()        ? A::TENSOR
           : proto.has_g()        ? A::GRAPH
           : proto.floats_size()  ? A::FLOATS
           : proto.ints_size()    ? A::INTS
           : proto.strings_size() ? A::STRINGS
                                  : A::UNDEFINED;
}

inline bool isBody(const onnx::AttributeProto& proto) { return proto.has_g() && kindOf(proto) == onnx::AttributeProto::GRAPH; }

} // namespace tunesmith
