// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/graph/graph_scene.h"
#include "widgets/graph/properties_panel.h"
#include "widgets/optimize/optimize_data.h"
#include "widgets/tune/roofline_plot.h"
#include "widgets/tune/space_geometry.h"
#include "widgets/tune/strategy_curves.h"
#include "widgets/tune/tune_data.h"

namespace tunesmith {

GraphScene sampleNetwork(const QFont& font); // drawn like a ResNet-18
GraphScene denseNetwork(const QFont& font);  // drawn like a DenseNet block with a shared constant
Replay sampleReplay(const QFont& font);      // two convolutions become one
QVector<double> sampleTimes(const GraphScene& scene);
NodeProperties sampleProperties();
QVector<WorkloadEntry> sampleWorkloads();
Roof sampleRoof();
QVector<RooflineKernel> sampleKernels(); // of the sample workloads
QVector<TrialPoint> sampleTrials(int workload, int count);
QVector<StrategyRun> sampleRuns(); // of three strategies
SpaceMap sampleSpace();             // two ways, one of them hardly tried

} // namespace tunesmith
