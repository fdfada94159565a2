// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/workbench/bench.h"

namespace tunesmith::cli {
namespace {

Json latencyJson(const Latency& latency) {
    return {{"p5_ms", latency.p5Ms},     {"median_ms", latency.medianMs},
            {"p95_ms", latency.p95Ms},   {"runs", latency.runs},
            {"gflops", latency.gflops},  {"peak_fraction", latency.peakFraction},
            {"threads", latency.threads}};
}

Json benchJson(const BenchResult& result) {
    Json json = latencyJson(result.latency);
    json["foreign"] = result.foreign;
    if (result.comparison) {
        const Comparison& comparison = *result.comparison;
        json["other"] = latencyJson(comparison.other);
        json["ratio"] = comparison.ratio;
        json["ratio_low"] = comparison.ratioLow;
        json["ratio_high"] = comparison.ratioHigh;
        json["verdict"] = comparison.verdict;
        json["text"] = comparison.text;
        return json;
    }
    json["layers"] = Json::array();
    for (const LayerTime& layer : result.layers)
        json["layers"].push_back({{"name", layer.name},
                                  {"ms", layer.ms},
                                  {"share", layer.share},
                                  {"gflops", layer.gflops},
                                  {"peak_fraction", layer.peakFraction},
                                  {"expected_ms", layer.expectedMs},
                                  {"config", layer.config}});
    return json;
}

void addRow(Table& table, const std::string& name, const Latency& latency) {
    table.add({name, timeText(latency.p5Ms), timeText(latency.medianMs), timeText(latency.p95Ms),
               std::to_string(latency.runs), fixed(latency.gflops, 1), percentText(latency.peakFraction),
               std::to_string(latency.threads)});
}

std::string foreignText(const BenchResult& result) {
    std::string text;
    for (const std::string& sentence : result.foreign)
        text += "\n" + sentence + ".\n";
    return text;
}

std::string benchText(const BenchResult& result, const BenchRequest& request) {
    Table latency({{""},
                   {"p5", true},
                   {"median", true},
                   {"p95", true},
                   {"runs", true},
                   {"GFLOP/s", true},
                   {"of peak", true},
                   {"threads", true}});
    addRow(latency, result.comparison ? request.subject : result.name, result.latency);
    if (result.comparison) {
        addRow(latency, request.other, result.comparison->other);
        return latency.text() + result.comparison->text + "\n" + foreignText(result);
    }
    Table layers({{"layer", false, 56},
                  {"time", true},
                  {"share", true},
                  {"GFLOP/s", true},
                  {"of peak", true},
                  {"record", true}});
    for (const LayerTime& layer : result.layers)
        layers.add({layer.name, timeText(layer.ms), percentText(layer.share), fixed(layer.gflops, 1),
                    percentText(layer.peakFraction),
                    layer.expectedMs > 0 ? timeText(layer.expectedMs) : "untuned"});
    return (layers.empty() ? std::string() : layers.text() + "\n") + latency.text() + foreignText(result);
}

} // namespace

void addBench(CLI::App& app, Session& session) {
    const auto request = std::make_shared<BenchRequest>();
    CLI::App& command =
        *app.add_subcommand("bench", "How fast a model or module runs, or which of two is faster");
    command.add_option("model", request->subject, "ONNX file, tensor expression (FILE.te), sample, or folder of an exported module")
        ->required();
    command.add_option("--vs", request->other, "Measure this model or module in turns with it");
    command.add_option("--seconds", request->seconds, "How long to measure")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command.add_flag("--untuned", request->untuned, "Compile models without the store's records");
    session.addTrust(command);
    session.addInputs(command);
    session.addDimensions(command);
    session.addThreads(command);
    session.addStore(command);
    session.addSpace(command, kSpaceOfModule);
    session.addJson(command);
    command.callback([&session, request] {
        session.action = [&session, request]() -> Result<int> {
            TS_ASSIGN(request->inputs, session.inputChoice());
            request->dimensions = session.dimensions;
            request->store = session.store;
            request->threads = session.threads;
            request->work = session.work();
            request->space = session.space;
            request->trust = session.trust;
            TS_ASSIGN(const BenchResult result, bench(*request));
            return session.print(benchJson(result), benchText(result, *request));
        };
    });
}

} // namespace tunesmith::cli
