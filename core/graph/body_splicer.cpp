// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/body_splicer.h"

#include <algorithm>
#include <cassert>
#include "core/graph/derived_name.h"

namespace tunesmith {
namespace {

using NameOf = std::function<std::string(const std::string& captured)>;

Attribute renamed(const Attribute& attribute, const NameOf& nameOf);

// The same body, which reads other names of the graphs around it.
Graph renamed(const Graph& body, const NameOf& nameOf) {
    GraphBuilder builder(body.name());
    for (const auto& [domain, version] : body.opsets())
        builder.setOpset(domain, version);
    const auto ownOr = [&](const std::string& name) {
        const ValueId own = body.findValue(name);
        const auto& captures = body.captures();
        const bool outer = !own.valid() || std::find(captures.begin(), captures.end(), own) != captures.end();
        return outer ? nameOf(name) : name;
    };
    std::vector<ValueId> copies(body.valueCount());
    for (const ValueId id : body.inputs())
        copies[id.index()] = builder.addInput(body.value(id).name, body.value(id).type);
    for (std::size_t i = 0; i < body.valueCount(); ++i)
        if (const Value& value = *body.values()[i]; !copies[i].valid())
            copies[i] = value.isConstant()       ? builder.addConstant(value.name, value.constant)
                        : value.producer.valid() ? builder.addValue(value.name, value.type)
                                                 : builder.addCapture(ownOr(value.name), value.type);
    for (const auto& node : body.nodes()) {
        Node copy = *node;
        for (auto* ids : {&copy.inputs, &copy.outputs})
            for (ValueId& id : *ids)
                id = id.valid() ? copies[id.index()] : id;
        for (auto& [key, attribute] : copy.attributes)
            attribute = renamed(attribute, ownOr);
        builder.addNode(std::move(copy));
    }
    std::vector<ValueId> outputs;
    for (const ValueId id : body.outputs())
        outputs.push_back(copies[id.index()]);
    builder.setOutputs(std::move(outputs));
    const auto built = builder.build();
    assert(built.ok() && "only names changed");
    return built.valueOr(body);
}

Attribute renamed(const Attribute& attribute, const NameOf& nameOf) {
    if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
        return std::make_shared<const Graph>(renamed(**body, nameOf));
    return attribute;
}

} // namespace

Status BodySplicer::addLeaves(const std::vector<ValueId>& inputs) {
    if (inputs.size() != body_.inputs().size())
        return inputError("the body '" + body_.name() + "' has " + std::to_string(body_.inputs().size()) + " inputs and is given " +
                          std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i)
        copies_[body_.inputs()[i].index()] = inputs[i];
    for (const ValueId id : body_.captures()) {
        copies_[id.index()] = findCaptured_(body_.value(id).name);
        if (!copies_[id.index()].valid())
            return inputError("the body '" + body_.name() + "' reads value '" + body_.value(id).name + "', which is not known around it");
    }
    for (std::size_t i = 0; i < body_.valueCount(); ++i) {
        const Value& value = *body_.values()[i];
        const ValueId id(static_cast<std::int64_t>(i));
        if (value.isConstant() && !constants_.contains(id))
            constants_[id] = builder_.addConstant(derivedName(prefix_, value.name), value.constant);
        if (value.isConstant())
            copies_[i] = constants_[id];
        else if (value.producer.valid())
            copies_[i] = builder_.addValue(derivedName(prefix_, value.name), value.type.opaque ? value.type : TensorType(value.type.dtype));
    }
    return {};
}

void BodySplicer::addNode(const Node& node) {
    Node copy = node;
    copy.name = derivedName(prefix_, node.name);
    for (auto* ids : {&copy.inputs, &copy.outputs})
        for (ValueId& id : *ids)
            id = id.valid() ? copies_[id.index()] : id;
    for (auto& [key, attribute] : copy.attributes)
        attribute = renamed(attribute, [this](const std::string& name) {
            const ValueId own = body_.findValue(name);
            const ValueId meant = own.valid() ? copies_[own.index()] : findCaptured_(name);
            return meant.valid() ? builder_.value(meant).name : name;
        });
    builder_.addNode(std::move(copy));
}

Result<std::vector<ValueId>> BodySplicer::splice(const std::vector<ValueId>& inputs) {
    copies_.assign(body_.valueCount(), ValueId());
    TS_TRY(addLeaves(inputs));
    for (const auto& node : body_.nodes())
        addNode(*node);
    std::vector<ValueId> outputs;
    for (const ValueId id : body_.outputs())
        outputs.push_back(copies_[id.index()]);
    return outputs;
}

} // namespace tunesmith
