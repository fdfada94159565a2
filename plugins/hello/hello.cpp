// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plugin/plugin.h"
#include "plugins/hello/program_problem.h"

using namespace tunesmith;

TUNESMITH_PLUGIN("hello", "Tunes the parameters of any program that can be called from a command line",
                 {"external-program", "A command with parameters, how to build and run it, and where its score is", openProgramProblem})
