// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/docked_page.h"
#include "app/gui/open_model.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace tunesmith {

class EmptyState;
class GraphView;
class PropertiesPanel;

// The model as a graph with the properties of the selected node in a dock beside it.
class GraphPage : public DockedPage {
    Q_OBJECT
public:
    explicit GraphPage(QAction* open, QWidget* parent = nullptr);

    void showModel(const OpenModelPtr& model); // null: says how to open one
    GraphView* view() const { return view_; }
    QDockWidget* propertiesDock() const { return docks().front(); }

protected:
    void sizeDocks() override;

private:
    QWidget* createHeader();
    void showNode(qint64 id);
    void applyOverlay();

    OpenModelPtr model_;
    QStackedWidget* stack_;
    GraphView* view_;
    PropertiesPanel* panel_;
    QLabel *name_, *summary_;
    QComboBox* overlay_;
};

} // namespace tunesmith
