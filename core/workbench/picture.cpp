// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/picture.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/ops/lower_node.h"
#include "core/workbench/picture_category.h"

namespace tunesmith {
namespace {

using Category = PictureNode::Category;

class Artist {
public:
    explicit Artist(const Model& model) : model_(model), graph_(model.graph()) {}

    ModelPicture draw() {
        for (const NodeProblem& problem : model_.info().unsupported)
            problems_[problem.node] = problem.reason;
        for (const NodeProblem& problem : model_.info().notCompiled)
            notCompiled_.emplace(drawnName(problem.node), problem.reason);
        for (const ValueId id : graph_.inputs())
            drawInput(id);
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            drawNode(NodeId(static_cast<std::int64_t>(i)));
        for (const ValueId id : graph_.outputs())
            drawOutput(id);
        return std::move(picture_);
    }

private:
    // Nodes that another one was written with are called after it: "loop/NonZero_3", "loop.Where".
    std::string drawnName(std::string name) const {
        while (!graph_.findNode(name).valid()) {
            const auto cut = name.find_last_of("./");
            if (cut == std::string::npos)
                break;
            name.resize(cut);
        }
        return name;
    }

    TensorSpec spec(ValueId id) const { return specOf(graph_.value(id).name, graph_.value(id).type); }

    std::size_t add(PictureNode node) {
        picture_.nodes.push_back(std::move(node));
        return picture_.nodes.size() - 1;
    }

    void connect(ValueId id, std::size_t to) {
        if (const auto from = makers_.find(id); from != makers_.end())
            picture_.edges.push_back({from->second, to, spec(id)});
    }

    void drawInput(ValueId id) {
        PictureNode node{graph_.value(id).name, graph_.value(id).hasDefault() ? "input with a default" : "input", Category::io, {}, {}, {}, {spec(id)}, 0};
        makers_[id] = add(std::move(node));
    }

    void drawOutput(ValueId id) {
        PictureNode node{graph_.value(id).name, "output", Category::io, {}, {spec(id)}, {}, {}, 0};
        connect(id, add(std::move(node)));
    }

    bool isConstant(ValueId id) const { return graph_.value(id).isConstant() || computed_.contains(id); }

    // Exporters leave whole trees of nodes that only compute constants; drawn, they push the model itself
    // aside.
    bool computesConstant(const Node& node) const {
        const auto constant = [this](ValueId id) { return !id.valid() || isConstant(id); };
        const auto isOutput = [this](ValueId id) {
            return std::ranges::find(graph_.outputs(), id) != graph_.outputs().end();
        };
        return node.domain.empty() && !node.inputs.empty() && std::ranges::all_of(node.inputs, constant) &&
               std::ranges::none_of(node.outputs, isOutput) && !problems_.contains(node.name);
    }

    void drawNode(NodeId id) {
        const Node& node = graph_.node(id);
        if (computesConstant(node)) {
            computed_.insert(node.outputs.begin(), node.outputs.end());
            return;
        }
        PictureNode drawn = tunesmith::drawNode(graph_, id, [this](ValueId value) { return isConstant(value); });
        if (const auto problem = problems_.find(node.name); problem != problems_.end())
            drawn.problem = problem->second;
        if (const auto reason = notCompiled_.find(node.name); reason != notCompiled_.end())
            drawn.notCompiled = reason->second;
        const std::size_t place = add(std::move(drawn));
        for (const ValueId input : node.inputs)
            if (input.valid())
                connect(input, place);
        for (const ValueId output : node.outputs)
            if (output.valid())
                makers_[output] = place;
    }

    const Model& model_;
    const Graph& graph_;
    ModelPicture picture_;
    std::map<ValueId, std::size_t> makers_;
    std::set<ValueId> computed_;                                // by nodes that read nothing but constants
    std::map<std::string, std::string> problems_, notCompiled_; // by the node's name
};

} // namespace

PictureNode drawNode(const Graph& graph, NodeId id, const std::function<bool(ValueId)>& isWeight) {
    const Node& node = graph.node(id);
    const auto spec = [&](ValueId value) { return specOf(graph.value(value).name, graph.value(value).type); };
    PictureNode drawn;
    drawn.title = node.op;
    drawn.domain = node.domain;
    drawn.subtitle = node.name;
    drawn.category = categoryOf(node);
    for (const auto& [key, attribute] : node.attributes)
        drawn.attributes.emplace_back(key, attributeText(attribute));
    for (const ValueId input : node.inputs)
        if (input.valid())
            (isWeight(input) ? drawn.weights : drawn.inputs).push_back(spec(input));
    for (const ValueId output : node.outputs)
        if (output.valid())
            drawn.outputs.push_back(spec(output));
    if (checkComputable(graph, id).ok()) // lowerings trust what the rule has looked at
        if (const auto program = lowerNode(graph, id); program.ok())
            drawn.flops = loops::flopCount(*program);
    return drawn;
}

ModelPicture drawModel(const Model& model) {
    return Artist(model).draw();
}

} // namespace tunesmith
