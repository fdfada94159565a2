// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/main_window.h"
#include <QDir>

namespace tunesmith {

// Waits until the window has nothing left to load (and, when it tunes, until that ended), writes each page as
// PAGE.png into the folder and quits the program: 0, or 1 when a picture could not be written.
void takeScreenshots(MainWindow& window, const QDir& folder);

} // namespace tunesmith
