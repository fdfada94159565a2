// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/bench.h"
#include "core/workbench/compile.h"
#include "core/workbench/run.h"
#include "core/workbench/tune.h"

namespace tunesmith {

class Store;
class TemporaryFolder;

// A verb as it was carried out.
struct ExperimentStep {
    std::string verb; // "load", "autotune", "build", "save", "run", "evaluate"
    double seconds = 0;
    std::string text; // what it came to: "128 trials, 4.8 -> 4.3 ms"
};

// The verbs of an experiment, one after the other: load a model, autotune it, build a module, save that and load it again, run it, evaluate it. Each is
// timed, and the store has the whole of it as a run of kind "experiment", which ends with this object. For one thread.
class Experiment {
public:
    struct Options {
        std::string store; // empty: the default one
        int threads = 0;   // of the target; 0: all cores
        int builders = 0;
        std::uint64_t seed = 1;
        Work work;
        bool trust = false; // as in RunRequest
    };
    // A model, or a folder that save() has written: that one is built already and cannot be tuned.
    static Result<Experiment> load(const std::string& modelOrModule, const Dimensions& dimensions, Options options);
    Experiment(Experiment&&) noexcept;
    ~Experiment();

    Result<TuneReport> autotune(TuneRequest request); // store, threads, builders and seed are the experiment's
    Result<CompileResult> build();
    Status save(const std::filesystem::path& folder); // of what was built
    Result<RunResult> run(const InputChoice& inputs = {});
    Result<BenchResult> evaluate(double seconds = 3);

    std::int64_t id() const; // of the run in the store
    const std::vector<ExperimentStep>& steps() const;

private:
    struct State;
    explicit Experiment(std::unique_ptr<State> state);
    template <class T, class Verb, class Tell> Result<T> timed(const char* verb, Verb work, Tell tell);
    Status requireBuilt(const char* verb) const;
    std::unique_ptr<State> state_;
};

} // namespace tunesmith
