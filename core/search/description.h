// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tunesmith {

// How a problem or an environment shows itself: plain data that generic views draw without knowing what it is
// about.
struct TextPart {
    std::string text;
    std::string language; // for highlighting: "llvm", "asm", "c", empty
};

struct TablePart {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};

struct TreePart {
    struct Item {
        std::string label;
        int parent = -1; // index of an earlier item; -1 for a root
        std::string note;
    };
    std::vector<Item> items;
};

struct DiagramPart {
    struct Edge {
        int from = 0;
        int to = 0;
        std::string label;
    };
    std::vector<std::string> nodes;
    std::vector<Edge> edges; // indices into nodes
};

struct CurvePart {
    struct Series {
        std::string name;
        std::vector<double> x, y; // of equal length
    };
    std::string xLabel, yLabel;
    std::vector<Series> series;
};

struct ImagePart {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgba; // 4 * width * height, rows from the top
};

struct Description {
    std::string title;
    std::variant<TextPart, TablePart, TreePart, DiagramPart, CurvePart, ImagePart> part;
};

} // namespace tunesmith
