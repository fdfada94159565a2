// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QSlider>
#include <QVector>

namespace tunesmith {

// A slider over steps that shows some of them marked.
class StepSlider : public QSlider {
    Q_OBJECT
public:
    explicit StepSlider(QWidget* parent = nullptr);
    void setMarks(const QVector<int>& steps);
    const QVector<int>& marks() const { return marks_; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override; // goes where it is pressed

private:
    int positionOf(int step) const;

    QVector<int> marks_;
};

} // namespace tunesmith
