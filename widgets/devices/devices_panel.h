// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include <QWidget>

class QAction;
class QCheckBox;
class QLabel;
class QLineEdit;

namespace tunesmith {

class PlainTable;

// Which tracker lends devices, and what it and this program show each other. Paths only: no secret is kept.
struct TrackerChoice {
    QString address;   // HOST:PORT
    QString tokenFile; // readable for its owner only
    QString authority; // PEM, whom to trust; empty: no TLS
    bool insecure = false;
    bool operator==(const TrackerChoice&) const = default;
};

struct DeviceEntry { // NaN: not known
    QString key;     // identity: where it is reached
    QString keys, name, processor;
    QString confinement; // of kernels there: "full", or all but what
    int threads = 1;
    double memoryGb = 0, gflops = 0, gbs = 0;
    QString client; // that has it; empty: free
    int priority = 0;
    double seconds = 0; // since
    bool deaf = false;  // its server does not answer the tracker
    bool operator==(const DeviceEntry& other) const;
};

struct WaitingEntry { // a client that no device could be given yet
    QString client, key;
    int priority = 0;
    double seconds = 0;
};

// The devices of a tracker: a form that says which one, and a table of what it has to lend, who has it and who waits.
class DevicesPanel : public QWidget {
    Q_OBJECT
public:
    enum class State { off, connecting, on };

    explicit DevicesPanel(QWidget* parent = nullptr);

    TrackerChoice tracker() const;
    void setTracker(const TrackerChoice& tracker);
    void setState(State state);
    State state() const { return state_; }
    void setDevices(const QVector<DeviceEntry>& devices, const QVector<WaitingEntry>& waiting);
    void setProblem(const QString& reason); // why it cannot be asked; empty: it can
    const RowTableModel<DeviceEntry>& rows() const { return *model_; }
    QString status() const;
    QAction* connectAction() const { return connect_; }

signals:
    void connectRequested();
    void disconnectRequested();

private:
    QWidget* createForm();
    QWidget* fileField(QLineEdit* line, const QString& title);
    void refresh();

    State state_ = State::off;
    QString problem_;
    QVector<WaitingEntry> waiting_;
    QLineEdit *address_, *token_, *authority_;
    QCheckBox* insecure_;
    QLabel* status_;
    QAction* connect_;
    RowTableModel<DeviceEntry>* model_;
    PlainTable* table_;
};

} // namespace tunesmith
