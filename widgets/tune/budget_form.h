// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QVector>
#include <QWidget>

class QComboBox;
class QLabel;
class QSpinBox;
class QLineEdit;

namespace tunesmith {

enum class BudgetKind { trialsPerWorkload, totalTrials, seconds };

struct BudgetChoice {
    BudgetKind kind = BudgetKind::trialsPerWorkload;
    int amount = 64;
    QString strategy; // key
    int threads = 1; // 0: for one and then for the maximum
    quint64 seed = 1;
    QString space; // key
    QString device = {}; // key; empty: this machine
    int devices = 1;     // most of them at a time
    bool operator==(const BudgetChoice&) const = default;
};

struct StrategyChoice { // or a space's
    QString key, name, help;
};

struct DeviceOption { // machines of one key that a tracker lends
    QString key, name, help;
    int threads = 1; // most
};

// How much to spend on tuning, how and where. Always holds a valid choice.
class BudgetForm : public QWidget {
    Q_OBJECT
public:
    explicit BudgetForm(QWidget* parent = nullptr);

    void setStrategies(const QVector<StrategyChoice>& strategies);
    void setSpaces(const QVector<StrategyChoice>& spaces); // whose schedules are searched
    void setMaximumThreads(int threads); // of this machine
    void setDevices(const QVector<DeviceOption>& devices); // beside this machine
    BudgetChoice choice() const;
    void setChoice(const BudgetChoice& choice);

signals:
    void changed();
    void devicesWanted(); // a person asks for other machines

private:
    QWidget* createPlace();
    void kindChanged();
    void placeChanged();

    QComboBox *kind_, *strategy_, *space_, *device_;
    QSpinBox *amount_, *threads_, *devices_;
    QLineEdit* seed_;
    QLabel* help_;
    int remembered_[3] = {64, 1000, 300}; // amount of each kind
    BudgetKind shown_ = BudgetKind::trialsPerWorkload;
    int machineThreads_ = 1;
};

} // namespace tunesmith
