// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/kernel_dock.h"
#include "core/workbench/inspect.h"
#include "widgets/base/foreign_text.h"
#include "widgets/tune/tune_data.h"

namespace tunesmith {
namespace {

KernelText textOf(const KernelInspection& kernel) {
    KernelText text;
    text.title = oneLine(kernel.name);
    if (kernel.recordMs)
        text.title += QStringLiteral(" · ") + msText(*kernel.recordMs);
    text.schedule = QString::fromStdString(kernel.schedule);
    text.loops = QString::fromStdString(kernel.loops);
    text.llvmIr = QString::fromStdString(kernel.llvmIr);
    text.assembly = QString::fromStdString(kernel.assembly);
    if (kernel.hotLoop) {
        const HotLoop& loop = *kernel.hotLoop;
        text.hotLine = static_cast<int>(loop.firstLine);
        text.hotLines = static_cast<int>(loop.lines);
        text.hotLoop = KernelDock::tr("Hot loop: %1 instructions, %2 of them multiply-adds, spills: %3")
                           .arg(loop.instructions)
                           .arg(loop.multiplyAdds)
                           .arg(loop.spills);
    }
    return text;
}

} // namespace

KernelDock::KernelDock(std::string store, QWidget* parent) : KernelView(parent), store_(std::move(store)) {
    connect(&job_, &Job::failed, this, &KernelDock::showMessage);
}

void KernelDock::setModel(const OpenModelPtr& model) {
    model_ = model;
    setWorkload({}, 0);
}

void KernelDock::setWorkload(const QString& key, int threads) {
    key_ = key;
    threads_ = threads;
    buildIfSeen();
}

void KernelDock::setTuning(bool tuning) {
    if (tuning_ == tuning)
        return;
    tuning_ = tuning;
    if (tuning_)
        job_.stop();
    refresh();
}

void KernelDock::refresh() {
    shown_.clear();
    buildIfSeen();
}

void KernelDock::setSeen(bool seen) {
    seen_ = seen;
    buildIfSeen();
}

void KernelDock::buildIfSeen() {
    if (!model_ || key_.isEmpty()) {
        shown_.clear();
        return showMessage(tr("Choose a workload to see its kernel."));
    }
    if (tuning_)
        return showMessage(tr("Kernels can be looked at when the machine is not tuning."));
    const QString wanted = QStringLiteral("%1 %2").arg(key_).arg(threads_);
    if (!seen_ || wanted == shown_)
        return;
    shown_ = wanted;
    showMessage(tr("Building the kernel…"));
    const InspectRequest wish{key_.toStdString(), {}, false, store_, threads_, {}};
    job_.start(
        tr("Building a kernel"),
        [model = model_->model, wish](const Work& work) {
            InspectRequest request = wish;
            request.work = work;
            return inspectKernel(model, request);
        },
        [this, wanted](const Result<KernelInspection>& kernel) {
            if (wanted != shown_)
                return; // the model was closed meanwhile, or a tuning has begun
            if (kernel.ok())
                showKernel(textOf(*kernel));
            else if (!kernel.error().isCancelled())
                showMessage(QString::fromStdString(kernel.error().message));
        });
}

} // namespace tunesmith
