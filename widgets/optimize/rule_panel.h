// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include "widgets/optimize/optimize_data.h"
#include <QWidget>

class QLabel;
class QPushButton;
class QTextBrowser;

namespace tunesmith {

class PlainTable;

// Rules with a check box each: unchecked, the next run does without.
class RuleModel : public RowTableModel<RuleEntry> {
    Q_OBJECT
public:
    explicit RuleModel(QObject* parent = nullptr);
    void setUnit(const QString& unit) { *unit_ = unit; }
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

signals:
    void withoutToggled(const QString& rule, bool without);

private:
    RuleModel(std::shared_ptr<QString> unit, QObject* parent);
    std::shared_ptr<QString> unit_; // the columns write it
};

// The rules of the best way, a card about the selected one, and what the next run is to do without.
class RulePanel : public QWidget {
    Q_OBJECT
public:
    explicit RulePanel(QWidget* parent = nullptr);

    void setRules(const QVector<RuleEntry>& rules, const QString& unit); // of a run; forgets the wishes
    void setWithout(const QString& rule, bool without);
    QStringList without() const; // for the next run
    void setBusy(bool busy);
    const RuleEntry* current() const;
    void select(const QString& rule);
    QString cardText() const;
    PlainTable* table() const { return table_; }

signals:
    void selectionChanged(); // see current()
    void stepRequested(int step); // the first of the rule that was double-clicked
    void runRequested();

private:
    void showCard();
    void refreshWish();
    QString cardHtml(const RuleEntry& rule) const;

    RuleModel* model_;
    PlainTable* table_;
    QTextBrowser* card_;
    QLabel* wish_;
    QPushButton* again_;
    QStringList shown_; // what the shown run did without
    QString unit_;
    bool busy_ = false;
};

} // namespace tunesmith
