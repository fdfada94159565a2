// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/sweep_panel.h"
#include "widgets/base/foreign_text.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/tune/tune_data.h"
#include <QAction>
#include <QFont>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMap>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

QString valueAt(const SweepEntry& entry, int place) {
    return place < entry.values.size() ? oneLine(entry.values[place]) : QString();
}

// Numbers in the order of numbers, where all are.
bool allNumbers(const QVector<SweepEntry>& entries, int place) {
    return std::all_of(entries.begin(), entries.end(), [place](const SweepEntry& entry) {
        bool number = false;
        valueAt(entry, place).toDouble(&number);
        return number;
    });
}

TableColumn<SweepEntry> valueColumn(const QString& key, int place, bool numbers) {
    const auto shown = [place](const SweepEntry& entry) { return valueAt(entry, place); };
    TableColumn<SweepEntry>::Cell sort;
    if (numbers)
        sort = [place](const SweepEntry& entry) { return valueAt(entry, place).toDouble(); };
    return {oneLine(key), SweepPanel::tr("A key of the sweep's file"), shown, sort, numbers ? kRight : kLeft, shown};
}

QString fasterText(const SweepEntry& entry) {
    return std::isfinite(entry.faster()) ? SweepPanel::tr("%1 times").arg(QLocale().toString(entry.faster(), 'f', 2)) : QStringLiteral("–");
}

QVector<TableColumn<SweepEntry>> columnsOf(const QStringList& keys, const QVector<SweepEntry>& entries) {
    using Row = SweepEntry;
    QVector<TableColumn<Row>> columns;
    for (int i = 0; i < keys.size(); ++i)
        columns.push_back(valueColumn(keys[i], i, allNumbers(entries, i)));
    const auto problem = [](const Row& row) { return row.problem; };
    const auto best = [](const Row& row) { return row.best ? QVariant(SweepPanel::tr("The fastest of those with the same model, sizes and threads")) : QVariant(); };
    columns += {{SweepPanel::tr("Tuned for"), SweepPanel::tr("Threads that the kernels use"), [](const Row& row) { return SweepPanel::tr("threads: %1").arg(row.threads); },
                 [](const Row& row) { return row.threads; }, kRight},
                {SweepPanel::tr("State"), SweepPanel::tr("Point at one that failed to see why"), [](const Row& row) { return stateName(row.state); },
                 [](const Row& row) { return static_cast<int>(row.state); }, kLeft, problem},
                {SweepPanel::tr("Trials"), SweepPanel::tr("Schedules that were tried"), [](const Row& row) { return QLocale().toString(row.trials); },
                 [](const Row& row) { return row.trials; }, kRight},
                {SweepPanel::tr("Failed"), SweepPanel::tr("Of these trials"), [](const Row& row) { return QLocale().toString(row.failed); },
                 [](const Row& row) { return row.failed; }, kRight},
                {SweepPanel::tr("Took"), SweepPanel::tr("Time that the job has run"), [](const Row& row) { return secondsText(row.seconds); },
                 [](const Row& row) { return row.seconds; }, kRight},
                {SweepPanel::tr("Before"), SweepPanel::tr("The model's kernels together, untuned"), [](const Row& row) { return msText(row.beforeMs); },
                 [](const Row& row) { return row.beforeMs; }, kRight},
                {SweepPanel::tr("After"), SweepPanel::tr("The model's kernels together, with the best that this combination found by itself"),
                 [](const Row& row) { return row.best ? QStringLiteral("★ ") + msText(row.afterMs) : msText(row.afterMs); }, [](const Row& row) { return row.afterMs; }, kRight, best},
                {SweepPanel::tr("Faster"), SweepPanel::tr("Before over after"), fasterText, [](const Row& row) { return row.faster(); }, kRight}};
    return columns;
}

class SweepModel : public RowTableModel<SweepEntry> {
public:
    using RowTableModel::RowTableModel;
    QVariant data(const QModelIndex& index, int role) const override {
        if (role != Qt::FontRole || !index.isValid() || !rows()[index.row()].best)
            return RowTableModel::data(index, role);
        QFont font;
        font.setBold(true);
        return font;
    }
};

} // namespace

bool SweepEntry::operator==(const SweepEntry& other) const {
    return key == other.key && subject == other.subject && values == other.values && threads == other.threads && state == other.state && problem == other.problem &&
           trials == other.trials && failed == other.failed && seconds == other.seconds && same(beforeMs, other.beforeMs) && same(afterMs, other.afterMs) && best == other.best;
}

void markBest(QVector<SweepEntry>& entries) {
    QMap<QString, QVector<SweepEntry*>> subjects;
    for (SweepEntry& entry : entries) {
        entry.best = false;
        if (std::isfinite(entry.afterMs))
            subjects[entry.subject].push_back(&entry);
    }
    for (const QVector<SweepEntry*>& rivals : std::as_const(subjects))
        if (rivals.size() > 1)
            (*std::min_element(rivals.begin(), rivals.end(), [](const SweepEntry* a, const SweepEntry* b) { return a->afterMs < b->afterMs; }))->best = true;
}

SweepPanel::SweepPanel(QWidget* parent) : QWidget(parent), title_(new QLabel(this)), model_(new SweepModel(columnsOf({}, {}), this)), table_(new PlainTable(model_, 0, this)) {
    setAccessibleName(tr("Sweep"));
    resume_ = addCommand("resumeSweep", tr("&Go on"), tr("Run the combinations that have not ended well"));
    export_ = addCommand("exportSweep", tr("Export &table…"), tr("Write the table as comma-separated values"));
    connect(resume_, &QAction::triggered, this, &SweepPanel::resumeRequested);
    connect(export_, &QAction::triggered, this, &SweepPanel::exportRequested);
    title_->setTextFormat(Qt::PlainText);
    title_->setWordWrap(true);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 6, 0);
    bar->addWidget(title_, 1);
    for (QAction* action : {resume_, export_}) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setFocusPolicy(Qt::TabFocus);
        bar->addWidget(button);
    }
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addLayout(bar);
    column->addWidget(table_, 1);
    table_->setAccessibleName(tr("Combinations of the sweep"));
    setSweep({}, {}, {});
}

QAction* SweepPanel::addCommand(const char* name, const QString& text, const QString& tip) {
    auto* made = new QAction(text, this);
    made->setObjectName(QLatin1String(name));
    made->setToolTip(tip);
    made->setStatusTip(tip);
    return made;
}

QAction* SweepPanel::action(const QString& name) const {
    return findChild<QAction*>(name, Qt::FindDirectChildrenOnly);
}

void SweepPanel::setSweep(const QString& name, const QStringList& keys, const QVector<SweepEntry>& entries) {
    name_ = oneLine(name);
    model_->setTable(columnsOf(keys, entries), {}); // the table stays: a menu of it may be open
    table_->sortByColumn(-1, Qt::AscendingOrder);
    setEntries(entries);
    table_->fitColumns();
}

void SweepPanel::setEntries(QVector<SweepEntry> entries) {
    markBest(entries);
    model_->setRows(entries);
    refresh();
}

void SweepPanel::setRunning(bool running) {
    running_ = running;
    refresh();
    if (!running_)
        table_->fitColumns(); // to what there is now
}

const QVector<SweepEntry>& SweepPanel::entries() const {
    return model_->rows();
}

QString SweepPanel::title() const {
    return title_->text();
}

void SweepPanel::refresh() {
    const QVector<SweepEntry>& rows = entries();
    const auto ended = std::count_if(rows.begin(), rows.end(), [](const SweepEntry& row) { return row.state == TimelineJob::State::done; });
    const auto failed = std::count_if(rows.begin(), rows.end(), [](const SweepEntry& row) { return row.state == TimelineJob::State::failed; });
    const QString text = failed == 0 ? tr("%1: %2 of %3 done").arg(name_).arg(ended).arg(rows.size()) : tr("%1: %2 of %3 done, failed: %4").arg(name_).arg(ended).arg(rows.size()).arg(failed);
    title_->setText(rows.isEmpty() ? tr("A sweep tunes every combination of the values that its file lists, such as strategy = [\"random\", \"genetic\"]: open it, or run it like a file of jobs.") : text);
    resume_->setEnabled(!running_ && ended < rows.size());
    export_->setEnabled(!rows.isEmpty());
}

} // namespace tunesmith
