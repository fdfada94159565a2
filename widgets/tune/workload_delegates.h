// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPolygonF>
#include <QStyledItemDelegate>

namespace tunesmith {

// Points of a falling curve in a rectangle: x by index, y logarithmic, the smallest value at the bottom. At
// most one point per pixel column. Empty without two finite positive values.
QPolygonF sparkline(const QVector<double>& values, const QRectF& area);

class BarDelegate : public QStyledItemDelegate { // text over a bar; kSortRole is the fraction
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

class SparklineDelegate : public QStyledItemDelegate { // kSortRole is a QVector<double>
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

class StateDelegate
    : public QStyledItemDelegate { // a coloured dot before the word; kSortRole is a WorkloadState
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

} // namespace tunesmith
