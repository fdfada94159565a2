// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/ceilings.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <functional>
#include <immintrin.h>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/helpers.h"

namespace tunesmith::ceilings {
namespace {

using Clock = std::chrono::steady_clock;
// Two FMA ports of four cycles' latency want eight independent chains. Loops over them are written out, whatever the level of
// optimisation: rolled, the chains would be kept in memory.
constexpr int kChains = 12;

[[gnu::target("avx512f"), gnu::noinline]] float fma512(int turns) {
    __m512 chain[kChains];
#pragma GCC unroll kChains
    for (int i = 0; i < kChains; ++i)
        chain[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 scale = _mm512_set1_ps(0.999f);
    for (int turn = 0; turn < turns; ++turn) {
#pragma GCC unroll kChains
        for (int i = 0; i < kChains; ++i)
            chain[i] = _mm512_fmadd_ps(chain[i], scale, scale);
    }
#pragma GCC unroll kChains
    for (int i = 1; i < kChains; ++i)
        chain[0] = _mm512_add_ps(chain[0], chain[i]);
    return _mm512_cvtss_f32(chain[0]);
}

[[gnu::target("avx2,fma"), gnu::noinline]] float fma256(int turns) {
    __m256 chain[kChains];
#pragma GCC unroll kChains
    for (int i = 0; i < kChains; ++i)
        chain[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 scale = _mm256_set1_ps(0.999f);
    for (int turn = 0; turn < turns; ++turn) {
#pragma GCC unroll kChains
        for (int i = 0; i < kChains; ++i)
            chain[i] = _mm256_fmadd_ps(chain[i], scale, scale);
    }
#pragma GCC unroll kChains
    for (int i = 1; i < kChains; ++i)
        chain[0] = _mm256_add_ps(chain[0], chain[i]);
    return _mm256_cvtss_f32(chain[0]);
}

// ms of rounds in which all threads do their part at once.
std::vector<float> timeRounds(int threads, int rounds, const std::function<void(int)>& part) {
    std::vector<float> samples;
    std::barrier gate(threads);
    std::atomic<int> all = 0; // 1: there are all of the threads, 2: there are not
    const auto run = [&](std::size_t thread) {
        all.wait(0);
        for (int round = 0; round < rounds && all == 1; ++round) {
            gate.arrive_and_wait();
            const auto start = Clock::now();
            try {
                part(static_cast<int>(thread));
            } catch (...) { // no memory: the others go on without it
                gate.arrive_and_drop();
                throw;
            }
            gate.arrive_and_wait();
            if (thread == 0)
                samples.push_back(std::chrono::duration<float, std::milli>(Clock::now() - start).count());
        }
    };
    auto others = startHelpers(static_cast<std::size_t>(threads) - 1, run);
    const bool isWhole = others.size() + 1 == static_cast<std::size_t>(threads);
    all = isWhole ? 1 : 2;
    all.notify_all();
    if (!isWhole)
        throw std::system_error(EAGAIN, std::generic_category());
    run(0);
    others.join();
    return samples;
}

// A ceiling is what the machine can do at best: the fastest round counts. A slow episode may cover a whole burst, therefore
// bursts go on, some time apart, until several in a row found nothing faster.
float fastestRound(const std::function<std::vector<float>()>& burst) {
    constexpr float kFaster = 0.997f;
    constexpr int kSteadyBursts = 5, kMostBursts = 40;
    const auto fastestOf = [&] { return std::ranges::min(burst()); };
    float best = fastestOf();
    for (int steady = 0, bursts = 1; steady < kSteadyBursts && bursts < kMostBursts; ++bursts) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        const float now = fastestOf();
        steady = now < kFaster * best ? 0 : steady + 1;
        best = std::min(best, now);
    }
    return best;
}

LargeMemory zeros(std::size_t count) {
    LargeMemory memory = largeMemory(count * sizeof(double));
    std::fill_n(reinterpret_cast<double*>(memory.get()), count, 0.0);
    return memory;
}

} // namespace

double fmaGflops(Isa isa, int threads) {
    constexpr int kTurns = 100000; // about 0.25 ms
    constexpr int kRounds = 300;
    const bool wide = isWide(isa);
    std::vector<float> sinks(static_cast<std::size_t>(threads) * 16);
    const auto part = [&](int thread) {
        sinks[static_cast<std::size_t>(thread) * 16] = wide ? fma512(kTurns) : fma256(kTurns);
    };
    const double operations = 2.0 * (wide ? 16 : 8) * kChains * kTurns * threads;
    return operations / fastestRound([&] { return timeRounds(threads, kRounds, part); }) / 1e6;
}

Triad::Triad() : a_(zeros(kElements)), b_(zeros(kElements)), c_(zeros(kElements)) {}

void Triad::run() {
    auto* __restrict a = reinterpret_cast<double*>(a_.get());
    const auto *b = reinterpret_cast<const double*>(b_.get()), *c = reinterpret_cast<const double*>(c_.get());
    for (std::size_t i = 0; i < kElements; ++i)
        a[i] = b[i] + 3.0 * c[i];
}

double triadGbs(int threads) {
    constexpr int kRounds = 5;
    std::vector<std::optional<Triad>> triads(static_cast<std::size_t>(threads));
    const auto part = [&](int thread) {
        auto& own = triads[static_cast<std::size_t>(thread)];
        if (!own)
            own.emplace();
        own->run();
    };
    timeRounds(threads, 1, part); // allocates
    return Triad::kBytes * threads / fastestRound([&] { return timeRounds(threads, kRounds, part); }) / 1e6;
}

} // namespace tunesmith::ceilings
