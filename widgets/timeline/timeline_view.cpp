// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_view.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/base/announce_value.h"
#include "widgets/timeline/timeline_accessible.h"
#include "widgets/timeline/timeline_idle.h"
#include <QAction>
#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

constexpr int kFrameMs = 33; // new slices are shown at most thirty times a second
constexpr double kReach = 4;     // pixels beside a slice that still mean it

} // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent), fresh_(kFrameMs, [this] { catchUp(); }) {
    installTimelineAccessibility();
    setAccessibleName(tr("Timeline"));
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setMinimumSize(240, 120);
    viewport()->setMouseTracking(true);
    createActions();
    setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
    arrange();
}

QAction* TimelineView::addCommand(const char* name, const QString& text, const QKeySequence& keys, const QString& tip, std::function<void()> run) {
    auto* made = new QAction(text, this);
    made->setObjectName(QLatin1String(name));
    made->setShortcut(keys);
    made->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    made->setStatusTip(tip);
    made->setToolTip(tip);
    connect(made, &QAction::triggered, this, std::move(run));
    addAction(made);
    return made;
}

void TimelineView::createActions() {
    addCommand("zoomIn", tr("Zoom &in"), Qt::Key_W, tr("Show less time, closer (W)"), [this] { zoom(1.4); });
    addCommand("zoomOut", tr("Zoom &out"), Qt::Key_S, tr("Show more time (S)"), [this] { zoom(1 / 1.4); });
    addCommand("panLeft", tr("&Earlier"), Qt::Key_A, tr("Show what was earlier (A)"), [this] { pan(-0.15); });
    addCommand("panRight", tr("&Later"), Qt::Key_D, tr("Show what came later (D)"), [this] { pan(0.15); });
    addCommand("focus", tr("&Fit"), Qt::Key_F, tr("Show the selected slice, the selected area, or everything (F)"), [this] { focusOnSelection(); });
    addCommand("fitAll", tr("Fit &all"), Qt::SHIFT | Qt::Key_F, tr("Show everything (Shift+F)"), [this] { fitAll(); });
    addCommand("selectShown", tr("&Sum up what is shown"), QKeySequence::SelectAll, tr("Select all tracks for the time that is shown (Ctrl+A)"), [this] {
        const TimeSpan shown = scale_.shown(), all = model_.span();
        setArea({0, rows_.size() - 1, {std::max(shown.begin, all.begin), std::min(shown.end, all.end)}});
    });
    expected_ = addCommand("expected", tr("E&xpected times"), Qt::Key_E, tr("Outline how long each stage was thought to take (E)"), [this] {
        marks_.expected = expected_->isChecked();
        viewport()->update();
    });
    follow_ = addCommand("follow", tr("Follow the &newest"), Qt::Key_L, tr("Keep the newest in view while jobs run (L)"), [this] {
        follows_ = follow_->isChecked();
        catchUp();
    });
    for (QAction* toggle : {expected_, follow_}) {
        toggle->setCheckable(true);
        toggle->setChecked(true);
    }
}

QAction* TimelineView::action(const QString& name) const {
    return findChild<QAction*>(name, Qt::FindDirectChildrenOnly);
}

void TimelineView::setTracks(const QVector<TimelineTrack>& tracks) {
    model_.setTracks(tracks);
    marks_.selected = marks_.hovered = -1;
    marks_.area = {};
    fits_ = true;
    arrange();
    fitAll();
    emit selectionChanged(-1);
    emit areaChanged();
}

void TimelineView::addTracks(const QVector<TimelineTrack>& tracks) {
    model_.addTracks(tracks);
    arrange();
    fresh_.request();
}

void TimelineView::setJobs(const QVector<TimelineJob>& jobs) {
    model_.setJobs(jobs);
    viewport()->update();
}

int TimelineView::addSlices(const QVector<TimelineSlice>& batch) {
    const int refused = model_.add(batch);
    fresh_.request();
    return refused;
}

void TimelineView::setLive(Live live) {
    live_ = live;
    marks_.live = live != Live::no;
    model_.setUntold(live == Live::elsewhere);
    if (live != Live::here) {
        model_.setRunning({});
        model_.setWaiting({});
    }
    if (marks_.live) {
        follows_ = true;
        follow_->setChecked(true);
    }
    follow_->setEnabled(marks_.live);
    fresh_.request();
}

void TimelineView::setNow(double seconds) {
    model_.setNow(seconds);
    fresh_.request();
}

void TimelineView::setRunning(QVector<TimelineSlice> slices) {
    model_.setRunning(std::move(slices));
    fresh_.request();
}

void TimelineView::setWaiting(QVector<TimelineWait> waits) {
    model_.setWaiting(std::move(waits));
    fresh_.request();
}

void TimelineView::catchUp() {
    if (fits_)
        scale_ = TimeScale::fitting(model_.span(), place_.plot.width());
    else if (marks_.live && follows_)
        scale_ = scale_.showing({model_.span().end, model_.span().end});
    viewport()->update();
    emit slicesShown();
}

void TimelineView::arrange() {
    const double width = viewport()->width(), height = viewport()->height();
    painter_.setFont(font());
    const double labels = std::min(painter_.labelWidth(model_.tracks()), width * 0.4), axis = painter_.line() * 1.7, key = painter_.line() * 1.6;
    place_.axis = {labels, 0, width - labels, axis};
    place_.plot = {labels, axis + 1, width - labels, std::max(0.0, height - axis - 1 - key)};
    place_.labels = {0, axis + 1, labels, place_.plot.height()};
    key_ = {0, height - key, width, key};
    rows_ = TrackRows(model_.tracks(), place_.plot.height());
    const auto page = static_cast<int>(place_.plot.height());
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(rows_.height())) - page));
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(static_cast<int>(rows_.rowHeight()));
    place_.scroll = verticalScrollBar()->value();
    scale_ = scale_.withWidth(place_.plot.width());
    catchUp();
}

void TimelineView::scrollContentsBy(int, int) {
    place_.scroll = verticalScrollBar()->value();
    viewport()->update();
}

void TimelineView::setScale(const TimeScale& scale) {
    scale_ = scale.withWidth(place_.plot.width()).clampedTo(model_.span());
    fits_ = scale_ == TimeScale::fitting(model_.span(), place_.plot.width());
    viewport()->update();
}

void TimelineView::lookElsewhere(const TimeScale& scale) {
    setScale(scale);
    follows_ = follow_->isChecked() && scale_.shown().end >= model_.span().end;
    follow_->setChecked(follows_);
}

void TimelineView::zoom(double factor) {
    const QPointF mouse = viewport()->mapFromGlobal(QCursor::pos());
    const double x = place_.plot.contains(mouse) && underMouse() ? mouse.x() - place_.plot.left() : place_.plot.width() / 2;
    lookElsewhere(scale_.zoomedAt(x, factor));
}

void TimelineView::pan(double share) {
    lookElsewhere(scale_.movedBy(share * place_.plot.width()));
}

void TimelineView::fitAll() {
    setScale(TimeScale::fitting(model_.span(), place_.plot.width()));
    fits_ = true;
}

void TimelineView::focusOnSelection() {
    TimeSpan span = model_.span();
    if (marks_.selected >= 0) {
        const TimelineSlice slice = model_.slice(marks_.selected);
        span = {slice.called, std::max(slice.end, slice.begin + slice.expected)};
    } else if (!marks_.area.empty()) {
        span = marks_.area.span;
    } else {
        return fitAll();
    }
    lookElsewhere(TimeScale::fitting(span, place_.plot.width()));
}

void TimelineView::select(int slice, bool show) {
    const int wanted = slice >= 0 && slice < model_.size() ? slice : -1;
    if (wanted >= 0) {
        const TimelineSlice chosen = model_.slice(wanted);
        if (!chosen.tracks.contains(track_))
            track_ = chosen.tracks.front();
        if (show) {
            const TimeScale moved = scale_.showing({chosen.begin, chosen.end}).clampedTo(model_.span());
            fits_ = fits_ && moved == scale_;
            scale_ = moved;
            showRow(track_);
        }
    }
    viewport()->update();
    if (wanted == std::exchange(marks_.selected, wanted))
        return;
    announceValue(this);
    emit selectionChanged(wanted);
}

void TimelineView::showRow(int track) {
    const double top = rows_.top(track) - TrackRows::kGap, bottom = rows_.bottom(track) + TrackRows::kGap;
    if (top < place_.scroll)
        verticalScrollBar()->setValue(static_cast<int>(top));
    else if (bottom > place_.scroll + place_.plot.height())
        verticalScrollBar()->setValue(static_cast<int>(std::ceil(bottom - place_.plot.height())));
}

void TimelineView::setArea(const TimelineArea& area) {
    const TimelineArea wanted = area.empty() || area.lastTrack >= rows_.size() || area.firstTrack < 0 ? TimelineArea() : area;
    viewport()->update();
    if (wanted == std::exchange(marks_.area, wanted))
        return;
    emit areaChanged();
}

int TimelineView::trackAt(QPointF position) const {
    return position.y() < place_.plot.top() || position.y() >= place_.plot.bottom() ? -1 : rows_.trackAt(position.y() - place_.plot.top() + place_.scroll);
}

int TimelineView::sliceAt(QPointF position) const {
    const int track = trackAt(position);
    return track < 0 || position.x() < place_.plot.left() ? -1 : model_.sliceAt(track, scale_.toTime(position.x() - place_.plot.left()),
        kReach * scale_.secondsPerPixel());
}

QRectF TimelineView::sliceRect(int id) const {
    const TimelineSlice slice = model_.slice(id);
    const int track = slice.tracks.contains(track_) ? track_ : slice.tracks.front();
    const double left = place_.plot.left() + scale_.toX(slice.begin);
    return {left, place_.plot.top() + rows_.top(track) - place_.scroll, place_.plot.left() + scale_.toX(slice.end) - left, rows_.rowHeight()};
}

QString TimelineView::sliceText(int id) const {
    const TimelineSlice slice = model_.slice(id);
    QStringList names;
    for (const int track : slice.tracks)
        names << model_.tracks()[track].name;
    QStringList lines{TimelinePainter::nameOf(model_.jobOf(id), slice), names.join(QStringLiteral(", "))};
    QString took = tr("took %1").arg(secondsText(slice.seconds()));
    if (slice.expected > 0) {
        took += tr(", expected %1").arg(secondsText(slice.expected));
        if (const double more = slice.seconds() / slice.expected - 1; std::abs(more) >= 0.005)
            took += more > 0 ? tr(" (%1 % longer)").arg(std::lround(100 * more)) : tr(" (%1 % shorter)").arg(std::lround(-100 * more));
    }
    lines << took << (slice.waited() > 0 ? tr("waited %1 for its turn").arg(secondsText(slice.waited())) : tr("did not wait"));
    return (lines << tr("from %1 to %2").arg(secondsText(slice.begin), secondsText(slice.end))).join(QLatin1Char('\n'));
}

QString TimelineView::runningText(int track, double time) const {
    for (const TimelineSlice& slice : model_.running())
        if (slice.tracks.contains(track) && time >= slice.begin) {
            const QString lines = TimelinePainter::nameOf(model_.jobs()[slice.job],
                slice) + QLatin1Char('\n') + tr("runs for %1").arg(secondsText(model_.span().end - slice.begin));
            return slice.expected > 0 ? lines + tr(", expected %1").arg(secondsText(slice.expected)) : lines;
        }
    return {};
}

QString TimelineView::textAt(QPointF position) const {
    const int id = sliceAt(position), track = trackAt(position);
    if (id >= 0)
        return sliceText(id);
    const double time = scale_.toTime(position.x() - place_.plot.left());
    const TimeSpan all = model_.span();
    if (track < 0 || position.x() < place_.plot.left() || time < all.begin || time > all.end)
        return {};
    if (const QString running = runningText(track, time); !running.isEmpty())
        return running;
    const IntervalLevels& slices = model_.onTrack(track);
    const std::size_t after = slices.firstAt(time);
    TimeSpan gap{after > 0 ? std::min(slices[after - 1].end, time) : all.begin, after < slices.size() ? slices[after].begin : all.end};
    bool runs = false; // something behind the gap
    for (const TimelineSlice& slice : model_.running())
        if (slice.tracks.contains(track) && slice.begin < gap.end) {
            gap.end = slice.begin;
            runs = true;
        }
    if (live_ == Live::elsewhere && after == slices.size())
        return tr("What %1 does now is told once it is done: the jobs run in another program.").arg(model_.tracks()[track].name);
    const IdleGap idle = explainIdle(model_, track, gap);
    if (marks_.live && after == slices.size() && !runs)
        return tr("Nothing runs on %1, for %2 now: %3").arg(model_.tracks()[track].name, secondsText(gap.length()), idleReason(model_, idle));
    return idleText(model_, idle);
}

bool TimelineView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString tip = textAt(help->pos());
        if (tip.isEmpty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), plainToolTip(tip), viewport());
        return true;
    }
    if (event->type() == QEvent::Leave && std::exchange(marks_.hovered, -1) >= 0)
        viewport()->update();
    return QAbstractScrollArea::viewportEvent(event);
}

void TimelineView::resizeEvent(QResizeEvent*) {
    arrange();
}

void TimelineView::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        arrange();
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    painter_.paint(painter, model_, scale_, rows_, place_, marks_);
    painter_.paintKey(painter, key_, model_, marks_.expected);
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(Theme::instance().color(Theme::Role::accent), 1));
        painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    }
}

} // namespace tunesmith
