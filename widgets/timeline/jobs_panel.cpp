// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/jobs_panel.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/tune/tune_data.h"
#include "widgets/tune/workload_delegates.h"
#include <QAction>
#include <QHBoxLayout>
#include <QLocale>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

QString progressText(const TimelineJob& job) {
    return std::isfinite(job.progress) ? JobsPanel::tr("%1 %").arg(std::lround(100 * std::clamp(job.progress, 0.0, 1.0))) : QStringLiteral("–");
}

QVector<TableColumn<TimelineJob>> jobColumns() {
    using Row = TimelineJob;
    const auto problem = [](const Row& job) { return job.problem; };
    const auto does = [](const Row& job) { return job.does.isEmpty() || job.problem.isEmpty() ? job.does + job.problem : job.does + QLatin1Char('\n') + job.problem; };
    return {{JobsPanel::tr("Job"), JobsPanel::tr("Its slices have this colour in the timeline; point at a job to see what it does"), [](const Row& job) { return oneLine(job.name); },
             nullptr, kLeft, does},
            {JobsPanel::tr("State"), JobsPanel::tr("Point at a failed job to see why it failed"), [](const Row& job) { return stateName(job.state); },
             [](const Row& job) { return static_cast<int>(job.state); }, kLeft, problem},
            {JobsPanel::tr("Progress"), JobsPanel::tr("Of the whole budget"), progressText,
             [](const Row& job) { return std::isfinite(job.progress) ? job.progress : 0.0; }},
            {JobsPanel::tr("Priority"), JobsPanel::tr("The higher goes first"), [](const Row& job) { return QLocale().toString(job.priority); },
             [](const Row& job) { return job.priority; }, kRight},
            {JobsPanel::tr("Budget left"), JobsPanel::tr("What the job may still use"),
             [](const Row& job) { return job.budgetLeft.isEmpty() ? QStringLiteral("–") : job.budgetLeft; }, nullptr, kRight},
            {JobsPanel::tr("Best so far"), JobsPanel::tr("Of the model's kernels together"), [](const Row& job) { return msText(job.bestMs); },
             [](const Row& job) { return job.bestMs; }, kRight},
            {JobsPanel::tr("Result"), JobsPanel::tr("Of jobs that rewrite a model or tune a problem of a plugin: before and after"),
             [](const Row& job) { return job.result.isEmpty() ? QStringLiteral("–") : job.result; }, nullptr, kLeft,
             [](const Row& job) { return job.result; }}};
}

class PriorityDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex&) const override {
        auto* box = new QSpinBox(parent);
        box->setRange(JobsPanel::kLowest, JobsPanel::kHighest);
        box->setFrame(false);
        box->setAccessibleName(JobsPanel::tr("Priority"));
        return box;
    }
};

} // namespace

JobsModel::JobsModel(QObject* parent) : RowTableModel(jobColumns(), parent) {}

QVariant JobsModel::data(const QModelIndex& index, int role) const {
    if (role == Qt::EditRole && index.isValid() && index.column() == priority)
        return rows()[index.row()].priority;
    if (role == Qt::DecorationRole && index.isValid() && index.column() == name)
        return Theme::instance().category(rows()[index.row()].color);
    return RowTableModel::data(index, role);
}

Qt::ItemFlags JobsModel::flags(const QModelIndex& index) const {
    const bool edits = editable_ && index.isValid() && index.column() == priority && !rows()[index.row()].ended();
    return RowTableModel::flags(index) | (edits ? Qt::ItemIsEditable : Qt::NoItemFlags);
}

bool JobsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    bool number = false;
    const int wanted = value.toInt(&number);
    if (role != Qt::EditRole || !number || !(flags(index) & Qt::ItemIsEditable) || wanted < JobsPanel::kLowest || wanted > JobsPanel::kHighest)
        return false;
    const TimelineJob& job = rows()[index.row()];
    if (wanted != job.priority)
        emit priorityEdited(job.key, wanted);
    return true;
}

JobsPanel::JobsPanel(QWidget* parent)
    : QWidget(parent), model_(new JobsModel(this)), table_(new PlainTable(model_, JobsModel::name, this)), bar_(new QWidget(this)) {
    setAccessibleName(tr("Jobs"));
    table_->setAccessibleName(tr("Jobs"));
    table_->setItemDelegateForColumn(JobsModel::progress, new BarDelegate(table_));
    table_->setItemDelegateForColumn(JobsModel::priority, new PriorityDelegate(table_));
    createActions();
    auto* buttons = new QHBoxLayout(bar_);
    buttons->setContentsMargins(6, 4, 6, 0);
    for (QAction* action : {pause_, resume_, cancel_, up_, down_}) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setFocusPolicy(Qt::TabFocus);
        buttons->addWidget(button);
    }
    buttons->addStretch(1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(bar_);
    column->addWidget(table_, 1);
    connect(model_, &JobsModel::priorityEdited, this, &JobsPanel::priorityRequested);
    connect(table_, &PlainTable::currentKeyChanged, this, [this] {
        refreshActions();
        emit currentChanged();
    });
    connect(&Theme::instance(), &Theme::changed, table_->viewport(), qOverload<>(&QWidget::update));
    refreshActions();
}

QAction* JobsPanel::addCommand(const char* name, const QString& text, const QString& tip, const QKeySequence& keys) {
    auto* made = new QAction(text, this);
    made->setObjectName(QLatin1String(name));
    made->setToolTip(tip);
    made->setStatusTip(tip);
    made->setShortcut(keys);
    made->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    addAction(made);
    table_->addAction(made); // its context menu
    return made;
}

void JobsPanel::createActions() {
    pause_ = addCommand("pauseJob", tr("&Pause"), tr("Begin no more stages of this job (P)"), Qt::Key_P);
    resume_ = addCommand("resumeJob", tr("&Resume"), tr("Go on with this job (R)"), Qt::Key_R);
    cancel_ = addCommand("cancelJob", tr("&Cancel"), tr("End this job; what it found stays in the store (Delete)"), QKeySequence::Delete);
    up_ = addCommand("jobUp", tr("Priority &up"), tr("Let this job go before others (Alt+Up)"), Qt::ALT | Qt::Key_Up);
    down_ = addCommand("jobDown", tr("Priority &down"), tr("Let others go before this job (Alt+Down)"), Qt::ALT | Qt::Key_Down);
    connect(pause_, &QAction::triggered, this, [this] { emit pauseRequested(current()->key); });
    connect(resume_, &QAction::triggered, this, [this] { emit resumeRequested(current()->key); });
    connect(cancel_, &QAction::triggered, this, [this] { emit cancelRequested(current()->key); });
    connect(up_, &QAction::triggered, this, [this] { movePriority(1); });
    connect(down_, &QAction::triggered, this, [this] { movePriority(-1); });
}

QAction* JobsPanel::action(const QString& name) const {
    return findChild<QAction*>(name, Qt::FindDirectChildrenOnly);
}

void JobsPanel::movePriority(int by) {
    emit priorityRequested(current()->key, std::clamp(current()->priority + by, kLowest, kHighest));
}

void JobsPanel::setJobs(const QVector<TimelineJob>& jobs) {
    const QVariant key = table_->currentKey();
    model_->setRows(jobs);
    if (key.isValid() && table_->currentKey() != key)
        table_->setCurrentKey(key);
    refreshActions();
    if (sized_ || jobs.isEmpty())
        return;
    sized_ = true;
    table_->fitColumns();
    table_->setColumnWidth(JobsModel::progress, fontMetrics().averageCharWidth() * 18);
    table_->setColumnWidth(JobsModel::result, fontMetrics().averageCharWidth() * 36);
}

void JobsPanel::setControls(bool there) {
    controls_ = there;
    model_->setEditable(there);
    bar_->setVisible(there);
    for (QAction* action : {pause_, resume_, cancel_, up_, down_})
        action->setVisible(there);
    refreshActions();
}

const TimelineJob* JobsPanel::current() const {
    const QVariant key = table_->currentKey();
    const auto& jobs = model_->rows();
    const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const TimelineJob& job) { return key.isValid() && job.key == key.toLongLong(); });
    return found == jobs.end() ? nullptr : &*found;
}

void JobsPanel::setCurrent(qint64 job) {
    table_->setCurrentKey(QVariant::fromValue(job));
}

void JobsPanel::refreshActions() {
    const TimelineJob* job = current();
    const bool going = controls_ && job && !job->ended();
    pause_->setEnabled(going && job->state != TimelineJob::State::paused);
    resume_->setEnabled(going && job->state == TimelineJob::State::paused);
    cancel_->setEnabled(going);
    up_->setEnabled(going && job->priority < kHighest);
    down_->setEnabled(going && job->priority > kLowest);
}

} // namespace tunesmith
