// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/settings.h"
#include <QFileInfo>
#include <QSettings>

namespace tunesmith::settings {
namespace {

const QString kRecent = QStringLiteral("recentFiles");
const QString kTheme = QStringLiteral("theme");
const QString kWheel = QStringLiteral("wheelZooms");
const QString kTracker = QStringLiteral("tracker");
const QStringList kThemes{QStringLiteral("system"), QStringLiteral("light"), QStringLiteral("dark")};

} // namespace

QStringList recentFiles() {
    return QSettings().value(kRecent).toStringList().mid(0, kRecentFiles);
}

void addRecentFile(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    QSettings().setValue(kRecent, files.mid(0, kRecentFiles));
}

void clearRecentFiles() {
    QSettings().remove(kRecent);
}

Theme::Mode themeFromName(const QString& name, bool* known) {
    const auto index = kThemes.indexOf(name);
    if (known)
        *known = index >= 0;
    return static_cast<Theme::Mode>(std::max<qsizetype>(index, 0));
}

Theme::Mode theme() {
    return themeFromName(QSettings().value(kTheme).toString());
}
void setTheme(Theme::Mode mode) {
    QSettings().setValue(kTheme, kThemes[static_cast<int>(mode)]);
}

bool wheelZooms() {
    return QSettings().value(kWheel, true).toBool();
}
void setWheelZooms(bool zooms) {
    QSettings().setValue(kWheel, zooms);
}

TrackerChoice tracker() {
    const QVariantMap stored = QSettings().value(kTracker).toMap();
    const auto text = [&stored](const char* key) { return stored.value(QLatin1String(key)).toString(); };
    return {text("address"), text("tokenFile"), text("authority"), stored.value(QStringLiteral("insecure")).toBool()};
}
void setTracker(const TrackerChoice& tracker) {
    QSettings().setValue(kTracker, QVariantMap{{QStringLiteral("address"), tracker.address},
                                               {QStringLiteral("tokenFile"), tracker.tokenFile},
                                               {QStringLiteral("authority"), tracker.authority},
                                               {QStringLiteral("insecure"), tracker.insecure}});
}

} // namespace tunesmith::settings
