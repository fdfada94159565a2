// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/workload_reader.h"
#include "core/workbench/space_coverage.h"
#include "widgets/tune/space_view.h"

namespace tunesmith {

SpaceMap spaceMap(const SpaceCoverage& coverage);

// What the shown run has tried of the chosen workload's configuration space.
class SpaceDock : public SpaceView {
    Q_OBJECT
public:
    explicit SpaceDock(std::string store, QWidget* parent = nullptr);

    WorkloadReader& reader() { return reader_; }

private:
    void read(const WorkloadReader::Choice& choice);

    std::string store_;
    WorkloadReader reader_;
};

} // namespace tunesmith
