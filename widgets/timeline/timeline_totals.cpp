// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_totals.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/timeline/timeline_view.h"
#include <QLabel>
#include <QLocale>
#include <QSplitter>
#include <QVBoxLayout>
#include <cmath>
#include <limits>

namespace tunesmith {
namespace {

constexpr int kFreshMs = 100, kLaterMs = 1000;
constexpr int kStep = 50'000; // slices at once: a few milliseconds

QString percent(double share) {
    return TimelineTotals::tr("%1 %").arg(QLocale().toString(100 * share, 'f', share < 0.0995 ? 1 : 0));
}

QString signedPercent(double more) {
    if (std::isnan(more))
        return QStringLiteral("–");
    const auto whole = std::lround(100 * more);
    return TimelineTotals::tr("%1 %").arg((whole > 0 ? QStringLiteral("+") : whole < 0 ? QStringLiteral("−") : QString()) + QString::number(std::abs(whole)));
}

QVector<TableColumn<StageTotalRow>> stageColumns() {
    using Row = StageTotalRow;
    return {{TimelineTotals::tr("Job"), TimelineTotals::tr("Whose stages these are"), [](const Row& row) { return row.job; }},
            {TimelineTotals::tr("Stage"), TimelineTotals::tr("What was done"), [](const Row& row) { return row.kind; }},
            {TimelineTotals::tr("Slices"), TimelineTotals::tr("How many stages; one on several tracks is one"),
             [](const Row& row) { return QLocale().toString(row.slices); },
             [](const Row& row) { return row.slices; }, kRight},
            {TimelineTotals::tr("Time"), TimelineTotals::tr("On all tracks together: two cores for a second are two seconds"),
             [](const Row& row) { return secondsText(row.load); },
             [](const Row& row) { return row.load; }, kRight},
            {TimelineTotals::tr("Share"), TimelineTotals::tr("Of the time of all selected tracks"), [](const Row& row) { return percent(row.share); },
             [](const Row& row) { return row.share; }, kRight},
            {TimelineTotals::tr("Off"), TimelineTotals::tr("By how much stages took longer (+) than was expected when they began"),
             [](const Row& row) { return signedPercent(row.more); },
             [](const Row& row) { return row.more; }, kRight}};
}

QVector<TableColumn<TrackTotalRow>> trackColumns() {
    using Row = TrackTotalRow;
    return {{TimelineTotals::tr("Track"), TimelineTotals::tr("A unit of a resource"), [](const Row& row) { return row.key; }},
            {TimelineTotals::tr("Busy"), TimelineTotals::tr("In which it had something to do"), [](const Row& row) { return percent(row.share); },
             [](const Row& row) { return row.share; }, kRight},
            {TimelineTotals::tr("Slices"), TimelineTotals::tr("How many stages"), [](const Row& row) { return QLocale().toString(row.slices); },
             [](const Row& row) { return row.slices; }, kRight}};
}

QVector<TableColumn<IdleTotalRow>> idleColumns() {
    using Row = IdleTotalRow;
    return {{TimelineTotals::tr("Idle because"), TimelineTotals::tr("What could have used the track, and what it waited for"),
             [](const Row& row) { return row.key; }, nullptr,
             Qt::AlignLeft | Qt::AlignVCenter, [](const Row& row) { return row.key; }},
            {TimelineTotals::tr("Time"), TimelineTotals::tr("On all tracks together"), [](const Row& row) { return secondsText(row.seconds); },
             [](const Row& row) { return row.seconds; }, kRight},
            {TimelineTotals::tr("Share"), TimelineTotals::tr("Of the time of all selected tracks"), [](const Row& row) { return percent(row.share); },
             [](const Row& row) { return row.share; }, kRight},
            {TimelineTotals::tr("Gaps"), TimelineTotals::tr("How many times"), [](const Row& row) { return QLocale().toString(row.gaps); },
             [](const Row& row) { return row.gaps; }, kRight}};
}

} // namespace

bool StageTotalRow::operator==(const StageTotalRow& other) const {
    return key == other.key && job == other.job && kind == other.kind && slices == other.slices && load == other.load && share == other.share &&
           (more == other.more || (std::isnan(more) && std::isnan(other.more)));
}

TimelineTotals::TimelineTotals(QWidget* parent)
    : QWidget(parent), title_(new QLabel(this)), stages_(new RowTableModel<StageTotalRow>(stageColumns(), this)),
      tracks_(new RowTableModel<TrackTotalRow>(trackColumns(), this)),
      idle_(new RowTableModel<IdleTotalRow>(idleColumns(), this)), fresh_(kFreshMs, [this] { begin(); }), later_(kLaterMs, [this] { begin(); }) {
    setAccessibleName(tr("Selected area"));
    steps_.setInterval(0);
    connect(&steps_, &QTimer::timeout, this, &TimelineTotals::goOn);
    title_->setTextFormat(Qt::PlainText);
    title_->setWordWrap(true);
    title_->setContentsMargins(8, 6, 8, 0);
    auto* split = new QSplitter(this);
    split->setChildrenCollapsible(false);
    split->addWidget(addTable(tr("Time by job and stage"), stages_, 0));
    split->addWidget(addTable(tr("Time by track"), tracks_, 0));
    split->addWidget(addTable(tr("Idle time by reason"), idle_, 0));
    split->setSizes({450, 190, 520});
    room_ = split;
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(title_);
    column->addWidget(split, 1);
    column->addStretch(0);
    showTotals({}, {});
}

PlainTable* TimelineTotals::addTable(const QString& name, QAbstractItemModel* rows, int wide) {
    auto* table = new PlainTable(rows, wide, this);
    table->setAccessibleName(name);
    tables_.push_back(table);
    return table;
}

void TimelineTotals::watch(TimelineView* view) {
    if (view_)
        disconnect(view_, nullptr, this, nullptr);
    view_ = view;
    connect(view, &TimelineView::areaChanged, this, [this] { fresh_.request(); });
    connect(view, &TimelineView::slicesShown, this, [this] {
        if (!view_->area().empty())
            later_.request();
    });
    begin();
}

void TimelineTotals::begin() {
    sum_.emplace(view_->model(), view_->area());
    steps_.start();
    goOn();
}

void TimelineTotals::goOn() {
    if (sum_->outdated())
        return begin();
    if (sum_->step(kStep))
        return;
    steps_.stop();
    showTotals(sum_->totals(), view_->model());
    sum_.reset();
}

void TimelineTotals::showTotals(const AreaTotals& totals, const TimelineModel& model) {
    QVector<StageTotalRow> stages;
    QVector<TrackTotalRow> tracks;
    QVector<IdleTotalRow> idle;
    const double all = totals.unitSeconds();
    for (const StageTotal& sum : totals.stages)
        stages.push_back({QStringLiteral("%1 %2").arg(sum.job).arg(static_cast<int>(sum.kind)), model.jobs()[sum.job].name, kindName(sum.kind),
            sum.slices, sum.load, sum.load / all,
                          sum.expected > 0 ? sum.real / sum.expected - 1 : std::numeric_limits<double>::quiet_NaN()});
    for (const TrackTotal& sum : totals.tracks)
        tracks.push_back({model.tracks()[sum.track].name, sum.slices, sum.busy, sum.busy / totals.area.span.length()});
    for (const IdleTotal& sum : totals.idle)
        idle.push_back({sum.reason, sum.gaps, sum.seconds, sum.seconds / all});
    stages_->setRows(stages);
    tracks_->setRows(tracks);
    idle_->setRows(idle);
    for (PlainTable* table : tables_)
        table->fitColumns();
    room_->setVisible(!totals.tracks.isEmpty());
    title_->setText(totals.tracks.isEmpty() ? tr("Drag with Shift over the timeline, or press Ctrl+A there: what went on in the selected area stands here.")
                                            : tr("%1 on %2 tracks: %3 slices, busy for %4 of the time")
                                                  .arg(secondsText(totals.area.span.length()), QLocale().toString(totals.tracks.size()),
                                                      QLocale().toString(totals.slices), percent(totals.load() / all)));
    setAccessibleDescription(title());
}

QString TimelineTotals::title() const { return title_->text(); }

} // namespace tunesmith
