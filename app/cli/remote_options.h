// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/cli/command.h"
#include "core/workbench/remote.h"

namespace tunesmith::cli {

void addRemoteFiles(CLI::App& command, RemoteFiles& files); // of whoever calls

} // namespace tunesmith::cli
