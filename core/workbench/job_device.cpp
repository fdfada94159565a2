// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_device.h"

namespace tunesmith {

Result<DeviceChoice> deviceOfJob(const TuneJob& job, const DeviceChoice& remote, const DeviceChoice& offered) {
    DeviceChoice device = job.device;
    const auto replace = [](std::string& value, const std::string& by) { value = by.empty() ? value : by; };
    const bool ownToken = remote.files.token.empty();
    if (!ownToken && remote.tracker.empty() && !device.tracker.empty())
        return inputError("job " + job.name + " names the tracker " + device.tracker + ", and --token-file is only for one that you name; if that one may have the token, give --tracker " + device.tracker + ", too");
    replace(device.tracker, remote.tracker);
    if (ownToken) {
        replace(device.files.ca, remote.files.ca);
        device.files.insecure |= remote.files.insecure;
    } else {
        device.files = remote.files;
    }
    if (!offered.tracker.empty() && (device.tracker.empty() || device.tracker == offered.tracker)) {
        device.tracker = offered.tracker;
        device.files = offered.files;
    }
    if (device.tracker.empty())
        return inputError("job " + job.name + " wants devices of the key " + device.key + ", but of no tracker; write tracker = \"HOST:PORT\" in its file, or run the jobs with --tracker");
    return device;
}

} // namespace tunesmith
