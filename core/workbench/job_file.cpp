// SPDX-License-Identifier: GPL-3.0-or-later
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "core/workbench/sweep.h"

namespace tunesmith {
namespace {

constexpr std::uintmax_t kMostBytes = 1 << 20;

class JobFile {
public:
    explicit JobFile(std::filesystem::path file) : file_(std::move(file)) {}

    Result<TuneJobsRequest> readJobs() {
        return parsed<TuneJobsRequest>([this](const toml::table& table) { return jobsOf(table); });
    }
    Result<SweepRequest> readSweep() {
        return parsed<SweepRequest>([this](const toml::table& table) { return sweepOf(table); });
    }

private:
    Error at(const toml::source_region& place, const std::string& what) const {
        return inputError(file_.string() + ", line " + std::to_string(place.begin.line) + ": " + what);
    }

    template <class Request, class Read> Result<Request> parsed(Read read) const {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(file_, error);
        if (error)
            return inputError(file_.string() + " cannot be read: " + error.message());
        if (bytes > kMostBytes)
            return inputError(file_.string() + " is too large for a list of jobs (more than 1 MiB)");
        try {
            return read(toml::parse_file(file_.string()));
        } catch (const toml::parse_error& wrong) {
            return at(wrong.source(), std::string(wrong.description()));
        }
    }

    Result<TuneJobsRequest> jobsOf(const toml::table& table) const {
        TuneJobsRequest request;
        TuneJob defaults;
        for (const auto& [key, node] : table)
            if (key.str() == "policy")
                TS_TRY(text(key, node, request.policy));
            else if (key.str() != "job")
                TS_TRY(readKey(defaults, key, node));
        const toml::node* const jobs = table.get("job");
        if (!jobs || !jobs->is_array_of_tables())
            return inputError(file_.string() + " has no jobs: write [[job]] and, below it, model = \"model.onnx\" for each");
        for (const toml::node& job : *jobs->as_array()) {
            request.jobs.push_back(defaults);
            TS_TRY(readJob(*job.as_table(), request.jobs.back()));
        }
        return request;
    }

    // Every combination of what is listed; the key that comes last in the file changes first.
    Result<SweepRequest> sweepOf(const toml::table& table) const {
        std::vector<std::pair<const toml::key*, const toml::node*>> keys;
        for (const auto& [key, node] : table)
            keys.emplace_back(&key, &node);
        std::ranges::sort(keys, {}, [](const auto& entry) { return std::pair(entry.first->source().begin.line, entry.first->source().begin.column); });
        SweepRequest sweep;
        sweep.name = file_.stem().string();
        sweep.combinations.emplace_back();
        sweep.combinations.front().job.tuning.transfer = false; // a combination does not learn from the one before it
        for (const auto& [key, node] : keys)
            if (key->str() == "policy")
                TS_TRY(text(*key, *node, sweep.policy));
            else if (key->str() == "name")
                TS_TRY(text(*key, *node, sweep.name));
            else
                TS_TRY(multiply(sweep, *key, *node));
        if (sweep.combinations.front().job.model.empty())
            return inputError(file_.string() + " has no model: write model = [\"a.onnx\", \"b.onnx\"]");
        return sweep;
    }

    Status multiply(SweepRequest& sweep, const toml::key& key, const toml::node& node) const {
        std::vector<const toml::node*> values{&node};
        if (const toml::array* const list = node.as_array()) {
            values.clear();
            for (const toml::node& value : *list)
                values.push_back(&value);
            if (values.empty())
                return at(node.source(), "'" + std::string(key.str()) + "' lists no value");
            sweep.keys.emplace_back(key.str());
        }
        if (sweep.combinations.size() * values.size() > SweepRequest::kMost)
            return at(node.source(), "these are more than " + std::to_string(SweepRequest::kMost) + " combinations");
        std::vector<SweepCombination> all;
        for (const SweepCombination& before : sweep.combinations)
            for (const toml::node* const value : values) {
                SweepCombination& one = all.emplace_back(before);
                TS_TRY(readKey(one.job, key, *value));
                if (node.is_array())
                    one.values.push_back(shown(*value));
            }
        sweep.combinations = std::move(all);
        return {};
    }

    static std::string shown(const toml::node& value) {
        if (const auto text = value.value_exact<std::string>())
            return *text;
        std::ostringstream out;
        value.visit([&](const auto& one) { out << one; });
        return out.str();
    }

    Status readJob(const toml::table& table, TuneJob& job) const {
        for (const auto& [key, node] : table)
            TS_TRY(readKey(job, key, node));
        if (job.model.empty())
            return at(table.source(), "the job has no model");
        return {};
    }

    Status readKey(TuneJob& job, const toml::key& key, const toml::node& node) const {
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
        if (name == "cores")
            return number(key, node, 0, 1024, job.cores);
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
        if (name == "space")
            return text(key, node, tuning.space);
        if (name == "timeout")
            return positive(key, node, tuning.timeoutSeconds);
        if (name == "transfer")
            return flag(key, node, tuning.transfer);
        if (name == "layouts")
            return flag(key, node, tuning.layouts);
        return at(key.source(), "'" + std::string(name) + "' is no key of a job; there are model, name, dims, threads, trials, total_trials, seconds, target_ms, strategy, space, seed, builders, batch, timeout, "
                                "transfer, layouts, priority, weight and cores");
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
            value = std::filesystem::absolute(beside).lexically_normal().string();
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

    Status flag(const toml::key& key, const toml::node& node, bool& value) const {
        const auto given = node.value_exact<bool>();
        if (!given)
            return at(node.source(), "'" + std::string(key.str()) + "' is to be true or false");
        value = *given;
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
};

} // namespace

Result<TuneJobsRequest> readJobFile(const std::filesystem::path& file) { return JobFile(file).readJobs(); }

Result<SweepRequest> readSweepFile(const std::filesystem::path& file) { return JobFile(file).readSweep(); }

} // namespace tunesmith
