// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/graph_view.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/graph/find_bar.h"
#include "widgets/base/announce_value.h"
#include "widgets/graph/graph_accessible.h"
#include <QAction>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace tunesmith {

GraphView::GraphView(QWidget* parent) : QWidget(parent), find_(new FindBar(this)) {
    installGraphAccessibility();
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(160, 120);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Graph"));
    createActions();
    setContextMenuPolicy(Qt::ActionsContextMenu);
    painter_.setScene(scene_, font());
    connect(find_, &FindBar::textChanged, this, [this](const QString& text) {
        find(text);
        stepHit(0);
    });
    connect(find_, &FindBar::step, this, &GraphView::stepHit);
    connect(find_, &FindBar::closed, this, [this] {
        find_->hide();
        find(QString());
        setFocus();
    });
    connect(&Theme::instance(), &Theme::changed, this, &GraphView::dropCaches);
}

GraphView::~GraphView() = default;

QAction* GraphView::addCommand(const char* name, const QString& text, const QKeySequence& keys,
                               const QString& tip) {
    auto* made = new QAction(text, this);
    made->setObjectName(QLatin1String(name));
    made->setShortcut(keys);
    made->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    made->setStatusTip(tip);
    addAction(made);
    return made;
}

void GraphView::createActions() {
    const auto add = [this](const char* name, const QString& text, const QKeySequence& keys,
                            const QString& tip, auto run) {
        auto* made = addCommand(name, text, keys, tip);
        connect(made, &QAction::triggered, this, run);
        return made;
    };
    add("fit", tr("&Fit to window"), Qt::Key_Space, tr("Show the whole graph"), [this] { fit(); });
    add("actualSize", tr("&Actual size"), Qt::CTRL | Qt::Key_0, tr("Show the graph at 1:1"),
        [this] { zoom(1 / transform_.scale); });
    add("zoomIn", tr("Zoom &in"), Qt::Key_Plus, tr("Show less, larger"), [this] { zoom(1.25); })
        ->setShortcuts(
            {QKeySequence(Qt::Key_Plus), QKeySequence(Qt::Key_Equal), QKeySequence(QKeySequence::ZoomIn)});
    add("zoomOut", tr("Zoom &out"), Qt::Key_Minus, tr("Show more, smaller"), [this] {
        zoom(0.8);
    })->setShortcuts({QKeySequence(Qt::Key_Minus), QKeySequence(QKeySequence::ZoomOut)});
    add("find", tr("Fin&d…"), QKeySequence::Find, tr("Find nodes by operator, name, shape or attribute"),
        [this] { showFindBar(); });
    add("findNext", tr("Find &next"), Qt::Key_F3, tr("Go to the next hit"), [this] { stepHit(1); });
    add("findPrevious", tr("Find &previous"), Qt::SHIFT | Qt::Key_F3, tr("Go to the previous hit"),
        [this] { stepHit(-1); });
    add("exportImage", tr("&Export image…"), Qt::CTRL | Qt::SHIFT | Qt::Key_E,
        tr("Save the whole graph as PNG or SVG"), [this] { chooseExport(); });
}

QAction* GraphView::action(const QString& name) const {
    const auto all = actions();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const QAction* a) { return a->objectName() == name; });
    return found == all.end() ? nullptr : *found;
}

void GraphView::dropCaches() {
    minimap_ = {};
    update();
}

// The beginning of the graph, also when a wide picture has it far from the middle.
ViewTransform GraphView::opening() const {
    const auto first =
        std::min_element(scene_.nodes.begin(), scene_.nodes.end(),
                         [](const auto& a, const auto& b) { return a.rect.top() < b.rect.top(); });
    const auto chosen = ViewTransform::opening(sceneRect(), size(), painter_.readableScale());
    return first == scene_.nodes.end() ? chosen : chosen.showing(first->rect, size(), 24);
}

void GraphView::setScene(GraphScene scene) {
    const qint64 before = selectedId();
    scene_ = std::move(scene);
    presence_ = {};
    painter_.setPresence({});
    index_ = SceneIndex(scene_);
    walk_ = SceneWalk(scene_);
    painter_.setScene(scene_, font());
    painter_.setOverlay({});
    selected_ = -1;
    marks_ = {};
    placed_ = false;
    transform_ = opening();
    dropCaches();
    if (find_->isVisible())
        find(find_->text());
    select(before, false);
    if (before != selectedId())
        emit selectionChanged(selectedId());
}

void GraphView::setOverlay(const GraphOverlay& overlay) {
    painter_.setOverlay(overlay);
    dropCaches();
}

void GraphView::setPresence(const GraphPresence& presence) {
    presence_ = presence;
    painter_.setPresence(presence);
    walk_ = SceneWalk(scene_, presence);
    marks_.hovered = -1;
    if (find_->isVisible())
        find(find_->text());
    dropCaches();
    if (selected_ >= 0 && !presence_.hasNode(selected_))
        selectIndex(-1, false);
}

void GraphView::showArea(const QRectF& area) {
    if (!area.isNull())
        setTransform(transform_.showing(area, size(), 40));
}

int GraphView::nodeAt(const QPointF& position) const {
    const int node = index_.nodeAt(scene_, transform_.toScene(position));
    return node >= 0 && presence_.hasNode(node) ? node : -1;
}

void GraphView::setTransform(const ViewTransform& transform) {
    transform_ = transform;
    placed_ = true;
    update();
}

void GraphView::fit() {
    setTransform(ViewTransform::fitting(sceneRect(), size(), 24));
}

void GraphView::zoom(double factor) {
    const bool mouse = underMouse() && rect().contains(lastMouse_.toPoint());
    setTransform(transform_.zoomedAt(mouse ? lastMouse_ : QPointF(rect().center()), factor));
}

void GraphView::select(qint64 id, bool show) {
    const auto found = std::find_if(scene_.nodes.begin(), scene_.nodes.end(),
                                    [id](const GraphNode& n) { return n.id == id; });
    selectIndex(id < 0 || found == scene_.nodes.end() ? -1 : static_cast<int>(found - scene_.nodes.begin()),
                show);
}

void GraphView::selectIndex(int node, bool show) {
    if (node >= 0 && show) {
        if (!painter_.readable(transform_.scale)) {
            const auto at = QPointF(rect().center());
            transform_.scale = std::max(transform_.scale, painter_.readableScale());
            transform_.offset = at - scene_.nodes[node].rect.center() * transform_.scale;
            placed_ = true;
        }
        setTransform(transform_.showing(scene_.nodes[node].rect, size(), 60));
    }
    if (node == selected_)
        return;
    selected_ = marks_.selected = node;
    update();
    announceValue(this);
    emit selectionChanged(selectedId());
}

int GraphView::find(const QString& text) {
    marks_.hits = findNodes(scene_, text);
    marks_.hits.removeIf([this](int node) { return !presence_.hasNode(node); });
    const auto at = marks_.hits.indexOf(selected_);
    find_->setHits(static_cast<int>(at) + 1, static_cast<int>(marks_.hits.size()));
    update();
    return static_cast<int>(marks_.hits.size());
}

// by 0: to the first hit unless one is selected already.
void GraphView::stepHit(int by) {
    const int count = static_cast<int>(marks_.hits.size());
    if (count == 0)
        return;
    const int at = static_cast<int>(marks_.hits.indexOf(selected_));
    const int to = at < 0 ? (by < 0 ? count - 1 : 0) : (at + by + count) % count;
    selectIndex(marks_.hits[to], true);
    find_->setHits(to + 1, count);
}

void GraphView::showFindBar() {
    find_->adjustSize();
    find_->move(width() - find_->width() - 12, 12);
    find_->popup();
}

bool GraphView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString tip = tipAt(help->pos());
        if (tip.isEmpty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), plainToolTip(tip), this);
        return true;
    }
    if (event->type() == QEvent::FontChange) {
        painter_.setScene(scene_, font());
        dropCaches();
    }
    return QWidget::event(event);
}

QString GraphView::tipAt(const QPoint& position) const {
    const QPointF at = transform_.toScene(position);
    if (const int node = nodeAt(position); node >= 0) {
        const auto& entry = scene_.nodes[node];
        QStringList lines{entry.title, entry.subtitle, painter_.overlayText(node)};
        for (const auto& detail : entry.details)
            lines << tr("%1: %2").arg(detail.name, detail.value);
        lines.removeAll(QString());
        return lines.join(QLatin1Char('\n'));
    }
    const int edge = index_.edgeAt(scene_, at, 5 / transform_.scale);
    return edge < 0 || presence_.edge(edge) == Presence::absent ? QString() : scene_.edges[edge].tooltip;
}

void GraphView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), Theme::instance().color(Theme::Role::canvas));
    painter_.paint(painter, transform_, transform_.toScene(QRectF(rect())), index_, marks_);
    painter_.paintLegend(painter, rect());
    paintMinimap(painter);
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(Theme::instance().color(Theme::Role::accent), 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

QRectF GraphView::minimapRect() const {
    const QRectF all = sceneRect();
    if (scene_.nodes.isEmpty() || QRectF(rect()).adjusted(-8, -8, 8, 8).contains(transform_.toView(all)))
        return {};
    QSizeF size = all.size().scaled(QSizeF(180, std::min(260.0, height() * 0.4)), Qt::KeepAspectRatio);
    size = size.expandedTo({28, 28});
    return {QPointF(width() - size.width() - 12, height() - size.height() - 12), size};
}

void GraphView::paintMinimap(QPainter& painter) {
    const QRectF box = minimapRect();
    if (box.isEmpty())
        return;
    const auto map = ViewTransform::fitting(sceneRect(), box.size(), 4);
    const double ratio = devicePixelRatioF();
    const QSize pixels = (box.size() * ratio).toSize();
    if (minimap_.size() != pixels) {
        minimap_ = QPixmap(pixels);
        minimap_.setDevicePixelRatio(ratio);
        minimap_.fill(Theme::instance().color(Theme::Role::surface));
        QPainter picture(&minimap_);
        painter_.paintFar(picture, map);
    }
    painter.drawPixmap(box.topLeft(), minimap_);
    const QRectF shown =
        map.toView(transform_.toScene(QRectF(rect()))).translated(box.topLeft()).intersected(box);
    QColor fill = Theme::instance().color(Theme::Role::accent);
    painter.setPen(QPen(fill, 1.5));
    fill.setAlpha(32);
    painter.setBrush(fill);
    painter.drawRect(shown);
    painter.setPen(QPen(Theme::instance().color(Theme::Role::border), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box);
}

void GraphView::centreFromMinimap(const QPointF& position) {
    const QRectF box = minimapRect();
    if (box.isEmpty())
        return;
    const auto map = ViewTransform::fitting(sceneRect(), box.size(), 4);
    auto moved = transform_;
    moved.offset = QPointF(rect().center()) - map.toScene(position - box.topLeft()) * transform_.scale;
    setTransform(moved);
}

void GraphView::resizeEvent(QResizeEvent* event) {
    if (!placed_)
        transform_ = opening();
    find_->move(width() - find_->width() - 12, 12);
    QWidget::resizeEvent(event);
}

} // namespace tunesmith
