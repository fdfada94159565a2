// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "core/measure/speed_probe.h"
#include "core/schedule/kernel_bench.h"
#include "core/schedule/template.h"
#include "core/search/trial.h"
#include "tests/take.h"

namespace tunesmith {

// A square two-dimensional convolution of one image that keeps its size but for the stride, with bias and Relu.
struct ConvShape {
    std::int64_t channels, size, outputs, kernel, stride = 1, groups = 1;
    std::int64_t pad() const { return kernel / 2; }
    std::int64_t outputSize() const { return (size + 2 * pad() - kernel) / stride + 1; }
};

// rows x depth times depth x columns, where the second matrix is constant, plus a bias.
struct ProductShape {
    std::int64_t rows, columns, depth;
};

// Kernels of one workload in this process, to be timed against other implementations.
class KernelLab {
public:
    static KernelLab convolution(const ConvShape& shape, int threads); // what it reads lies as another convolution leaves it
    static KernelLab product(const ProductShape& shape, int threads);
    KernelLab(Workload workload, const Target& target);

    const Workload& workload() const { return workload_; }
    const ScheduleSpace& space() const { return space_; }
    std::function<void()> kernel(const Config& config, BenchMemory memory = BenchMemory::warm); // checked against the reference engine
    std::optional<double> lowMs(const Config& config); // p5; none when the kernel cannot be built
    Config tuned(std::size_t trials);                   // the best of so many, the guesses among them

private:
    Result<std::function<void()>> loaded(const ScheduledKernel& scheduled, BenchMemory memory);
    Trial tried(const Config& config);

    Target target_;
    Workload workload_;
    ScheduleSpace space_;
    std::shared_ptr<const KernelCase> case_;
    std::shared_ptr<PhaseRunner> runner_;
    SpeedProbe probe_;
    std::optional<double> bestMs_;
};

} // namespace tunesmith
