// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/optimize/optimize_data.h"
#include <QWidget>

class QAction;
class QCheckBox;
class QBoxLayout;
class QLabel;
class QPushButton;

namespace tunesmith {

class GraphView;
class StepSlider;

// Walks the rewrites on a picture whose nodes keep their places: 0 is the original, each step shows what it brought and, as ghosts, what it
// took away. Keys: Alt+Left and Alt+Right go a step, Alt+Home and Alt+End to the ends, from anywhere within; the slider has its own.
class ReplayView : public QWidget {
    Q_OBJECT
public:
    explicit ReplayView(QWidget* parent = nullptr);

    void setReplay(Replay replay); // shows the last step
    const Replay& replay() const { return replay_; }
    int step() const;
    void setStep(int step);
    void setMarks(const QVector<int>& steps);
    void setBusy(bool busy); // nothing can be undone meanwhile
    void showNode(qint64 node, bool before); // selected, in the original or at the end
    GraphView* graph() const { return graph_; }

signals:
    void stepChanged(int step);
    void saveRequested(int step);
    void undoRequested(int step);
    void withoutRequested(const QString& rule); // do without the rule of the shown step

private:
    QAction* addCommand(QBoxLayout* row, const char* name, const QString& text, const QKeySequence& keys, const QString& tip, int by);
    QWidget* createHead();
    QWidget* createFoot();
    void goToStep(); // of the slider
    void followChange();
    void showStep(const GraphPresence& presence);
    QString headline() const;
    void refreshLegend();
    void refreshUndo();

    Replay replay_;
    GraphView* graph_;
    StepSlider* slider_;
    QLabel *headline_, *legend_;
    QCheckBox* follow_;
    QPushButton *save_, *undo_, *without_;
    QList<QAction*> back_, forth_;
    bool busy_ = false;
};

} // namespace tunesmith
