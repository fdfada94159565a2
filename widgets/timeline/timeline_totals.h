// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include "widgets/base/throttle.h"
#include "widgets/timeline/timeline_area.h"
#include <QTimer>
#include <QWidget>
#include <optional>

class QLabel;

namespace tunesmith {

class PlainTable;
class TimelineView;

struct StageTotalRow { // of a job and a kind of stage
    QString key, job, kind;
    qint64 slices = 0;
    double load = 0, share = 0; // seconds of units; of all that there were
    double more = 0;            // real over expected times, less 1; NaN: nothing was expected
    bool operator==(const StageTotalRow& other) const;
};

struct TrackTotalRow {
    QString key;
    qint64 slices = 0;
    double busy = 0, share = 0; // seconds; of the area's length
    bool operator==(const TrackTotalRow&) const = default;
};

struct IdleTotalRow {
    QString key; // why
    qint64 gaps = 0;
    double seconds = 0, share = 0; // of all that there were
    bool operator==(const IdleTotalRow&) const = default;
};

// What went on in the area that is selected in a TimelineView: by job and stage, by track, and why tracks did nothing.
class TimelineTotals : public QWidget {
    Q_OBJECT
public:
    explicit TimelineTotals(QWidget* parent = nullptr);

    void watch(TimelineView* view); // borrowed; shows its area from now on
    void showTotals(const AreaTotals& totals, const TimelineModel& model);
    QString title() const;
    const QVector<StageTotalRow>& stages() const { return stages_->rows(); }
    const QVector<TrackTotalRow>& tracks() const { return tracks_->rows(); }
    const QVector<IdleTotalRow>& idle() const { return idle_->rows(); }

private:
    void begin();
    void goOn();
    PlainTable* addTable(const QString& name, QAbstractItemModel* rows, int wide);

    QLabel* title_;
    RowTableModel<StageTotalRow>* stages_;
    RowTableModel<TrackTotalRow>* tracks_;
    RowTableModel<IdleTotalRow>* idle_;
    QVector<PlainTable*> tables_;
    QWidget* room_;
    Throttle fresh_, later_; // a selection that is being drawn changes with every movement of the mouse, and new slices come all the time
    QTimer steps_;
    std::optional<AreaSum> sum_; // that is being made
    TimelineView* view_ = nullptr;
};

} // namespace tunesmith
