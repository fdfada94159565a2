// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/progress_line.h"
#include "core/base/printable.h"

#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tunesmith::cli {
namespace {

std::string lineOf(const Progress& progress) {
    std::string line = progress.phase;
    if (progress.fraction >= 0)
        line += "  " + std::to_string(static_cast<int>(progress.fraction * 100)) + " %";
    if (!progress.detail.empty())
        line += "  " + progress.detail;
    return printable(line);
}

std::string fitted(std::string line) {
    winsize size{};
    const std::size_t width =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
    std::size_t cells = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
        if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80 && ++cells > width)
            return line.substr(0, i);
    return line;
}

} // namespace

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (!terminal_ && now - begun_ < std::chrono::seconds(1))
        return;
    const bool fresh = progress.phase != phase_;
    if (!fresh &&
        now - last_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(15000)))
        return;
    phase_ = progress.phase;
    last_ = now;
    if (terminal_)
        std::fprintf(stderr, "\r\033[K%s", fitted(lineOf(progress)).c_str());
    else
        std::fprintf(stderr, "%s\n", lineOf(progress).c_str());
    std::fflush(stderr);
    shown_ = terminal_;
}

void ProgressLine::clear() {
    const std::lock_guard lock(mutex_);
    if (shown_)
        std::fprintf(stderr, "\r\033[K");
    shown_ = false;
}

} // namespace tunesmith::cli
