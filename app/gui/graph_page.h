// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/open_model.h"
#include <QMainWindow>

class QComboBox;
class QDockWidget;
class QLabel;
class QStackedWidget;

namespace tunesmith {

class EmptyState;
class GraphView;
class PropertiesPanel;

// The model as a graph with the properties of the selected node in a dock beside it.
class GraphPage : public QMainWindow {
    Q_OBJECT
public:
    explicit GraphPage(QAction* open, QWidget* parent = nullptr);

    void showModel(const OpenModelPtr& model); // null: says how to open one
    GraphView* view() const { return view_; }
    QDockWidget* propertiesDock() const { return dock_; }
    void resetLayout();
    bool recallLayout(const QByteArray& state, int version);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void sizeDocks();
    QWidget* createHeader();
    void showNode(qint64 id);
    void applyOverlay();

    OpenModelPtr model_;
    QStackedWidget* stack_;
    GraphView* view_;
    PropertiesPanel* panel_;
    QDockWidget* dock_;
    QLabel *name_, *summary_;
    QComboBox* overlay_;
    bool sized_ = false;
};

} // namespace tunesmith
