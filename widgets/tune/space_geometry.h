// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/tune/tune_data.h"
#include <QRectF>
#include <functional>

namespace tunesmith {

// How often each value of each knob of a configuration space was tried, and how well that went.
struct SpaceValue {
    QString text;
    qint64 tries = 0;
    double bestMs = kUnknown; // never tried, or every try failed
};

struct SpaceKnob {
    QString name;
    QVector<SpaceValue> values;
};

struct SpacePart { // one of several ways, with knobs of its own
    QString name;
    double configs = 0; // that can be tried
    qint64 tried = 0;   // different ones
    double bestMs = kUnknown;
    QVector<SpaceKnob> knobs;
};

struct SpaceMap {
    QVector<SpacePart> parts;
    qint64 trials = 0, failed = 0;
    qint64 foreign = 0; // trials that are not in this space

    double configs() const;
    qint64 tried() const;
    double bestMs() const; // NaN: none
};

// 1 for the best time, 0 from kSlowest times the best on, even steps of ratio between; NaN when one of them is not known.
constexpr double kSlowest = 4;
double shadeOf(double ms, double bestMs);

struct SpaceCell {
    int row = -1, value = -1;
    bool valid() const { return row >= 0; }
    bool operator==(const SpaceCell&) const = default;
};

struct SpaceMetrics {
    double width = 0; // that there is
    double line = 0;  // height of a line of text
    std::function<double(const QString&)> textWidth;
};

// The pure part of SpaceGrid: a header for each part, below it a row for each knob with its values as cells, in several lines
// where the width ends.
class SpaceLayout {
public:
    struct Header {
        int part = 0;
        QRectF rect;
    };
    struct Row {
        int part = 0, knob = 0;
        int cells = 0, perLine = 1;
        QRectF rect, label;
        QPointF first; // top left corner of the first cell
        QSizeF cell;
    };
    enum class Direction { left, right, up, down, first, last }; // first, last: of the row

    SpaceLayout() = default;
    SpaceLayout(const SpaceMap& map, const SpaceMetrics& metrics);

    double height() const { return height_; }
    const QVector<Header>& headers() const { return headers_; }
    const QVector<Row>& rows() const { return rows_; }
    QRectF cellRect(SpaceCell cell) const;
    SpaceCell cellAt(QPointF point) const;                     // invalid: none there
    SpaceCell step(SpaceCell cell, Direction direction) const; // the cell itself when there is no way; the first one from an invalid one
    SpaceCell nearest(SpaceCell cell) const;                   // one that this layout has; invalid when it has none
    QPair<int, int> rowsIn(double top, double bottom) const;   // first, and behind the last
    QPair<int, int> cellsIn(int row, double top, double bottom) const; // likewise, of the lines between

private:
    double placePart(const SpaceMap& map, int part, const SpaceMetrics& metrics, double labels, double top);
    SpaceCell upOrDown(SpaceCell cell, int by) const;

    QVector<Header> headers_;
    QVector<Row> rows_;
    double height_ = 0;
};

} // namespace tunesmith
