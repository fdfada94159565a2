// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_page.h"
#include "app/gui/icons.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/export/export_form.h"
#include <QDir>
#include <QLabel>
#include <QLocale>
#include <QSettings>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QVBoxLayout>

namespace tunesmith {
namespace {

const QString kFolder = QStringLiteral("exportFolder");

QString defaultFolder() {
    const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    return QSettings().value(kFolder, QDir(documents).filePath(QStringLiteral("tunesmith"))).toString();
}

} // namespace

ExportPage::ExportPage(QAction* open, std::string store, QWidget* parent)
    : QWidget(parent), store_(std::move(store)), stack_(new QStackedWidget(this)),
      form_(new ExportForm(this)) {
    setObjectName(QStringLiteral("exportPage"));
    auto* empty = new EmptyState(glyphIcon(Glyph::exportModule), tr("Nothing to export yet"),
                                 tr("Open a model and tune it; then take the module with you."), this);
    empty->setAction(open);
    auto* shown = new QWidget(this);
    auto* title = new QLabel(tr("Export a tuned module"), shown);
    QFont large = Theme::scaled(title->font(), 1.35);
    large.setWeight(QFont::DemiBold);
    title->setFont(large);
    auto* sentence =
        new QLabel(tr("A folder with a shared library, its C header, the weights, and examples in C and "
                      "Python. It needs nothing of Tunesmith, and it is written only after its outputs "
                      "were compared with the reference."),
                   shown);
    sentence->setWordWrap(true);
    sentence->setForegroundRole(QPalette::PlaceholderText);
    auto* column = new QVBoxLayout(shown);
    column->setContentsMargins(40, 28, 40, 28);
    column->setSpacing(8);
    column->addWidget(title);
    column->addWidget(sentence);
    column->addSpacing(10);
    column->addWidget(form_, 1);
    column->addStretch(1);
    form_->layout()->setContentsMargins(0, 0, 0, 0);
    form_->setMaximumWidth(fontMetrics().averageCharWidth() * 150);
    stack_->addWidget(empty);
    stack_->addWidget(shown);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(stack_);
    connect(form_, &ExportForm::exportRequested, this, &ExportPage::run);
    connect(&job_, &Job::failed, this,
            [this](const QString& reason) {
                if (model_)
                    showResult(internalError(reason.toStdString()));
            });
    connect(&job_, &Job::progressed, this, [this](const QString& phase) {
        if (form_->busy())
            form_->setChecks({{tr("Working"), phase, CheckState::running}});
    });
}

void ExportPage::showModel(const OpenModelPtr& model) {
    job_.stop();
    form_->setBusy(false);
    model_ = model;
    stack_->setCurrentIndex(model ? 1 : 0);
    if (!model)
        return;
    form_->setFolder(defaultFolder());
    form_->setName(QString::fromStdString(model->model.name()));
    form_->setUsualPrefix(QString::fromStdString(usualPrefix(model->model)));
    form_->setEstimatedBytes(model->model.info().parameters * 4);
    showWaiting();
}

void ExportPage::showWaiting() {
    const ModelInfo& info = model_->model.info();
    QVector<ExportCheck> checks;
    if (!info.unsupported.empty())
        checks.push_back(
            {tr("Every operator is supported"), ModelText::unsupported(info), CheckState::failed});
    const std::vector<NodeProblem>& problems = model_->notExported;
    for (std::size_t i = info.unsupported.size(); i < problems.size(); ++i)
        checks.push_back({tr("Inputs and outputs can be handed over in C"),
                          tr("%1 %2: %3").arg(oneLine(problems[i].op), oneLine(problems[i].node), oneLine(problems[i].reason, kValueLength)),
                          CheckState::failed});
    if (!info.openDimensions.empty())
        checks.push_back({tr("Every dimension has a value"), tr("set the open ones first: Edit, Dimensions"),
                          CheckState::failed});
    checks.push_back({tr("Outputs agree with the reference"), tr("compared before anything is written"),
                      CheckState::waiting});
    form_->setChecks(checks);
}

// The page keeps the findings; the next try may accept them.
void ExportPage::showRefusal(const QString& why) {
    QVector<ExportCheck> checks = form_->checks();
    checks.last().result = why;
    checks.last().state = CheckState::warning;
    form_->setChecks(checks);
}

void ExportPage::run(const QString& folder, const QString& name) {
    if (!model_)
        return;
    QSettings().setValue(kFolder, folder);
    CompileRequest request;
    request.folder = QDir(folder).filePath(name).toStdString();
    request.store = store_;
    request.threads = threads_;
    request.prefix = form_->prefix().toStdString();
    request.acceptDifference = form_->acceptedDifference();
    form_->setBusy(true);
    job_.start(
        tr("Exporting %1").arg(name),
        [model = model_->model, request](const Work& work) {
            CompileRequest watched = request;
            watched.work = work;
            return compileModel(model, watched);
        },
        [this, asked = model_](const Result<CompileResult>& result) {
            if (asked == model_)
                showResult(result);
            if (result.ok())
                sayExported(*result);
        });
}

void ExportPage::showResult(const Result<CompileResult>& result) {
    form_->setBusy(false);
    if (!result.ok()) {
        showWaiting();
        if (!result.error().isCancelled())
            showRefusal(QString::fromStdString(result.error().message));
        if (!result.error().isCancelled())
            emit problem(QString::fromStdString(result.error().message));
        return;
    }
    const bool allTuned = result->tuned == result->kernels;
    form_->setEstimatedBytes(static_cast<qint64>(result->libraryBytes + result->weightBytes));
    form_->setChecks({{tr("Outputs agree with the reference"), QString::fromStdString(result->check.text),
                       result->check.passed ? CheckState::passed : CheckState::warning},
                      {tr("Every kernel is tuned"),
                       tr("%1 of %2 use a record of the store").arg(result->tuned).arg(result->kernels),
                       allTuned ? CheckState::passed : CheckState::warning},
                      {tr("Threads"), tr("made for %1").arg(result->threads), CheckState::passed}});
}

void ExportPage::sayExported(const CompileResult& result) {
    const QString folder = QString::fromStdString(result.folder.string());
    const QString size = QLocale().formattedDataSize(static_cast<qint64>(result.libraryBytes + result.weightBytes));
    emit exported(tr("Exported to %1 (%2).").arg(QDir::toNativeSeparators(folder), size), folder);
}

} // namespace tunesmith
