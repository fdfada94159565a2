// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/graph/graph_painter.h"
#include <QPixmap>
#include <QWidget>

class QAction;

namespace tunesmith {

class FindBar;

// Shows a laid-out graph and lets a person walk in it. Mouse: drag pans, wheel zooms at the cursor (see
// setWheelZooms), click selects. Keys: arrows follow edges from the selected node (pan without one, and
// always with Shift), Tab goes through the nodes in reading order, Enter activates, Esc clears; Space fits.
// Nodes are named by GraphNode::id.
class GraphView : public QWidget {
    Q_OBJECT
public:
    explicit GraphView(QWidget* parent = nullptr);
    ~GraphView() override;

    void setScene(GraphScene scene);
    const GraphScene& scene() const { return scene_; }
    void
    setOverlay(const GraphOverlay& overlay); // one value per node of the scene; empty values switch it off

    void setPresence(const GraphPresence& presence); // which nodes and edges of the scene are there; until the next scene
    const GraphPresence& presence() const { return presence_; }
    void showArea(const QRectF& area);               // of the scene, with the least movement; null: as it is

    qint64 selectedId() const { return selected_ < 0 ? -1 : scene_.nodes[selected_].id; }
    const GraphNode* selectedNode() const { return selected_ < 0 ? nullptr : &scene_.nodes[selected_]; }
    void select(qint64 id, bool show = true); // -1: nothing; unknown ids too
    int find(const QString& text);            // marks the hits and returns their number
    const QVector<int>& hits() const { return marks_.hits; }

    const ViewTransform& transform() const { return transform_; }
    void setTransform(const ViewTransform& transform);
    void setWheelZooms(bool zooms) { wheelZooms_ = zooms; } // else the wheel scrolls and Ctrl+wheel zooms
    QAction* action(const QString& name) const; // by objectName: zoomIn, fit, find, exportImage …

    QString exportTo(const QString& path); // whole graph as .png or .svg; the error, empty when done
    QSize sizeHint() const override { return {900, 640}; }

signals:
    void selectionChanged(qint64 id);
    void activated(qint64 id);

public slots:
    void fit();
    void showFindBar();

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool focusNextPrevChild(bool next) override;

private:
    void createActions();
    QAction* addCommand(const char* name, const QString& text, const QKeySequence& keys, const QString& tip);
    ViewTransform opening() const;
    void zoom(double factor);
    void selectIndex(int node, bool show);
    int nodeAt(const QPointF& position) const; // -1: none that is there
    void stepHit(int by);
    bool moveBy(int key);
    bool walk(int key);
    void chooseExport();
    void sayError(const QString& error);
    QString savePng(const QString& path);
    QString saveSvg(const QString& path);
    QString tipAt(const QPoint& position) const;
    void paintMinimap(QPainter& painter);
    QRectF minimapRect() const; // empty while everything is in view
    void centreFromMinimap(const QPointF& position);
    QRectF sceneRect() const { return {QPointF(0, 0), scene_.size}; }
    void dropCaches();

    GraphScene scene_;
    SceneIndex index_;
    SceneWalk walk_;
    GraphPresence presence_;
    GraphPainter painter_;
    GraphPainter::Marks marks_;
    ViewTransform transform_;
    FindBar* find_;
    QPixmap minimap_;
    QPointF pressed_, lastMouse_;
    enum class Drag { none, press, pan, minimap } drag_ = Drag::none;
    int selected_ = -1;
    bool placed_ = false; // the opening view has been chosen
    bool wheelZooms_ = true;
};

} // namespace tunesmith
