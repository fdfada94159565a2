// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QElapsedTimer>
#include <QWidget>

class QLabel;
class QProgressBar;
class QToolButton;

namespace tunesmith {

QString remainingText(double seconds); // "about 3 min left"; empty when negative

// For the status bar: what runs, how far it is, how long it will take, and a Cancel button. Hidden while
// nothing runs.
class StatusProgress : public QWidget {
    Q_OBJECT
public:
    explicit StatusProgress(QWidget* parent = nullptr);

    void start(const QString& job);
    // fraction in 0..1, or negative when unknown. Without remainingSeconds the rest is estimated from the
    // elapsed time.
    void setProgress(double fraction, double remainingSeconds = -1);
    void finish();

signals:
    void cancelRequested();

private:
    QLabel* job_;
    QProgressBar* bar_;
    QLabel* remaining_;
    QToolButton* cancel_;
    QElapsedTimer running_;
};

} // namespace tunesmith
