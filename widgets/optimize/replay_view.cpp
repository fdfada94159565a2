// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/replay_view.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/step_slider.h"
#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>

namespace tunesmith {
namespace {

constexpr int kToEnd = 1'000'000'000; // steps

} // namespace

ReplayView::ReplayView(QWidget* parent)
    : QWidget(parent), graph_(new GraphView(this)), slider_(new StepSlider(this)), headline_(new QLabel(this)), legend_(new QLabel(this)),
      follow_(new QCheckBox(tr("Fo&llow changes"), this)), save_(new QPushButton(tr("Save this &graph…"), this)),
      undo_(new QPushButton(tr("&Undo this rewrite"), this)), without_(new QPushButton(tr("&Do without this rule"), this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(createHead());
    column->addWidget(graph_, 1);
    column->addWidget(createFoot());
    slider_->setAccessibleName(tr("Rewrites, 0 is the original graph"));
    slider_->setToolTip(tr("Walk through the rewrites; marked are those of the rule that is selected in the list"));
    save_->setObjectName(QStringLiteral("saveStep"));
    undo_->setObjectName(QStringLiteral("undoRewrite"));
    without_->setObjectName(QStringLiteral("withoutRule"));
    graph_->setObjectName(QStringLiteral("replayGraph"));
    graph_->setAccessibleName(tr("Graph at the shown rewrite"));
    connect(slider_, &QSlider::valueChanged, this, &ReplayView::goToStep);
    connect(save_, &QPushButton::clicked, this, [this] { emit saveRequested(step()); });
    connect(undo_, &QPushButton::clicked, this, [this] { emit undoRequested(step()); });
    connect(without_, &QPushButton::clicked, this, [this] { emit withoutRequested(replay_.steps[step() - 1].rule); });
    connect(&Theme::instance(), &Theme::changed, this, &ReplayView::refreshLegend);
    refreshLegend();
    setReplay({});
}

QWidget* ReplayView::createHead() {
    auto* strip = new QWidget(this);
    auto* row = new QHBoxLayout(strip);
    row->setContentsMargins(14, 4, 14, 6);
    row->setSpacing(12);
    QFont bold = headline_->font();
    bold.setWeight(QFont::DemiBold);
    headline_->setFont(bold);
    headline_->setTextFormat(Qt::PlainText);
    headline_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addWidget(headline_, 1);
    row->addWidget(legend_);
    return strip;
}

QWidget* ReplayView::createFoot() {
    auto* strip = new QWidget(this);
    auto* column = new QVBoxLayout(strip);
    column->setContentsMargins(10, 4, 10, 6);
    auto* walk = new QHBoxLayout;
    walk->setSpacing(4);
    back_ << addCommand(walk, "firstStep", QStringLiteral("|◀"), Qt::ALT | Qt::Key_Home, tr("To the original graph"), -kToEnd)
          << addCommand(walk, "previousStep", QStringLiteral("◀"), Qt::ALT | Qt::Key_Left, tr("One rewrite back"), -1);
    walk->addWidget(slider_, 1);
    forth_ << addCommand(walk, "nextStep", QStringLiteral("▶"), Qt::ALT | Qt::Key_Right, tr("One rewrite on"), 1)
           << addCommand(walk, "lastStep", QStringLiteral("▶|"), Qt::ALT | Qt::Key_End, tr("To the best graph"), kToEnd);
    column->addLayout(walk);
    auto* acts = new QHBoxLayout;
    follow_->setChecked(true);
    follow_->setToolTip(tr("Move the picture so far that what changes is in view"));
    save_->setToolTip(tr("Write the graph at this step as ONNX, compared with the original before"));
    undo_->setToolTip(tr("Take this rewrite back; the others stay, but for those that needed it. What comes of it is another run in the list"));
    without_->setToolTip(tr("Leave the rule of this step out of the next run"));
    acts->addWidget(follow_);
    acts->addStretch(1);
    acts->addWidget(undo_);
    acts->addWidget(without_);
    acts->addWidget(save_);
    column->addLayout(acts);
    return strip;
}

QAction* ReplayView::addCommand(QBoxLayout* row, const char* name, const QString& text, const QKeySequence& keys, const QString& tip, int by) {
    auto* action = new QAction(text, this);
    action->setObjectName(QLatin1String(name));
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    action->setToolTip(tr("%1 (%2)").arg(tip, keys.toString(QKeySequence::NativeText)));
    action->setStatusTip(tip);
    addAction(action);
    connect(action, &QAction::triggered, this, [this, by] { setStep(std::clamp(step() + by, 0, slider_->maximum())); });
    auto* button = new QToolButton(this);
    button->setDefaultAction(action);
    button->setAccessibleName(tip);
    button->setFocusPolicy(Qt::TabFocus);
    button->setAutoRaise(true);
    button->setAutoRepeat(true);
    row->addWidget(button);
    return action;
}

void ReplayView::setReplay(Replay replay) {
    replay_ = std::move(replay);
    graph_->setScene(replay_.scene);
    {
        const QSignalBlocker quiet(slider_);
        slider_->setRange(0, static_cast<int>(replay_.steps.size()));
        slider_->setValue(slider_->maximum());
        slider_->setMarks({});
    }
    slider_->setEnabled(!replay_.steps.isEmpty());
    save_->setEnabled(!replay_.scene.nodes.isEmpty());
    showStep(presenceAt(replay_.nodes, replay_.edges, step()));
    QMetaObject::invokeMethod(this, &ReplayView::followChange, Qt::QueuedConnection); // once the view has the size in which it is seen
}

int ReplayView::step() const {
    return slider_->value();
}

void ReplayView::setStep(int step) {
    slider_->setValue(step);
}

void ReplayView::setMarks(const QVector<int>& steps) {
    slider_->setMarks(steps);
}

void ReplayView::showNode(qint64 node, bool before) {
    setStep(before ? 0 : slider_->maximum());
    graph_->select(node);
}

void ReplayView::goToStep() {
    showStep(presenceAt(replay_.nodes, replay_.edges, step()));
    followChange();
}

void ReplayView::followChange() {
    if (follow_->isChecked() && graph_->isVisible())
        graph_->showArea(changedArea(replay_.scene, graph_->presence()));
}

void ReplayView::showStep(const GraphPresence& presence) {
    graph_->setPresence(presence);
    headline_->setText(headline());
    headline_->setToolTip(plainToolTip(headline()));
    for (QAction* action : std::as_const(back_))
        action->setEnabled(step() > 0);
    for (QAction* action : std::as_const(forth_))
        action->setEnabled(step() < slider_->maximum());
    without_->setEnabled(step() > 0 && replay_.steps[step() - 1].optional);
    refreshUndo();
    emit stepChanged(step());
}

void ReplayView::setBusy(bool busy) {
    busy_ = busy;
    refreshUndo();
}

void ReplayView::refreshUndo() {
    undo_->setEnabled(!busy_ && without_->isEnabled());
}

QString ReplayView::headline() const {
    if (replay_.scene.nodes.isEmpty())
        return {};
    if (replay_.steps.isEmpty())
        return tr("The graph as it is");
    if (step() == 0)
        return tr("The original graph: %1").arg(costText(replay_.steps.front().costBefore, replay_.unit));
    const ReplayStep& at = replay_.steps[step() - 1];
    QString text = tr("Step %1 of %2: %3, %4").arg(step()).arg(replay_.steps.size()).arg(at.rule, changeText(at.costBefore, at.costAfter, replay_.unit));
    if (!at.followed.isEmpty())
        text += tr("; then %1").arg(at.followed.join(QStringLiteral(", ")));
    return text;
}

void ReplayView::refreshLegend() {
    const auto part = [](Theme::Role role, const QString& sign, const QString& text) {
        return QStringLiteral("<span style='color:%1'>%2</span> %3").arg(Theme::instance().color(role).name(), sign, text.toHtmlEscaped());
    };
    legend_->setText(part(Theme::Role::success, QStringLiteral("▬"), tr("appeared")) + QStringLiteral("&nbsp;&nbsp; ") +
                     part(Theme::Role::error, QStringLiteral("╍╍"), tr("vanished")));
}

} // namespace tunesmith
