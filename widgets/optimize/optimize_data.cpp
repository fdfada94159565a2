// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/optimize_data.h"
#include <QLocale>
#include <cmath>

namespace tunesmith {
namespace {

// Launches are whole ones, but for weights that a graph has more than its model; what is below that only breaks ties.
QString number(double value, const QString& unit) {
    const double tenth = std::round(10 * value) / 10;
    if (unit == QLatin1String("kernels"))
        return QLocale().toString(tenth, 'f', tenth == std::round(tenth) ? 0 : 1);
    return QLocale().toString(value, 'g', 4);
}

} // namespace

QString costText(double cost, const QString& unit) {
    return number(cost, unit) + QLatin1Char(' ') + unit;
}

QString changeText(double before, double after, const QString& unit) {
    return number(before, unit) + QStringLiteral(" → ") + costText(after, unit);
}

QString gainText(double gain, const QString& unit) {
    const QString amount = number(std::abs(gain), unit);
    if (amount == QLatin1String("0"))
        return QStringLiteral("±0 ") + unit;
    return (gain > 0 ? QStringLiteral("−") : QStringLiteral("+")) + amount + QLatin1Char(' ') + unit;
}

} // namespace tunesmith
