// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QDialog>
#include <QPointer>

class QAction;
class QLineEdit;
class QListWidget;

namespace tunesmith {

// How well a pattern fits a text, larger is better, negative not at all: the whole text, then a prefix, then
// the start of a word, then anywhere, then its letters in order.
int fuzzyScore(const QString& pattern, const QString& text);

// Every command of a window in one list (Ctrl+Shift+P): type a few letters, Enter. Disabled and hidden
// commands, and those of views that are not shown, are left out. The command runs after the palette has
// closed.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    explicit CommandPalette(QWidget* window);

    static QAction* createAction(QWidget* window); // with the shortcut, added to the window; opens a palette
    static QList<QAction*> commands(const QWidget* window);
    void popup();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void refill();
    void run();

    QWidget* window_;
    QLineEdit* input_;
    QListWidget* list_;
    QList<QPointer<QAction>> commands_;
};

} // namespace tunesmith
