// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/hello/program_problem.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <span>

#include "core/base/atomic_file.h"
#include "core/base/hash.h"
#include "core/stats/quantiles.h"

namespace tunesmith {
namespace {

constexpr const char* kOutput = "output";
constexpr std::uintmax_t kLargestScore = 1 << 20; // bytes of its file
constexpr double kLeastMs = 1e-6, kMostMs = 1e9;  // samples are floats, and times are divided by each other

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::uint64_t hashOf(const std::vector<std::string>& words) {
    Hasher hasher;
    for (const std::string& word : words)
        hasher.add(std::string_view(word));
    return hasher.value();
}

Result<std::uint64_t> hashOfFile(const std::filesystem::path& file) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed))
        return inputError("the build succeeded without making " + file.string() + ": does its command use {output}?");
    TS_ASSIGN(InputFile in, InputFile::open(file));
    Hasher hasher;
    std::vector<std::byte> buffer(1 << 16);
    for (std::size_t left = in.size(); left > 0; left -= buffer.size()) {
        buffer.resize(std::min(left, buffer.size()));
        TS_TRY(in.read(buffer));
        hasher.bytes(buffer.data(), buffer.size());
    }
    return hasher.value();
}

// The program made it, and may have made a pipe, at which a reader would wait.
Result<std::string> contentOf(const std::filesystem::path& file) {
    TS_ASSIGN(InputFile in, InputFile::open(file));
    std::string text(std::min(in.size(), kLargestScore), '\0');
    TS_TRY(in.read(std::as_writable_bytes(std::span(text))));
    return text;
}

// An empty folder of one run.
class RunFolder {
public:
    explicit RunFolder(const std::filesystem::path& within) {
        static std::atomic<unsigned> count{0};
        path_ = within / ("run-" + std::to_string(count++));
        std::error_code ignored;
        std::filesystem::create_directories(path_, ignored);
    }
    RunFolder(const RunFolder&) = delete;
    ~RunFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

// The samples of a candidate, and those of the reference that it took turns with.
struct Samples {
    std::vector<double> own, reference;

    static double low(std::vector<double> values) { return quantileInPlace(values, 0.05); }
    static double middle(std::vector<double> values) { return quantileInPlace(values, 0.5); }

    // As core/measure/timing.h: the median of the neighbours' ratios, but not below that of the least times.
    double relative(double referenceValue) const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < own.size(); ++i)
            ratios.push_back(own[i] / reference[i]);
        return referenceValue * std::max(middle(ratios), std::ranges::min(own) / std::ranges::min(reference));
    }
    bool hasTurns() const { return !own.empty() && reference.size() == own.size() && std::ranges::min(reference) > 0; }
};

} // namespace

std::vector<std::string> ProgramProblem::buildCommand(const Config& config, const std::string& output) const {
    CommandText::Values values = spec_.values(config);
    values[kOutput] = {output};
    return spec_.build->text.expand(values);
}

Result<Built> ProgramProblem::build(const Config& config, const StopToken& stop) {
    TS_TRY(spec_.space.validate(config));
    Built built;
    built.effective = spec_.space.canonical(config);
    built.artifact.bytes = built.effective.text();
    CommandText::Values values = spec_.values(built.effective);
    values[kOutput] = values["scratch"] = {};
    built.artifact.hash = hashOf(spec_.run.text.expand(values));
    if (spec_.build) {
        TS_ASSIGN(const Output output, outputOf(built.effective, stop));
        built.artifact.file = output.file;
        built.artifact.hash = Hasher().add(built.artifact.hash).add(output.hash).value();
    }
    return built;
}

Result<ProgramProblem::Output> ProgramProblem::outputOf(const Config& config, const StopToken& stop) {
    const std::vector<std::string> key = buildCommand(config, kOutput);
    std::promise<Result<Output>> promise;
    std::shared_future<Result<Output>> future;
    std::filesystem::path file;
    {
        const std::lock_guard guard(mutex_);
        const auto [place, isNew] = outputs_.try_emplace(key);
        if (isNew) {
            place->second = promise.get_future().share();
            file = scratch_ / ("build-" + std::to_string(outputs_.size())) / kOutput;
        }
        future = place->second;
    }
    if (file.empty())
        return future.get();
    Result<Output> output = buildOutput(buildCommand(config, file.string()), file, stop);
    if (!output.ok() && output.error().isCancelled()) {
        const std::lock_guard guard(mutex_);
        outputs_.erase(key);
    }
    promise.set_value(output);
    return output;
}

Result<ProgramProblem::Output> ProgramProblem::buildOutput(const std::vector<std::string>& command, const std::filesystem::path& file, const StopToken& stop) const {
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    if (failed)
        return ioError("cannot make the folder " + file.parent_path().string() + ": " + failed.message());
    ProgramOptions options;
    options.command = command;
    options.folder = spec_.folder;
    options.seconds = spec_.build->seconds;
    options.memoryLimit = spec_.build->memoryLimit;
    TS_ASSIGN(const ProgramRun run, runProgram(options, stop));
    if (run.timedOut)
        return timeoutError("the build " + run.failure(options));
    if (!run.succeeded())
        return inputError("the build " + run.failure(options));
    TS_ASSIGN(const std::uint64_t hash, hashOfFile(file));
    return Output{file, hash};
}

Result<ProgramOptions> ProgramProblem::runOptions(const Artifact& artifact, const std::filesystem::path& scratch) const {
    TS_ASSIGN(const Config config, Config::parse(artifact.bytes));
    TS_TRY(spec_.space.validate(config));
    CommandText::Values values = spec_.values(config);
    values[kOutput] = {artifact.file.string()};
    values["scratch"] = {scratch.string()};
    ProgramOptions options;
    options.command = spec_.run.text.expand(values);
    options.folder = spec_.folder;
    options.memoryLimit = spec_.run.memoryLimit;
    return options;
}

ProgramProblem::Shot ProgramProblem::judge(const ProgramOptions& options, const ProgramRun& run, const std::filesystem::path& scratch) const {
    if (run.timedOut)
        return {TrialStatus::runTimeout, "the program " + run.failure(options)};
    if (!run.succeeded())
        return {run.end.signal != 0 ? TrialStatus::crashed : TrialStatus::runError, "the program " + run.failure(options)};
    if (spec_.check)
        if (const Status right = spec_.check->accepts(run.output); !right.ok())
            return {TrialStatus::wrongAnswer, right.error().message};
    if (spec_.score.from == ScoreSpec::From::time)
        return {TrialStatus::ok, {}, 1e3 * run.seconds};
    const bool isPrinted = spec_.score.from == ScoreSpec::From::output;
    const Result<std::string> text = isPrinted ? run.output : contentOf(scratch / spec_.score.file.substr(std::string_view("{scratch}/").size()));
    if (!text.ok())
        return {TrialStatus::runError, "the program made no score: " + text.error().message};
    const Result<double> value = spec_.score.valueIn(*text);
    if (!value.ok())
        return {TrialStatus::runError, value.error().message};
    if (spec_.score.isTime() && !(*value >= kLeastMs && *value <= kMostMs))
        return {TrialStatus::runError, "the time that the program tells is not from a nanosecond to a million seconds"};
    return {TrialStatus::ok, {}, *value};
}

ProgramProblem::Shot ProgramProblem::shoot(const Artifact& artifact, double seconds, const StopToken& stop) const {
    const RunFolder folder(scratch_);
    auto options = runOptions(artifact, folder.path());
    if (!options.ok())
        return {TrialStatus::runError, options.error().message};
    options->seconds = std::min(seconds, spec_.run.seconds);
    const auto run = runProgram(*options, stop);
    if (!run.ok())
        return {statusOf(run.error(), true), run.error().message};
    return judge(*options, *run, folder.path());
}

Trial ProgramProblem::profile(const Artifact& artifact, const ProfileLimits& limits) {
    const auto key = lock_.acquire(limits.stop);
    if (!key.ok())
        return Trial::failure({}, statusOf(key.error(), true), key.error().message);
    const auto begun = std::chrono::steady_clock::now();
    const auto left = [&] { return limits.deadlineSeconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
    const bool isTime = spec_.score.isTime();
    bool turns = isTime && limits.reference && limits.reference->artifact;
    Samples samples;
    for (int i = 0; i < spec_.repeat && (i == 0 || left() > 0); ++i) {
        Shot shot = shoot(artifact, std::max(left(), 0.001), limits.stop);
        if (shot.status == TrialStatus::runTimeout && i > 0 && left() <= 0)
            break; // the time of all repeats together is up
        if (shot.status != TrialStatus::ok)
            return Trial::failure({}, shot.status, std::move(shot.message));
        samples.own.push_back(shot.value);
        if (turns) {
            const Shot other = shoot(*limits.reference->artifact, spec_.run.seconds, limits.stop);
            turns = other.status == TrialStatus::ok;
            samples.reference.push_back(other.value);
        }
        constexpr double kHopeless = 2;
        if (isTime && limits.incumbent && i > 0 && std::ranges::min(samples.own) > kHopeless * *limits.incumbent)
            break;
    }
    if (limits.stop.stopRequested())
        return Trial::failure({}, TrialStatus::cancelled, "cancelled");
    double value = isTime ? Samples::low(samples.own) : Samples::middle(samples.own);
    double scale = 1;
    if (turns && samples.hasTurns()) {
        const double relative = samples.relative(limits.reference->objective);
        scale = relative / std::exchange(value, relative);
    }
    Trial trial;
    trial.objectives = {{spec_.score.objective.name, value, spec_.score.objective.unit}};
    for (const double sample : samples.own)
        trial.samples.push_back(static_cast<float>(sample * scale));
    return trial;
}

std::vector<Description> ProgramProblem::describe() const {
    TablePart table{{"parameter", "values", "default"}, {}};
    for (const Parameter& parameter : spec_.space.parameters())
        table.rows.push_back({parameter.name, joined(parameter.values), parameter.kind == Parameter::Kind::order ? joined(parameter.values) : parameter.values[parameter.standard]});
    return {{"parameters", std::move(table)}};
}

std::vector<Description> ProgramProblem::describeConfig(const Config& config) const {
    if (!spec_.space.validate(config).ok())
        return {};
    CommandText::Values values = spec_.values(config);
    values[kOutput] = {"OUTPUT"};
    values["scratch"] = {"SCRATCH"};
    std::vector<Description> parts;
    if (spec_.build)
        parts.push_back({"build", TextPart{joined(spec_.build->text.expand(values)), {}}});
    parts.push_back({"run", TextPart{joined(spec_.run.text.expand(values)), {}}});
    return parts;
}

Result<std::unique_ptr<Problem>> openProgramProblem(Settings settings, const ProblemContext& context) {
    TS_ASSIGN(ProgramSpec spec, readProgramSpec(std::move(settings)));
    TS_ASSIGN(MeasuringLock lock, MeasuringLock::open());
    return std::unique_ptr<Problem>(std::make_unique<ProgramProblem>(std::move(spec), context.scratch, std::move(lock)));
}

} // namespace tunesmith
