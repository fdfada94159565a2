// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/gallery_timeline.h"
#include <algorithm>
#include <random>

namespace tunesmith {
namespace {

using Kind = TimelineSlice::Kind;

// Each job builds, measures and learns in turn; a stage takes the units that are free first, and a measurement waits for the slot.
class SampleMachine {
public:
    SampleMachine(int cores, int jobs) : free_(static_cast<std::size_t>(cores) + 1, 0.0), ready_(static_cast<std::size_t>(jobs), 0.0), step_(static_cast<std::size_t>(jobs), 0) {}

    TimelineSlice next() {
        const auto job = static_cast<std::size_t>(std::min_element(ready_.begin(), ready_.end()) - ready_.begin());
        constexpr Kind kSteps[] = {Kind::build, Kind::profile, Kind::update};
        constexpr double kSeconds[] = {0.35, 0.8, 0.12};
        const auto step = static_cast<std::size_t>(step_[job]++ % 3);
        TimelineSlice slice;
        slice.job = static_cast<int>(job);
        slice.kind = kSteps[step];
        slice.called = slice.begin = ready_[job];
        slice.expected = kSeconds[step] * (1 + 0.3 * static_cast<double>(job));
        slice.tracks = {earliestCore()};
        if (slice.kind == Kind::profile)
            slice.tracks.push_back(static_cast<int>(free_.size()) - 1);
        for (const int track : slice.tracks)
            slice.begin = std::max(slice.begin, free_[static_cast<std::size_t>(track)]);
        slice.end = slice.begin + slice.expected * std::uniform_real_distribution(0.75, 1.35)(random_);
        for (const int track : slice.tracks)
            free_[static_cast<std::size_t>(track)] = slice.end;
        ready_[job] = slice.end + (random_() % 29 == 0 ? 1.5 : 0.01);
        return slice;
    }

private:
    int earliestCore() const { return static_cast<int>(std::min_element(free_.begin(), free_.end() - 1) - free_.begin()); }

    std::vector<double> free_, ready_; // seconds: units, the slot last; jobs
    std::vector<int> step_;
    std::mt19937 random_{7};
};

} // namespace

SampleTimeline sampleTimeline(int cores, int jobs, int slices) {
    static const char* const kNames[] = {"resnet18", "mobilenet_v2", "bert_mini", "squeezenet1_1", "mnist", "vit_b_16"};
    SampleTimeline sample;
    for (int core = 0; core < cores; ++core)
        sample.tracks.push_back({QStringLiteral("core %1").arg(core), QStringLiteral("core")});
    sample.tracks.push_back({QStringLiteral("profile"), QStringLiteral("profile")});
    for (int i = 0; i < jobs; ++i) {
        TimelineJob job;
        job.key = i;
        job.name = QLatin1String(kNames[i % 6]);
        job.color = i;
        job.priority = i == 2 ? 5 : 0;
        job.state = i == 1 ? TimelineJob::State::paused : TimelineJob::State::running;
        job.progress = 0.2 + 0.17 * i;
        job.budgetLeft = QStringLiteral("%1 trials").arg(640 - 120 * i);
        job.bestMs = 14.2 / (i + 1);
        sample.jobs.push_back(job);
    }
    SampleMachine machine(cores, jobs);
    for (int i = 0; i < slices; ++i)
        sample.slices.push_back(machine.next());
    std::stable_sort(sample.slices.begin(), sample.slices.end(), [](const TimelineSlice& a, const TimelineSlice& b) { return a.end < b.end; });
    return sample;
}

} // namespace tunesmith
