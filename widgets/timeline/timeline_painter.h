// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/timeline/timeline_area.h"
#include "widgets/timeline/timeline_geometry.h"
#include <QFont>
#include <QRectF>
#include <vector>

class QPainter;

namespace tunesmith {

// Draws tracks and their slices: colour tells the job, the way of filling the kind of stage. What is narrower than a pixel is drawn together, as strong
// as it was busy, in the colour of what has most of it. Knows no widget.
class TimelinePainter {
public:
    struct Place { // in the coordinates of the painter; tracks are scrolled upward by so much
        QRectF labels, axis, plot;
        double scroll = 0;
    };
    struct Marks {
        int selected = -1, hovered = -1; // slices; the other jobs than the selected one's are dimmed
        TimelineArea area;
        bool expected = true; // outlines of how long slices were thought to take
        bool live = false;    // a line where the run has come to
    };

    void setFont(const QFont& font);
    double line() const { return line_; } // height of a line of text
    double labelWidth(const QVector<TimelineTrack>& tracks) const;
    // Only tracks that can be seen are drawn.
    void paint(QPainter& painter, const TimelineModel& model, const TimeScale& scale, const TrackRows& rows, const Place& place, const Marks& marks);
    void paintKey(QPainter& painter, const QRectF& rect, const TimelineModel& model, bool expected) const; // what colours and fillings mean

    static QColor fillOf(const TimelineJob& job, TimelineSlice::Kind kind);
    static QString nameOf(const TimelineJob& job, const TimelineSlice& slice); // what stands in a slice

private:
    struct Scene {
        const TimelineModel& model;
        const TimeScale& scale;
        const TrackRows& rows;
        const Place& place;
        const Marks& marks;
        int chosenJob;
        QRectF row(int track) const; // in the plot
    };
    void mixColours(const Scene& scene);
    double drawTrack(QPainter& painter, const Scene& scene, int track) const; // share of what is shown in which it was busy
    void drawCrowd(QPainter& painter, const Scene& scene, const QRectF& row, const std::vector<IntervalLevels::Piece>& pieces) const;
    void drawSlice(QPainter& painter, const Scene& scene, const QRectF& row, const IntervalLevels::Piece& piece) const;
    void drawRunning(QPainter& painter, const Scene& scene, const TimelineSlice& slice) const;
    void drawText(QPainter& painter, const Scene& scene, const QRectF& rect, int group, const QString& duration) const;
    void drawExpected(QPainter& painter, const Scene& scene, const QRectF& row, int slice) const;
    void drawLabel(QPainter& painter, const Scene& scene, int track, double busy) const;
    void drawAxis(QPainter& painter, const Scene& scene) const;
    void drawMarks(QPainter& painter, const Scene& scene) const;
    void drawWait(QPainter& painter, const Scene& scene, int slice, const QColor& color) const;
    void drawArea(QPainter& painter, const Scene& scene) const;

    QFont font_, small_;
    double line_ = 16;
    std::vector<QColor> colours_; // by group
};

} // namespace tunesmith
