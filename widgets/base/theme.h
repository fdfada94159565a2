// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>

namespace tunesmith {

// The only source of colours. Views ask for a role when they paint and repaint upon changed(); nothing caches
// a colour. Qt 6.4 does not report the desktop's colour scheme, so `system` judges by the palette that the
// desktop provides. GUI thread only.
class Theme : public QObject {
    Q_OBJECT
public:
    enum class Mode { system, light, dark };
    enum class Role {
        window,  // behind everything
        canvas,  // behind drawings
        surface, // cards, fields, lists
        raised,  // headers, bars, hovered rows
        border,
        grid, // faint lines of plots and canvases
        text,
        muted, // secondary text
        disabled,
        accent,    // selection, default buttons, progress
        onAccent,  // text upon accent
        link,      // lines between nodes
        highlight, // search hits
        success,
        warning,
        error,
    };
    static constexpr int kCategories = 8;

    static Theme& instance();

    Mode mode() const { return mode_; }
    void setMode(Mode mode); // also sets the application's style (Fusion) and palette
    bool isDark() const { return dark_; }

    QColor color(Role role) const;
    // Okabe and Ito's eight colours, adjusted in lightness to the theme: distinct for colour-blind people
    // too. Never the only carrier of a meaning. Repeats after kCategories.
    QColor category(int index) const;
    QColor textOn(const QColor& background) const; // black or white, whichever reads better
    QColor ramp(double t) const;                   // sequential scale for amounts, t in 0..1 (after viridis)
    QPalette palette() const;

    static QFont scaled(const QFont& font, double factor); // relative to the given size, in points or pixels
    static QColor mix(const QColor& a, const QColor& b, double t); // a at 0, b at 1

signals:
    void changed();

private:
    Theme() = default;
    Mode mode_ = Mode::light;
    bool dark_ = false;
};

} // namespace tunesmith
