// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/tune/space_geometry.h"
#include <QAbstractScrollArea>

namespace tunesmith {

// The values of every knob as cells: the colour tells the best time with a value, a bar how often it was tried, an empty outline
// that it never was. Arrow keys, Home and End move the current cell.
class SpaceGrid : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit SpaceGrid(QWidget* parent = nullptr);

    void setMap(const SpaceMap& map); // the current cell stays where the new map has it
    const SpaceMap& map() const { return map_; }
    const SpaceLayout& cells() const { return layout_; }
    SpaceCell current() const { return current_; }
    void setCurrent(SpaceCell cell);
    QString cellText(SpaceCell cell) const; // empty for an invalid one
    QColor cellColor(const SpaceValue& value) const; // invalid: no time

signals:
    void currentChanged(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    void arrange();
    void reveal();
    QPointF toLayout(QPoint position) const;
    const SpaceValue& valueOf(SpaceCell cell) const;
    void drawHeader(QPainter& painter, const SpaceLayout::Header& header) const;
    void drawRow(QPainter& painter, int row, double top, double bottom) const;
    void drawCell(QPainter& painter, SpaceCell cell) const;

    SpaceMap map_;
    SpaceLayout layout_;
    SpaceCell current_;
    QVector<qint64> most_; // tries of a value, by row
    double bestMs_ = kUnknown;
};

} // namespace tunesmith
