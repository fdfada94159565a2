// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "app/gui/open_model.h"
#include "widgets/base/notice_bar.h"
#include <QEventLoopLocker>
#include <QMainWindow>
#include <functional>

class QActionGroup;
class QMenu;
class QStackedWidget;
class QToolBar;

namespace tunesmith {

class ExportPage;
class GraphPage;
class ModelsPage;
class OptimizePage;
class TimelinePage;
class TunePage;

// One window, one model at a time. Everything long runs in a Job and shows itself in the status bar; what
// went wrong or is worth knowing stands in the notice under the menu, never in a box that stops the person.
// Deletes itself when closed.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    enum class Page { models, graph, optimize, tune, timeline, exportModule };
    static constexpr int kPages = 6;

    explicit MainWindow(const QString& store = {}, QWidget* parent = nullptr); // empty: the default store

    void openFile(const QString& path); // keeps the open model when the new one cannot be read
    void openSample(const QString& name);
    void closeModel();
    void showPage(Page page);
    Page page() const;
    OpenModelPtr model() const { return model_; }
    bool busyOpening() const { return opening_.running(); }
    ModelsPage* modelsPage() const { return models_; }
    GraphPage* graphPage() const { return graph_; }
    OptimizePage* optimizePage() const { return optimize_; }
    TunePage* tunePage() const { return tune_; }
    TimelinePage* timelinePage() const { return timeline_; }
    ExportPage* exportPage() const { return export_; }

public slots:
    void resetLayout();

signals:
    void modelOpened();
    void openFailed(const QString& reason);

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    using Remedy = std::function<void()>;

    QAction* addCommand(QMenu* menu, const char* name, const QString& text, const QKeySequence& keys,
                        const QString& tip, std::function<void()> run);
    void createPages();
    void createPageBar();
    void createMenus();
    void createFileMenu();
    void createEditMenu();
    void createViewMenu();
    void createHelpMenus();
    void connectPages();
    void watch(Job& job);
    void refreshPageBar();
    void refreshRecent();
    void applySettings();
    void refreshTitle();

    void notify(NoticeBar::Kind kind, const QString& text, const QString& showText = {}, Remedy remedy = {});
    void notifyError(const QString& text);
    void open(const QString& fileOrSample, bool file, const Dimensions& dimensions = {});
    void load(const QString& fileOrSample, bool file, const Dimensions& dimensions);
    void adopt(const OpenModelPtr& model, bool file, const QString& path);
    void noticeAbout(const OpenModel& model);
    void chooseFile();
    void chooseDimensions();
    void saveOnnx();
    void checkStore();
    void showShortcuts();
    void showAbout();
    void askBeforeClosing();
    void askBeforeReplacing(Remedy proceed);
    void closeWhenTuned();
    bool tuning() const; // a model or several jobs
    void rememberState();
    void recallState();

    QString store_;
    OpenModelPtr model_;
    QStackedWidget* pages_;
    NoticeBar* notice_;
    Remedy remedy_;
    QToolBar* bar_ = nullptr;
    QActionGroup* pageActions_ = nullptr;
    QAction *openAction_ = nullptr, *closeAction_ = nullptr, *dimensionsAction_ = nullptr,
            *saveOnnxAction_ = nullptr;
    QMenu* recentMenu_ = nullptr;
    ModelsPage* models_ = nullptr;
    GraphPage* graph_ = nullptr;
    OptimizePage* optimize_ = nullptr;
    TunePage* tune_ = nullptr;
    TimelinePage* timeline_ = nullptr;
    ExportPage* export_ = nullptr;
    bool closing_ = false; // agreed upon: no more questions
    QEventLoopLocker stays_; // the program, until this is gone and not only out of sight
    Job opening_, saving_, checking_;
};

} // namespace tunesmith
