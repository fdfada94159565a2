// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/theme.h"
#include <QApplication>
#include <QStyle>
#include <QStyleFactory>
#include <algorithm>
#include <array>
#include <cmath>

namespace tunesmith {
namespace {

struct Tone {
    Theme::Role role;
    QRgb light, dark;
};

constexpr Tone kTones[] = {
    {Theme::Role::window, 0xfff3f4f7, 0xff1b1e24},    {Theme::Role::canvas, 0xfffafbfc, 0xff16181d},
    {Theme::Role::surface, 0xffffffff, 0xff23272f},   {Theme::Role::raised, 0xffe9ecf1, 0xff2d323c},
    {Theme::Role::border, 0xffcdd3dc, 0xff3d444f},    {Theme::Role::grid, 0xffe6e9ee, 0xff2c313a},
    {Theme::Role::text, 0xff1d2330, 0xffe6e9ef},      {Theme::Role::muted, 0xff5c6675, 0xff9aa4b3},
    {Theme::Role::disabled, 0xff9ba4b1, 0xff646d7a},  {Theme::Role::accent, 0xff1f66d1, 0xff5b9bff},
    {Theme::Role::onAccent, 0xffffffff, 0xff0e1420},  {Theme::Role::link, 0xff8d97a6, 0xff6f7a8a},
    {Theme::Role::highlight, 0xffffb300, 0xffffc83d}, {Theme::Role::success, 0xff1a7f4b, 0xff4cc38a},
    {Theme::Role::warning, 0xff9a6200, 0xffe8b04b},   {Theme::Role::error, 0xffc2321f, 0xffff7a66},
};

struct Shade {
    QRgb light, dark;
};

constexpr std::array<Shade, Theme::kCategories> kShades{{{0xff0b6bab, 0xff3d95d1},
                                                         {0xffc9540a, 0xffe0762f},
                                                         {0xff0a8a66, 0xff27a981},
                                                         {0xff4fa9de, 0xff7cc4ee},
                                                         {0xffe0980a, 0xffecb444},
                                                         {0xffb8608f, 0xffd18bb2},
                                                         {0xff7a8494, 0xff8d97a6},
                                                         {0xff3b4657, 0xffb9c2d0}}};

constexpr std::array<QRgb, 6> kViridis{0xff440154, 0xff414487, 0xff2a788e,
                                       0xff22a884, 0xff7ad151, 0xfffde725};

double luminance(const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

} // namespace

Theme& Theme::instance() {
    static Theme theme;
    return theme;
}

void Theme::setMode(Mode mode) {
    mode_ = mode;
    if (QApplication::style()->name() != QLatin1String("fusion"))
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(QPalette());
    dark_ =
        mode == Mode::dark || (mode == Mode::system && qApp->palette().window().color().lightness() < 128);
    QApplication::setPalette(palette());
    emit changed();
}

QColor Theme::color(Role role) const {
    const auto tone =
        std::find_if(std::begin(kTones), std::end(kTones), [&](const Tone& t) { return t.role == role; });
    return QColor::fromRgb(dark_ ? tone->dark : tone->light);
}

QColor Theme::category(int index) const {
    const auto& shade = kShades[static_cast<std::size_t>((index % kCategories + kCategories) % kCategories)];
    return QColor::fromRgb(dark_ ? shade.dark : shade.light);
}

QColor Theme::textOn(const QColor& background) const {
    const double l = luminance(background);
    const double onWhite = 1.05 / (l + 0.05), onBlack = (l + 0.05) / 0.06;
    return onWhite > 0.62 * onBlack ? QColor(Qt::white) : QColor(0x10, 0x14, 0x1c);
}

QColor Theme::ramp(double t) const {
    const double at = std::clamp(t, 0.0, 1.0) * (kViridis.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(at), kViridis.size() - 2);
    return mix(QColor::fromRgb(kViridis[below]), QColor::fromRgb(kViridis[below + 1]),
               at - static_cast<double>(below));
}

QColor Theme::mix(const QColor& a, const QColor& b, double t) {
    const auto blend = [t](float from, float to) { return from + (to - from) * static_cast<float>(t); };
    return QColor::fromRgbF(blend(a.redF(), b.redF()), blend(a.greenF(), b.greenF()),
                            blend(a.blueF(), b.blueF()), blend(a.alphaF(), b.alphaF()));
}

QFont Theme::scaled(const QFont& font, double factor) {
    QFont result = font;
    if (font.pointSizeF() > 0)
        result.setPointSizeF(font.pointSizeF() * factor);
    else
        result.setPixelSize(std::max(1, static_cast<int>(std::lround(font.pixelSize() * factor))));
    return result;
}

QPalette Theme::palette() const {
    QPalette p;
    const auto set = [&](QPalette::ColorRole to, Role role) { p.setColor(to, color(role)); };
    set(QPalette::Window, Role::window);
    set(QPalette::WindowText, Role::text);
    set(QPalette::Base, Role::surface);
    p.setColor(QPalette::AlternateBase, mix(color(Role::surface), color(Role::raised), 0.4));
    set(QPalette::Text, Role::text);
    // Fusion lightens dark buttons and the frames of tabs by a fifth.
    p.setColor(QPalette::Button, dark_ ? color(Role::surface).darker(112) : color(Role::window));
    set(QPalette::ButtonText, Role::text);
    set(QPalette::BrightText, Role::error);
    set(QPalette::ToolTipBase, Role::surface);
    set(QPalette::ToolTipText, Role::text);
    set(QPalette::PlaceholderText, Role::muted);
    set(QPalette::Highlight, Role::accent);
    set(QPalette::HighlightedText, Role::onAccent);
    set(QPalette::Link, Role::accent);
    set(QPalette::LinkVisited, Role::accent);
    set(QPalette::Mid, Role::border);
    set(QPalette::Dark, Role::border);
    set(QPalette::Midlight, Role::raised);
    set(QPalette::Light, Role::surface);
    p.setColor(QPalette::Shadow, QColor::fromRgb(0xff000000));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, color(Role::disabled));
    p.setColor(QPalette::Disabled, QPalette::Highlight, color(Role::border));
    return p;
}

} // namespace tunesmith
