// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/space_dock.h"
#include "widgets/base/foreign_text.h"

namespace tunesmith {

SpaceMap spaceMap(const SpaceCoverage& coverage) {
    SpaceMap map;
    map.trials = coverage.trials;
    map.failed = coverage.failed;
    map.foreign = coverage.foreign;
    for (const PartCoverage& part : coverage.parts) {
        SpacePart shown{oneLine(part.name), part.configs, part.tried, part.bestMs.value_or(kUnknown), {}};
        for (const KnobCoverage& knob : part.knobs) {
            SpaceKnob row{oneLine(knob.name), {}};
            for (const ValueCoverage& value : knob.values)
                row.values.push_back({oneLine(value.text), value.tries, value.bestMs.value_or(kUnknown)});
            shown.knobs.push_back(std::move(row));
        }
        map.parts.push_back(std::move(shown));
    }
    return map;
}

SpaceDock::SpaceDock(std::string store, QWidget* parent)
    : SpaceView(parent), store_(std::move(store)), reader_([this](const auto& choice) { read(choice); }, this) {
    connect(&reader_.job(), &Job::failed, this, &SpaceDock::showMessage);
}

void SpaceDock::read(const WorkloadReader::Choice& choice) {
    if (choice.workload.isEmpty())
        return showMessage(tr("Choose a workload to see what of its space was tried."));
    if (!choice.run)
        return showMessage(tr("No run is shown; tune the model to see what of the space is tried."));
    using Map = Result<SpaceMap>;
    reader_.start(
        tr("Reading what was tried"),
        [store = store_, choice](const Work& work) -> Map {
            TS_ASSIGN(const SpaceCoverage coverage,
                      spaceCoverage(store, *choice.run, choice.workload.toStdString(), work.stop));
            return spaceMap(coverage);
        },
        [this](const Map& map) {
            if (map.ok())
                showMap(*map);
            else if (!map.error().isCancelled())
                showMessage(QString::fromStdString(map.error().message));
        });
}

} // namespace tunesmith
