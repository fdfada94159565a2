// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/stored_trial.h"

#include <cmath>

#include "core/base/log.h"

namespace tunesmith {

namespace {

Result<Trial> trialFromRow(const TrialRow& row, const Space& space) {
    Trial trial;
    TS_ASSIGN(trial.asked, parseConfig(row.config, space));
    trial.effective = row.effective ? parseConfig(*row.effective, space).valueOr(trial.asked) : trial.asked;
    trial.status = trialStatusFromName(row.status).value_or(TrialStatus::runError);
    trial.message = row.detail;
    trial.objectives = row.objectives;
    trial.samples = row.samples;
    trial.buildSeconds = row.buildSeconds;
    trial.predicted = row.predicted;
    if (trial.ok() && (trial.objectives.empty() || !std::isfinite(trial.objectives[0].value)))
        return inputError("it worked, but its objective is not a number");
    if (row.isFinal && (!trial.ok() || trial.samples.empty()))
        return inputError("it is a winner without times");
    return trial;
}

} // namespace

std::vector<KnownTrial> knownTrials(const std::vector<TrialRow>& rows, const Space& space, TrialNumbers& numbers) {
    std::vector<KnownTrial> known;
    std::string firstWrong;
    for (const TrialRow& row : rows) {
        numbers.take(row.index);
        if (auto trial = trialFromRow(row, space); trial.ok())
            known.push_back({std::move(*trial), row.isFinal});
        else if (firstWrong.empty())
            firstWrong = "trial " + std::to_string(row.id.value()) + ": " + trial.error().message;
    }
    if (known.size() < rows.size())
        logMessage(LogLevel::warning, "run " + std::to_string(rows[0].run.value()) + ": " + std::to_string(rows.size() - known.size()) +
                                          " of its stored trials are left out; " + firstWrong);
    return known;
}

TrialRow rowFromTrial(const Trial& trial, RunId run, const std::string& workload, int featureVersion, std::optional<double> cost) {
    TrialRow row;
    row.run = run;
    row.workload = workload;
    row.config = trial.asked.text();
    row.configHash = trial.asked.hash();
    if (!(trial.effective == trial.asked))
        row.effective = trial.effective.text();
    row.predicted = trial.predicted;
    row.status = std::string(trialStatusName(trial.status));
    row.detail = trial.message;
    row.objectives = trial.objectives;
    if (trial.ok())
        row.p5Ms = cost ? *cost : trial.objectives.at(0).value;
    row.samples = trial.samples;
    row.buildSeconds = trial.buildSeconds;
    row.featureVersion = featureVersion;
    return row;
}

std::int64_t TrialNumbers::takeFree(std::int64_t from) {
    while (!used_.insert(from).second)
        ++from;
    return from;
}

std::vector<std::int64_t> TrialNumbers::next(const SearchSession::Batch& batch) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < batch.configs.size(); ++i) {
        if (batch.stored[i])
            continue;
        numbers.push_back(takeFree(static_cast<std::int64_t>(proposed_ + i)));
    }
    proposed_ += batch.configs.size();
    return numbers;
}

} // namespace tunesmith
