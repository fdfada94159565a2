// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
} // namespace onnx

namespace tunesmith {

// Functions of one name are told apart by their overload (since IR version 10), and a node says which it calls.
struct FunctionKey {
    std::string domain, name, overload;
    auto operator<=>(const FunctionKey&) const = default;
};
FunctionKey keyOf(const onnx::FunctionProto& function);
FunctionKey keyOf(const onnx::NodeProto& node);
std::string standardDomain(const std::string& domain); // "ai.onnx" is another name of the empty one
// A later field than those that Debian's classes know: all its values, as they are stored.
template <class Message> std::vector<std::string> laterField(const Message& message, int number);
std::string shownName(const std::string& name);

using FunctionTable = std::map<FunctionKey, const onnx::FunctionProto*>;

inline constexpr std::size_t kLongestPrefix = 128; // bytes that a call puts before the names of its function, but for a number

// Whether a model stays within bounds when all calls of its functions are written out: how many nodes there are, how much larger they
// are than the model, how deep calls and bodies lie within each other. Looks at each function once, for ten functions that call the
// next one ten times make 10^10 nodes.
Status checkWrittenOut(const onnx::ModelProto& model, const FunctionTable& functions);

} // namespace tunesmith
