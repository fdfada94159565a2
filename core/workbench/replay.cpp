// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/replay.h"

#include <map>
#include <tuple>

#include "core/workbench/node_places.h"

namespace tunesmith {
namespace {

class Replayer {
public:
    Result<ReplayPicture> run(std::span<const Graph> graphs, const StopToken& stop) {
        for (const Graph& graph : graphs) {
            if (stop.stopRequested())
                return cancelledError();
            visit(graph);
            ++replay_.graphs;
        }
        return std::move(replay_);
    }

private:
    void visit(const Graph& graph) {
        const NodePlaces::Places places = finder_.next(graph);
        hereNodes_.assign(replay_.picture.nodes.size(), false);
        hereEdges_.assign(replay_.picture.edges.size(), false);
        makers_.assign(graph.valueCount(), {NodePlaces::kNone, 0});
        for (std::size_t i = 0; i < places.inputs.size(); ++i)
            addTerminal(graph, graph.inputs()[i], places.inputs[i], true);
        for (std::size_t i = 0; i < places.nodes.size(); ++i)
            if (places.nodes[i] != NodePlaces::kNone)
                addNode(graph, NodeId(static_cast<std::int64_t>(i)), places.nodes[i]);
        for (std::size_t i = 0; i < places.outputs.size(); ++i) {
            addTerminal(graph, graph.outputs()[i], places.outputs[i], false);
            connect(graph, graph.outputs()[i], places.outputs[i]);
        }
        note(replay_.nodeTurns, hereNodes_);
        note(replay_.edgeTurns, hereEdges_);
    }

    // A turn for everything that was not as it is.
    void note(std::vector<std::vector<int>>& turns, const std::vector<bool>& present) const {
        turns.resize(present.size());
        for (std::size_t i = 0; i < turns.size(); ++i)
            if ((turns[i].size() % 2 == 1) != present[i])
                turns[i].push_back(replay_.graphs);
    }

    static TensorSpec spec(const Graph& graph, ValueId id) { return specOf(graph.value(id).name, graph.value(id).type); }

    template <class Draw> void put(std::size_t place, Draw draw) {
        if (place == replay_.picture.nodes.size()) {
            replay_.picture.nodes.push_back(draw());
            hereNodes_.push_back(true);
        }
        hereNodes_[place] = true;
    }

    void addTerminal(const Graph& graph, ValueId id, std::size_t place, bool input) {
        put(place, [&] {
            PictureNode node{graph.value(id).name, input ? "input" : "output", PictureNode::Category::io, {}, {}, {}, {}, 0};
            (input ? node.outputs : node.inputs).push_back(spec(graph, id));
            return node;
        });
        if (input)
            makers_[id.index()] = {place, 0};
    }

    void addNode(const Graph& graph, NodeId id, std::size_t place) {
        const Node& node = graph.node(id);
        put(place, [&] { return drawNode(graph, id, [this](ValueId value) { return makers_[value.index()].first == NodePlaces::kNone; }); });
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                makers_[node.outputs[i].index()] = {place, static_cast<int>(i)};
        for (const ValueId input : node.inputs)
            if (input.valid())
                connect(graph, input, place);
    }

    void connect(const Graph& graph, ValueId id, std::size_t to) {
        const auto [from, output] = makers_[id.index()];
        if (from == NodePlaces::kNone)
            return; // a weight
        const auto [found, fresh] = edges_.try_emplace({from, output, to}, replay_.picture.edges.size());
        if (fresh) {
            replay_.picture.edges.push_back({from, to, spec(graph, id)});
            hereEdges_.push_back(true);
        }
        hereEdges_[found->second] = true;
    }

    NodePlaces finder_; // places are indices into the picture's nodes
    ReplayPicture replay_;
    std::vector<bool> hereNodes_, hereEdges_;
    std::vector<std::pair<std::size_t, int>> makers_; // by value of the graph at hand: node and output
    std::map<std::tuple<std::size_t, int, std::size_t>, std::size_t> edges_;
};

} // namespace

Result<ReplayPicture> drawReplay(std::span<const Graph> graphs, const StopToken& stop) { return Replayer().run(graphs, stop); }

std::vector<Graph> graphsOf(const OptimizedModel& made) {
    std::vector<Graph> graphs{made.before};
    for (const GraphStep& step : made.steps)
        graphs.push_back(step.graph);
    return graphs;
}

} // namespace tunesmith
