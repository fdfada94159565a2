// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/throttle.h"
#include "widgets/timeline/timeline_painter.h"
#include <QAbstractScrollArea>

class QAction;

namespace tunesmith {

// Resources as tracks, stages of jobs as slices on them, while they run and afterwards. Mouse: the wheel zooms at the cursor (with Shift it pans, with
// Control it scrolls the tracks), a drag pans, a click selects, a drag with Shift selects an area. Keys: W and S zoom, A and D pan, F shows the
// selected slice, the area or everything; arrows go from slice to slice, Home and End to the first and the last of the track, Return selects what the
// selected slice takes as an area, Escape lets go.
class TimelineView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    void setTracks(const QVector<TimelineTrack>& tracks); // forgets all slices
    void addTracks(const QVector<TimelineTrack>& tracks); // behind the others
    void setJobs(const QVector<TimelineJob>& jobs);
    int addSlices(const QVector<TimelineSlice>& batch); // how many were refused, see TimelineModel::add(); a hundred thousand take 20 ms
    enum class Live { no, here, elsewhere };            // elsewhere: nobody says what has no end yet
    void setLive(Live live);                            // the run is going on; the newest stays in view until a person looks elsewhere
    void setNow(double seconds);                        // how far it has come
    void setRunning(QVector<TimelineSlice> slices);     // those that have no end yet; what add() would refuse is left out
    void setWaiting(QVector<TimelineWait> waits);       // those that have not begun; what makes no sense is left out
    const TimelineModel& model() const { return model_; }

    int selected() const { return marks_.selected; } // -1: none
    void select(int slice, bool show = true);        // what is no slice selects none
    const TimelineArea& area() const { return marks_.area; }
    void setArea(const TimelineArea& area);
    const TimeScale& scale() const { return scale_; }
    void setScale(const TimeScale& scale); // within what there is
    bool follows() const { return follows_; }
    bool showsExpected() const { return marks_.expected; }

    QAction* action(const QString& name) const; // by objectName: zoomIn, panLeft, focus, expected, follow, selectShown ...
    QString sliceText(int slice) const;         // what there is to say about it, in lines
    QString textAt(QPointF position) const;     // of the slice or the gap there; empty: neither
    QRectF sliceRect(int slice) const;          // in the viewport, on its first track
    QSize sizeHint() const override { return {900, 320}; }

public slots:
    void focusOnSelection(); // or on the area, or everything

signals:
    void selectionChanged(int slice);
    void areaChanged();
    void slicesShown(); // those that came since the last time, at most thirty times a second

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void scrollContentsBy(int, int) override;

private:
    void createActions();
    QAction* addCommand(const char* name, const QString& text, const QKeySequence& keys, const QString& tip, std::function<void()> run);
    void arrange();   // rows and places, after tracks, font or size have changed
    void fitAll();
    void catchUp();   // with what came
    void zoom(double factor);
    void pan(double share); // of what is shown
    void lookElsewhere(const TimeScale& scale); // as a person who zooms and pans does
    void selectStep(int key);
    void stretchArea(QPointF from, QPointF to);
    int sliceAt(QPointF position) const; // -1: none
    int trackAt(QPointF position) const; // -1: none
    QString runningText(int track, double time) const; // empty: nothing that has not ended runs there
    void showRow(int track);

    TimelineModel model_;
    TimelinePainter painter_;
    TimelinePainter::Marks marks_;
    TimelinePainter::Place place_;
    TimeScale scale_;
    TrackRows rows_;
    QRectF key_;
    Throttle fresh_;
    QAction *follow_ = nullptr, *expected_ = nullptr;
    QPointF pressed_, lastMouse_;
    enum class Drag { none, press, pan, area } drag_ = Drag::none;
    int track_ = 0; // of the selected slice, on which arrows walk
    Live live_ = Live::no;
    bool fits_ = true; // everything is shown, also what will come
    bool follows_ = true;
};

} // namespace tunesmith
