// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/printable.h"

namespace tunesmith::cli {
namespace {

std::string scaled(double value, double base, const std::array<const char*, 5>& units) {
    std::size_t unit = 0;
    while (std::abs(value) >= base * 0.9995 && unit + 1 < units.size()) {
        value /= base;
        ++unit;
    }
    const std::string number = unit == 0 ? fixed(value, 0)
                                         : fixed(value, std::abs(value) < 10    ? 2
                                                        : std::abs(value) < 100 ? 1
                                                                                : 0);
    return units[unit][0] == '\0' ? number : number + " " + units[unit];
}

std::size_t cells(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool isContinuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

std::string shortened(const std::string& text, std::size_t limit) {
    if (text.size() <= limit)
        return text;
    std::size_t head = limit / 2 - 2, tail = text.size() - (limit - limit / 2 - 1);
    while (head > 0 && isContinuation(text[head]))
        --head;
    while (tail < text.size() && isContinuation(text[tail]))
        ++tail;
    return text.substr(0, head) + "..." + text.substr(tail);
}

} // namespace

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, std::abs(value) < 1e15 ? "%.*f" : "%.*g", std::abs(value) < 1e15 ? digits : 3, value);
    return text;
}

std::string timeText(double ms) {
    const auto digits = [](double value) { return value < 10 ? 2 : value < 100 ? 1 : 0; };
    if (ms < 0.9995)
        return fixed(ms * 1e3, digits(ms * 1e3)) + " us";
    if (ms < 999.5)
        return fixed(ms, digits(ms)) + " ms";
    return fixed(ms * 1e-3, digits(ms * 1e-3)) + " s";
}

std::string countText(double count) {
    return scaled(count, 1000, {"", "k", "M", "G", "T"});
}
std::string bytesText(double bytes) {
    return scaled(bytes, 1000, {"B", "kB", "MB", "GB", "TB"});
}
std::string percentText(double fraction) {
    return fixed(fraction * 100, fraction < 0.0995 ? 1 : 0) + " %";
}

void Table::add(std::vector<std::string> cells) {
    for (std::string& cell : cells)
        cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::text() const {
    std::vector<std::vector<std::string>> all(1);
    for (const Column& column : columns_)
        all[0].push_back(column.title);
    for (const auto& row : rows_) {
        all.emplace_back();
        for (std::size_t i = 0; i < columns_.size(); ++i)
            all.back().push_back(i < row.size() ? shortened(row[i], columns_[i].limit) : std::string());
    }
    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const auto& row : all)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], cells(row[i]));
    std::string out;
    for (const auto& row : all) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string pad(widths[i] - cells(row[i]), ' ');
            line += (i == 0 ? "" : "  ") + (columns_[i].right ? pad + row[i] : row[i] + pad);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

} // namespace tunesmith::cli
