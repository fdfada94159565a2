// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_painter.h"
#include "widgets/base/theme.h"
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QImage>
#include <QLinearGradient>
#include <QLocale>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

using Role = Theme::Role;
using Kind = TimelineSlice::Kind;

constexpr double kPadding = 8;
constexpr double kTextRoom = 44, kOutlineRoom = 12, kHatchRoom = 4; // pixels from which on a slice has them
constexpr double kTickRoom = 100;
constexpr double kFar = 1e6; // no painter needs coordinates beyond

QColor tone(Role role) {
    return Theme::instance().color(role);
}

QString text(const char* words) {
    return QCoreApplication::translate("tunesmith::TimelinePainter", words);
}

double bounded(double x) {
    return std::clamp(x, -kFar, kFar);
}

// Whole pixels, so that neighbours touch and nothing vanishes.
QRectF pixels(const TimeScale& scale, const QRectF& row, double begin, double end) {
    const double left = std::floor(bounded(scale.toX(begin))), right = std::max(left + 1, std::round(bounded(scale.toX(end))));
    return {row.left() + left, row.top(), right - left, row.height()};
}

// What is drawn together with others, or too narrow for more than its colour.
bool crowded(const TimeScale& scale, const IntervalLevels::Piece& piece) {
    return piece.count > 1 || piece.end - piece.begin < 1.5 * scale.secondsPerPixel();
}

QRgb blend(QRgb ground, QRgb fill, double share) {
    const int part = static_cast<int>(share * 256);
    const auto channel = [part](int a, int b) { return a + ((b - a) * part >> 8); };
    return qRgb(channel(qRed(ground), qRed(fill)), channel(qGreen(ground), qGreen(fill)), channel(qBlue(ground), qBlue(fill)));
}

double strengthOf(Kind kind) {
    constexpr double kStrengths[] = {0.5, 1, 0.32, 0.7};
    return kStrengths[static_cast<int>(kind)];
}

} // namespace

QColor TimelinePainter::fillOf(const TimelineJob& job, Kind kind) {
    return Theme::mix(tone(Role::surface), Theme::instance().category(job.color), strengthOf(kind));
}

QString TimelinePainter::nameOf(const TimelineJob& job, const TimelineSlice& slice) {
    return QCoreApplication::translate("tunesmith::TimelinePainter", "%1 · %2").arg(job.name, kindName(slice.kind));
}

QRectF TimelinePainter::Scene::row(int track) const {
    return {place.plot.left(), place.plot.top() + rows.top(track) - place.scroll, place.plot.width(), rows.rowHeight()};
}

void TimelinePainter::setFont(const QFont& font) {
    font_ = font;
    small_ = Theme::scaled(font, 0.88);
    line_ = QFontMetricsF(font).height();
}

double TimelinePainter::labelWidth(const QVector<TimelineTrack>& tracks) const {
    const QFontMetricsF metrics(font_);
    double widest = metrics.horizontalAdvance(QStringLiteral("core 00"));
    for (const TimelineTrack& track : tracks)
        widest = std::max(widest, metrics.horizontalAdvance(track.name));
    return std::min(widest, 12 * line_) + QFontMetricsF(small_).horizontalAdvance(QStringLiteral("100 %")) + 3 * kPadding;
}

// What is not of the chosen job steps back.
void TimelinePainter::mixColours(const Scene& scene) {
    colours_.clear();
    const QColor ground = tone(Role::surface);
    for (int job = 0; job < scene.model.jobs().size(); ++job)
        for (int kind = 0; kind < TimelineSlice::kKinds; ++kind) {
            const QColor fill = fillOf(scene.model.jobs()[job], static_cast<Kind>(kind));
            colours_.push_back(scene.chosenJob < 0 || scene.chosenJob == job ? fill : Theme::mix(ground, fill, 0.35));
        }
}

void TimelinePainter::paint(QPainter& painter, const TimelineModel& model, const TimeScale& scale, const TrackRows& rows, const Place& place,
    const Marks& marks) {
    const Scene scene{model, scale, rows, place, marks, marks.selected < 0 ? -1 : model.slice(marks.selected).job};
    mixColours(scene);
    painter.fillRect(place.plot.united(place.labels).united(place.axis), tone(Role::canvas));
    const auto [from, to] = rows.tracksIn(place.scroll, place.scroll + place.plot.height());
    for (int track = from; track < to; ++track) {
        painter.save();
        painter.setClipRect(place.plot);
        const double busy = drawTrack(painter, scene, track);
        painter.restore();
        drawLabel(painter, scene, track, busy);
    }
    drawAxis(painter, scene);
    painter.save();
    painter.setClipRect(place.plot);
    drawMarks(painter, scene);
    painter.restore();
}

double TimelinePainter::drawTrack(QPainter& painter, const Scene& scene, int track) const {
    const QRectF row = scene.row(track);
    const TimeSpan shown = scene.scale.shown();
    double busy = 0;
    const auto pieces = scene.model.onTrack(track).pieces(shown.begin, shown.end, scene.scale.secondsPerPixel());
    drawCrowd(painter, scene, row, pieces);
    for (const IntervalLevels::Piece& piece : pieces) {
        if (!crowded(scene.scale, piece))
            drawSlice(painter, scene, row, piece);
        busy += piece.count > 1 ? piece.busy : std::max(0.0, std::min(piece.end, shown.end) - std::max(piece.begin, shown.begin));
    }
    if (scene.marks.expected)
        for (const IntervalLevels::Piece& piece : pieces)
            if (!crowded(scene.scale, piece))
                drawExpected(painter, scene, row, piece.item);
    const TimeSpan all = scene.model.span();
    for (const TimelineSlice& slice : scene.model.running())
        if (slice.tracks.contains(track))
            busy += std::max(0.0, std::min(all.end, shown.end) - std::max(slice.begin, shown.begin));
    const double there = std::min(all.end, shown.end) - std::max(all.begin, shown.begin);
    return there > 0 ? std::min(1.0, busy / there) : 0;
}

// One line of pixels, stretched over the row: thousands of rectangles a pixel wide would take a painter far longer.
void TimelinePainter::drawCrowd(QPainter& painter, const Scene& scene, const QRectF& row, const std::vector<IntervalLevels::Piece>& pieces) const {
    constexpr double kFaintest = 0.3; // a short slice in a long gap is to be seen
    const QRgb ground = tone(Role::surface).rgb();
    const int width = std::max(1, static_cast<int>(std::ceil(row.width())));
    QImage line(width, 1, QImage::Format_RGB32);
    line.fill(ground);
    auto* pixel = reinterpret_cast<QRgb*>(line.bits());
    for (const IntervalLevels::Piece& piece : pieces) {
        if (!crowded(scene.scale, piece))
            continue;
        const double left = std::floor(scene.scale.toX(piece.begin));
        if (left < 0 || left >= width)
            continue;
        const double share = std::clamp(piece.busy / scene.scale.secondsPerPixel(), kFaintest, 1.0);
        pixel[static_cast<int>(left)] = blend(ground, colours_[static_cast<std::size_t>(piece.group)].rgb(), share);
    }
    painter.drawImage(row, line);
}

void TimelinePainter::drawSlice(QPainter& painter, const Scene& scene, const QRectF& row, const IntervalLevels::Piece& piece) const {
    QRectF rect = pixels(scene.scale, row, piece.begin, piece.end);
    const QColor& fill = colours_[static_cast<std::size_t>(piece.group)];
    if (rect.width() >= 3)
        rect.setRight(rect.right() - 1); // a line of the ground between neighbours
    painter.fillRect(rect, fill);
    const Kind kind = TimelineModel::kindOfGroup(piece.group);
    if (kind == Kind::update && rect.width() >= kHatchRoom)
        painter.fillRect(rect, QBrush(Theme::mix(fill, Theme::instance().category(scene.model.jobs()[TimelineModel::jobOfGroup(piece.group)].color),
            0.7), Qt::BDiagPattern));
    if (rect.width() >= kTextRoom && row.height() >= line_)
        drawText(painter, scene, rect, piece.group, secondsText(piece.end - piece.begin));
}

// From its begin to where the run has come to, fading out toward what is not known.
void TimelinePainter::drawRunning(QPainter& painter, const Scene& scene, const TimelineSlice& slice) const {
    const double now = scene.model.span().end;
    const int group = TimelineModel::groupOf(slice.job, slice.kind);
    const QColor& fill = colours_[static_cast<std::size_t>(group)];
    for (const int track : slice.tracks) {
        const QRectF rect = pixels(scene.scale, scene.row(track), slice.begin, std::max(now, slice.begin));
        QLinearGradient fading(rect.topLeft(), rect.topRight());
        fading.setColorAt(0, fill);
        fading.setColorAt(0.7, fill);
        fading.setColorAt(1, Theme::mix(fill, tone(Role::surface), 0.6));
        painter.fillRect(rect, fading);
        if (rect.width() >= kTextRoom && rect.height() >= line_)
            drawText(painter, scene, rect, group, secondsText(now - slice.begin));
    }
}

void TimelinePainter::drawText(QPainter& painter, const Scene& scene, const QRectF& rect, int group, const QString& duration) const {
    const QRectF room = rect.intersected(scene.place.plot).adjusted(5, 0, -4, 0);
    const QFontMetricsF metrics(small_);
    const TimelineJob& job = scene.model.jobs()[TimelineModel::jobOfGroup(group)];
    const QString kind = kindName(TimelineModel::kindOfGroup(group));
    QString words = metrics.elidedText(job.name, Qt::ElideRight, room.width());
    for (const QString& longer : {job.name + QStringLiteral(" · ") + kind, job.name + QStringLiteral(" · ") + kind + QStringLiteral(" · ") + duration})
        if (metrics.horizontalAdvance(longer) <= room.width())
            words = longer;
    const QColor& fill = colours_[static_cast<std::size_t>(group)];
    painter.setFont(small_);
    if (TimelineModel::kindOfGroup(group) == Kind::update) // letters do not read well on hatching
        painter.fillRect(QRectF(room.left() - 2, room.center().y() - metrics.height() / 2, metrics.horizontalAdvance(words) + 4, metrics.height()), fill);
    painter.setPen(Theme::instance().textOn(fill));
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft, words);
}

void TimelinePainter::drawExpected(QPainter& painter, const Scene& scene, const QRectF& row, int id) const {
    const TimelineSlice slice = scene.model.slice(id);
    if (!(slice.expected > 0) || (scene.chosenJob >= 0 && scene.chosenJob != slice.job))
        return;
    const double left = bounded(scene.scale.toX(slice.begin)), right = bounded(scene.scale.toX(slice.begin + slice.expected));
    if (std::max(right - left, scene.scale.toX(slice.end) - left) < kOutlineRoom)
        return;
    const QRectF outline(row.left() + std::floor(left) + 0.5, row.top() + 2.5, std::max(1.0, std::round(right - left) - 2), row.height() - 5);
    painter.setBrush(Qt::NoBrush);
    for (const QPen& pen : {QPen(tone(Role::surface), 1), QPen(tone(Role::text), 1, Qt::DotLine)}) { // to be seen on any colour
        painter.setPen(pen);
        painter.drawRect(outline);
    }
}

void TimelinePainter::drawLabel(QPainter& painter, const Scene& scene, int track, double busy) const {
    const QRectF row = scene.row(track);
    const QRectF room(scene.place.labels.left() + kPadding, row.top(), scene.place.labels.width() - 2 * kPadding, row.height());
    painter.save();
    painter.setClipRect(scene.place.labels);
    painter.setFont(small_);
    painter.setPen(tone(Role::muted));
    const QString share = text("%1 %").arg(std::lround(100 * busy));
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignRight, share);
    painter.setFont(font_);
    painter.setPen(tone(Role::text));
    const double width = room.width() - QFontMetricsF(small_).horizontalAdvance(share) - kPadding;
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft, QFontMetricsF(font_).elidedText(scene.model.tracks()[track].name, Qt::ElideMiddle, width));
    painter.restore();
}

void TimelinePainter::drawAxis(QPainter& painter, const Scene& scene) const {
    const QRectF& axis = scene.place.axis;
    const double bottom = std::min(scene.place.plot.bottom(), scene.place.plot.top() + scene.rows.height() - scene.place.scroll);
    painter.setFont(small_);
    QColor line = tone(Role::text);
    line.setAlphaF(0.10F);
    for (const TimeTick& tick : timeTicks(scene.scale, kTickRoom)) {
        const double x = scene.place.plot.left() + std::round(scene.scale.toX(tick.time)) + 0.5;
        painter.setPen(QPen(line, 1));
        painter.drawLine(QPointF(x, scene.place.plot.top()), QPointF(x, bottom));
        painter.setPen(QPen(tone(Role::border), 1));
        painter.drawLine(QPointF(x, axis.bottom() - 5), QPointF(x, axis.bottom()));
        painter.setPen(tone(Role::muted));
        painter.drawText(QRectF(x + 4, axis.top(), kTickRoom, axis.height() - 2), Qt::AlignVCenter | Qt::AlignLeft, tick.label);
    }
    painter.setPen(QPen(tone(Role::border), 1));
    painter.drawLine(QPointF(scene.place.labels.left(), axis.bottom() + 0.5), QPointF(axis.right(), axis.bottom() + 0.5));
}

void TimelinePainter::drawMarks(QPainter& painter, const Scene& scene) const {
    const Marks& marks = scene.marks;
    for (const TimelineSlice& slice : scene.model.running())
        drawRunning(painter, scene, slice);
    if (marks.hovered >= 0 && marks.hovered != marks.selected)
        drawWait(painter, scene, marks.hovered, tone(Role::muted));
    if (marks.selected >= 0)
        drawWait(painter, scene, marks.selected, tone(Role::accent));
    if (marks.live) {
        const double x = scene.place.plot.left() + std::round(bounded(scene.scale.toX(scene.model.span().end))) + 0.5;
        painter.setPen(QPen(tone(Role::accent), 1, Qt::DashLine));
        painter.drawLine(QPointF(x, scene.place.plot.top()), QPointF(x, scene.place.plot.bottom()));
    }
    if (!marks.area.empty())
        drawArea(painter, scene);
}

// The slice's outline on all its tracks, and before it a thin line for the time that it waited.
void TimelinePainter::drawWait(QPainter& painter, const Scene& scene, int id, const QColor& color) const {
    const TimelineSlice slice = scene.model.slice(id);
    const bool chosen = id == scene.marks.selected;
    for (const int track : slice.tracks) {
        const QRectF row = scene.row(track), rect = pixels(scene.scale, row, slice.begin, slice.end);
        const double called = row.left() + bounded(scene.scale.toX(slice.called));
        painter.setBrush(Qt::NoBrush);
        if (rect.left() - called >= 1) {
            painter.setPen(QPen(color, chosen ? 2 : 1));
            const double y = row.bottom() - 6; // below what stands in other slices
            painter.drawLine(QPointF(called, y), QPointF(rect.left(), y));
            painter.drawLine(QPointF(called, y - 4), QPointF(called, y + 4));
        }
        painter.setPen(QPen(color, chosen ? 2 : 1));
        painter.drawRect(rect.adjusted(0, 1, 0, -1));
    }
}

void TimelinePainter::drawArea(QPainter& painter, const Scene& scene) const {
    const TimelineArea& area = scene.marks.area;
    const QRectF first = scene.row(area.firstTrack), last = scene.row(std::min(area.lastTrack, scene.rows.size() - 1));
    const double left = first.left() + bounded(scene.scale.toX(area.span.begin)), right = first.left() + bounded(scene.scale.toX(area.span.end));
    const QRectF rect(QPointF(left, first.top() - 2), QPointF(right, last.bottom() + 2));
    QColor fill = tone(Role::accent);
    fill.setAlphaF(0.12F);
    painter.fillRect(rect, fill);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(tone(Role::accent), 1));
    painter.drawRect(rect);
}

void TimelinePainter::paintKey(QPainter& painter, const QRectF& rect, const TimelineModel& model, bool expected) const {
    painter.fillRect(rect, tone(Role::canvas));
    painter.setFont(small_);
    const QFontMetricsF metrics(small_);
    double x = rect.left() + kPadding;
    const double side = metrics.ascent();
    const auto sample = [&](const QString& words, const auto& draw) {
        const double width = side * 1.4 + 5 + metrics.horizontalAdvance(words) + 14;
        if (x + width > rect.right())
            return false; // a part of an explanation explains nothing; tool tips say it too
        draw(QRectF(x, rect.center().y() - side / 2, side * 1.4, side));
        painter.setPen(tone(Role::muted));
        painter.drawText(QRectF(x + side * 1.4 + 5, rect.top(), width, rect.height()), Qt::AlignVCenter | Qt::AlignLeft, words);
        x += width;
        return true;
    };
    const QColor ink = tone(Role::muted), ground = tone(Role::surface);
    for (const Kind kind : {Kind::profile, Kind::build, Kind::update})
        sample(kindName(kind), [&](const QRectF& box) {
            painter.fillRect(box, Theme::mix(ground, ink, strengthOf(kind)));
            if (kind == Kind::update)
                painter.fillRect(box, QBrush(ink, Qt::BDiagPattern));
        });
    if (expected)
        sample(text("expected"), [&](const QRectF& box) {
            painter.setPen(QPen(tone(Role::text), 1, Qt::DotLine));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(box);
        });
    x += 10;
    for (const TimelineJob& job : model.jobs())
        if (!sample(job.name, [&](const QRectF& box) { painter.fillRect(box, fillOf(job, Kind::profile)); }))
            break;
}

} // namespace tunesmith
