// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/workbench/job_timeline.h"

using namespace tunesmith;
using nlohmann::json;

namespace {

JobSlice sliceOn(const std::string& resource, int unit, const std::string& stage, double begin, double end) { return {0, stage, {{resource, {unit}}}, begin, begin, end, 0}; }

// By process and track, in the order in which they stand.
std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> spansOf(const json& trace) {
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> spans;
    for (const json& event : trace.at("traceEvents"))
        if (event.at("ph") == "X")
            spans[{event.at("pid"), event.at("tid")}].emplace_back(event.at("ts"), event.at("ts").get<double>() + event.at("dur").get<double>());
    return spans;
}

// What the format allows: of two events on a track one ends before the other begins, or lies within it.
bool nests(const std::vector<std::pair<double, double>>& spans) {
    constexpr double kLeast = 1e-4; // us; sums of doubles
    for (const auto& a : spans)
        for (const auto& b : spans)
            if (a.first < b.first - kLeast && b.first < a.second - kLeast && a.second < b.second - kLeast)
                return false;
    return true;
}

std::map<std::string, int> tracksOf(const json& trace) { // by their names
    std::map<std::string, int> tracks;
    for (const json& event : trace.at("traceEvents"))
        if (event.at("ph") == "M")
            tracks[event.at("args").at("name")] = event.at("tid");
    return tracks;
}

} // namespace

// What ran when, as files for other programs.
class TstJobTimeline : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    QByteArray written(const JobTimeline& timeline, const QString& name) const {
        QFile file(folder_.filePath(name));
        if (const Status done = exportTimeline(timeline, file.fileName().toStdString()); !done.ok())
            qFatal("%s", done.error().message.c_str());
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

private slots:
    void lanesDoNotOverlapOnATrack() {
        JobTimeline timeline{{"one"}, {{"core", 2}, {"device lab", 2}}, {}};
        // As they ended: batch n + 1 is built while batch n is measured, on either device, and now and then one lane is all in one stage.
        for (int batch = 0; batch < 20; ++batch)
            for (int device = 0; device < 2; ++device) {
                const double at = 10.0 * batch + device;
                timeline.slices.push_back(sliceOn("device lab", device, "build", at + 4, at + 9));
                timeline.slices.push_back(sliceOn("device lab", device, "profile", at + 1, at + 8));
                timeline.slices.push_back(sliceOn("core", device, "update", at + 8, at + 11));
            }
        const json trace = json::parse(chromeTrace(timeline));
        const auto spans = spansOf(trace);
        std::size_t events = 0;
        for (const auto& [track, on] : spans) {
            QVERIFY(nests(on));
            events += on.size();
        }
        QCOMPARE(events, timeline.slices.size());
        const auto tracks = tracksOf(trace);
        QCOMPARE(tracks.size(), spans.size());
        for (const char* name : {"core 0", "core 1", "device lab 0", "device lab 0, beside 1", "device lab 1", "device lab 1, beside 1"})
            QVERIFY2(tracks.contains(name), name);
        std::set<int> numbers;
        for (const auto& [name, number] : tracks)
            numbers.insert(number);
        QCOMPARE(numbers.size(), tracks.size());
        QVERIFY(tracks.at("core 0") == 0 && tracks.at("core 1") == 1);
    }

    // Also what no scheduler would do, as in a damaged store.
    void whateverOverlaps() {
        JobTimeline timeline{{"one"}, {{"core", 1}}, {}};
        for (int i = 0; i < 60; ++i)
            timeline.slices.push_back(sliceOn("core", i % 3 - 1, "build", (i * 7) % 13, (i * 7) % 13 + 1 + i % 5));
        std::size_t events = 0;
        for (const auto& [track, on] : spansOf(json::parse(chromeTrace(timeline)))) {
            QVERIFY(nests(on));
            events += on.size();
        }
        QCOMPARE(events, timeline.slices.size());
    }

    void stagesThatFollowShareATrack() {
        JobTimeline timeline{{"one"}, {{"device lab", 1}}, {}};
        double at = 0.1;
        for (int i = 0; i < 1000; ++i) {
            timeline.slices.push_back(sliceOn("device lab", 0, "profile", at, at + 0.1));
            at += 0.1; // which is no binary fraction
        }
        QCOMPARE(tracksOf(json::parse(chromeTrace(timeline))), (std::map<std::string, int>{{"device lab 0", 100'000}}));
    }

    void saysWhatWas() {
        JobTimeline timeline{{"a \"job\"\nof \xff\xfe"}, {{"core", 2}, {"profile", 1}}, {}};
        timeline.slices = {{0, "build", {{"core", {0}}}, 0.5, 1.25, 3, 2.5}, {0, "profile", {{"core", {0, 1}}, {"profile", {0}}}, 3, 3, 3.000000001, std::numeric_limits<double>::quiet_NaN()}};
        const json events = json::parse(chromeTrace(timeline)).at("traceEvents");
        QCOMPARE(events.size(), std::size_t(5)); // three, and the names of two tracks
        QVERIFY(events[0].at("ts") == 1.25e6 && events[0].at("dur") == 1.75e6 && events[0].at("name") == "build" && events[0].at("tid") == 0);
        QVERIFY(events[0].at("args").at("waited_ms") == 750 && events[0].at("args").at("expected_ms") == 2500);
        QVERIFY(events[0].at("cat").get<std::string>().starts_with("a \"job\"\nof "));
        QVERIFY(events[1].at("dur") == 0.001 && events[1].at("args").at("expected_ms").is_null() && events[1].at("args").at("waited_ms") == 0);
        QVERIFY(QByteArray::fromStdString(slicesAsCsv(timeline)).startsWith("job,stage,cores,called_s,begin_s,end_s,expected_s,devices\n\"a \"\"job\"\"\nof \xff\xfe\",build,0,0.500000,1.250000,3.000000,2.500000,\n"));
    }

    void nothingRan() {
        const json trace = json::parse(chromeTrace({}));
        QVERIFY(trace.at("traceEvents").empty() && trace.at("displayTimeUnit") == "ms");
        QCOMPARE(QByteArray::fromStdString(slicesAsCsv({})).count('\n'), 1);
    }

    // More than is written at a time.
    void manySlices() {
        constexpr int kMany = 30'000;
        JobTimeline timeline{{"one", "two"}, {{"core", 2}}, {}};
        for (int i = 0; i < kMany; ++i)
            timeline.slices.push_back({std::size_t(i % 2), "build", {{"core", {i % 2}}}, 0.01 * i, 0.01 * i, 0.01 * i + 0.02, 0.02});
        const QByteArray file = written(timeline, "many.json");
        QCOMPARE(file.toStdString(), chromeTrace(timeline));
        const json events = json::parse(file.toStdString()).at("traceEvents");
        QCOMPARE(events.size(), std::size_t(kMany + 2));
        QVERIFY(std::abs(events[kMany - 1].at("ts").get<double>() - 1e4 * (kMany - 1)) < 0.01);
        QCOMPARE(events[kMany - 1].at("cat").get<std::string>(), std::string("two"));
        QCOMPARE(written(timeline, "many.csv").toStdString(), slicesAsCsv(timeline));
    }

    // A file that is there stays what it is.
    void wholeOrNotAtAll() {
        const JobTimeline timeline{{"one"}, {{"core", 1}}, {sliceOn("core", 0, "build", 0, 1)}};
        const QByteArray before = written(timeline, "kept.json");
        StopSource stopped;
        stopped.requestStop();
        const QString path = folder_.filePath("kept.json");
        QVERIFY(exportTimeline(timeline, path.toStdString(), stopped.token()).error().isCancelled());
        QVERIFY(exportTimeline(timeline, folder_.filePath("kept.csv").toStdString(), stopped.token()).error().isCancelled());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly) && file.readAll() == before && !QFile::exists(folder_.filePath("kept.csv")));
        const Status refused = exportTimeline(timeline, folder_.filePath("nowhere/x.json").toStdString());
        QVERIFY(!refused.ok() && refused.error().message.find("x.json") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TstJobTimeline)
#include "tst_job_timeline.moc"
