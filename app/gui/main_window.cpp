// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"
#include "app/gui/export_page.h"
#include "app/gui/graph_page.h"
#include "app/gui/models_page.h"
#include "app/gui/optimize_page.h"
#include "app/gui/settings.h"
#include "app/gui/timeline_page.h"
#include "app/gui/tune_page.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/status_progress.h"
#include "widgets/graph/graph_view.h"
#include <QAction>
#include <QActionGroup>
#include <QDesktopServices>
#include <QFileInfo>
#include <QMenu>
#include <QStackedWidget>
#include <QStatusBar>
#include <QUrl>
#include <QVBoxLayout>

namespace tunesmith {

MainWindow::MainWindow(const QString& store, QWidget* parent)
    : QMainWindow(parent), store_(store), pages_(new QStackedWidget(this)), notice_(new NoticeBar(this)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setAcceptDrops(true);
    setObjectName(QStringLiteral("mainWindow"));
    notice_->setObjectName(QStringLiteral("notice"));
    openAction_ = new QAction(tr("&Open…"), this);
    createPages();
    createPageBar();
    createMenus();
    connectPages();
    statusBar()->setSizeGripEnabled(true);
    for (Job* job : {&opening_, &tune_->runner().job(), &export_->job(), &saving_, &checking_})
        watch(*job);
    for (Job* job : optimize_->jobs() + timeline_->jobs())
        watch(*job);
    connect(notice_, &NoticeBar::showRequested, this, [this] {
        if (const Remedy remedy = std::exchange(remedy_, nullptr)) {
            notice_->hide();
            remedy();
        }
    });
    resize(1400, 900);
    graph_->view()->setWheelZooms(settings::wheelZooms());
    refreshRecent();
    refreshTitle();
    recallState();
    showPage(Page::models);
}

void MainWindow::createPages() {
    models_ = new ModelsPage(openAction_, this);
    graph_ = new GraphPage(openAction_, this);
    optimize_ = new OptimizePage(openAction_, store_.toStdString(), this);
    tune_ = new TunePage(openAction_, store_.toStdString(), this);
    timeline_ = new TimelinePage(store_.toStdString(), this);
    export_ = new ExportPage(openAction_, store_.toStdString(), this);
    for (QWidget* page : std::initializer_list<QWidget*>{models_, graph_, optimize_, tune_, timeline_, export_})
        pages_->addWidget(page);
    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    auto* room = new QVBoxLayout;
    room->setContentsMargins(8, 0, 8, 0);
    room->addWidget(notice_);
    column->addLayout(room);
    column->addWidget(pages_, 1);
    setCentralWidget(centre);
}

void MainWindow::connectPages() {
    connect(models_, &ModelsPage::sampleRequested, this, &MainWindow::openSample);
    connect(models_, &ModelsPage::fileRequested, this, &MainWindow::openFile);
    connect(models_, &ModelsPage::recentShown, this, [this](const QStringList& missing) {
        for (QAction* action : recentMenu_->actions())
            action->setEnabled(!missing.contains(action->data().toString()));
    });
    connect(optimize_, &OptimizePage::problem, this, &MainWindow::notifyError);
    connect(optimize_, &OptimizePage::saved, this, [this](const QString& text, const QString& path) {
        notify(NoticeBar::Kind::success, text, tr("Open it"), [this, path] { openFile(path); });
    });
    connect(tune_, &TunePage::problem, this, &MainWindow::notifyError);
    connect(tune_, &TunePage::tuned, this, [this](const QString& text, bool faster) {
        notify(faster ? NoticeBar::Kind::success : NoticeBar::Kind::info, text, tr("Export…"),
               [this] { showPage(Page::exportModule); });
    });
    connect(tune_, &TunePage::stateChanged, this, &MainWindow::refreshTitle);
    tune_->follow(timeline_->devices());
    connect(tune_, &TunePage::devicesWanted, this, [this] {
        showPage(Page::timeline);
        timeline_->showDevices();
    });
    connect(timeline_, &TimelinePage::problem, this, &MainWindow::notifyError);
    connect(timeline_, &TimelinePage::done, this, [this](const QString& text) {
        notify(NoticeBar::Kind::info, text, tr("Show"), [this] { showPage(Page::timeline); });
    });
    connect(timeline_, &TimelinePage::saved, this, [this](const QString& text) { notify(NoticeBar::Kind::success, text); });
    connect(export_, &ExportPage::problem, this, &MainWindow::notifyError);
    connect(export_, &ExportPage::exported, this, [this](const QString& text, const QString& folder) {
        notify(NoticeBar::Kind::success, text, tr("Open folder"),
               [folder] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder)); });
    });
    for (Job* job : {&opening_, &saving_, &checking_})
        connect(job, &Job::failed, this, &MainWindow::notifyError);
}

void MainWindow::watch(Job& job) {
    auto* progress = new StatusProgress(this);
    progress->setObjectName(QStringLiteral("progress"));
    statusBar()->addPermanentWidget(progress);
    progress->hide(); // the status bar shows what is added to it
    connect(&job, &Job::started, progress, &StatusProgress::start);
    connect(&job, &Job::progressed, progress, [this, progress](const QString& phase, double fraction) {
        progress->setProgress(fraction);
        statusBar()->showMessage(phase, 4000);
    });
    connect(&job, &Job::finished, progress, [this, progress] {
        progress->finish();
        statusBar()->clearMessage();
    });
    connect(progress, &StatusProgress::cancelRequested, &job, &Job::stop);
}

void MainWindow::showPage(Page page) {
    pages_->setCurrentIndex(static_cast<int>(page));
    pageActions_->actions()[static_cast<int>(page)]->setChecked(true);
    if (page == Page::exportModule)
        export_->setThreads(tune_->threads());
    if (page == Page::graph)
        graph_->view()->setFocus();
}

MainWindow::Page MainWindow::page() const {
    return static_cast<Page>(pages_->currentIndex());
}

void MainWindow::notify(NoticeBar::Kind kind, const QString& text, const QString& showText, Remedy remedy) {
    remedy_ = std::move(remedy);
    const bool failed = kind == NoticeBar::Kind::error || kind == NoticeBar::Kind::warning;
    notice_->showMessage(kind, text, failed ? text : QString(), showText);
}

void MainWindow::notifyError(const QString& text) {
    notify(NoticeBar::Kind::error, text);
}

// What is to be run stands beside the model that is open.
void MainWindow::openFile(const QString& path) {
    if (path.endsWith(QLatin1String(".toml"), Qt::CaseInsensitive)) {
        showPage(Page::timeline);
        return timeline_->askToRun(QFileInfo(path).absoluteFilePath());
    }
    open(QFileInfo(path).absoluteFilePath(), true);
}
void MainWindow::openSample(const QString& name) {
    open(name, false);
}

void MainWindow::open(const QString& fileOrSample, bool file, const Dimensions& dimensions) {
    if (!tune_->running())
        return load(fileOrSample, file, dimensions);
    askBeforeReplacing([=, this] { load(fileOrSample, file, dimensions); });
}

void MainWindow::load(const QString& fileOrSample, bool file, const Dimensions& dimensions) {
    notice_->hide();
    opening_.start(
        tr("Opening %1").arg(QFileInfo(fileOrSample).fileName()),
        [name = fileOrSample.toStdString(), dimensions, font = graph_->view()->font()](const Work& work) {
            return loadModel(name, dimensions, font, work);
        },
        [=, this](const Result<OpenModelPtr>& result) {
            if (result.ok())
                return adopt(*result, file, fileOrSample);
            const QString reason = QString::fromStdString(result.error().message);
            if (!result.error().isCancelled())
                notifyError(reason);
            emit openFailed(reason);
        });
}

void MainWindow::adopt(const OpenModelPtr& model, bool file, const QString& path) {
    if (tune_->running()) // it has begun while the model was read
        return askBeforeReplacing([=, this] { adopt(model, file, path); });
    model_ = model;
    graph_->showModel(model);
    optimize_->showModel(model);
    tune_->showModel(model);
    export_->showModel(model);
    if (file) {
        settings::addRecentFile(path);
        refreshRecent();
    }
    refreshTitle();
    showPage(Page::graph);
    noticeAbout(*model);
    emit modelOpened();
}

void MainWindow::noticeAbout(const OpenModel& model) {
    const ModelInfo& info = model.model.info();
    const auto showFirst = [this](std::string PictureNode::*reason) {
        const auto& nodes = model_->picture.nodes;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (!(nodes[i].*reason).empty())
                return graph_->view()->select(static_cast<qint64>(i));
    };
    if (!info.unsupported.empty())
        return notify(NoticeBar::Kind::warning, ModelText::unsupported(info), tr("Show node"),
                      [=] { showFirst(&PictureNode::problem); });
    if (!info.notCompiled.empty())
        return notify(NoticeBar::Kind::info, ModelText::notCompiled(info), tr("Show node"),
                      [=] { showFirst(&PictureNode::notCompiled); });
    if (!info.warnings.empty())
        return notify(NoticeBar::Kind::warning, ModelText::warnings(info));
    if (info.openDimensions.empty())
        return;
    QStringList names;
    for (const std::string& name : info.openDimensions)
        names << oneLine(name, 40);
    notify(NoticeBar::Kind::info,
           tr("This model leaves sizes open: %1. Give them values to tune it.")
               .arg(names.join(QStringLiteral(", "))),
           tr("Dimensions…"), [this] { chooseDimensions(); });
}

void MainWindow::closeModel() {
    if (tune_->running())
        return askBeforeReplacing([this] { closeModel(); });
    opening_.stop();
    model_ = nullptr;
    graph_->showModel(nullptr);
    optimize_->showModel(nullptr);
    tune_->showModel(nullptr);
    export_->showModel(nullptr);
    notice_->hide();
    refreshTitle();
    showPage(Page::models);
}

void MainWindow::refreshTitle() {
    const QString name = model_ ? QString::fromStdString(model_->model.name()) : QString();
    setWindowTitle(model_ ? tr("%1 - Tunesmith").arg(name) : tr("Tunesmith"));
    const bool free = model_ != nullptr;
    closeAction_->setEnabled(free);
    saveOnnxAction_->setEnabled(free);
    dimensionsAction_->setEnabled(
        free && !tune_->running() &&
        (!model_->dimensions.empty() || !model_->model.info().openDimensions.empty()));
}

} // namespace tunesmith
