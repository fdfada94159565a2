// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <sstream>

#include "core/plugin/toml_file.h"
#include "core/workbench/job_kind.h"
#include "core/workbench/sweep.h"
#include "core/workbench/work_file.h"

namespace tunesmith {
namespace {

constexpr const char* kKind = "kind";       // says which other keys there are
constexpr const char* kProblem = "problem"; // such a kind; in another file, a plugin's problem

class JobFile {
public:
    explicit JobFile(std::filesystem::path file) : file_(std::move(file)) {}

    Result<TuneJobsRequest> readJobs() {
        return parsed<TuneJobsRequest>([this](const toml::table& table) { return jobsOf(table); });
    }
    Result<WorkFile> kind() {
        return parsed<WorkFile>([](const toml::table& table) {
            const bool sweep = table.contains("model") && !table.contains("job");
            return table.contains(kProblem) ? WorkFile::problem : sweep ? WorkFile::sweep : WorkFile::jobs;
        });
    }
    Result<SweepRequest> readSweep() {
        return parsed<SweepRequest>([this](const toml::table& table) { return sweepOf(table); });
    }

private:
    Error at(const toml::source_region& place, const std::string& what) const {
        return inputError(file_.string() + ", line " + std::to_string(place.begin.line) + ": " + what);
    }

    template <class Request, class Read> Result<Request> parsed(Read read) const {
        TS_ASSIGN(const toml::table table, readTomlFile(file_));
        return read(table);
    }

    Result<TuneJobsRequest> jobsOf(const toml::table& table) const {
        TuneJobsRequest request;
        if (const toml::node* const both = table.contains(kProblem) ? table.get("job") : nullptr)
            return at(both->source(), "a problem's own file has no [[job]]: name the file in a job of kind = \"problem\" in another one");
        if (table.contains(kProblem)) {
            TuneJob& job = request.jobs.emplace_back();
            job.kind = kProblem;
            job.problem.file = std::filesystem::absolute(file_);
            return request;
        }
        if (const toml::node* const policy = table.get("policy"))
            TS_TRY(text("policy", *policy, request.policy));
        for (const auto& [key, node] : table)
            if (key.str() != "policy" && key.str() != "job" && !isJobKey(key.str()))
                return at(key.source(), "'" + std::string(key.str()) + "' is no key of a job of any kind");
        const toml::node* const jobs = table.get("job");
        if (!jobs || !jobs->is_array_of_tables())
            return inputError(file_.string() + " has no jobs: write [[job]] and, below it, model = \"model.onnx\" for each");
        for (const toml::node& job : *jobs->as_array())
            TS_TRY(readJob(table, *job.as_table(), request.jobs.emplace_back()));
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
        TuneJob& first = sweep.combinations.emplace_back().job;
        first.tuning.transfer = false; // a combination does not learn from the one before it
        TS_TRY(readKind(table, first));
        if (const auto output = table.find("output"); output != table.end())
            return at(output->first.source(), "a sweep has many results and writes none of them: leave out 'output'");
        for (const auto& [key, node] : keys)
            if (key->str() == "policy")
                TS_TRY(text("policy", *node, sweep.policy));
            else if (key->str() == "name")
                TS_TRY(text("name", *node, sweep.name));
            else if (key->str() != kKind)
                TS_TRY(multiply(sweep, *key, *node));
        if (const std::string subject = subjectOf(sweep.combinations.front().job); !table.contains(subject))
            return inputError(file_.string() + " has no " + subject + ": write " + subject + " = [\"one\", \"another\"]");
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

    // What the file says of all jobs counts as far as the kind of this one knows it.
    Status readJob(const toml::table& all, const toml::table& own, TuneJob& job) const {
        TS_TRY(readKind(own.contains(kKind) ? own : all, job));
        for (const auto& [key, node] : all)
            if (find(job, key.str()) && !own.contains(key.str()))
                TS_TRY(readKey(job, key, node));
        for (const auto& [key, node] : own)
            TS_TRY(readKey(job, key, node));
        const std::string subject = subjectOf(job);
        return own.contains(subject) || all.contains(subject) ? Status() : Status(at(own.source(), "the job has no " + subject));
    }

    static std::string subjectOf(const TuneJob& job) { return jobKind(job.kind).value()->subject; }

    Status readKind(const toml::table& table, TuneJob& job) const {
        const toml::node* const node = table.get(kKind);
        if (!node)
            return {};
        TS_TRY(text(kKind, *node, job.kind));
        const auto kind = jobKind(job.kind);
        return kind.ok() ? Status() : Status(at(node->source(), kind.error().message));
    }

    static std::optional<JobKey> find(TuneJob& job, std::string_view name) {
        for (const JobKey& key : jobKeys(job))
            if (key.name == name && key.in != JobKey::In::store)
                return key;
        return std::nullopt;
    }

    Status readKey(TuneJob& job, const toml::key& key, const toml::node& node) const {
        if (const auto known = find(job, key.str()))
            return std::visit([&](auto* field) { return read(*known, node, *field); }, known->field);
        std::string names;
        for (const JobKey& each : jobKeys(job))
            if (each.in != JobKey::In::store)
                names += (names.empty() ? "" : ", ") + std::string(each.name);
        return at(key.source(), "'" + std::string(key.str()) + "' is no key of a job of kind " + job.kind + "; there are " + names);
    }

    Status wrong(const char* key, const toml::node& node, const std::string& right) const { return at(node.source(), "'" + std::string(key) + "' is to be " + right); }

    Status text(const char* key, const toml::node& node, std::string& value) const {
        const auto given = node.value_exact<std::string>();
        if (!given || given->empty() || given->find('\0') != std::string::npos) // the system ends a name there
            return wrong(key, node, "a text");
        value = *given;
        return {};
    }

    // Beside this file.
    std::filesystem::path beside(const std::string& name) const { return std::filesystem::absolute(file_.parent_path() / name).lexically_normal(); }

    Status read(const JobKey& key, const toml::node& node, std::string& value) const {
        TS_TRY(text(key.name, node, value));
        std::error_code error;
        if (key.names == JobKey::Names::secret)
            return secret(key, node, value);
        if (key.names == JobKey::Names::file || (key.names == JobKey::Names::model && std::filesystem::exists(beside(value), error)))
            value = beside(value).string();
        return {};
    }

    // Links that were not followed lead to nothing yet, and somewhere later.
    static bool hasLink(std::filesystem::path folder, const std::filesystem::path& way) {
        std::error_code error;
        return std::ranges::any_of(way, [&](const std::filesystem::path& name) { return std::filesystem::is_symlink(std::filesystem::symlink_status(folder /= name, error)); });
    }

    // In the folder of this file, wherever links lead: what the user has elsewhere, its author may neither send nor write.
    std::optional<std::filesystem::path> within(const std::string& name) const {
        std::error_code error, other;
        const auto folder = std::filesystem::weakly_canonical(beside("."), error), named = std::filesystem::weakly_canonical(beside(name), other);
        const auto way = named.lexically_relative(folder);
        if (error || other || way.empty() || *way.begin() == ".." || hasLink(folder, way))
            return std::nullopt;
        return named;
    }

    Status secret(const JobKey& key, const toml::node& node, std::string& value) const {
        std::error_code error;
        const auto named = within(value);
        if (!named || named->parent_path() != std::filesystem::weakly_canonical(beside("."), error))
            return at(node.source(), "'" + std::string(key.name) + "' is sent to the tracker, so it is to lie beside this file; leave it out and give --tracker and --token-file");
        // Whoever puts this file beside a secret of the user's cannot choose how that is called.
        if (const std::string name = named->filename().string(); name != "token" && !name.ends_with(".token"))
            return at(node.source(), "'" + std::string(key.name) + "' is sent to the tracker, so it is to be a file called token, or whose name ends in .token; rename it, or leave it out and give --tracker and --token-file");
        value = named->string();
        return {};
    }

    Status read(const JobKey& key, const toml::node& node, std::filesystem::path& value) const {
        std::string name;
        TS_TRY(text(key.name, node, name));
        if (key.names == JobKey::Names::written)
            return written(key, node, name, value);
        value = beside(name);
        return {};
    }

    Status written(const JobKey& key, const toml::node& node, const std::string& name, std::filesystem::path& value) const {
        const auto named = within(name);
        if (!named)
            return at(node.source(), "'" + std::string(key.name) + "' is to lie in the folder of this file, as a file of jobs writes nowhere else; name a file there, or write it with `optimize -o`");
        std::error_code none;
        const auto there = std::filesystem::status(*named, none);
        if (named->extension() != ".onnx" || (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)))
            return at(node.source(), "'" + std::string(key.name) + "' is a model: name a file that ends in .onnx");
        value = *named;
        return {};
    }

    Status read(const JobKey& key, const toml::node& node, Dimensions& value) const {
        if (!node.is_table())
            return wrong(key.name, node, "a table such as { batch = 1 }");
        value.clear();
        for (const auto& [name, extent] : *node.as_table())
            TS_TRY(whole(std::string(name.str()).c_str(), {key.name, key.field}, extent, value[std::string(name.str())]));
        return {};
    }

    template <typename Number> Status whole(const char* name, const JobKey& key, const toml::node& node, Number& value) const {
        const auto given = node.value_exact<std::int64_t>();
        if (!given || !key.takes(*given))
            return wrong(name, node, "a whole number of " + std::to_string(key.least) + (given && *given > key.most ? " to " + std::to_string(key.most) : " or more"));
        value = static_cast<Number>(*given);
        return {};
    }

    template <std::integral Number> Status read(const JobKey& key, const toml::node& node, Number& value) const { return whole(key.name, key, node, value); }
    template <typename Number> Status read(const JobKey& key, const toml::node& node, std::optional<Number>& value) const { return read(key, node, value.emplace()); }

    Status read(const JobKey& key, const toml::node& node, bool& value) const {
        const auto given = node.value_exact<bool>();
        if (!given)
            return wrong(key.name, node, "true or false");
        value = *given;
        return {};
    }

    Status read(const JobKey& key, const toml::node& node, double& value) const {
        const auto given = node.value<double>();
        if (!given || !key.takes(*given))
            return wrong(key.name, node, key.least > 0 ? "a number from " + std::to_string(key.least) + " to " + std::to_string(key.most) : std::string("a number of more than 0"));
        value = *given;
        return {};
    }

    std::filesystem::path file_;
};

} // namespace

Result<TuneJobsRequest> readJobFile(const std::filesystem::path& file) { return JobFile(file).readJobs(); }

WorkFile workFileKind(const std::filesystem::path& file) { return JobFile(file).kind().valueOr(WorkFile::jobs); }

Result<SweepRequest> readSweepFile(const std::filesystem::path& file) { return JobFile(file).readSweep(); }

} // namespace tunesmith
