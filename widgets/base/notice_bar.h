// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QFrame>

class QLabel;
class QPushButton;
class QToolButton;

namespace tunesmith {

// A message that does not stop the person: done, failed, worth knowing. Stays until dismissed or replaced.
class NoticeBar : public QFrame {
    Q_OBJECT
public:
    enum class Kind { info, success, warning, error };

    explicit NoticeBar(QWidget* parent = nullptr);

    // details: what Copy details puts on the clipboard (no button when empty); showText: label of the button
    // that emits showRequested() (no button when empty).
    void showMessage(Kind kind, const QString& text, const QString& details = {},
                     const QString& showText = {});

signals:
    void showRequested();
    void dismissed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void dismiss();
    QColor tone() const;

    Kind kind_ = Kind::info;
    QString details_;
    QLabel* text_;
    QPushButton* show_;
    QPushButton* copy_;
    QToolButton* close_;
};

} // namespace tunesmith
