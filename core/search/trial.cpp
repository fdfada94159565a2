// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/trial.h"

#include <array>
#include <utility>

namespace tunesmith {
namespace {

constexpr std::array<std::pair<TrialStatus, std::string_view>, 10> kNames{{
    {TrialStatus::ok, kTrialOk},
    {TrialStatus::buildError, "build_error"},
    {TrialStatus::buildTimeout, "build_timeout"},
    {TrialStatus::runError, "run_error"},
    {TrialStatus::runTimeout, "run_timeout"},
    {TrialStatus::wrongAnswer, "wrong_answer"},
    {TrialStatus::crashed, "crash"},
    {TrialStatus::outOfMemory, "out_of_memory"},
    {TrialStatus::skipped, "skipped"},
    {TrialStatus::cancelled, "cancelled"},
}};

} // namespace

std::string_view trialStatusName(TrialStatus status) {
    return kNames[static_cast<std::size_t>(status)].second;
}

std::optional<TrialStatus> trialStatusFromName(std::string_view name) {
    for (const auto& [status, text] : kNames)
        if (text == name)
            return status;
    return std::nullopt;
}

Trial Trial::failure(Config asked, TrialStatus status, std::string message) {
    Trial trial;
    trial.effective = asked;
    trial.asked = std::move(asked);
    trial.status = status;
    trial.message = std::move(message);
    return trial;
}

TrialStatus statusOf(const Error& error, bool running) {
    if (error.isCancelled())
        return TrialStatus::cancelled;
    if (error.kind == ErrorKind::timeout)
        return running ? TrialStatus::runTimeout : TrialStatus::buildTimeout;
    return running ? TrialStatus::runError : TrialStatus::buildError;
}

} // namespace tunesmith
