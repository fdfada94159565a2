// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QFrame>

class QLabel;
class QLineEdit;

namespace tunesmith {

// A search field with the count of hits, next and previous, over the corner of the view that it searches.
class FindBar : public QFrame {
    Q_OBJECT
public:
    explicit FindBar(QWidget* parent);

    void popup();
    void setHits(int current, int count); // current from 1, 0: none chosen
    QString text() const;

signals:
    void textChanged(const QString& text);
    void step(int by);
    void closed();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    QLineEdit* input_;
    QLabel* count_;
};

} // namespace tunesmith
