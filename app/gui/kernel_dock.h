// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "app/gui/open_model.h"
#include "widgets/tune/kernel_view.h"

namespace tunesmith {

// The kernel inspector of the Tune page: builds the kernel of the chosen workload, in a worker, while the inspector can be seen
// and no tuning has the machine.
class KernelDock : public KernelView {
    Q_OBJECT
public:
    explicit KernelDock(std::string store, QWidget* parent = nullptr);

    void setModel(const OpenModelPtr& model);
    void setWorkload(const QString& key, int threads); // empty: none
    void setTuning(bool tuning);
    void setSeen(bool seen); // docks behind another tab count as visible, so their dock has to say it
    void refresh();          // records may have changed
    Job& job() { return job_; }

private:
    void buildIfSeen();

    std::string store_;
    OpenModelPtr model_;
    QString key_, shown_; // shown_: what the view holds or is being made
    int threads_ = 0;
    bool tuning_ = false, seen_ = false;
    Job job_;
};

} // namespace tunesmith
