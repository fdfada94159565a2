// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/device.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/executors/access.h"

namespace tunesmith {
namespace {

constexpr std::size_t kLongestName = 100, kLongestText = 200, kLargestCeilings = 64 << 10, kMostKeys = 16;
constexpr int kMostThreads = 4096;

Status checkText(const std::string& text, const std::string& what) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (text.size() > kLongestText || std::ranges::any_of(text, control))
        return inputError("the " + what + " of a device is longer than " + std::to_string(kLongestText) + " characters, or none that can be printed");
    return {};
}

} // namespace

Status checkName(const std::string& name, const std::string& what) {
    const auto good = [](char c) { return c > 0x20 && c < 0x7f; };
    if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, good))
        return inputError(what + " must have 1 to " + std::to_string(kLongestName) + " printable characters without spaces");
    return {};
}

Result<Target> DeviceInfo::target(int threadCount) const {
    if (threadCount < 1 || threadCount > threads)
        return inputError(name + " serves kernels of 1 to " + std::to_string(threads) + " threads; ask for fewer than " + std::to_string(threadCount));
    TS_ASSIGN(const Isa itsIsa, isaFromName(isa));
    return Target{itsIsa, tuneCpu, threadCount};
}

Status checkDevice(const DeviceInfo& device) {
    TS_TRY(checkAddress(device.address));
    if (device.address.find_first_not_of('0', device.address.rfind(':') + 1) == std::string::npos)
        return inputError("a device has an address with a port, not " + device.address);
    if (device.keys.empty() || device.keys.size() > kMostKeys)
        return inputError("a device has 1 to " + std::to_string(kMostKeys) + " keys");
    for (const std::string& key : device.keys)
        TS_TRY(checkName(key, "the key of a device"));
    TS_TRY(checkName(device.machine.key, "the key of a machine"));
    for (const auto& [text, what] : {std::pair(&device.name, "name"), {&device.isa, "instruction set"}, {&device.tuneCpu, "processor"}, {&device.machine.cpu, "processor"}, {&device.machine.isa, "instruction set"}, {&device.confinement, "confinement"}})
        TS_TRY(checkText(*text, what));
    if (const auto isa = isaFromName(device.isa); !isa.ok())
        return isa.error();
    if (device.threads < 1 || device.threads > kMostThreads || device.machine.cores < 1 || device.machine.cores > kMostThreads)
        return inputError("a device has 1 to " + std::to_string(kMostThreads) + " threads");
    if (device.machine.ceilings.size() > kLargestCeilings || !nlohmann::json::accept(device.machine.ceilings))
        return inputError("the ceilings of a device are no JSON");
    return {};
}

} // namespace tunesmith
