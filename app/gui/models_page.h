// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include <QWidget>

class QAction;
class QFrame;
class QLabel;
class QVBoxLayout;

namespace tunesmith {

// Where everything starts: open a file, take a built-in sample, or go on with a recent one.
class ModelsPage : public QWidget {
    Q_OBJECT
public:
    explicit ModelsPage(QAction* open, QWidget* parent = nullptr);

    void showRecent(const QStringList& files); // looks elsewhere which of them still exist
    void setDropHighlighted(bool highlighted);
    Job& job() { return looking_; }

signals:
    void sampleRequested(const QString& name);
    void fileRequested(const QString& path);
    void recentShown(const QStringList& missing); // the list is up to date; these are no longer there

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QFrame* createOpenCard(QAction* open);
    QFrame* createSampleCard();
    QFrame* createRecentCard();
    QFrame* createCard(const QString& title, const QString& sentence, QVBoxLayout*& column);
    void fillRecent(const QStringList& files, const QVector<bool>& exists);

    QWidget* recent_ = nullptr;
    QVBoxLayout* recentColumn_ = nullptr;
    Job looking_;
    bool highlighted_ = false;
};

} // namespace tunesmith
