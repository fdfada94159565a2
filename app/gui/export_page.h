// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "app/gui/open_model.h"
#include "core/workbench/compile.h"
#include <QWidget>

class QAction;
class QStackedWidget;

namespace tunesmith {

class ExportForm;

// The best records of the store become a module: compiled, compared with the reference, written.
class ExportPage : public QWidget {
    Q_OBJECT
public:
    ExportPage(QAction* open, std::string store, QWidget* parent = nullptr);

    void showModel(const OpenModelPtr& model);           // null: none
    void setThreads(int threads) { threads_ = threads; } // of the module's own pool; 0: all cores
    Job& job() { return job_; }
    ExportForm* form() const { return form_; }

signals:
    void exported(const QString& text, const QString& folder);
    void problem(const QString& text);

private:
    void run(const QString& folder, const QString& name);
    void showResult(const Result<CompileResult>& result);
    void sayExported(const CompileResult& result);
    void showWaiting();
    void showRefusal(const QString& why);

    std::string store_;
    OpenModelPtr model_;
    int threads_ = 0;
    QStackedWidget* stack_;
    ExportForm* form_;
    Job job_;
};

} // namespace tunesmith
