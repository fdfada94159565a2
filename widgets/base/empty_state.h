// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QWidget>

class QAction;
class QIcon;
class QLabel;
class QPushButton;

namespace tunesmith {

// What an empty view shows instead of nothing: a picture, one sentence that says what to do next, and a
// button that does it.
class EmptyState : public QWidget {
    Q_OBJECT
public:
    EmptyState(const QIcon& icon, const QString& title, const QString& sentence, QWidget* parent = nullptr);

    void setText(const QString& title, const QString& sentence);
    void setAction(QAction* action); // borrowed; the button follows its text and its being enabled
    QPushButton* button() const { return button_; }

private:
    QLabel *heading_, *text_;
    QPushButton* button_;
    QAction* action_ = nullptr;
};

} // namespace tunesmith
