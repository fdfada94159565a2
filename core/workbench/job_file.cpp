// SPDX-License-Identifier: GPL-3.0-or-later
#include <toml++/toml.h>

#include "core/workbench/tune_jobs.h"

namespace tunesmith {
namespace {

constexpr std::uintmax_t kMostBytes = 1 << 20;

class JobFile {
public:
    explicit JobFile(std::filesystem::path file) : file_(std::move(file)) {}

    Result<TuneJobsRequest> read() {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(file_, error);
        if (error)
            return inputError(file_.string() + " cannot be read: " + error.message());
        if (bytes > kMostBytes)
            return inputError(file_.string() + " is too large for a list of jobs (more than 1 MiB)");
        try {
            return readTable(toml::parse_file(file_.string()));
        } catch (const toml::parse_error& wrong) {
            return at(wrong.source(), std::string(wrong.description()));
        }
    }

private:
    Error at(const toml::source_region& place, const std::string& what) const {
        return inputError(file_.string() + ", line " + std::to_string(place.begin.line) + ": " + what);
    }

    Result<TuneJobsRequest> readTable(const toml::table& table) {
        TuneJob defaults;
        for (const auto& [key, node] : table)
            if (key.str() == "policy")
                TS_TRY(text(key, node, request_.policy));
            else if (key.str() != "job")
                TS_TRY(readKey(defaults, key, node));
        const toml::node* const jobs = table.get("job");
        if (!jobs || !jobs->is_array_of_tables())
            return inputError(file_.string() + " has no jobs: write [[job]] and, below it, model = \"model.onnx\" for each");
        for (const toml::node& job : *jobs->as_array())
            TS_TRY(readJob(*job.as_table(), defaults));
        return std::move(request_);
    }

    Status readJob(const toml::table& table, TuneJob job) {
        for (const auto& [key, node] : table)
            TS_TRY(readKey(job, key, node));
        if (job.model.empty())
            return at(table.source(), "the job has no model");
        request_.jobs.push_back(std::move(job));
        return {};
    }

    Status readKey(TuneJob& job, const toml::key& key, const toml::node& node) {
        const std::string_view name = key.str();
        TuneRequest& tuning = job.tuning;
        if (name == "name")
            return text(key, node, job.name);
        if (name == "model")
            return model(key, node, job.model);
        if (name == "dims")
            return dimensions(key, node, job.dimensions);
        if (name == "strategy")
            return text(key, node, tuning.strategy);
        if (name == "threads")
            return number(key, node, 0, 1024, tuning.threads);
        if (name == "builders")
            return number(key, node, 0, 1024, tuning.builders);
        if (name == "batch")
            return number(key, node, 1, 4096, tuning.batch);
        if (name == "priority")
            return number(key, node, -1000, 1000, job.priority);
        if (name == "seed")
            return number(key, node, 0, std::numeric_limits<std::int64_t>::max(), tuning.seed);
        if (name == "trials")
            return number(key, node, 1, std::int64_t(1) << 40, tuning.budget.trialsPerWorkload.emplace());
        if (name == "total_trials")
            return number(key, node, 1, std::int64_t(1) << 40, tuning.budget.trials.emplace());
        if (name == "seconds")
            return positive(key, node, tuning.budget.seconds.emplace());
        if (name == "target_ms")
            return positive(key, node, tuning.budget.targetMs.emplace());
        if (name == "weight")
            return positive(key, node, job.weight);
        return at(key.source(), "'" + std::string(name) + "' is no key of a job; there are model, name, dims, threads, trials, total_trials, seconds, target_ms, strategy, seed, builders, batch, priority "
                                "and weight");
    }

    Status text(const toml::key& key, const toml::node& node, std::string& value) const {
        const auto given = node.value_exact<std::string>();
        if (!given || given->empty())
            return at(node.source(), "'" + std::string(key.str()) + "' is to be a text");
        value = *given;
        return {};
    }

    // A file beside this one, or else a sample.
    Status model(const toml::key& key, const toml::node& node, std::string& value) const {
        TS_TRY(text(key, node, value));
        const std::filesystem::path beside = file_.parent_path() / value;
        std::error_code error;
        if (std::filesystem::exists(beside, error))
            value = beside.string();
        return {};
    }

    Status dimensions(const toml::key& key, const toml::node& node, Dimensions& value) const {
        if (!node.is_table())
            return at(node.source(), "'" + std::string(key.str()) + "' is to be a table such as { batch = 1 }");
        value.clear();
        for (const auto& [name, extent] : *node.as_table()) {
            std::int64_t number = 0;
            TS_TRY(this->number(name, extent, 0, std::numeric_limits<std::int64_t>::max(), number));
            value[std::string(name.str())] = number;
        }
        return {};
    }

    template <typename Number> Status number(const toml::key& key, const toml::node& node, std::int64_t least, std::int64_t most, Number& value) const {
        const auto given = node.value_exact<std::int64_t>();
        if (!given || *given < least || *given > most)
            return at(node.source(), "'" + std::string(key.str()) + "' is to be a whole number of " + std::to_string(least) + " or more");
        value = static_cast<Number>(*given);
        return {};
    }

    Status positive(const toml::key& key, const toml::node& node, double& value) const {
        const auto given = node.value<double>();
        if (!given || !(*given > 0) || *given > 1e12)
            return at(node.source(), "'" + std::string(key.str()) + "' is to be a number of more than 0");
        value = *given;
        return {};
    }

    std::filesystem::path file_;
    TuneJobsRequest request_;
};

} // namespace

Result<TuneJobsRequest> readJobFile(const std::filesystem::path& file) { return JobFile(file).read(); }

} // namespace tunesmith
