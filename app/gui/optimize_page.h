// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/docked_page.h"
#include "app/gui/open_model.h"
#include "app/gui/optimize_runner.h"

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;

namespace tunesmith {

class CostPlot;
class DifferencePanel;
class EmptyState;
class OptimizeBar;
class RefusalPanel;
class ReplayView;
class RulePanel;

// The graph of the open model by an equal one that costs less: the search, its rewrites replayed on one picture, the rules behind them, and
// what came of it. The runs since the model was opened can be compared and looked at again.
class OptimizePage : public DockedPage {
    Q_OBJECT
public:
    OptimizePage(QAction* open, std::string store, QWidget* parent = nullptr);

    void showModel(const OpenModelPtr& model); // null: none; ends what runs and forgets the runs
    bool running() const { return running_; }
    QList<QAction*> commands() const { return {start_, enough_, cancel_}; }
    QList<Job*> jobs() { return {&runner_.job(), &saving_}; }
    OptimizeBar* bar() const { return bar_; }
    ReplayView* replay() const { return replay_; }
    RulePanel* rules() const { return rules_; }
    OptimizedRunPtr run() const; // that is shown; null: none
    void undo(int step); // what comes of it is another run
    void save(const OptimizedRunPtr& shown, const QString& path, int step); // compares with the original before

public slots:
    void start();
    void takeBest(); // the search ends, and what it found is shown
    void cancel();

signals:
    void problem(const QString& text);
    void saved(const QString& text, const QString& path);
    void runShown();
    void stateChanged();

protected:
    void sizeDocks() override;

private:
    void createActions();
    QWidget* createHeader();
    void connectParts();
    void setRunning(bool running);
    void showFinished(const Result<OptimizedRunPtr>& result);
    void showRun(int index);
    void showIdle(const QString& title, const QString& sentence);
    void showCurves();
    void chooseFile(int step);
    void fillRuns();
    void refresh();

    std::string store_;
    OpenModelPtr model_;
    std::vector<OptimizedRunPtr> runs_;
    int shown_ = -1; // of runs_
    QVector<CostPoint> growing_;
    bool running_ = false;

    QStackedWidget *stack_, *middle_;
    QAction *start_, *enough_, *cancel_;
    QLabel *headline_, *detail_;
    QComboBox* runBox_;
    QPushButton* save_;
    EmptyState* idle_;
    OptimizeBar* bar_;
    ReplayView* replay_;
    RulePanel* rules_;
    CostPlot* curves_;
    DifferencePanel* difference_;
    RefusalPanel* refusals_;
    Job saving_;
    OptimizeRunner runner_; // last: its job ends before what it talks to
};

} // namespace tunesmith
