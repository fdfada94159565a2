// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/inputs.h"
#include "core/workbench/model.h"

namespace tunesmith {

struct BenchRequest {
    std::string subject; // ONNX file, sample, or exported module
    std::string other;   // likewise; measured in turns with the subject
    Dimensions dimensions;
    InputChoice inputs;
    std::string store;    // empty: the default store. Records for models, and the ceilings of this machine
    int threads = 0;      // 0: all cores; exported modules: what they were tuned for
    double seconds = 3;   // of measuring
    bool untuned = false; // models are compiled without records
    bool layers = true;
    Work work;
    std::string space = {}; // of the schedules of models, as in CompileRequest
    bool trust = false;     // modules from elsewhere run as our own from now on; else they run confined
};

// Low quantiles are what repeats on a shared machine; GFLOP/s and peak_fraction are those of p5.
struct Latency {
    double p5Ms = 0, medianMs = 0, p95Ms = 0;
    std::size_t runs = 0;
    double gflops = 0;
    double peakFraction = 0; // of the machine's measured FMA peak at this thread count
    int threads = 1;
};

struct LayerTime {
    std::string name;
    double ms = 0, share = 0; // share of the sum of all layers
    double gflops = 0, peakFraction = 0;
    double expectedMs = 0; // of the record that its schedule was chosen by; 0: untuned
    std::string config;
};

// Of two that were measured in turns; from core/stats.
struct Comparison {
    Latency other;
    double ratio = 1, ratioLow = 0, ratioHigh = 0; // time of the subject / time of the other
    std::string verdict; // "faster", "slower", "same", "cannot-tell": the subject is
    std::string text;    // "resnet18 is 3 to 5 % faster"
};

struct BenchResult {
    std::string name;
    Latency latency;
    std::vector<LayerTime> layers; // in the order of execution; none when two are compared
    std::optional<Comparison> comparison;
    std::vector<std::string> foreign; // modules that were not made here: what is known of each, a sentence
};

Result<BenchResult> bench(const BenchRequest& request);

} // namespace tunesmith
