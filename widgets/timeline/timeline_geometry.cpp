// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_geometry.h"
#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <array>
#include <cmath>

namespace tunesmith {
namespace {

constexpr double kClosest = 1e-10, kFarthest = 1e9; // seconds per pixel
constexpr double kRoom = 0.04;                      // of the width, beyond both ends

// Steps of clocks and calendars above ten seconds, in which 5 and 50 minutes are round and 100 seconds are not.
constexpr std::array<double, 20> kClock{15,   30,    60,    120,   300,   600,    900,    1800,   3600,    7200,
                                        10800, 21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000};

double decimalStep(double least) {
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9))
            return factor * power;
    return 10 * power;
}

QString clockText(double time, double step) {
    const auto seconds = static_cast<qint64>(std::llround(std::abs(time)));
    const QString sign = time < 0 ? QStringLiteral("−") : QString();
    const auto padded = [](qint64 value) { return QString::number(value).rightJustified(2, QLatin1Char('0')); };
    const qint64 days = seconds / 86400, hours = seconds / 3600 % 24;
    const QString day = days > 0 ? QCoreApplication::translate("tunesmith::Units", "%1 d").arg(QLocale().toString(days)) : QString();
    if (step >= 86400)
        return sign + (days > 0 ? day : QStringLiteral("0"));
    QString clock = days > 0 || hours > 0 ? QString::number(hours) + QLatin1Char(':') + padded(seconds / 60 % 60) : QString::number(seconds / 60 % 60);
    clock += QLatin1Char(':') + padded(seconds % 60);
    return sign + (days > 0 ? day + QLatin1Char(' ') + clock : clock);
}

// In one unit for the whole axis, with the decimals that the step needs.
QString decimalText(double time, double step, double largest) {
    struct Unit {
        const char* name;
        double seconds;
    };
    constexpr Unit kUnits[] = {{QT_TRANSLATE_NOOP("tunesmith::Units", "%1 s"), 1},
                               {QT_TRANSLATE_NOOP("tunesmith::Units", "%1 ms"), 1e-3},
                               {QT_TRANSLATE_NOOP("tunesmith::Units", "%1 µs"), 1e-6},
                               {QT_TRANSLATE_NOOP("tunesmith::Units", "%1 ns"), 1e-9}};
    const Unit* unit = std::begin(kUnits);
    while (unit + 1 < std::end(kUnits) && largest < unit->seconds)
        ++unit;
    const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step / unit->seconds) + 1e-9)), 0, 12);
    const double value = std::abs(time) < step * 1e-6 ? 0 : time / unit->seconds;
    return QCoreApplication::translate("tunesmith::Units", unit->name).arg(QLocale().toString(value, 'f', decimals));
}

} // namespace

TimeScale TimeScale::checked(const TimeScale& made, const TimeScale& otherwise) {
    const TimeSpan shown = made.shown();
    const double largest = std::max(std::abs(shown.begin), std::abs(shown.end));
    const double closest = std::max(kClosest, largest * 1e-14); // what doubles tell apart, with room for a step of the axis
    const bool sound = std::isfinite(shown.begin) && std::isfinite(shown.end) && largest <= kLatest && made.perPixel_ >= closest &&
        made.perPixel_ <= kFarthest && made.width_ >= 1;
    return sound ? made : otherwise;
}

TimeScale TimeScale::fitting(TimeSpan all, double width) {
    if (!(all.length() > 0))
        all = {all.begin - 0.5, all.begin + 0.5};
    const double length = all.length() * (1 + 2 * kRoom);
    return checked({all.begin - all.length() * kRoom, length / width, width}, TimeScale().withWidth(width));
}

TimeScale TimeScale::withWidth(double width) const {
    return checked({begin_, perPixel_, std::max(width, 1.0)}, *this);
}

TimeScale TimeScale::zoomedAt(double x, double factor) const {
    if (!(factor > 0))
        return *this;
    const double perPixel = std::clamp(perPixel_ / factor, kClosest, kFarthest);
    return checked({toTime(x) - x * perPixel, perPixel, width_}, *this);
}

TimeScale TimeScale::movedBy(double pixels) const {
    return checked({begin_ + pixels * perPixel_, perPixel_, width_}, *this);
}

TimeScale TimeScale::showing(TimeSpan span) const {
    const TimeSpan now = shown();
    const double room = kRoom * now.length();
    if (span.length() > now.length() - 2 * room)
        return checked(fitting(span, width_), *this);
    if (span.begin < now.begin + room)
        return checked({span.begin - room, perPixel_, width_}, *this);
    return span.end > now.end - room ? checked({span.end + room - now.length(), perPixel_, width_}, *this) : *this;
}

TimeScale TimeScale::clampedTo(TimeSpan all) const {
    const TimeScale whole = fitting(all, width_);
    if (!(perPixel_ < whole.perPixel_))
        return whole;
    const double length = shown().length(), first = all.begin - length * kRoom, last = all.end + length * kRoom - length;
    return checked({last < first ? whole.begin_ : std::clamp(begin_, first, last), perPixel_, width_}, whole);
}

double niceStep(double least) {
    if (!std::isfinite(least) || least <= 0)
        return 1;
    if (least <= 10)
        return decimalStep(least);
    const auto* step = std::lower_bound(kClock.begin(), kClock.end(), least * (1 - 1e-9));
    return step == kClock.end() ? 86400 * decimalStep(least / 86400) : *step;
}

QVector<TimeTick> timeTicks(const TimeScale& scale, double leastPixels) {
    QVector<TimeTick> ticks;
    const TimeSpan shown = scale.shown();
    const double step = niceStep(scale.secondsPerPixel() * std::max(leastPixels, 4.0));
    const double largest = std::max(std::abs(shown.begin), std::abs(shown.end));
    const bool clock = step >= 1 && largest >= 120;
    for (double n = std::ceil(shown.begin / step); n * step <= shown.end && ticks.size() < 10000; ++n)
        ticks.push_back({n * step, clock ? clockText(n * step, step) : decimalText(n * step, step, largest)});
    return ticks;
}

TrackRows::TrackRows(const QVector<TimelineTrack>& tracks, double height) {
    double gaps = kGap;
    for (int i = 1; i < tracks.size(); ++i)
        gaps += tracks[i].resource == tracks[i - 1].resource ? kGap : kResourceGap;
    const double share = (height - gaps - kGap) / std::max(1.0, static_cast<double>(tracks.size()));
    rowHeight_ = std::clamp(std::isfinite(share) ? std::floor(share) : kLowest, kLowest, kHighest);
    double top = kGap;
    for (int i = 0; i < tracks.size(); ++i) {
        if (i > 0)
            top += rowHeight_ + (tracks[i].resource == tracks[i - 1].resource ? kGap : kResourceGap);
        tops_.push_back(top);
    }
}

int TrackRows::trackAt(double y) const {
    const auto [from, to] = tracksIn(y, y);
    return from < to ? from : -1;
}

QPair<int, int> TrackRows::tracksIn(double top, double bottom) const {
    const auto from = std::partition_point(tops_.begin(), tops_.end(), [&](double row) { return row + rowHeight_ < top; });
    const auto to = std::partition_point(from, tops_.end(), [&](double row) { return row <= bottom; });
    return {static_cast<int>(from - tops_.begin()), static_cast<int>(to - tops_.begin())};
}

} // namespace tunesmith
