// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QMainWindow>

class QDockWidget;

namespace tunesmith {

// A page that is a QMainWindow within the window: it has docks of its own and remembers where they are.
class DockedPage : public QMainWindow {
    Q_OBJECT
public:
    DockedPage(const QString& name, QWidget* parent);

    QList<QDockWidget*> docks() const { return docks_; }
    void resetLayout(); // all docks shown, where they were at first
    bool recallLayout(const QByteArray& state, int version);

protected:
    // Docks of one area stand beside each other, to the left and right below each other, in the order in which they are added; a tab shares
    // the place of the one before.
    enum class Place { beside, tab };
    QDockWidget* addDock(const char* name, const QString& title, QWidget* widget, Qt::DockWidgetArea area,
                         Place place = Place::beside);
    virtual void sizeDocks() = 0; // to what they have at first; called once the page has a size itself
    void showEvent(QShowEvent* event) override;

private:
    void sizeAtFirst();

    QList<QDockWidget*> docks_;
    QList<Qt::DockWidgetArea> areas_;
    QList<Place> places_;
    bool sized_ = false;
};

} // namespace tunesmith
