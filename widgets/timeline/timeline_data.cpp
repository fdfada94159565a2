// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_data.h"
#include <QCoreApplication>
#include <QLocale>
#include <cmath>

namespace tunesmith {
namespace {

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

QString threeDigits(double value) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return QLocale().toString(value, 'f', decimals);
}

QString twoUnits(double seconds) {
    const auto whole = static_cast<qint64>(std::llround(seconds));
    const auto padded = [](qint64 value) { return QString::number(value).rightJustified(2, QLatin1Char('0')); };
    if (whole < 3600)
        return QCoreApplication::translate("tunesmith::Units", "%1 min %2 s").arg(QString::number(whole / 60), padded(whole % 60));
    if (whole < 2 * 86400)
        return QCoreApplication::translate("tunesmith::Units", "%1 h %2 min").arg(QString::number(whole / 3600), padded(whole / 60 % 60));
    return QCoreApplication::translate("tunesmith::Units", "%1 d %2 h").arg(QLocale().toString(whole / 86400), QString::number(whole / 3600 % 24));
}

} // namespace

bool TimelineJob::operator==(const TimelineJob& other) const {
    return key == other.key && name == other.name && does == other.does && color == other.color && state == other.state && problem == other.problem && priority == other.priority &&
           same(progress, other.progress) && budgetLeft == other.budgetLeft && same(bestMs, other.bestMs) && result == other.result;
}

QString stateName(TimelineJob::State state) {
    static const char* const kNames[] = {
        QT_TRANSLATE_NOOP("tunesmith::TimelineJob", "Waiting"), QT_TRANSLATE_NOOP("tunesmith::TimelineJob", "Running"),
        QT_TRANSLATE_NOOP("tunesmith::TimelineJob", "Paused"),  QT_TRANSLATE_NOOP("tunesmith::TimelineJob", "Done"),
        QT_TRANSLATE_NOOP("tunesmith::TimelineJob", "Failed"),  QT_TRANSLATE_NOOP("tunesmith::TimelineJob", "Cancelled"),
    };
    return QCoreApplication::translate("tunesmith::TimelineJob", kNames[static_cast<int>(state)]);
}

QString kindName(TimelineSlice::Kind kind) {
    static const char* const kNames[] = {
        QT_TRANSLATE_NOOP("tunesmith::TimelineSlice", "build"),
        QT_TRANSLATE_NOOP("tunesmith::TimelineSlice", "profile"),
        QT_TRANSLATE_NOOP("tunesmith::TimelineSlice", "update"),
        QT_TRANSLATE_NOOP("tunesmith::TimelineSlice", "other"),
    };
    return QCoreApplication::translate("tunesmith::TimelineSlice", kNames[static_cast<int>(kind)]);
}

QString secondsText(double seconds) {
    if (!std::isfinite(seconds))
        return QStringLiteral("–");
    if (seconds < 0)
        return QStringLiteral("−") + secondsText(-seconds);
    if (seconds == 0)
        return QCoreApplication::translate("tunesmith::Units", "%1 s").arg(0);
    if (seconds < 0.9995e-6)
        return QCoreApplication::translate("tunesmith::Units", "%1 ns").arg(threeDigits(seconds * 1e9));
    if (seconds < 0.9995e-3)
        return QCoreApplication::translate("tunesmith::Units", "%1 µs").arg(threeDigits(seconds * 1e6));
    if (seconds < 0.9995)
        return QCoreApplication::translate("tunesmith::Units", "%1 ms").arg(threeDigits(seconds * 1e3));
    return seconds < 119.5 ? QCoreApplication::translate("tunesmith::Units", "%1 s").arg(threeDigits(seconds)) : twoUnits(std::min(seconds, 1e15));
}

} // namespace tunesmith
