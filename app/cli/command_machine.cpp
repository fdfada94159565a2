// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/workbench/machine.h"

namespace tunesmith::cli {

void addMachine(CLI::App& app, Session& session) {
    const auto again = std::make_shared<bool>(false);
    CLI::App& command = *app.add_subcommand(
        "machine", "What this computer can do at most, measured once and kept in the store");
    command.add_flag("--again", *again, "Measure even if it was measured before");
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, again] {
        session.action = [&session, again]() -> Result<int> {
            TS_ASSIGN(const MachineReport machine, machineReport(session.store, *again, session.work()));
            Json threads = Json::array();
            Table table({{"threads", true}, {"FMA GFLOP/s", true}, {"memory GB/s", true}});
            for (const CeilingsAt& entry : machine.threads) {
                threads.push_back({{"threads", entry.threads},
                                   {"fma_gflops", entry.fmaGflops},
                                   {"memory_gbs", entry.memoryGbs}});
                table.add(
                    {std::to_string(entry.threads), fixed(entry.fmaGflops, 1), fixed(entry.memoryGbs, 1)});
            }
            if (!machine.notKept.empty())
                logMessage(LogLevel::warning, printable("what was measured is not kept: " + machine.notKept));
            return session.print({{"cpu", machine.cpu}, {"isa", machine.isa}, {"threads", threads}},
                                 machine.cpu + ", " + machine.isa + "\n" + table.text(), machine.notKept.empty() ? kDone : kFailed);
        };
    });
}

} // namespace tunesmith::cli
