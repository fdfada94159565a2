// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTextStream>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/bench/bench_kernel.h"

using namespace tunesmith;

namespace {

// Every config of a part of the space, in the order of its indices; 0 for what the filter forbids or what cannot be built.
nlohmann::json partTable(KernelLab& lab, const KnobSpace& part, const std::function<Config(const Config&)>& widened) {
    nlohmann::json knobs = nlohmann::json::array(), times = nlohmann::json::array();
    for (const Knob& knob : part.knobs()) {
        std::vector<std::int64_t> numbers;
        for (const KnobValue& value : knob.values)
            numbers.push_back(value.numbers.at(0));
        knobs.push_back({{"name", knob.name}, {"values", numbers}});
    }
    for (std::uint64_t i = 0; i < part.indexCount(); ++i) {
        const auto config = part.at(i);
        const double ms = config ? lab.lowMs(widened(*config)).value_or(0) : 0;
        times.push_back(std::round(ms * 1e4) / 1e4);
        if (i % 100 == 0)
            QTextStream(stderr) << part.name().c_str() << ": " << i << " of " << part.indexCount() << Qt::endl;
    }
    return {{"name", part.name()}, {"knobs", knobs}, {"ms", times}};
}

} // namespace

// measure_table CHANNELS SIZE OUTPUTS KERNEL STRIDE FILE: measures all schedules of a convolution on one thread, so that
// strategies can be judged on the table without a machine's noise.
int main(int argc, char** argv) {
    if (argc != 7) {
        QTextStream(stderr) << "usage: measure_table CHANNELS SIZE OUTPUTS KERNEL STRIDE FILE" << Qt::endl;
        return 2;
    }
    const auto number = [&](int i) { return std::atoll(argv[i]); };
    KernelLab lab = KernelLab::convolution({number(1), number(2), number(3), number(4), number(5)}, 1);
    const Space& space = lab.space().space();
    nlohmann::json parts = nlohmann::json::array();
    if (const auto* several = dynamic_cast<const UnionSpace*>(&space)) {
        for (std::size_t p = 0; p < several->partCount(); ++p)
            parts.push_back(partTable(lab, several->part(p), [&](const Config& config) { return several->widened(p, config); }));
    } else {
        parts.push_back(partTable(lab, dynamic_cast<const KnobSpace&>(space), [](const Config& config) { return config; }));
    }
    QFile file(QString::fromLocal8Bit(argv[6]));
    if (!file.open(QIODevice::WriteOnly))
        qFatal("cannot write %s", argv[6]);
    file.write(QByteArray::fromStdString(nlohmann::json{{"workload", lab.workload().name}, {"parts", parts}}.dump()) + '\n');
}
