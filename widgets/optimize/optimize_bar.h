// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/optimize/optimize_data.h"
#include <QWidget>

class QComboBox;
class QDoubleSpinBox;
class QHBoxLayout;
class QProgressBar;
class QSpinBox;

namespace tunesmith {

// How the graph is to be optimized, and how far it is.
class OptimizeBar : public QWidget {
    Q_OBJECT
public:
    explicit OptimizeBar(QWidget* parent = nullptr);

    void setSearches(const QVector<NamedChoice>& searches);
    void setCosts(const QVector<NamedChoice>& costs);
    void setRuleSets(const QVector<NamedChoice>& sets);
    void setChoice(const OptimizeChoice& choice);
    OptimizeChoice choice() const;
    void setBusy(bool busy);                                  // the choice waits meanwhile
    void setProgress(const QString& phase, double fraction); // negative: not known

private:
    void addField(QHBoxLayout* row, const QString& label, QWidget* field, const QString& name, const QString& help);

    QComboBox *search_, *cost_, *rules_;
    QDoubleSpinBox *alpha_, *seconds_;
    QSpinBox* budget_;
    QProgressBar* progress_;
};

} // namespace tunesmith
