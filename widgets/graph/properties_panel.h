// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QVector>
#include <QWidget>

class QLabel;
class QTreeWidget;

namespace tunesmith {

struct PropertyRow {
    QString name, value, type;
};

struct PropertySection { // "Attributes", "Inputs", "Outputs" …
    QString title;
    QVector<PropertyRow> rows;
};

struct NodeProperties {
    QString title, subtitle; // operator and name
    QVector<PropertySection> sections;
};

// Everything that is known about the selected node, in sections; copies as a tab-separated table.
class PropertiesPanel : public QWidget {
    Q_OBJECT
public:
    explicit PropertiesPanel(QWidget* parent = nullptr);

    void showNode(const NodeProperties& node);
    void clear();          // says what to do to see something
    QString asTsv() const; // the selected rows, or all

private:
    NodeProperties node_;
    QLabel* title_;
    QLabel* subtitle_;
    QTreeWidget* tree_;
};

} // namespace tunesmith
