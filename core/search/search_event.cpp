// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/search_event.h"

#include <array>

namespace tunesmith {
namespace {

struct ReasonTexts {
    std::string_view name, sentence;
};
constexpr std::array<ReasonTexts, 7> kReasons{{
    {"budget_trials", "the number of trials that was asked for is done"},
    {"budget_time", "the time that was given is used up"},
    {"cancelled", "the search was stopped; it can be resumed"},
    {"exhausted", "every candidate has been tried"},
    {"target_reached", "a result as good as asked for was found"},
    {"converged", "nothing better was found for as long as was asked for"},
    {"failed", "the search could not go on"},
}};
constexpr std::array<std::string_view, 9> kKinds{"started",  "proposed", "measured", "accepted", "refused",
                                                 "improved", "learned",  "message",  "stopped"};

} // namespace

std::string_view stopReasonName(StopReason reason) {
    return kReasons[static_cast<std::size_t>(reason)].name;
}

std::string_view stopReasonSentence(StopReason reason) {
    return kReasons[static_cast<std::size_t>(reason)].sentence;
}

std::optional<StopReason> stopReasonFromName(std::string_view name) {
    for (std::size_t i = 0; i < kReasons.size(); ++i)
        if (kReasons[i].name == name)
            return static_cast<StopReason>(i);
    return std::nullopt;
}

std::string_view eventKindName(SearchEvent::Kind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

} // namespace tunesmith
