// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QAccessible>
#include <QVariant>
#include <QWidget>

namespace tunesmith {

// Tells screen readers that what a view shows as its value, such as its selection in words, has changed.
inline void announceValue(QWidget* view) {
    if (!QAccessible::isActive())
        return;
    QAccessibleValueChangeEvent event(view, QVariant());
    if (auto* interface = QAccessible::queryAccessibleInterface(view))
        event.setValue(interface->text(QAccessible::Value));
    QAccessible::updateAccessibility(&event);
}

} // namespace tunesmith
