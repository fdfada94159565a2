// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/stored_trial.h"

namespace tunesmith {

Trial trialFromRow(const TrialRow& row) {
    Trial trial;
    trial.asked = Config::parse(row.config).valueOr({});
    trial.effective = Config::parse(row.effective.value_or(row.config)).valueOr({});
    trial.status = trialStatusFromName(row.status).value_or(TrialStatus::runError);
    trial.message = row.detail;
    trial.objectives = row.objectives;
    trial.samples = row.samples;
    trial.buildSeconds = row.buildSeconds;
    trial.predicted = row.predicted;
    return trial;
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

std::vector<std::int64_t> TrialNumbers::next(const SearchSession::Batch& batch) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < batch.configs.size(); ++i) {
        if (batch.stored[i])
            continue;
        auto number = static_cast<std::int64_t>(proposed_ + i);
        while (!used_.insert(number).second)
            ++number;
        numbers.push_back(number);
    }
    proposed_ += batch.configs.size();
    return numbers;
}

} // namespace tunesmith
