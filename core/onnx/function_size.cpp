// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/function_size.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include <google/protobuf/unknown_field_set.h>

#include "core/onnx/proto.h"
#include "core/onnx/utf8.h"

namespace tunesmith {

template <class Message> std::vector<std::string> laterField(const Message& message, int number) {
    std::vector<std::string> values;
    const auto& unknown = message.GetReflection()->GetUnknownFields(message);
    for (int i = 0; i < unknown.field_count(); ++i)
        if (const auto& field = unknown.field(i);
            field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
            values.push_back(field.length_delimited());
    return values;
}

namespace {

constexpr std::uint64_t kMostNodes = 200'000;
constexpr std::uint64_t kMostAdded = std::uint64_t{256} << 20; // bytes beyond those of the model
constexpr std::size_t kMostCalls = 256, kMostBodies = 64;      // within each other
constexpr std::uint64_t kEnough = std::uint64_t{1} << 62;      // where sums end
constexpr std::uint64_t kNumber = 16;                          // bytes of what tells calls apart

// Of nodes when all calls are written out.
struct Extent {
    std::uint64_t nodes = 0, bytes = 0;
    std::size_t calls = 0, bodies = 0; // within each other

    void add(const Extent& other) {
        nodes = std::min(nodes + other.nodes, kEnough);
        bytes = std::min(bytes + other.bytes, kEnough);
        calls = std::max(calls, other.calls);
        bodies = std::max(bodies, other.bodies);
    }
};

struct Place {
    std::size_t calls = 0, bodies = 0; // around it
};

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

class Measure {
public:
    explicit Measure(const FunctionTable& functions) : functions_(functions) {}

    // The largest name and attribute that a call hands in.
    void findLargest(const Nodes& nodes) {
        for (const auto& node : nodes) {
            const bool call = functions_.contains(keyOf(node));
            for (const auto* names : {&node.input(), &node.output()})
                for (const std::string& name : *names)
                    longestName_ = std::max<std::uint64_t>(longestName_, call ? name.size() : 0);
            for (const auto& attribute : node.attribute()) {
                largestAttribute_ = std::max<std::uint64_t>(largestAttribute_, call ? attribute.ByteSizeLong() : 0);
                if (isBody(attribute))
                    findLargest(attribute.g().node());
            }
        }
    }

    Result<Extent> of(const Nodes& nodes, Place place) {
        Extent all;
        for (const auto& node : nodes) {
            const auto called = functions_.find(keyOf(node));
            if (called != functions_.end())
                TS_TRY(refuseBodies(node));
            TS_ASSIGN(const Extent one, called == functions_.end() ? ofBodies(node, place) : ofCall(*called, place));
            all.add(one);
        }
        return all;
    }

private:
    Result<Extent> ofBodies(const onnx::NodeProto& node, Place place) {
        Extent all{1, renamed(node)};
        for (const auto& attribute : node.attribute()) {
            if (!isBody(attribute))
                continue;
            TS_TRY(checkPlace({place.calls, place.bodies + 1}));
            TS_ASSIGN(Extent body, of(attribute.g().node(), {place.calls, place.bodies + 1}));
            ++body.bodies;
            all.add(body);
        }
        return all;
    }

    // A body that is handed in may lie anywhere, and call anything.
    static Status refuseBodies(const onnx::NodeProto& call) {
        if (std::ranges::none_of(call.attribute(), [](const auto& attribute) { return isBody(attribute) || attribute.graphs_size() > 0; }))
            return {};
        return unsupportedError("node " + shownName(call.name()) + " gives its function " + shownName(call.op_type()) +
                                " a body as an attribute: inline it with onnx.inliner first");
    }

    Result<Extent> ofCall(const FunctionTable::value_type& function, Place place) {
        const auto& [key, proto] = function;
        TS_TRY(checkPlace({place.calls + 1, place.bodies}));
        const auto known = known_.find(key);
        if (known != known_.end()) {
            TS_TRY(checkPlace({place.calls + known->second.calls, place.bodies + known->second.bodies}));
            return known->second;
        }
        if (!open_.insert(key).second)
            return inputError("the function " + shownName(key.name) + " calls itself");
        TS_ASSIGN(Extent body, of(proto->node(), {place.calls + 1, place.bodies}));
        for (const auto& node : proto->node())
            body.add({0, node.ByteSizeLong()});
        ++body.calls;
        open_.erase(key);
        return known_[key] = body;
    }

    // Bytes that its names and its references to attributes may grow by.
    std::uint64_t renamed(const onnx::NodeProto& node) const {
        const auto names = static_cast<std::uint64_t>(1 + node.input_size() + node.output_size());
        const auto references = static_cast<std::uint64_t>(std::ranges::count_if(
            node.attribute(), [](const auto& attribute) { return !attribute.ref_attr_name().empty(); }));
        return names * (kLongestPrefix + kNumber + longestName_) + references * largestAttribute_;
    }

    static Status checkPlace(Place place) {
        if (place.calls > kMostCalls)
            return unsupportedError("its functions call each other more than " + std::to_string(kMostCalls) + " deep");
        if (place.bodies > kMostBodies)
            return unsupportedError("with its functions written out, bodies lie more than " + std::to_string(kMostBodies) +
                                    " deep within each other");
        return {};
    }

    const FunctionTable& functions_;
    std::uint64_t longestName_ = 0, largestAttribute_ = 0;
    std::map<FunctionKey, Extent> known_;
    std::set<FunctionKey> open_;
};

template <class Message> FunctionKey keyFrom(const Message& message, const std::string& name, int overloadField) {
    const std::vector<std::string> overloads = laterField(message, overloadField);
    return {standardDomain(message.domain()), name, overloads.empty() ? std::string() : overloads.back()};
}

} // namespace

template std::vector<std::string> laterField(const onnx::FunctionProto&, int);
template std::vector<std::string> laterField(const onnx::NodeProto&, int);

std::string shownName(const std::string& name) {
    constexpr std::size_t kLongest = 100;
    if (!isUtf8(name))
        return "'?'";
    if (name.size() <= kLongest)
        return "'" + name + "'";
    std::string cut = name.substr(0, kLongest);
    while (!isUtf8(cut))
        cut.pop_back(); // part of a sign
    return "'" + cut + "…'";
}
std::string standardDomain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }
FunctionKey keyOf(const onnx::FunctionProto& function) { return keyFrom(function, function.name(), 13); }
FunctionKey keyOf(const onnx::NodeProto& node) { return keyFrom(node, node.op_type(), 8); }

Status checkWrittenOut(const onnx::ModelProto& model, const FunctionTable& functions) {
    Measure measure(functions);
    measure.findLargest(model.graph().node());
    for (const auto& function : model.functions())
        measure.findLargest(function.node());
    TS_ASSIGN(const Extent whole, measure.of(model.graph().node(), {}));
    if (whole.nodes > kMostNodes + static_cast<std::uint64_t>(model.graph().node_size()))
        return unsupportedError("its functions make more than " + std::to_string(kMostNodes) + " nodes");
    if (whole.bytes > model.ByteSizeLong() + kMostAdded)
        return unsupportedError("its functions, written out, take " + std::to_string(kMostAdded >> 20) +
                                " MB more than the model: make constants of functions initializers of the model");
    return {};
}

} // namespace tunesmith
