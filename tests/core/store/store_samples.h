// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/hash.h"
#include "core/base/rng.h"
#include "core/store/store.h"

// A small world that the tests of the store share: one machine and target, one model, three workloads, one
// run.
namespace tunesmith::samples {

inline WorkloadRow workload(int number) {
    WorkloadRow row;
    row.key = hexHash(Hasher().add("workload").add(number).value());
    row.name = "conv" + std::to_string(number);
    row.op = "conv2d";
    row.shape = "1x64x56x56 * 64x64x3x3";
    row.graph = {0, 1, 2, 255, static_cast<std::uint8_t>(number), 0};
    row.flops = 2.3e8;
    return row;
}

inline std::string key(int number) {
    return workload(number).key;
}

inline std::vector<RunWorkloadRow> plan(int workloads = 3) {
    std::vector<RunWorkloadRow> rows;
    for (int number = 0; number < workloads; ++number)
        rows.push_back({key(number), number + 1, "nchwc", 1e30 + number, 64});
    return rows;
}

inline Result<TargetId> addThings(Store& store, int workloads = 3) {
    TS_ASSIGN(const auto machine,
              store.addMachine({{}, "m1", "Some CPU", "avx512", 2, R"({"fma":[100.5,199]})"}));
    TS_ASSIGN(const auto target, store.addTarget({{}, "cpu-avx512-t1", machine}));
    for (int number = 0; number < workloads; ++number)
        TS_TRY(store.addWorkload(workload(number)));
    return target;
}

inline Result<RunId> beginRun(Store& store, int workloads = 3) {
    TS_ASSIGN(const auto target, addThings(store, workloads));
    TS_ASSIGN(const auto model, store.addModel({{}, "resnet18", "/models/resnet18.onnx", hexHash(7)}));
    RunRow run;
    run.model = model;
    run.target = target;
    run.strategy = "random";
    run.seed = 0xfedcba9876543210ull;
    run.options = R"({"batch":8})";
    run.version = "0.1.0";
    return store.beginRun(run, plan(workloads));
}

// Every fifth trial fails; times differ, and repeat after the same index.
inline TrialRow trial(RunId run, int workload, std::int64_t index) {
    Rng rng(static_cast<std::uint64_t>(index) * 31 + static_cast<std::uint64_t>(workload));
    TrialRow row;
    row.run = run;
    row.workload = key(workload);
    row.batch = index / 8;
    row.index = index;
    row.config = "tile=[4, " + std::to_string(index) + "];unroll=1";
    row.configHash = ~static_cast<std::uint64_t>(index);
    row.predicted = rng.uniform();
    row.buildSeconds = 0.25;
    row.featureVersion = 3;
    if (index % 5 == 4) {
        row.status = "run_timeout";
        row.detail = "no answer within 5 s";
        return row;
    }
    row.p5Ms = 1 + rng.uniform();
    for (int sample = 0; sample < 20; ++sample)
        row.samples.push_back(static_cast<float>(*row.p5Ms + 0.01 * sample));
    row.objectives = {{"p5", *row.p5Ms, "ms"}, {"memory", 4096, "B"}};
    return row;
}

} // namespace tunesmith::samples
