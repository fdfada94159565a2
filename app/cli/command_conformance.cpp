// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/workbench/conformance.h"

namespace tunesmith::cli {
namespace {

Result<int> report(Session& session, const std::vector<ConformanceCase>& cases) {
    std::map<ConformanceCase::Status, std::int64_t> counts;
    Json list = Json::array();
    Table table({{"case"}, {"engine"}, {"status"}, {"detail", false, 120}});
    for (const ConformanceCase& one : cases) {
        ++counts[one.status];
        list.push_back({{"name", one.name},
                        {"engine", engineName(one.engine)},
                        {"status", conformanceStatusName(one.status)},
                        {"detail", one.detail}});
        if (one.status != ConformanceCase::Status::passed)
            table.add({one.name, engineName(one.engine), conformanceStatusName(one.status), one.detail});
    }
    using enum ConformanceCase::Status;
    const std::string sum = std::to_string(counts[passed]) + " passed, " + std::to_string(counts[failed]) +
                            " failed, " + std::to_string(counts[unsupported]) + " unsupported\n";
    const Json json{{"passed", counts[passed]},
                    {"failed", counts[failed]},
                    {"unsupported", counts[unsupported]},
                    {"cases", list}};
    return session.print(json, (table.empty() ? std::string() : table.text() + "\n") + sum,
                         counts[failed] == 0 ? kDone : kFailed);
}

} // namespace

void addConformance(CLI::App& app, Session& session) {
    struct Options {
        std::vector<std::string> folders, engines{"reference", "compiled"};
        std::string save;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command =
        *app.add_subcommand("conformance", "Run ONNX test cases (model.onnx and test_data_set_*/)");
    command.add_option("folders", options->folders, "Cases, or folders of cases")->required();
    command.add_option("--engine", options->engines, "Engines to run (default: reference compiled)")
        ->check(CLI::IsMember({"reference", "compiled", "module"}));
    command.add_option("--save", options->save, "Write outputs as .npy files into this folder")
        ->type_name("DIR");
    session.addMemory(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            ConformanceRequest request;
            request.folders.assign(options->folders.begin(), options->folders.end());
            request.engines.clear();
            for (const std::string& name : options->engines) {
                TS_ASSIGN(const Engine engine, engineFromName(name));
                request.engines.push_back(engine);
            }
            request.saveFolder = options->save;
            request.work = session.work();
            TS_ASSIGN(const std::vector<ConformanceCase> cases, runConformance(request));
            return report(session, cases);
        };
    });
}

} // namespace tunesmith::cli
