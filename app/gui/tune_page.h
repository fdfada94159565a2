// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/docked_page.h"
#include "app/gui/open_model.h"
#include "app/gui/tune_board.h"
#include "app/gui/tune_runner.h"
#include "core/workbench/machine.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace tunesmith {

class BudgetForm;
class DevicesDock;
class KernelDock;
class PredictedMeasuredPlot;
class RooflinePlot;
class SpaceDock;
class StrategyDock;
class WorkloadTable;

// Tuning of the open model: the workloads in the middle, the budget and the plots in docks around them. Runs
// of the same model that are in the store can be looked at and gone on with.
class TunePage : public DockedPage {
    Q_OBJECT
public:
    enum class State { idle, running, pausing, stopping };

    TunePage(QAction* open, std::string store, QWidget* parent = nullptr);
    ~TunePage() override;

    void showModel(const OpenModelPtr& model); // null: none
    void follow(DevicesDock* devices);         // whose machines are there to choose from
    State state() const { return state_; }
    bool running() const { return state_ != State::idle; }
    int threads() const;
    QList<QAction*> commands() const { return {start_, pause_, resume_, stop_}; }
    TuneRunner& runner() { return runner_; }
    Job& historyJob() { return history_; }
    QList<Job*> quietJobs(); // of which nobody needs to see the progress
    bool reading(); // of the store, of the machine's ceilings or of a kernel
    void selectFirst();   // workload, unless one is selected

public slots:
    void start();
    void pause();
    void resume();
    void stop();

signals:
    void problem(const QString& text);
    void tuned(const QString& text, bool faster); // a run ended by itself or was stopped; what was reached
    void stateChanged();
    void historyShown();
    void devicesWanted(); // a person looks for machines to tune on

protected:
    void sizeDocks() override;

private:
    struct History;

    void createActions();
    QWidget* createHeader();
    void connectRunner();
    void launch(std::optional<std::int64_t> resume);
    void end(State asked);
    void loadHistory(std::optional<std::int64_t> run);
    void showHistory(const History& history);
    void showFinished(const Result<TuneReport>& result);
    void showPredictions();
    void showRows(); // the table, and what is drawn from the same numbers
    void findRoof();
    void showRoof();
    void showChosen(bool again = false); // in the docks about one workload; again: the store has changed
    void beginLeg(const TuneLeg& leg);
    void clearCurves();
    void addTrials(const QVector<TuneTrial>& trials);
    void fillRuns();
    QString runningText() const;
    static QString verdict(int threads, double beforeMs, double afterMs);
    QString reached() const { return verdict(shownThreads_, *beforeMs_, *afterMs_); } // both are known
    static QString reachedByAll(const TuneReport& report);
    void refreshHeadline();
    void refreshActions();
    const RunSummary* shownRun() const;

    std::string store_;
    OpenModelPtr model_;
    TuneBoard board_;
    std::vector<RunSummary> runs_;
    std::optional<std::int64_t> run_;
    std::optional<std::int64_t>
        broken_;                 // a run of this window that failed, perhaps without a store to say so
    std::optional<TuneLeg> leg_; // the one that runs; none before the first has begun
    State state_ = State::idle;
    std::optional<double> beforeMs_, afterMs_; // of the run that is shown
    int shownThreads_ = 1;
    QString predictedKey_; // the workload in the plot of predictions

    QStackedWidget* stack_;
    QAction *start_, *pause_, *resume_, *stop_;
    QLabel *headline_, *detail_;
    QComboBox* runBox_;
    WorkloadTable* table_;
    BudgetForm* budget_;
    DevicesDock* devices_ = nullptr;
    ConvergencePlot* convergence_;
    PredictedMeasuredPlot* predicted_;
    RooflinePlot* roofline_;
    KernelDock* kernel_;
    StrategyDock* strategies_;
    SpaceDock* space_;
    std::optional<MachineReport> machine_;
    Job history_, roof_;
    TuneRunner runner_; // last: its jobs end before what they talk to
};

} // namespace tunesmith
