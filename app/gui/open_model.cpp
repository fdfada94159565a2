// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/open_model.h"
#include "widgets/base/foreign_text.h"
#include <QLocale>
#include <map>

namespace tunesmith {
namespace {

constexpr std::size_t kRows = 300; // of a section of properties

QString text(const std::string& bytes) {
    return oneLine(bytes);
}

QString dims(const TensorSpec& tensor) {
    if (!tensor.dims)
        return QStringLiteral("?");
    QStringList parts;
    for (const Dim& dim : *tensor.dims)
        parts << text(dimText(dim));
    return parts.isEmpty() ? text(tensor.shapeText()) : oneLine(parts.join(QStringLiteral(" × ")));
}

Result<GraphLayout> layOut(const GraphScene& scene, const ModelPicture& picture, const QFont& font,
                           const StopToken& stop) {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    for (const GraphNode& node : scene.nodes) {
        const QSizeF size = cardSize(node, font);
        nodes.push_back({static_cast<float>(size.width()), static_cast<float>(size.height())});
    }
    std::map<std::pair<std::size_t, std::string>, int> groups; // the same tensor of the same node
    for (const PictureEdge& edge : picture.edges) {
        const int next = static_cast<int>(groups.size());
        const int group = groups.try_emplace({edge.from, edge.tensor.name}, next).first->second;
        edges.push_back({static_cast<int>(edge.from), static_cast<int>(edge.to), group});
    }
    return layeredLayout(nodes, edges, {}, stop);
}

QVector<QPointF> points(const std::vector<LayoutPoint>& from) {
    QVector<QPointF> to;
    for (const LayoutPoint& point : from)
        to.push_back({point.x, point.y});
    return to;
}

PropertySection tensors(const QString& title, const std::vector<TensorSpec>& list) {
    PropertySection section{title, {}};
    for (std::size_t i = 0; i < std::min(list.size(), kRows); ++i)
        section.rows.push_back({text(list[i].name), dims(list[i]), text(list[i].type)});
    if (list.size() > kRows)
        section.rows.push_back({QStringLiteral("…"), ModelText::tr("%1 more").arg(list.size() - kRows), {}});
    return section;
}

} // namespace

QString ModelText::count(double number) {
    constexpr struct {
        double from;
        const char* suffix;
    } kUnits[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
    for (const auto& unit : kUnits)
        if (number >= unit.from)
            return QLocale().toString(number / unit.from, 'g', 3) + QLatin1String(unit.suffix);
    return QLocale().toString(number, 'g', 3);
}

QString ModelText::flops(double number) {
    return number < 1e3 ? tr("%1 FLOP").arg(count(number))
                        : tr("%1FLOP").arg(count(number)); // "128 FLOP", "3.64 GFLOP"
}

QString ModelText::shape(const TensorSpec& tensor) {
    return text(tensor.type) + QLatin1Char(' ') + dims(tensor);
}

QString ModelText::summary(const ModelInfo& info) {
    const QString size = tr("%1 nodes").arg(info.nodes) + QStringLiteral(" · ") +
                         tr("%1 parameters").arg(count(static_cast<double>(info.parameters)));
    if (!info.flopsComplete)
        return size;
    return size + QStringLiteral(" · ") + flops(static_cast<double>(info.flops));
}

QString ModelText::operatorNames(const std::vector<NodeProblem>& nodes) {
    std::map<std::string, int> operators;
    for (const NodeProblem& node : nodes)
        ++operators[node.op];
    constexpr int kNamed = 5;
    QStringList names;
    for (const auto& [name, times] : operators)
        if (names.size() < kNamed)
            names << tr("%1 (%2)").arg(oneLine(name, 40)).arg(times);
    if (operators.size() > kNamed)
        names << tr("and others");
    return names.join(QStringLiteral(", "));
}

QString ModelText::unsupported(const ModelInfo& info) {
    if (info.unsupported.empty())
        return {};
    return tr("%1 of %2 nodes cannot be computed: %3. The graph can be looked at, but not tuned or exported.")
        .arg(info.unsupported.size())
        .arg(info.nodes)
        .arg(operatorNames(info.unsupported));
}

QString ModelText::warnings(const ModelInfo& info) {
    if (info.warnings.empty())
        return {};
    const QString first = oneLine(info.warnings.front(), 300);
    return info.warnings.size() == 1 ? first : tr("%1 (and %2 more)").arg(first).arg(info.warnings.size() - 1);
}

QString ModelText::notCompiled(const ModelInfo& info) {
    if (info.notCompiled.empty())
        return {};
    return tr("Not compiled, so computed by the reference kernels, also in exported modules: %1. All else is tuned.")
        .arg(operatorNames(info.notCompiled));
}

GraphNode ModelText::card(const PictureNode& node) {
    GraphNode card;
    card.title = text(node.title);
    card.category = static_cast<GraphCategory>(node.category);
    card.subtitle = node.outputs.empty() ? text(node.subtitle) : dims(node.outputs.front());
    if (node.category != PictureNode::Category::io)
        card.details.push_back({tr("name"), text(node.subtitle)});
    for (const TensorSpec& weight : node.weights)
        card.details.push_back({text(weight.name), dims(weight)});
    for (const auto& [name, value] : node.attributes)
        card.details.push_back({text(name), text(value)});
    if (!node.problem.empty())
        card.badge = tr("not supported");
    else if (!node.notCompiled.empty())
        card.badge = tr("not compiled");
    else if (node.flops > 0)
        card.badge = flops(static_cast<double>(node.flops));
    return card;
}

NodeProperties ModelText::properties(const PictureNode& node) {
    NodeProperties shown{text(node.title), text(node.subtitle), {}};
    if (!node.domain.empty())
        shown.subtitle += QStringLiteral(" · ") + text(node.domain);
    if (!node.problem.empty())
        shown.sections.push_back(
            {tr("Not supported"), {{tr("reason"), oneLine(node.problem, kValueLength), {}}}});
    if (!node.notCompiled.empty())
        shown.sections.push_back(
            {tr("Not compiled"), {{tr("reason"), oneLine(node.notCompiled, kValueLength), {}}}});
    PropertySection attributes{tr("Attributes"), {}};
    for (const auto& [name, value] : node.attributes)
        attributes.rows.push_back({text(name), oneLine(value, kValueLength), {}});
    PropertySection work{tr("Work"), {}};
    if (node.flops > 0)
        work.rows.push_back({tr("operations"), flops(static_cast<double>(node.flops)), {}});
    for (const PropertySection& section :
         {attributes, tensors(tr("Inputs"), node.inputs), tensors(tr("Weights"), node.weights),
          tensors(tr("Outputs"), node.outputs), work})
        if (!section.rows.isEmpty())
            shown.sections.push_back(section);
    return shown;
}

Result<GraphScene> layOutPicture(const ModelPicture& picture, const QFont& font, const StopToken& stop) {
    GraphScene scene;
    for (const PictureNode& node : picture.nodes) {
        scene.nodes.push_back(ModelText::card(node));
        scene.nodes.back().id = scene.nodes.size() - 1;
    }
    TS_ASSIGN(const GraphLayout layout, layOut(scene, picture, font, stop));
    for (int i = 0; i < scene.nodes.size(); ++i) {
        const LayoutRect& rect = layout.nodes[i];
        scene.nodes[i].rect = {rect.x, rect.y, rect.width, rect.height};
    }
    for (std::size_t i = 0; i < picture.edges.size(); ++i) {
        const PictureEdge& edge = picture.edges[i];
        scene.edges.push_back({static_cast<int>(edge.from), static_cast<int>(edge.to),
                               text(edge.tensor.name) + QLatin1Char('\n') + ModelText::shape(edge.tensor),
                               points(layout.edges[i].points), points(layout.edges[i].arrival)});
    }
    scene.size = {layout.width, layout.height};
    return scene;
}

Result<OpenModelPtr> loadModel(const std::string& fileOrSample, const Dimensions& dimensions,
                               const QFont& font, const Work& work) {
    auto opened = std::make_shared<OpenModel>();
    TS_ASSIGN(opened->model, openModel(fileOrSample, dimensions, work));
    opened->dimensions = dimensions;
    opened->notExported = whyNotExported(opened->model);
    work.report("laying out the graph");
    opened->picture = drawModel(opened->model);
    TS_ASSIGN(opened->scene, layOutPicture(opened->picture, font, work.stop));
    return OpenModelPtr(std::move(opened));
}

GraphOverlay flopsOverlay(const ModelPicture& picture) {
    GraphOverlay overlay{ModelText::tr("Operations"), ModelText::tr("MFLOP"), {}};
    for (const PictureNode& node : picture.nodes)
        overlay.values.push_back(node.flops > 0 ? static_cast<double>(node.flops) / 1e6 : std::nan(""));
    return overlay;
}

} // namespace tunesmith
