// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/kernel_executor.h"

namespace tunesmith {

struct MockOptions {
    double buildMs = 10, profileMs = 20; // how long a stage takes
    std::size_t kernelBytes = 16 << 10;
    MachineRow machine = {};
};

// Answers like KernelWorkers, but builds nothing and makes its times up, the same for the same config: what spreads jobs over
// devices is tested with stages of known length.
class MockExecutor : public KernelExecutor {
public:
    MockExecutor(MockOptions mock, KernelWorkerOptions options) : mock_(std::move(mock)), options_(std::move(options)) {}

    const KernelWorkerOptions& options() const override { return options_; }
    Result<MachineRow> machine() const override { return mock_.machine; }
    CallReport build(const Message& request, const StopToken& stop) override;
    CallReport measure(Message request, double seconds, const StopToken& stop) override;

private:
    const MockOptions mock_;
    const KernelWorkerOptions options_;
};

} // namespace tunesmith
