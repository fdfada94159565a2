// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/tune_data.h"
#include <QCoreApplication>
#include <QLocale>
#include <cmath>

namespace tunesmith {
namespace {

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

QString threeDigits(double value) {
    const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
    return QLocale().toString(value, 'f', decimals);
}

} // namespace

QString stateName(WorkloadState state) {
    static const char* const kNames[] = {
        QT_TRANSLATE_NOOP("tunesmith::WorkloadState", "Waiting"),
        QT_TRANSLATE_NOOP("tunesmith::WorkloadState", "Running"),
        QT_TRANSLATE_NOOP("tunesmith::WorkloadState", "Paused"),
        QT_TRANSLATE_NOOP("tunesmith::WorkloadState", "Done"),
        QT_TRANSLATE_NOOP("tunesmith::WorkloadState", "Failed"),
    };
    return QCoreApplication::translate("tunesmith::WorkloadState", kNames[static_cast<int>(state)]);
}

bool WorkloadEntry::operator==(const WorkloadEntry& other) const {
    return key == other.key && name == other.name && op == other.op && shape == other.shape &&
           same(space, other.space) && done == other.done && budget == other.budget &&
           same(bestMs, other.bestMs) && same(gflops, other.gflops) && same(firstMs, other.firstMs) &&
           state == other.state && bestSoFar == other.bestSoFar;
}

QString msText(double ms) {
    if (!std::isfinite(ms))
        return QStringLiteral("–");
    if (ms >= 1000)
        return QCoreApplication::translate("tunesmith::Units", "%1 s").arg(threeDigits(ms / 1000));
    if (ms >= 1)
        return QCoreApplication::translate("tunesmith::Units", "%1 ms").arg(threeDigits(ms));
    return QCoreApplication::translate("tunesmith::Units", "%1 µs").arg(threeDigits(ms * 1000));
}

QString spaceText(double configs) {
    if (configs < 10000)
        return QLocale().toString(configs, 'f', 0);
    static const char* const kSteps[] = {"k", "M", "G", "T", "P"};
    int step = -1;
    while (configs >= 1000 && step < 4) {
        configs /= 1000;
        ++step;
    }
    return configs < 1000 ? threeDigits(configs) + QLatin1Char(' ') + QLatin1String(kSteps[step])
                          : QLocale().toString(configs * 1e15, 'e', 1);
}

} // namespace tunesmith
