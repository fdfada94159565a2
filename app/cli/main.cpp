// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "app/cli/command.h"
#include "app/cli/stop_signals.h"
#include "core/base/log.h"
#include "core/base/memory_budget.h"
#include "core/base/printable.h"
#include "core/base/standard_streams.h"
#include "core/workbench/start.h"
#include "core/workbench/version.h"

namespace tunesmith::cli {
namespace {

constexpr std::size_t kLongestSentence = 4000; // names out of files may be of any length

int complain(const std::string& sentence, int status) {
    std::fprintf(stderr, "tunesmith-cli: %s\n", printable(shortened(sentence, kLongestSentence)).c_str());
    return status;
}

int usage(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) { // --help and --version
        const Status printed = printOut(dynamic_cast<const CLI::CallForVersion*>(&error) ? versionText() + "\n" : app.help());
        return printed.ok() ? kDone : complain(printed.error().message, kFailed);
    }
    return complain(std::string(error.what()) + " (tunesmith-cli --help tells more)", kWrongUsage);
}

bool isPlace(const std::string& typeName) {
    return typeName == "DIR" || typeName == "FOLDER" || typeName == "OUT.onnx" || typeName.starts_with("FILE");
}

// To the ranges of CLI11, NaN lies within all bounds, for it is beyond none. A place without a name is what a script leaves of a variable that is
// not set; to a command it would be none, or the current folder.
void refuseWrongTexts(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
        for (const std::string& text : option->results())
            if (option->get_type_name().starts_with("FLOAT") && std::isnan(std::strtod(text.c_str(), nullptr)))
                throw CLI::ValidationError(option->get_name(), "'" + text + "' is no number");
            else if (text.empty() && isPlace(option->get_type_name()))
                throw CLI::ValidationError(option->get_name(), "needs the name of a file or folder, and this is empty");
    for (const CLI::App* command : app.get_subcommands())
        refuseWrongTexts(*command);
}

int carryOut(Session& session, StopSignals& signals) {
    session.boundMemory();
    const auto status = session.action();
    signals.workEnded();
    session.progress.clear();
    if (status.ok())
        return *status;
    if (status.error().isCancelled())
        return complain("cancelled", kCancelled);
    return complain(status.error().message, kFailed);
}

int run(int count, char** arguments) {
    StopSignals signals;
    CLI::App app("Tunesmith: tune neural networks for this machine", "tunesmith-cli");
    app.set_version_flag("--version", versionText());
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", "Help of all commands");
    Session session(signals.token());
    session.logWarnings();
    for (const AddCommand add : commands())
        add(app, session);
    try {
        app.parse(count, arguments);
        refuseWrongTexts(app);
    } catch (const CLI::ParseError& error) {
        return usage(app, error);
    }
    try {
        beginProgram();
        return carryOut(session, signals);
    } catch (const OutOfValueMemory& error) {
        session.progress.clear();
        return complain(error.what(), kFailed);
    } catch (const std::bad_alloc&) {
        session.progress.clear();
        return complain("out of memory", kFailed);
    } catch (const std::system_error& error) {
        session.progress.clear();
        const bool threads = error.code() == std::errc::resource_unavailable_try_again;
        return complain(threads ? "cannot start a thread (" + error.code().message() + "); raise the limit of processes (ulimit -u) or ask for fewer --threads" : "internal error: " + std::string(error.what()), kFailed);
    } catch (const std::exception& error) {
        session.progress.clear();
        return complain(std::string("internal error: ") + error.what(), kFailed);
    }
}

} // namespace
} // namespace tunesmith::cli

int main(int count, char** arguments) {
    return tunesmith::cli::run(count, arguments);
}
