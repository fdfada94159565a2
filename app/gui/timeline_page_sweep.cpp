// SPDX-License-Identifier: GPL-3.0-or-later
// The sweep in its dock.
#include "app/gui/devices_dock.h"
#include "app/gui/sweep_dock.h"
#include "app/gui/timeline_page.h"
#include <QDockWidget>
#include <QFileDialog>

namespace tunesmith {

void TimelinePage::connectSweep() {
    connect(&runner_, &JobsRunner::sweepPlanned, this, [this](const std::shared_ptr<const SweepPlan>& plan) {
        sweeping_ = true;
        sweepFile_ = file_;
        sweep_->begin(plan);
        sweepDock_->show();
        sweepDock_->raise();
    });
    connect(sweep_, &SweepDock::resumeRequested, this, [this] { run(sweepFile_); });
    connect(sweep_, &SweepDock::exportRequested, this, &TimelinePage::chooseSweepExport);
    connect(sweep_, &SweepDock::problem, this, &TimelinePage::problem);
    connect(sweep_, &SweepDock::saved, this, &TimelinePage::saved);
}

bool TimelinePage::reading() const {
    return loader_.busy() || sweep_->reading();
}

QList<Job*> TimelinePage::jobs() {
    return QList<Job*>{&runner_.job(), &loader_.loading(), &writing_, &looking_, &changing_} + sweep_->jobs();
}

QList<Job*> TimelinePage::quietJobs() {
    return loader_.quiet() + sweep_->quietJobs() + devices_->quietJobs();
}

void TimelinePage::chooseSweepExport() {
    auto* dialog = new QFileDialog(this, tr("Export the table of the sweep"), {}, tr("Table (*.csv)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    dialog->selectFile(QStringLiteral("sweep.csv"));
    connect(dialog, &QFileDialog::fileSelected, sweep_, &SweepDock::exportTo);
    dialog->open();
}

} // namespace tunesmith
