// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QIcon>

namespace tunesmith {

// The window's own small pictures, drawn in the colours of the theme: ask again upon Theme::changed.
enum class Glyph { models, graph, optimize, tune, timeline, exportModule, open, sample, recent };
QIcon glyphIcon(Glyph glyph);

} // namespace tunesmith
