// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/autotvm_starts.h"

#include <algorithm>

#include "core/autotvm/store_exchange.h"
#include "core/schedule/autotvm_template.h"

namespace tunesmith {
namespace {

// Older records write the outermost part of a split in full.
bool sameValue(const KnobValue& value, const autotvm::KnobSetting& setting) {
    if (setting.kind != "sp")
        return value.text == setting.value;
    const auto numbers = setting.numbers();
    return numbers && numbers->size() == value.numbers.size() &&
           std::equal(numbers->begin() + 1, numbers->end(), value.numbers.begin() + 1);
}

// A knob that older templates did not have is left at its first value, which does nothing.
std::optional<Config> configOf(const KnobSpace& space, const autotvm::Record& record) {
    Config config{std::vector<std::int64_t>(space.knobs().size(), 0), {}};
    for (std::size_t k = 0; k < space.knobs().size(); ++k) {
        const auto setting = std::ranges::find(record.entity, space.knobs()[k].name, &autotvm::KnobSetting::name);
        if (setting == record.entity.end())
            continue;
        const auto& values = space.knobs()[k].values;
        const auto found = std::ranges::find_if(values, [&](const KnobValue& value) { return sameValue(value, *setting); });
        if (found == values.end())
            return std::nullopt;
        config.choices[k] = found - values.begin();
    }
    return config;
}

} // namespace

Result<std::vector<Config>> importedGuesses(const Store& store, const Workload& workload, const ScheduleSpace& space) {
    const auto* several = dynamic_cast<const UnionSpace*>(&space.space());
    const auto* only = dynamic_cast<const KnobSpace*>(&space.space());
    const std::vector<autotvm::Task> tasks = autotvmTasks(workload); // in the order of the parts
    std::vector<Config> guesses;
    for (std::size_t part = 0; part < tasks.size(); ++part) {
        TS_ASSIGN(const auto record, autotvm::fastestImported(store, tasks[part]));
        const auto config = record ? configOf(several ? several->part(part) : *only, *record) : std::nullopt;
        if (config)
            guesses.push_back(several ? several->widened(part, *config) : *config);
    }
    return guesses;
}

} // namespace tunesmith
