// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "core/workbench/version.h"

namespace tunesmith::cli {

void addVersion(CLI::App& app, Session& session) {
    CLI::App& command = *app.add_subcommand("version", "The version of this program");
    session.addJson(command);
    command.callback([&session] {
        session.action = [&session]() -> Result<int> {
            return session.print({{"version", versionText()}}, "tunesmith " + versionText() + "\n");
        };
    });
}

} // namespace tunesmith::cli
