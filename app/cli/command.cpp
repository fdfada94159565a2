// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "core/base/available_memory.h"
#include "core/base/log.h"
#include "core/base/memory_budget.h"
#include "core/base/printable.h"
#include "core/workbench/tune.h"

namespace tunesmith::cli {

void Session::addJson(CLI::App& command) {
    command.add_flag("--json", json, "Print one JSON object");
}

void Session::addTrust(CLI::App& command) {
    command.add_flag("--trust", trust, "Run modules from elsewhere as your own, from now on: a module is code, and one that was not made or trusted here runs confined");
}

namespace {

// --dims as `parse` reads it; what it cannot read is wrong usage.
template <class Parsed>
void addDims(CLI::App& command, Result<Parsed> (*parse)(const std::string&),
             const std::function<void(Parsed)>& take, const std::string& help, const std::string& form) {
    const auto read = [parse, take](const std::string& text) {
        auto parsed = parse(text);
        if (!parsed.ok())
            throw CLI::ValidationError("--dims", parsed.error().message);
        take(std::move(parsed).value());
    };
    command.add_option_function<std::string>("--dims", read, help)->type_name(form);
}

constexpr const char* kDimsHelp =
    "Values for symbolic dimensions: name=value,... (a name with a comma or an equals sign: '\"a,b\"=2')";

} // namespace

CLI::Option* addMemoryOption(CLI::App& command, const std::string& help, std::function<void(std::int64_t)> take) {
    const auto read = [take = std::move(take)](const std::string& text) {
        const auto bytes = parseMemory(text);
        if (!bytes.ok())
            throw CLI::ValidationError("--memory", bytes.error().message);
        take(*bytes);
    };
    return command.add_option_function<std::string>("--memory", read, help)->type_name("SIZE");
}

void Session::addMemory(CLI::App& command) {
    modelCommands_.push_back(&command);
    addMemoryOption(command, "Memory that values of models may take, such as 2GiB (default: three quarters of what the machine, or its control group, has left)",
                    [this](std::int64_t bytes) { memory_ = bytes; });
}

// The program itself and what it keeps beside values take memory, too.
void Session::boundMemory() const {
    constexpr std::int64_t kBesideValues = std::int64_t{1} << 30; // also what is only reserved, as stacks of threads
    if (std::ranges::none_of(modelCommands_, [](const CLI::App* command) { return command->parsed(); }))
        return;
    if (memory_ > 0)
        limitValueMemory(memory_);
    limitProcessMemory((memory_ > 0 ? memory_ : availableMemory()) + kBesideValues);
}

Session::~Session() { setLogSink({}); }

void Session::logWarnings() {
    const auto told = std::make_shared<std::pair<std::mutex, std::set<std::string>>>();
    setLogSink([this, told](LogLevel level, const std::string& text) {
        const std::lock_guard lock(told->first);
        if (level < LogLevel::warning || !told->second.insert(text).second)
            return;
        progress.clear();
        std::fprintf(stderr, "tunesmith-cli: warning: %s\n", text.c_str());
    });
}

void Session::addDimensions(CLI::App& command) {
    addMemory(command);
    addDims<Dimensions>(
        command, parseDimensions, [this](Dimensions given) { dimensions = std::move(given); }, kDimsHelp,
        "NAME=N,...");
}

void Session::addDimensionRanges(CLI::App& command) {
    addMemory(command);
    const auto take = [this](DimensionRanges given) {
        ranges = std::move(given);
        for (const auto& [name, range] : ranges)
            if (range.isFixed())
                dimensions[name] = range.low;
    };
    addDims<DimensionRanges>(command, parseDimensionRanges, take,
                             std::string(kDimsHelp) +
                                 " With a range, name=low..high, a folder of modules for it",
                             "NAME=N|N..M,...");
}

void Session::addThreads(CLI::App& command, const std::string& byDefault) {
    command.add_option("--threads", threads, "Threads of the target (default: " + byDefault + ")")
        ->check(CLI::Range(1, kMostTargetThreads));
}

void Session::addBuilders(CLI::App& command) {
    command.add_option("--builders", builders, "Kernels that are compiled at once (default: one per core)")
        ->check(CLI::Range(1, 1024));
}

void Session::addSeed(CLI::App& command) {
    const auto isSeed = [](const std::string& text) {
        std::uint64_t value = 0; // one that is negative or too large would become another one
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        return problem == std::errc() && end == text.data() + text.size() ? std::string() : "'" + text + "' is no whole number from 0 to 2^64 - 1";
    };
    command.add_option("--seed", seed, "Seed of everything random")->capture_default_str()->check(isSeed);
}

void Session::addStore(CLI::App& command) {
    command.add_option("--store", store, "Trial database (default: the one in the user's data folder)")
        ->type_name("FILE");
}

void Session::addSpace(CLI::App& command, const std::string& help) {
    std::vector<std::string> names;
    for (const StrategyInfo& known : tuneSpaces())
        names.push_back(known.key);
    command.add_option("--space", space, help)->check(CLI::IsMember(names));
}

void Session::addInputs(CLI::App& command) {
    command
        .add_option("--input", inputs_, "An input from a .npy file; what is not given is drawn from the seed")
        ->type_name("NAME=FILE.npy")
        ->check([](const std::string& text) {
            const auto equals = text.rfind('=');
            return equals == std::string::npos || equals == 0 || equals + 1 == text.size()
                       ? "write NAME=FILE.npy, not '" + text + "'"
                       : std::string();
        })
        ->each([this](const std::string& text) {
            if (const std::string name = text.substr(0, text.rfind('=')); !inputNames_.insert(name).second)
                throw CLI::ValidationError("--input", "'" + name + "' is given twice");
        });
    addSeed(command);
}

Result<InputChoice> Session::inputChoice() const {
    InputChoice choice;
    choice.seed = seed;
    for (const std::string& text : inputs_) {
        const auto equals = text.rfind('=');
        choice.files.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return choice;
}

Result<Model> Session::open(const std::string& fileOrSample) {
    TS_ASSIGN(Model model, openModel(fileOrSample, dimensions, work()));
    progress.clear();
    for (const std::string& sentence : model.info().warnings)
        std::fprintf(stderr, "tunesmith-cli: warning: %s\n", printable(sentence).c_str());
    return model;
}

Result<int> Session::print(const Json& object, const std::string& text, int status) {
    progress.clear();
    TS_TRY(printOut(printableLines(json ? object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text)));
    return status;
}

Status printOut(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        return ioError(std::string("cannot write the result to standard output: ") + std::strerror(errno));
    return {};
}

std::function<std::string(const std::string&)> asCheck(Status (*check)(const std::string&)) {
    return [check](const std::string& text) {
        const Status status = check(text);
        return status.ok() ? std::string() : status.error().message;
    };
}

Json tensorJson(const TensorSpec& tensor) {
    Json shape;
    if (tensor.dims) {
        shape = Json::array();
        for (const Dim& dim : *tensor.dims)
            shape.push_back(dim.known() ? Json(dim.extent) : Json(dimText(dim)));
    }
    Json object = {{"name", tensor.name}, {"type", tensor.type}, {"shape", shape}};
    if (tensor.optional)
        object["optional"] = true;
    return object;
}

} // namespace tunesmith::cli
