// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include "widgets/timeline/timeline_data.h"
#include <QWidget>

class QAction;

namespace tunesmith {

class PlainTable;

class JobsModel : public RowTableModel<TimelineJob> {
    Q_OBJECT
public:
    enum Column { name, state, progress, priority, budget, best, result };
    explicit JobsModel(QObject* parent = nullptr);

    void setEditable(bool editable) { editable_ = editable; }
    QVariant data(const QModelIndex& index, int role) const override; // the colour of a job as decoration, its priority for an editor
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override; // asks for it; the rows change when setRows() says so

signals:
    void priorityEdited(qint64 job, int priority);

private:
    bool editable_ = true;
};

// Jobs with their states, priorities and budgets, and what can be done about the chosen one. Plain data in, wishes out: nothing changes here until
// setJobs() tells so.
class JobsPanel : public QWidget {
    Q_OBJECT
public:
    static constexpr int kLowest = -1000, kHighest = 1000; // priorities

    explicit JobsPanel(QWidget* parent = nullptr);

    void setJobs(const QVector<TimelineJob>& jobs); // the chosen one stays by its key
    void setControls(bool there); // without them jobs can be looked at only
    const JobsModel& rows() const { return *model_; }
    PlainTable* table() const { return table_; }
    const TimelineJob* current() const; // null: none
    void setCurrent(qint64 job);
    QAction* action(const QString& name) const; // pauseJob, resumeJob, cancelJob, jobUp, jobDown

signals:
    void pauseRequested(qint64 job);
    void resumeRequested(qint64 job);
    void cancelRequested(qint64 job);
    void priorityRequested(qint64 job, int priority);
    void currentChanged();

private:
    QAction* addCommand(const char* name, const QString& text, const QString& tip, const QKeySequence& keys);
    void createActions();
    void movePriority(int by);
    void refreshActions();

    JobsModel* model_;
    PlainTable* table_;
    QWidget* bar_;
    QAction *pause_ = nullptr, *resume_ = nullptr, *cancel_ = nullptr, *up_ = nullptr, *down_ = nullptr;
    bool controls_ = true, sized_ = false;
};

} // namespace tunesmith
