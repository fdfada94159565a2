// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/listing.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace tunesmith {
namespace {

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

bool contains(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

std::string_view firstWord(std::string_view text) { return text.substr(0, std::min(text.find_first_of(" \t,#"), text.size())); }

// ".LBB0_3:" -> ".LBB0_3"; empty for other lines.
std::string_view labelOf(std::string_view line) {
    const std::size_t colon = line.find(':');
    return line.starts_with(".LBB") && colon != std::string_view::npos ? line.substr(0, colon) : std::string_view();
}

// The instruction of a line with its operands; empty for labels, directives and comments.
std::string_view instructionOf(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || begin == 0 || line[begin] == '.' || line[begin] == '#')
        return {};
    return line.substr(begin);
}

// "jne .LBB0_3" -> ".LBB0_3"; empty for other instructions.
std::string_view jumpTarget(std::string_view instruction) {
    const std::size_t target = instruction.find(".LBB");
    return instruction.starts_with('j') && target != std::string_view::npos ? firstWord(instruction.substr(target)) : std::string_view();
}

bool usesStackVector(std::string_view instruction) {
    return contains(instruction, "(%rsp") && (contains(instruction, "%xmm") || contains(instruction, "%ymm") || contains(instruction, "%zmm"));
}

void count(ListedLoop& loop, std::string_view instruction) {
    if (instruction.empty())
        return;
    ++loop.instructions;
    loop.multiplyAdds += contains(instruction, "vfmadd") || contains(instruction, "vfnmadd") || contains(instruction, "vfmsub");
    loop.broadcasts += !contains(instruction, "%rip") && (contains(instruction, "vbroadcastss") || contains(instruction, "{1to"));
    loop.stackVectors += usesStackVector(instruction);
}

} // namespace

std::vector<ListedLoop> innermostLoops(std::string_view assembly) {
    const std::vector<std::string_view> lines = linesOf(assembly);
    std::map<std::string_view, std::size_t> labels;
    std::vector<ListedLoop> loops;
    std::optional<std::size_t> lastBegin;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (const std::string_view label = labelOf(lines[i]); !label.empty())
            labels[label] = i;
        const auto begin = labels.find(jumpTarget(instructionOf(lines[i])));
        if (begin == labels.end() || (lastBegin && begin->second <= *lastBegin))
            continue; // no backward jump, or one around a loop that was seen
        lastBegin = begin->second;
        ListedLoop loop{begin->second, i + 1 - begin->second};
        for (std::size_t l = begin->second; l <= i; ++l)
            count(loop, instructionOf(lines[l]));
        loops.push_back(loop);
    }
    return loops;
}

std::optional<ListedLoop> hottestLoop(std::string_view assembly) {
    const std::vector<ListedLoop> loops = innermostLoops(assembly);
    const auto heat = [](const ListedLoop& loop) { return std::tuple(loop.multiplyAdds, loop.instructions); };
    const auto hottest = std::ranges::max_element(loops, {}, heat);
    return hottest == loops.end() ? std::nullopt : std::optional(*hottest);
}

} // namespace tunesmith
