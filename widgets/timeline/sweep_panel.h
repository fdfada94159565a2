// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include "widgets/timeline/timeline_data.h"
#include <QStringList>
#include <QWidget>

class QAction;
class QLabel;

namespace tunesmith {

class PlainTable;

struct SweepEntry { // a combination of values, and what came of it
    QString key;        // identity; never shown
    QString subject;    // what is compared: entries of one subject differ in how it was tuned; never shown
    QStringList values; // of the listed keys
    int threads = 1;    // that it was tuned for
    TimelineJob::State state = TimelineJob::State::waiting;
    QString problem; // why it failed
    qint64 trials = 0, failed = 0;
    double seconds = 0; // that it has run
    double beforeMs = std::numeric_limits<double>::quiet_NaN(), afterMs = beforeMs; // NaN: not known yet
    bool best = false; // of its subject

    double faster() const { return beforeMs / afterMs; } // times as fast
    bool operator==(const SweepEntry& other) const;
};

// Marks the fastest of each subject of which at least two have a time; of equals the first.
void markBest(QVector<SweepEntry>& entries);

// The combinations of a sweep in one table, which fills while they run. Plain data in, wishes out.
class SweepPanel : public QWidget {
    Q_OBJECT
public:
    explicit SweepPanel(QWidget* parent = nullptr);

    void setSweep(const QString& name, const QStringList& keys, const QVector<SweepEntry>& entries); // another one; its values decide how columns are compared
    void setEntries(QVector<SweepEntry> entries);                                                     // of the same one
    void setRunning(bool running);
    const QVector<SweepEntry>& entries() const;
    PlainTable* table() const { return table_; }
    QString title() const;
    QAction* action(const QString& name) const; // resumeSweep, exportSweep

signals:
    void resumeRequested();
    void exportRequested();

private:
    QAction* addCommand(const char* name, const QString& text, const QString& tip);
    void refresh();

    QString name_;
    QLabel* title_;
    QAction *resume_, *export_;
    RowTableModel<SweepEntry>* model_;
    PlainTable* table_;
    bool running_ = false;
};

} // namespace tunesmith
