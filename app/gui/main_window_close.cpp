// SPDX-License-Identifier: GPL-3.0-or-later
// Dropping, closing, and what is remembered of the window.
#include "app/gui/export_page.h"
#include "app/gui/graph_page.h"
#include "app/gui/main_window.h"
#include "app/gui/models_page.h"
#include "app/gui/optimize_page.h"
#include "app/gui/timeline_page.h"
#include "app/gui/tune_page.h"
#include <QApplication>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTimer>
#include <QUrl>
#include <algorithm>

namespace tunesmith {
namespace {

constexpr int kStateVersion = 4; // raise when docks change

QStringList localFiles(const QMimeData* data) {
    QStringList files;
    for (const QUrl& url : data->urls())
        if (url.isLocalFile())
            files << url.toLocalFile();
    return files;
}

} // namespace

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (localFiles(event->mimeData()).isEmpty())
        return;
    event->acceptProposedAction();
    models_->setDropHighlighted(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) {
    models_->setDropHighlighted(false);
}

// The first file goes here, each other one into a window of its own.
void MainWindow::dropEvent(QDropEvent* event) {
    models_->setDropHighlighted(false);
    const QStringList files = localFiles(event->mimeData());
    if (files.isEmpty())
        return;
    event->acceptProposedAction();
    openFile(files.front());
    for (const QString& file : files.mid(1)) {
        auto* window = new MainWindow(store_);
        window->show();
        window->openFile(file);
    }
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (tuning() && !closing_) {
        event->ignore();
        return askBeforeClosing();
    }
    if (isVisible())
        rememberState();
    QWidget* const menu = QApplication::activePopupWidget(); // its event loop stands on a view that goes with a window
    if (menu)
        menu->close();
    const QList<Job*> jobs = QList<Job*>{&opening_, &saving_, &checking_, &export_->job(), &models_->job(), &tune_->runner().job()} + tune_->quietJobs() +
                             optimize_->jobs() + timeline_->jobs() + timeline_->quietJobs();
    if (!menu && std::none_of(jobs.begin(), jobs.end(), [](const Job* job) { return job->running(); }))
        return event->accept();
    event->ignore(); // out of sight at once; gone when what runs has noticed
    hide();
    for (Job* job : jobs)
        job->stop();
    QTimer::singleShot(50, this, &QWidget::close);
}

bool MainWindow::tuning() const {
    return tune_->running() || timeline_->running();
}

void MainWindow::askBeforeClosing() {
    auto* box = new QMessageBox(
        QMessageBox::Question, tr("Tuning is running"),
        tune_->running() ? tr("The tuning of %1 is not finished.").arg(QString::fromStdString(model_->model.name())) : tr("The jobs on the Timeline page are not finished."),
        QMessageBox::NoButton, this);
    box->setObjectName(QStringLiteral("closeQuestion"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    box->setInformativeText(
        tr("Every trial is already in the store, and a stopped run can be resumed. Kept running, the window "
           "is minimised and closes by itself at the end."));
    auto* keep = box->addButton(tr("&Keep running"), QMessageBox::ActionRole);
    auto* stop = box->addButton(tr("&Stop and save"), QMessageBox::AcceptRole);
    box->addButton(QMessageBox::Cancel);
    box->setDefaultButton(stop);
    connect(box, &QMessageBox::buttonClicked, this, [this, keep, stop](const QAbstractButton* clicked) {
        if (clicked == keep)
            showMinimized();
        if (clicked == stop) {
            tune_->stop();
            timeline_->cancel();
        }
        if (clicked == keep || clicked == stop)
            closeWhenTuned();
    });
    box->open();
}

void MainWindow::closeWhenTuned() {
    closing_ = !tuning();
    if (closing_) {
        close();
        return;
    }
    const auto closeAtTheEnd = [this] {
        if (tuning())
            return;
        closing_ = true;
        QMetaObject::invokeMethod(this, &QWidget::close, Qt::QueuedConnection);
    };
    connect(tune_, &TunePage::stateChanged, this, closeAtTheEnd);
    connect(timeline_, &TimelinePage::stateChanged, this, closeAtTheEnd);
}

void MainWindow::askBeforeReplacing(Remedy proceed) {
    auto* box = new QMessageBox(QMessageBox::Question, tr("Tuning is running"),
                                tr("The tuning of %1 has to stop before another model takes its place.")
                                    .arg(QString::fromStdString(model_->model.name())),
                                QMessageBox::NoButton, this);
    box->setObjectName(QStringLiteral("replaceQuestion"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    box->setInformativeText(tr("Every trial is already in the store, and the run can be resumed."));
    box->addButton(tr("&Stop and open"), QMessageBox::AcceptRole);
    box->addButton(QMessageBox::Cancel);
    connect(box, &QDialog::accepted, this, [this, proceed = std::move(proceed)] {
        tune_->stop();
        if (!tune_->running())
            return proceed();
        connect(tune_, &TunePage::stateChanged, this, proceed,
                static_cast<Qt::ConnectionType>(Qt::QueuedConnection | Qt::SingleShotConnection));
    });
    box->open();
}

void MainWindow::rememberState() {
    QSettings settings;
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/graph"), graph_->saveState(kStateVersion));
    settings.setValue(QStringLiteral("window/optimize"), optimize_->saveState(kStateVersion));
    settings.setValue(QStringLiteral("window/tune"), tune_->saveState(kStateVersion));
    settings.setValue(QStringLiteral("window/timeline"), timeline_->saveState(kStateVersion));
}

void MainWindow::recallState() {
    const QSettings settings;
    restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray());
    graph_->recallLayout(settings.value(QStringLiteral("window/graph")).toByteArray(), kStateVersion);
    optimize_->recallLayout(settings.value(QStringLiteral("window/optimize")).toByteArray(), kStateVersion);
    tune_->recallLayout(settings.value(QStringLiteral("window/tune")).toByteArray(), kStateVersion);
    timeline_->recallLayout(settings.value(QStringLiteral("window/timeline")).toByteArray(), kStateVersion);
}

void MainWindow::resetLayout() {
    graph_->resetLayout();
    optimize_->resetLayout();
    tune_->resetLayout();
    timeline_->resetLayout();
}

} // namespace tunesmith
