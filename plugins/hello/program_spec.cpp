// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/hello/program_spec.h"

#include <algorithm>
#include <set>

#include "plugins/hello/parameter_reader.h"

namespace tunesmith {
namespace {

constexpr double kBuildSeconds = 60, kRunSeconds = 10, kMostSeconds = 86400;
constexpr int kTimeRepeats = 5;

using Names = std::set<std::string, std::less<>>;

Result<ProgramCommand> readCommand(Settings& settings, double seconds) {
    ProgramCommand command;
    TS_ASSIGN(const std::vector<std::string> words, settings.words("command"));
    auto text = CommandText::parse(words);
    if (!text.ok())
        return settings.errorAt("command", text.error().message);
    command.text = std::move(*text);
    TS_ASSIGN(command.seconds, settings.number("timeout", 0.001, kMostSeconds, seconds));
    TS_ASSIGN(const double mebibytes, settings.number("memory", 1, 1e7, 4096));
    command.memoryLimit = static_cast<std::uint64_t>(mebibytes * 1048576);
    return command;
}

Status checkNames(const Settings& settings, const CommandText& text, const ParameterSpace& space, const Names& others, Names& used) {
    for (const std::string& name : text.names()) {
        if (!others.contains(name) && !space.find(name)) {
            std::string known;
            for (const std::string& other : others)
                known += " {" + other + "}";
            return settings.errorAt("command", "there is no parameter for {" + name + "}; besides parameters there are" + known);
        }
        used.insert(name);
    }
    return {};
}

} // namespace

CommandText::Values ProgramSpec::values(const Config& config) const {
    CommandText::Values values{{"folder", {folder.string()}}, {"flags", {}}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        auto& own = values[space.parameters()[i].name];
        for (const std::size_t value : space.chosen(config, i))
            for (std::string& word : splitWords(texts[i][value]))
                own.push_back(std::move(word));
        if (inFlags[i])
            values["flags"].insert(values["flags"].end(), own.begin(), own.end());
    }
    return values;
}

Result<ProgramSpec> readProgramSpec(Settings settings) {
    TS_ASSIGN(ProgramParameters read, readParameters(settings));
    const std::filesystem::path folder = settings.folder();
    TS_ASSIGN(const std::string name, settings.text("name", settings.file().stem().string()));
    TS_ASSIGN([[maybe_unused]] const std::string kind, settings.text("problem"));
    TS_ASSIGN(ParameterSpace space, ParameterSpace::make(name, std::move(read.parameters)));
    ProgramSpec spec{name, folder, std::move(space), std::move(read.texts), {}, {}, {}, 1, {}, {}};
    Names used;
    if (settings.has("build")) {
        TS_ASSIGN(Settings build, settings.table("build"));
        TS_ASSIGN(spec.build, readCommand(build, kBuildSeconds));
        TS_TRY(checkNames(build, spec.build->text, spec.space, {"flags", "folder", "output"}, used));
        if (!used.contains("output"))
            return build.errorAt("command", "the build does not say where its result goes: write {output} in its command");
        TS_TRY(build.done());
    }
    TS_ASSIGN(Settings run, settings.table("run"));
    TS_ASSIGN(spec.run, readCommand(run, kRunSeconds));
    Names others{"flags", "folder", "scratch"};
    if (spec.build)
        others.insert("output");
    TS_TRY(checkNames(run, spec.run.text, spec.space, others, used));
    TS_ASSIGN(Settings score, settings.table("score"));
    TS_ASSIGN(spec.score, readScore(std::move(score)));
    TS_ASSIGN(const std::int64_t repeat, run.whole("repeat", 1, 1000, spec.score.isTime() ? kTimeRepeats : 1));
    spec.repeat = static_cast<int>(repeat);
    TS_TRY(run.done());
    if (settings.has("check")) {
        TS_ASSIGN(Settings check, settings.table("check"));
        TS_ASSIGN(spec.check, readCheck(std::move(check)));
    }
    for (const Parameter& parameter : spec.space.parameters()) {
        spec.inFlags.push_back(!used.contains(parameter.name));
        if (spec.inFlags.back() && !used.contains("flags"))
            return settings.error("no command uses the parameter '" + parameter.name + "': write {" + parameter.name + "}, or {flags} for all that are not named, in one");
    }
    TS_TRY(settings.done());
    return spec;
}

} // namespace tunesmith
