// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/cli/command.h"
#include "core/workbench/remote.h"

namespace tunesmith::cli {

void addRemoteFiles(CLI::App& command, RemoteFiles& files); // of whoever calls
void addRemote(CLI::App& command, DeviceChoice& remote); // the tracker and the files, for jobs on devices
struct DeviceOptions {
    CLI::Option *key, *tracker;
};
DeviceOptions addDevice(CLI::App& command, DeviceChoice& device); // --device, --devices, --tracker and the files

} // namespace tunesmith::cli
