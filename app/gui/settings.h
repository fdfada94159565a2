// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/theme.h"
#include "widgets/devices/devices_panel.h"
#include <QStringList>

namespace tunesmith::settings {

// What the window remembers about the person, not about a model: in QSettings of the organisation and
// application that main() names. Nothing here touches the disk of a model.
constexpr int kRecentFiles = 9; // Ctrl+… has no tenth digit to offer

QStringList recentFiles(); // absolute paths, newest first; some may be gone
void addRecentFile(const QString& path);
void clearRecentFiles();

Theme::Mode theme();
void setTheme(Theme::Mode mode);
Theme::Mode themeFromName(const QString& name, bool* known = nullptr); // "light", "dark", "system"

bool wheelZooms();
void setWheelZooms(bool zooms);

TrackerChoice tracker(); // the last one that was asked
void setTracker(const TrackerChoice& tracker);

} // namespace tunesmith::settings
