// SPDX-License-Identifier: GPL-3.0-or-later
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

#include "app/cli/command.h"
#include "core/base/printable.h"
#include "core/workbench/start.h"
#include "core/workbench/version.h"

namespace tunesmith::cli {
namespace {

StopSource stopSource;

// The first signal asks the work to stop; the second, now without a handler, kills.
void stopOnSignals() {
    struct sigaction action {};
    action.sa_handler = [](int) { stopSource.requestStop(); };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGXFSZ, SIG_IGN); // a file over the limit of the shell is an error of its writer, as a full disk is
}

int complain(const std::string& sentence, int status) {
    std::fprintf(stderr, "tunesmith-cli: %s\n", printable(sentence).c_str());
    return status;
}

int usage(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) // --help and --version
        return std::printf("%s", dynamic_cast<const CLI::CallForVersion*>(&error)
                                     ? (versionText() + "\n").c_str()
                                     : app.help().c_str()) < 0
                   ? kFailed
                   : kDone;
    return complain(std::string(error.what()) + " (tunesmith-cli --help tells more)", kWrongUsage);
}

int carryOut(Session& session) {
    const auto status = session.action();
    session.progress.clear();
    if (status.ok())
        return *status;
    if (status.error().isCancelled())
        return complain("cancelled", kCancelled);
    return complain(status.error().message, kFailed);
}

int run(int count, char** arguments) {
    CLI::App app("Tunesmith: tune neural networks for this machine", "tunesmith-cli");
    app.set_version_flag("--version", versionText());
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", "Help of all commands");
    Session session(stopSource.token());
    for (const AddCommand add : commands())
        add(app, session);
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return usage(app, error);
    }
    try {
        beginProgram();
        return carryOut(session);
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
    tunesmith::cli::stopOnSignals();
    return tunesmith::cli::run(count, arguments);
}
