// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>

#include "core/executors/device.h"
#include "core/executors/lease_book.h"

namespace tunesmith::testing {

inline DeviceInfo testDevice(const std::string& name, const std::string& key = "cpu", int threads = 2) {
    DeviceInfo device{name, "127.0.0.1:1" + std::to_string(name.size()) + std::to_string(static_cast<int>(name.back()))};
    device.keys = {key};
    device.isa = "avx2";
    device.tuneCpu = "znver4";
    device.threads = threads;
    device.machine = {{}, "machine", "a processor", "avx2", threads, "{}"};
    return device;
}

inline LeaseTiming quickTiming() {
    using std::chrono::milliseconds;
    return {milliseconds(50), milliseconds(1000), milliseconds(1000), milliseconds(100), milliseconds(300), milliseconds(60'000), milliseconds(1000), milliseconds(1000)};
}

} // namespace tunesmith::testing
