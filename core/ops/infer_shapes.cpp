// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/infer_shapes.h"

#include <algorithm>
#include <set>

#include "core/graph/graph_builder.h"
#include "core/ops/body_types.h"
#include "core/ops/containers.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/node_steps.h"
#include "core/ops/rules.h"

namespace tunesmith {
namespace {

// Only shape computations are followed by value here; weights are the business of constant folding.
constexpr std::int64_t kMaxFollowedInputs = 1 << 16; // elements
constexpr std::int64_t kMaxFollowedOutputs = 4096;
constexpr double kMaxFollowedSteps = 1 << 20;
constexpr int kMostAttempts = 3, kDeepestTurns = 4; // for types that hold on every turn of loops, and of loops within loops
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40; // the rules add extents to attributes without fear

bool isTooLarge(const TensorType& type) {
    if (type.dims && type.dims->size() > ops::kMostDimensions)
        return true;
    return type.nestsTooDeep() || (type.dims && std::ranges::any_of(*type.dims, [](const Dim& dim) { return dim.extent > kLargestExtent; }));
}

Error tooLarge(const std::string& what, const TensorType& type) {
    constexpr std::size_t kMostText = 200; // types may be as long as their names of dimensions, and nest
    const std::string text = type.text();
    return inputError(what + (type.nestsTooDeep() ? " nests too many containers in each other: " : " is too large: ") + text.substr(0, kMostText) + (text.size() > kMostText ? "..." : ""));
}

std::string positionName(const Value& input, std::size_t index) { return input.name + "." + std::to_string(index); }

std::string bindingName(const Value& input, std::size_t index) {
    const Dim& dim = (*input.type.dims)[index];
    return dim.symbol.empty() ? positionName(input, index) : dim.symbol;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

// Applies the bindings to the types of graph inputs.
class Binder {
public:
    Binder(const Graph& graph, const DimBindings& bindings) : graph_(graph), bindings_(bindings) {}

    Status run(std::vector<TensorType>& types) {
        for (const auto& [name, extent] : bindings_)
            if (extent < 0)
                return inputError("dimension '" + name + "' cannot be " + std::to_string(extent));
        for (const ValueId id : graph_.inputs())
            TS_TRY(bindPositions(graph_.value(id), types[id.index()]));
        for (const ValueId id : graph_.inputs())
            bindNames(graph_.value(id), types[id.index()]);
        for (const auto& [name, extent] : bindings_)
            if (!used_.contains(name))
                return unknownName(name);
        return {};
    }

    std::optional<std::int64_t> extentOf(const std::string& symbol) const {
        const auto found = symbols_.find(symbol);
        return found == symbols_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    // "input.1=224" for a named dimension binds that name everywhere.
    Status bindPositions(const Value& input, const TensorType& type) {
        for (std::size_t i = 0; type.dims && i < type.dims->size(); ++i) {
            const Dim& dim = (*type.dims)[i];
            const auto found = bindings_.find(positionName(input, i));
            if (found == bindings_.end())
                continue;
            used_.insert(found->first);
            if (dim.known() && dim.extent != found->second)
                return inputError("dimension '" + found->first + "' is " + std::to_string(dim.extent) +
                                  " in the model and cannot be " + std::to_string(found->second));
            if (!dim.known())
                TS_TRY(bindSymbol(bindingName(input, i), found->second));
        }
        return {};
    }

    Status bindSymbol(const std::string& symbol, std::int64_t extent) {
        const auto named = bindings_.find(symbol);
        const auto bound = symbols_.emplace(symbol, extent).first;
        if (bound->second != extent || (named != bindings_.end() && named->second != extent))
            return inputError("dimension '" + symbol + "' is bound to two different extents");
        return {};
    }

    void bindNames(const Value& input, TensorType& type) {
        for (std::size_t i = 0; type.dims && i < type.dims->size(); ++i) {
            Dim& dim = (*type.dims)[i];
            if (dim.known())
                continue;
            const std::string name = bindingName(input, i);
            if (const auto found = bindings_.find(name); found != bindings_.end()) {
                used_.insert(name);
                symbols_.emplace(name, found->second);
            }
            const auto extent = extentOf(name);
            dim = extent ? Dim(*extent) : Dim::named(name);
        }
    }

    Error unknownName(const std::string& name) const {
        const auto names = bindableDims(graph_);
        return inputError("the model has no symbolic dimension '" + name + "'; " +
                          (names.empty() ? "all its dimensions are fixed" : "it has " + joined(names)));
    }

    const Graph& graph_;
    const DimBindings& bindings_;
    std::set<std::string> used_;
    std::map<std::string, std::int64_t> symbols_;
};

// With other extents than the model was traced with, only element types of intermediate values still hold.
void forgetShapes(const Graph& graph, std::vector<TensorType>& types) {
    for (std::size_t i = 0; i < types.size(); ++i)
        if (graph.values()[i]->producer.valid())
            types[i].dims.reset();
}

struct Trust {
    bool forget = false;          // types that bodies declare for what they compute are not believed
    StaleShapes* stale = nullptr; // where contradicted shapes are told
};

// One graph, or the body of a control flow node inside of another.
class Inference {
public:
    Inference(const Graph& graph, std::vector<TensorType> types, const Inference* outer, Trust trust)
        : graph_(graph), types_(std::move(types)), known_(graph.valueCount()), outer_(outer), trust_(trust),
          depth_(outer ? outer->depth_ + 1 : 0), looksOnly_(false) {
        for (std::size_t i = 0; i < graph_.valueCount(); ++i)
            if (graph_.values()[i]->isConstant())
                known_[i] = graph_.values()[i]->constant;
    }

    // To look at bodies of a graph as it is: nothing of it is copied.
    explicit Inference(const Graph& graph) : graph_(graph), outer_(nullptr), depth_(0), looksOnly_(true) {}

    Status run() {
        TS_TRY(takeCaptures());
        for (std::size_t i = 0; i < graph_.valueCount(); ++i)
            if (isTooLarge(types_[i]))
                return tooLarge("value '" + graph_.values()[i]->name + "'", types_[i]);
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            TS_TRY(inferNode(NodeId(static_cast<std::int64_t>(i))));
        return {};
    }

    // Once, at the end.
    Result<InferredGraph> result() {
        GraphBuilder builder(graph_);
        InferredGraph inferred;
        for (std::size_t i = 0; i < types_.size(); ++i) {
            const ValueId id(static_cast<std::int64_t>(i));
            builder.setType(id, std::move(types_[i]));
            if (!known_[i].absent() && !graph_.value(id).isConstant())
                inferred.known.emplace(id, known_[i]);
        }
        for (auto& [id, node] : rewritten_)
            builder.replaceNode(id, std::move(node));
        types_ = {};
        TS_ASSIGN(inferred.graph, builder.build());
        return inferred;
    }

    Status checkBody(const Graph& body, const Node& node) const {
        const auto inferred = inferTurns(body, node);
        return inferred.ok() ? Status() : Status(inferred.error());
    }

private:
    Status takeCaptures() {
        for (const ValueId id : graph_.captures())
            for (const Inference* scope = outer_; scope; scope = scope->outer_) {
                const ValueId source = scope->graph_.findValue(graph_.value(id).name);
                if (!source.valid())
                    continue;
                types_[id.index()] = scope->typeOf(source);
                known_[id.index()] = scope->knownOf(source);
                break;
            }
        return {};
    }

    Status inferNode(NodeId id) {
        TS_TRY(inferBodies(id));
        const auto rewritten = rewritten_.find(id);
        const Node& node = rewritten == rewritten_.end() ? graph_.node(id) : rewritten->second;
        const Operator* op = findOperator(node.op, node.domain);
        if (!op || !op->infer)
            return {};
        InferContext context = contextFor(node);
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (context.type(i).opaque && !takesContainers(node, i))
                return {}; // refused when it runs
        if (const Status status = op->infer(context); !status.ok()) {
            if (status.error().kind == ErrorKind::unsupported)
                return {}; // opaque, like an unknown operator
            return status;
        }
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                TS_TRY(settle(node, node.outputs[i], context.outputs[i], context.values[i]));
        if (op->deterministic && op->eval)
            follow(node, context);
        return {};
    }

    const TensorType& typeOf(ValueId id) const { return looksOnly_ ? graph_.value(id).type : types_[id.index()]; }
    const Tensor& knownOf(ValueId id) const { return looksOnly_ ? graph_.value(id).constant : known_[id.index()]; }

    InferContext contextFor(const Node& node) const {
        std::vector<TensorType> types(node.inputs.size());
        std::vector<Tensor> constants(node.inputs.size());
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (node.hasInput(i)) {
                types[i] = typeOf(node.inputs[i]);
                constants[i] = knownOf(node.inputs[i]);
            }
        InferContext context(node, effectiveOpset(graph_, node.domain), std::move(types), std::move(constants));
        context.outputs.resize(node.outputs.size());
        context.values.resize(node.outputs.size());
        return context;
    }

    Status inferBodies(NodeId id) {
        const auto isBody = [](const auto& attribute) { return std::holds_alternative<std::shared_ptr<const Graph>>(attribute.second); };
        if (std::ranges::none_of(graph_.node(id).attributes, isBody))
            return {};
        Node node = graph_.node(id);
        std::map<std::string, Error> refused;
        for (auto& [key, attribute] : node.attributes) {
            auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute);
            if (!body)
                continue;
            Result<Graph> inferred = inferTurns(**body, node);
            if (inferred.ok())
                *body = std::make_shared<const Graph>(*std::move(inferred));
            else
                refused.emplace(key, inferred.error());
        }
        if (!refused.empty())
            TS_TRY(settleRefused(node, refused));
        rewritten_.emplace(id, std::move(node));
        return {};
    }

    // A body whose inputs have the types that hold on every turn; where none are found, those that it declares.
    Result<Graph> inferTurns(const Graph& body, const Node& node) const {
        auto operands = depth_ < kDeepestTurns ? bodyOperands(contextFor(node)) : std::nullopt;
        if (!operands || operands->types.size() != body.inputs().size() ||
            body.outputs().size() < operands->firstResult + operands->states)
            return inferBody(body, node);
        for (std::size_t i = 0; i < operands->types.size(); ++i)
            operands->types[i] = mergeTypes(operands->types[i], body.value(body.inputs()[i]).type).valueOr(operands->types[i]);
        for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
            auto inferred = inferBody(body, node, operands->types);
            if (!inferred.ok())
                break;
            bool steady = true;
            for (std::size_t i = 0; i < operands->states; ++i) {
                TensorType& type = operands->types[operands->firstState + i];
                const TensorType& next = inferred->value(inferred->outputs()[operands->firstResult + i]).type;
                steady = steady && covers(type, next);
                type = commonType(type, next);
            }
            if (steady)
                return inferred;
        }
        return inferBody(body, node);
    }

    Result<Graph> inferBody(const Graph& body, const Node& node, const std::vector<TensorType>& inputs = {}) const {
        std::vector<TensorType> types;
        for (const auto& value : body.values())
            types.push_back(value->type);
        if (trust_.forget)
            forgetShapes(body, types);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            types[body.inputs()[i].index()] = inputs[i];
        Inference inner(body, std::move(types), this, trust_);
        TS_TRY(within(inner.run(), node));
        TS_ASSIGN(InferredGraph inferred, inner.result());
        return std::move(inferred.graph);
    }

    // A branch of If that cannot work with these shapes is a branch that is not taken with them: what the node gives is
    // what the other branch gives. Exporters write such pairs, one for each rank.
    Status settleRefused(Node& node, const std::map<std::string, Error>& refused) const {
        const Error& error = refused.begin()->second;
        if (node.op != "If" || refused.size() > 1 || node.inputs.empty())
            return error;
        const bool elseRefused = refused.contains("else_branch");
        if (const Tensor& condition = node.hasInput(0) ? known_[node.inputs[0].index()] : Tensor();
            condition.count() == 1 && (condition.asInt(0) == 0) == elseRefused)
            return error;
        const auto found = node.attributes.find(elseRefused ? "then_branch" : "else_branch");
        using Body = std::shared_ptr<const Graph>;
        Body* const body = std::get_if<Body>(&node.attributes[elseRefused ? "else_branch" : "then_branch"]);
        const Body* const other = found == node.attributes.end() ? nullptr : std::get_if<Body>(&found->second);
        if (!body || !other || (*body)->outputs().size() != (*other)->outputs().size())
            return error;
        GraphBuilder builder(**body);
        for (std::size_t i = 0; i < (*body)->outputs().size(); ++i)
            builder.setType((*body)->outputs()[i], (*other)->value((*other)->outputs()[i]).type);
        TS_ASSIGN(Graph adopted, builder.build());
        *body = std::make_shared<const Graph>(std::move(adopted));
        return {};
    }

    static Status within(Status status, const Node& node) {
        return status.ok() ? status : Status(status.error().within("in the body of node '" + node.name + "' (" + node.op + ")"));
    }

    // An operator that only shares its bytes has as many elements as its input, also where the rule does not know the shape.
    bool keepsElements(const Node& node, const TensorType& output) const {
        if (findOperator(node.op, node.domain)->fusion != Fusion::alias || !node.hasInput(0))
            return true;
        const TensorType& input = types_[node.inputs[0].index()];
        return !input.isStatic() || !output.isStatic() || input.dtype != output.dtype ||
               checkedElementCount(input.shape()) == checkedElementCount(output.shape());
    }

    // What the rule says of one output and what the model declares, together.
    Result<TensorType> merged(const Node& node, ValueId id, const TensorType& inferred) const {
        const TensorType& declared = types_[id.index()];
        if (auto both = mergeTypes(inferred, declared); both.ok() && keepsElements(node, *both))
            return both;
        const std::string sentence = "node '" + node.name + "' (" + node.op + "): its output '" + graph_.value(id).name + "' is " +
                                     inferred.text() + " but the model declares " + declared.text();
        const auto kept = mergeTypes(inferred, declared.opaque ? declared : TensorType(declared.dtype));
        if (!trust_.stale || !kept.ok() || !keepsElements(node, *kept))
            return inputError(sentence);
        if (std::ranges::find(*trust_.stale, sentence) == trust_.stale->end()) // bodies are looked at more than once
            trust_.stale->push_back(sentence);
        return kept;
    }

    Status settle(const Node& node, ValueId id, const TensorType& inferred, const Tensor& value) {
        TensorType& type = types_[id.index()];
        TS_ASSIGN(type, merged(node, id, inferred));
        if (isTooLarge(type) || (type.isStatic() && !byteSizeOf(type)))
            return tooLarge("node '" + node.name + "' (" + node.op + "): its output", type);
        if (!value.absent()) {
            known_[id.index()] = value;
            type = TensorType(value.type(), value.shape());
        }
        return {};
    }

    // Computes small nodes whose inputs are all known. A kernel that refuses says so when the model runs.
    void follow(const Node& node, const InferContext& context) {
        std::int64_t inputs = 0, outputs = 0;
        std::vector<Tensor> values;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.hasInput(i) && !context.isConstant(i))
                return;
            values.push_back(context.constant(i));
            inputs += std::min(walkedElements(values.back().shape()).value_or(kLargestExtent), kLargestExtent);
        }
        bool missing = false;
        for (const ValueId id : node.outputs) {
            if (!id.valid())
                continue;
            const TensorType& type = types_[id.index()];
            if (!type.isStatic())
                return;
            outputs += std::min(walkedElements(type.shape()).value_or(kLargestExtent), kLargestExtent);
            missing = missing || known_[id.index()].absent();
        }
        if (!missing || inputs > kMaxFollowedInputs || outputs > kMaxFollowedOutputs || nodeSteps(context) > kMaxFollowedSteps)
            return;
        const auto results = evaluateNode(node, context.opset, values);
        for (std::size_t i = 0; results.ok() && i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                known_[node.outputs[i].index()] = (*results)[i];
    }

    const Graph& graph_;
    std::vector<TensorType> types_;
    std::vector<Tensor> known_;
    const Inference* outer_;
    Trust trust_;
    int depth_;
    bool looksOnly_; // types and values are those of the graph
    std::map<NodeId, Node> rewritten_; // with bodies whose types are inferred
};

// Where no rule reached an output, the declaration with bound names is all there is.
void declareOutputs(const Graph& graph, const Binder& binder, std::vector<TensorType>& types) {
    for (const ValueId id : graph.outputs()) {
        TensorType& type = types[id.index()];
        const auto node = graph.value(id).producer;
        if (!node.valid() || findOperator(graph.node(node).op, graph.node(node).domain))
            continue;
        type = graph.value(id).type;
        for (std::size_t i = 0; type.dims && i < type.dims->size(); ++i)
            if (const auto extent = binder.extentOf((*type.dims)[i].symbol))
                (*type.dims)[i] = Dim(*extent);
    }
}

} // namespace

std::vector<std::string> bindableDims(const Graph& graph) {
    std::vector<std::string> names;
    std::set<std::string> known;
    for (const ValueId id : graph.inputs()) {
        const Value& input = graph.value(id);
        for (std::size_t i = 0; input.type.dims && i < input.type.dims->size(); ++i) {
            if ((*input.type.dims)[i].known())
                continue;
            const std::string name = bindingName(input, i);
            if (known.insert(name).second)
                names.push_back(name);
        }
    }
    return names;
}

Result<TensorType> mergeTypes(const TensorType& preferred, const TensorType& other) {
    const auto contradiction = [&] { return inputError(preferred.text() + " contradicts " + other.text()); };
    TensorType merged = preferred;
    if (preferred.opaque || other.opaque) {
        const TensorType& tensor = preferred.opaque ? other : preferred;
        if (!tensor.opaque && (tensor.dims || tensor.dtype != DType::undefined))
            return contradiction();
        if (!preferred.opaque || !other.opaque || preferred.opaque->kind != other.opaque->kind || !preferred.opaque->element)
            return preferred.opaque ? preferred : other;
        const auto element = mergeTypes(*preferred.opaque->element, *other.opaque->element);
        return !element.ok()                              ? preferred
               : *element == *other.opaque->element       ? other // as the model has it
               : preferred.is(OpaqueType::Kind::sequence) ? TensorType::sequenceOf(*element)
                                                          : TensorType::optionalOf(*element);
    }
    if (merged.dtype == DType::undefined)
        merged.dtype = other.dtype;
    else if (other.dtype != DType::undefined && other.dtype != merged.dtype)
        return contradiction();
    if (!merged.dims)
        merged.dims = other.dims;
    if (!other.dims)
        return merged;
    if (merged.dims->size() != other.dims->size())
        return contradiction();
    for (std::size_t i = 0; i < merged.dims->size(); ++i) {
        Dim& dim = (*merged.dims)[i];
        const Dim& stated = (*other.dims)[i];
        if (dim.known() && stated.known() && dim.extent != stated.extent)
            return contradiction();
        if (!dim.known() && (stated.known() || dim.symbol.empty()))
            dim = stated;
    }
    return merged;
}

Status checkBody(const Graph& graph, const Node& node, const std::string& attribute) {
    const auto found = node.attributes.find(attribute);
    const auto* body = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&found->second);
    if (!body || !*body)
        return inputError("node '" + node.name + "' (" + node.op + ") has no " + attribute);
    return Inference(graph).checkBody(**body, node);
}

Result<InferredGraph> inferShapesAndValues(const Graph& graph, const DimBindings& bindings, StaleShapes* stale) {
    std::vector<TensorType> types;
    for (const auto& value : graph.values())
        types.push_back(value->type);
    Binder binder(graph, bindings);
    TS_TRY(binder.run(types));
    if (!bindings.empty()) {
        forgetShapes(graph, types);
        declareOutputs(graph, binder, types);
    }
    Inference inference(graph, std::move(types), nullptr, {!bindings.empty(), stale});
    TS_TRY(inference.run());
    return inference.result();
}

Result<Graph> inferShapes(const Graph& graph, const DimBindings& bindings, StaleShapes* stale) {
    TS_ASSIGN(InferredGraph inferred, inferShapesAndValues(graph, bindings, stale));
    return std::move(inferred.graph);
}

} // namespace tunesmith
