// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/model.h"
#include "core/workbench/picture.h"
#include "widgets/graph/graph_scene.h"
#include "widgets/graph/properties_panel.h"
#include <QCoreApplication>
#include <memory>

namespace tunesmith {

// A model as the window holds it: read, drawn and laid out elsewhere, then only handed around.
struct OpenModel {
    Model model;
    Dimensions dimensions;
    std::vector<NodeProblem> notExported; // by whyNotExported()
    ModelPicture picture;
    GraphScene scene; // node ids are indices into picture.nodes
};
using OpenModelPtr = std::shared_ptr<const OpenModel>;

// All that the words below need from tr().
struct ModelText {
    Q_DECLARE_TR_FUNCTIONS(ModelText)
public:
    static QString summary(const ModelInfo& info); // "71 nodes · 11.7 M parameters · 3.64 GFLOP"
    static QString
    unsupported(const ModelInfo& info); // "2 of 40 nodes cannot be computed: Foo (2)"; empty: all can
    static QString warnings(const ModelInfo& info); // the first, and how many there are
    static QString notCompiled(const ModelInfo& info); // likewise for the compiled engine
    static QString count(double number);               // "11.7 M"
    static QString flops(double number);
    static QString shape(const TensorSpec& tensor); // "float32 1 × 3 × 224 × 224"
    static NodeProperties properties(const PictureNode& node);
    static GraphNode card(const PictureNode& node);

private:
    static QString operatorNames(const std::vector<NodeProblem>& nodes); // "NonZero (2), Loop (1)"
};

// Off the window's thread; all of it. The font is the view's.
Result<GraphScene> layOutPicture(const ModelPicture& picture, const QFont& font, const StopToken& stop);
Result<OpenModelPtr> loadModel(const std::string& fileOrSample, const Dimensions& dimensions,
                               const QFont& font, const Work& work);

// One value per node of the scene, for GraphView::setOverlay.
GraphOverlay flopsOverlay(const ModelPicture& picture);

} // namespace tunesmith
