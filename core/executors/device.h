// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/target.h"
#include "core/store/rows.h"

namespace tunesmith {

// What a server offers: all that a client must know to choose it, to schedule for it and to store what was measured on it.
struct DeviceInfo {
    std::string name = {};              // for people
    std::string address = {};           // HOST:PORT
    std::vector<std::string> keys = {}; // by which clients ask for it
    std::string isa = {};
    std::string tuneCpu = {};
    int threads = 1;          // most that a kernel may use
    std::uint64_t memory = 0; // bytes that its workers may use together; 0: no limit
    MachineRow machine = {};
    bool mock = false; // times are made up
    std::string confinement = {}; // of workers, for people: "full", or all but what; empty: not known

    Result<Target> target(int threadCount) const;
};

// It comes from another machine: names are short and printable, numbers possible, the ceilings JSON.
Status checkDevice(const DeviceInfo& device);
Status checkName(const std::string& name, const std::string& what); // 1 to 100 printable characters without spaces

} // namespace tunesmith
