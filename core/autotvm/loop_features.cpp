// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/loop_features.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tunesmith::autotvm {
namespace {

bool isBlock(LoopKind kind) {
    return kind <= LoopKind::blockZ;
}
bool isThread(LoopKind kind) {
    return (kind >= LoopKind::threadX && kind <= LoopKind::threadZ) || kind == LoopKind::virtualThread;
}

// The names of accesses in order, with their places.
std::vector<const BufferAccess*> orderedAccesses(const LoopNest& nest) {
    std::vector<const BufferAccess*> order;
    for (const BufferAccess& access : nest.accesses)
        order.push_back(&access);
    std::ranges::sort(order, {}, &BufferAccess::name);
    return order;
}

// How each loop touches one buffer, from the outermost in.
std::vector<TouchFeature> touchesOf(const LoopNest& nest, const BufferAccess& access) {
    std::vector<TouchFeature> touches(nest.loops.size());
    double count = 1, reuse = 1;
    for (std::size_t i = nest.loops.size(); i-- > 0;) {
        (access.strides[i] != 0 ? count : reuse) *= static_cast<double>(nest.loops[i].extent);
        const std::int64_t mod = access.mods.empty() ? -1 : access.mods[i];
        touches[i] = {access.name, static_cast<double>(access.strides[i]), static_cast<double>(mod), count,
                      reuse};
    }
    const auto thread =
        std::ranges::find_if(nest.loops, [](const Loop& loop) { return isThread(loop.kind); });
    if (thread == nest.loops.end())
        return touches;
    const TouchFeature base = touches[static_cast<std::size_t>(thread - nest.loops.begin())];
    for (auto loop = nest.loops.begin(); loop != thread; ++loop)
        if (isBlock(loop->kind)) {
            TouchFeature& touch = touches[static_cast<std::size_t>(loop - nest.loops.begin())];
            touch.threadCount = touch.count / base.count;
            touch.threadReuse = touch.reuse / base.reuse;
        }
    return touches;
}

float logarithm(double value) {
    const double size = std::log2(std::abs(value) + 1);
    return static_cast<float>(value < 0 ? -size : size);
}

void appendLoop(const LoopFeature& loop, std::vector<float>& out) {
    out.insert(out.end(), {logarithm(loop.length), static_cast<float>(loop.nestLevel),
                           logarithm(loop.topdown), logarithm(loop.bottomup)});
    for (int kind = 0; kind < kLoopKinds; ++kind)
        out.push_back(kind == static_cast<int>(loop.kind) ? 1.0f : 0.0f);
    for (const int operations : {loop.additions, loop.multiplications, loop.divisions})
        out.push_back(logarithm(operations));
    for (const TouchFeature& touch : loop.touched)
        for (const double value :
             {touch.stride, touch.mod, touch.count, touch.reuse, touch.threadCount, touch.threadReuse})
            out.push_back(logarithm(value));
}

using Curve = std::vector<double>; // ascending, the first is 0

// What `y` was when `x` last was at most 0, 1, 2 ..., and how far back that is.
void appendSamples(const Curve& x, const Curve& y, int samples, std::vector<float>& out) {
    constexpr double kTolerance = 1e-6;
    for (int i = 0; i < samples; ++i) {
        const auto after = std::upper_bound(x.begin(), x.end(), i + kTolerance);
        const auto last = static_cast<std::size_t>(after - x.begin()) - 1;
        out.push_back(static_cast<float>(y[last]));
        out.push_back(static_cast<float>(i - x[last]));
    }
}

} // namespace

Status LoopNest::check() const {
    for (const Loop& loop : loops)
        if (loop.extent < 1)
            return inputError("loop " + loop.name + " has no steps");
    std::set<std::string> names;
    for (const BufferAccess& access : accesses) {
        if (!names.insert(access.name).second)
            return inputError("two accesses have the name " + access.name);
        if (access.strides.size() != loops.size() ||
            (!access.mods.empty() && access.mods.size() != loops.size()))
            return inputError("access " + access.name + " needs a stride for each of the " +
                              std::to_string(loops.size()) + " loops");
    }
    return {};
}

std::vector<LoopFeature> loopFeatures(const LoopNest& nest) {
    std::vector<LoopFeature> features(nest.loops.size());
    double topdown = 1, bottomup = 1;
    for (std::size_t i = 0; i < features.size(); ++i) {
        features[i].length = static_cast<double>(nest.loops[i].extent);
        features[i].nestLevel = static_cast<int>(i) + 1;
        features[i].kind = nest.loops[i].kind;
        features[i].topdown = topdown *= features[i].length;
    }
    for (std::size_t i = features.size(); i-- > 0;)
        features[i].bottomup = bottomup *= features[i].length;
    if (!features.empty()) {
        features.back().additions = nest.additions;
        features.back().multiplications = nest.multiplications;
        features.back().divisions = nest.divisions;
    }
    for (const BufferAccess* access : orderedAccesses(nest)) {
        const std::vector<TouchFeature> touches = touchesOf(nest, *access);
        for (std::size_t i = 0; i < features.size(); ++i)
            features[i].touched.push_back(touches[i]);
    }
    return features;
}

std::vector<float> itervarFeatures(const LoopNest& nest, const std::vector<double>& otherKnobs) {
    std::vector<float> out;
    for (const LoopFeature& loop : loopFeatures(nest))
        appendLoop(loop, out);
    for (const double value : otherKnobs)
        out.push_back(static_cast<float>(value));
    return out;
}

std::vector<float> curveFeatures(const LoopNest& nest, int samples) {
    const std::vector<LoopFeature> loops = loopFeatures(nest);
    std::vector<float> out;
    for (std::size_t access = 0; access < nest.accesses.size(); ++access) {
        Curve count{0}, reuse{0}, topdown{0};
        for (const LoopFeature& loop : loops) {
            count.push_back(std::log2(loop.touched[access].count));
            reuse.push_back(std::log2(loop.touched[access].reuse));
            topdown.push_back(std::log2(loop.topdown));
        }
        for (Curve* curve : {&count, &reuse, &topdown})
            std::ranges::sort(*curve);
        appendSamples(count, reuse, samples, out);
        appendSamples(reuse, count, samples, out);
        appendSamples(count, topdown, samples, out);
        appendSamples(topdown, count, samples, out);
    }
    return out;
}

} // namespace tunesmith::autotvm
