// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tunesmith::cli {

// Figures for people: three digits and the fitting unit.
std::string timeText(double ms);          // "1.24 ms", "830 us", "2.41 s"
std::string countText(double count);      // "640", "11.7 M"
std::string bytesText(double bytes);      // "46.8 MB"
std::string percentText(double fraction); // "76 %"
std::string fixed(double value, int digits);

// Columns of text, aligned; columns of figures to the right.
class Table {
public:
    struct Column {
        std::string title;
        bool right = false;
        std::size_t limit = 60; // longer cells are cut in the middle
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> cells); // each becomes one printable line
    bool empty() const { return rows_.empty(); }
    std::string text() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace tunesmith::cli
