// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/graph.h"

#include "core/graph/graph_builder.h"
#include "core/te/comprehension.h"

namespace tunesmith::te {
namespace {

constexpr std::int64_t kOpset = 17; // of ONNX, for what rewriting adds

TensorType typeOf(const Input& input) {
    Dims dims;
    for (const Dimension& dimension : input.dimensions)
        dims.push_back(dimension.name.text.empty() ? Dim(*dimension.size) : Dim::named(dimension.name.text));
    return {input.type, dims};
}

} // namespace

Result<Graph> makeGraph(const Definition& definition) {
    GraphBuilder builder(definition.name.text);
    builder.setOpset("", kOpset);
    builder.setOpset(kDomain, 1);
    std::map<std::string, ValueId> values;
    for (const Input& input : definition.inputs)
        values[input.name.text] = builder.addInput(input.name.text, typeOf(input));
    for (std::size_t i = 0; i < definition.statements.size(); ++i) {
        const std::string& name = definition.statements[i].output.text;
        std::vector<std::string> reads;
        const Comprehension comprehension = Comprehension::of(definition, i, reads);
        Node node;
        node.name = name;
        node.domain = kDomain;
        node.op = comprehension.isElementwise() ? kElementwise : kComprehension;
        node.attributes[kTextAttribute] = comprehension.text();
        for (const std::string& read : reads)
            node.inputs.push_back(values.at(read));
        values[name] = builder.addValue(name);
        node.outputs = {values.at(name)};
        builder.addNode(std::move(node));
    }
    std::vector<ValueId> outputs;
    for (const Name& output : definition.outputs)
        outputs.push_back(values.at(output.text));
    builder.setOutputs(std::move(outputs));
    return builder.build();
}

} // namespace tunesmith::te
