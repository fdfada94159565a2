// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QVector>
#include <QWidget>

class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace tunesmith {

enum class CheckState { waiting, running, passed, warning, failed };

struct ExportCheck {
    QString name, result; // "Outputs agree with the original", "largest error 2.1e-6"
    CheckState state = CheckState::waiting;
};

// Where a tuned module goes, how large it will be and what was checked. Says itself why it cannot export yet.
class ExportForm : public QWidget {
    Q_OBJECT
public:
    explicit ExportForm(QWidget* parent = nullptr);

    void setFolder(const QString& folder);
    void setName(const QString& name);
    void setUsualPrefix(const QString& prefix); // that the module has where none is given
    void setEstimatedBytes(qint64 bytes); // negative: unknown
    void setChecks(const QVector<ExportCheck>& checks);
    void setBusy(bool busy); // no second export meanwhile
    bool busy() const { return busy_; }

    QVector<ExportCheck> checks() const { return rows_; }
    QString folder() const;
    QString name() const;
    QString prefix() const;            // of library, header and functions; empty: the usual one
    double acceptedDifference() const; // of an output's scale, that may be beyond what rounding explains
    QString problem() const; // why Export is disabled; empty when it is enabled

signals:
    void changed();
    void exportRequested(const QString& folder, const QString& name);

private:
    void browse();
    void refresh();

    QLineEdit *folder_, *name_, *prefix_;
    QDoubleSpinBox* accepted_;
    QLabel *size_, *target_, *problem_;
    QTreeWidget* checks_;
    QPushButton* export_;
    QVector<ExportCheck> rows_;
    bool busy_ = false;
};

} // namespace tunesmith
