// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"

namespace tunesmith::cli {

// In the order of --help: from a first look at a model to an exported module, then what surrounds it.
const std::vector<AddCommand>& commands() {
    static const std::vector<AddCommand> list{
        addModels,  addInfo,  addRun,  addOptimize,   addTasks, addTune,  addCompile, addExport,      addBench, addInspect,
        addRules,   addExperiment, addJobs, addSweep, addTracker, addServer, addDevices, addPlugins, addMachine, addConformance, addStore, addVersion,
    };
    return list;
}

} // namespace tunesmith::cli
