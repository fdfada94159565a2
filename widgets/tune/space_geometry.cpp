// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/space_geometry.h"
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

constexpr double kMargin = 4, kGap = 3, kPadding = 6; // pixels
constexpr double kWidestCell = 12;                    // lines of text; longer values are cut

// Of the longest text: measuring all of a long list would take as long as drawing it.
double widestOf(const SpaceKnob& knob, const SpaceMetrics& metrics) {
    const auto longest = std::max_element(knob.values.begin(), knob.values.end(), [](const SpaceValue& a, const SpaceValue& b) {
        return a.text.size() < b.text.size();
    });
    return longest == knob.values.end() ? 0 : metrics.textWidth(longest->text);
}

double labelWidth(const SpaceMap& map, const SpaceMetrics& metrics) {
    double widest = 0;
    for (const SpacePart& part : map.parts)
        for (const SpaceKnob& knob : part.knobs)
            widest = std::max(widest, metrics.textWidth(knob.name));
    return std::min(widest, metrics.width * 0.3);
}

} // namespace

double SpaceMap::configs() const {
    double sum = 0;
    for (const SpacePart& part : parts)
        sum += part.configs;
    return sum;
}

qint64 SpaceMap::tried() const {
    qint64 sum = 0;
    for (const SpacePart& part : parts)
        sum += part.tried;
    return sum;
}

double SpaceMap::bestMs() const {
    double best = kUnknown;
    for (const SpacePart& part : parts)
        if (part.bestMs > 0 && !(best <= part.bestMs))
            best = part.bestMs;
    return best;
}

double shadeOf(double ms, double bestMs) {
    if (!std::isfinite(ms) || !std::isfinite(bestMs) || ms <= 0 || bestMs <= 0)
        return kUnknown;
    return 1 - std::clamp(std::log(ms / bestMs) / std::log(kSlowest), 0.0, 1.0);
}

SpaceLayout::SpaceLayout(const SpaceMap& map, const SpaceMetrics& metrics) {
    const double labels = labelWidth(map, metrics);
    double top = kMargin;
    for (int part = 0; part < map.parts.size(); ++part)
        top = placePart(map, part, metrics, labels, top);
    height_ = rows_.isEmpty() && headers_.isEmpty() ? 0 : top + kMargin;
}

double SpaceLayout::placePart(const SpaceMap& map, int part, const SpaceMetrics& metrics, double labels, double top) {
    const double right = std::max(metrics.width - kMargin, kMargin);
    headers_.push_back({part, {kMargin, top, right - kMargin, metrics.line * 1.6}});
    top = headers_.last().rect.bottom() + kGap;
    const double left = kMargin + labels + 2 * kPadding;
    for (int knob = 0; knob < map.parts[part].knobs.size(); ++knob) {
        const SpaceKnob& values = map.parts[part].knobs[knob];
        Row row;
        row.part = part;
        row.knob = knob;
        row.cells = static_cast<int>(values.values.size());
        const double wish = std::max(widestOf(values, metrics) + 2 * kPadding, metrics.line * 1.8);
        const double room = std::max(right - left, metrics.line * 1.8);
        row.cell = {std::min({wish, room, metrics.line * kWidestCell}), metrics.line * 1.15 + 9};
        row.perLine = std::max(1, static_cast<int>((right - left + kGap) / (row.cell.width() + kGap)));
        row.first = {left, top};
        row.label = {kMargin, top, labels + kPadding, row.cell.height()};
        const int lines = std::max(1, (row.cells + row.perLine - 1) / row.perLine);
        row.rect = {kMargin, top, right - kMargin, lines * (row.cell.height() + kGap)};
        top = row.rect.bottom() + kGap;
        rows_.push_back(row);
    }
    return top + metrics.line * 0.5;
}

QRectF SpaceLayout::cellRect(SpaceCell cell) const {
    const Row& row = rows_[cell.row];
    const QPointF offset((cell.value % row.perLine) * (row.cell.width() + kGap),
                         (cell.value / row.perLine) * (row.cell.height() + kGap));
    return {row.first + offset, row.cell};
}

QPair<int, int> SpaceLayout::rowsIn(double top, double bottom) const {
    const auto from = std::partition_point(rows_.begin(), rows_.end(), [&](const Row& row) { return row.rect.bottom() < top; });
    const auto to = std::partition_point(from, rows_.end(), [&](const Row& row) { return row.rect.top() <= bottom; });
    return {static_cast<int>(from - rows_.begin()), static_cast<int>(to - rows_.begin())};
}

QPair<int, int> SpaceLayout::cellsIn(int index, double top, double bottom) const {
    const Row& row = rows_[index];
    const double step = row.cell.height() + kGap;
    const int lines = (row.cells + row.perLine - 1) / row.perLine;
    const int from = std::clamp(static_cast<int>(std::floor((top - row.first.y()) / step)), 0, lines);
    const int to = std::clamp(static_cast<int>(std::floor((bottom - row.first.y()) / step)) + 1, from, lines);
    return {from * row.perLine, std::min(to * row.perLine, row.cells)};
}

SpaceCell SpaceLayout::cellAt(QPointF point) const {
    const auto [from, to] = rowsIn(point.y(), point.y());
    for (int i = from; i < to; ++i) {
        const Row& row = rows_[i];
        const QPointF at = point - row.first;
        if (at.x() < 0 || at.y() < 0)
            continue;
        const int column = static_cast<int>(at.x() / (row.cell.width() + kGap));
        const SpaceCell cell{i, static_cast<int>(at.y() / (row.cell.height() + kGap)) * row.perLine + column};
        if (column < row.perLine && cell.value < row.cells && cellRect(cell).contains(point))
            return cell;
    }
    return {};
}

SpaceCell SpaceLayout::nearest(SpaceCell cell) const {
    if (cell.row >= 0 && cell.row < rows_.size() && rows_[cell.row].cells > 0)
        return {cell.row, std::clamp(cell.value, 0, rows_[cell.row].cells - 1)};
    for (int row = 0; row < rows_.size(); ++row)
        if (rows_[row].cells > 0)
            return {row, 0};
    return {};
}

// To the cell above or below, at the end of a row to the one of the next row that stands nearest.
SpaceCell SpaceLayout::upOrDown(SpaceCell cell, int by) const {
    const Row& row = rows_[cell.row];
    const int line = cell.value / row.perLine + by, lines = (row.cells + row.perLine - 1) / row.perLine;
    if (line >= 0 && line < lines)
        return {cell.row, std::min(cell.value + by * row.perLine, row.cells - 1)};
    int other = cell.row + by;
    while (other >= 0 && other < rows_.size() && rows_[other].cells == 0)
        other += by;
    if (other < 0 || other >= rows_.size())
        return cell;
    const Row& to = rows_[other];
    const double x = cellRect(cell).center().x() - to.first.x();
    const int column = std::clamp(static_cast<int>(x / (to.cell.width() + kGap)), 0, to.perLine - 1);
    const int last = (to.cells - 1) / to.perLine * to.perLine;
    return {other, std::min((by > 0 ? 0 : last) + column, to.cells - 1)};
}

SpaceCell SpaceLayout::step(SpaceCell cell, Direction direction) const {
    const SpaceCell from = nearest(cell);
    if (from != cell)
        return from;
    if (!from.valid())
        return {};
    switch (direction) {
    case Direction::left:
        return nearest({from.row, from.value - 1});
    case Direction::right:
        return nearest({from.row, from.value + 1});
    case Direction::up:
        return upOrDown(from, -1);
    case Direction::down:
        return upOrDown(from, 1);
    case Direction::first:
        return {from.row, 0};
    case Direction::last:
        return {from.row, rows_[from.row].cells - 1};
    }
    return from;
}

} // namespace tunesmith
