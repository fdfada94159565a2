// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/step_slider.h"
#include "widgets/base/theme.h"
#include <QMouseEvent>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionSlider>

namespace tunesmith {

StepSlider::StepSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
    setPageStep(10);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StepSlider::setMarks(const QVector<int>& steps) {
    marks_ = steps;
    update();
}

QSize StepSlider::sizeHint() const {
    const QSize plain = QSlider::sizeHint();
    return {plain.width(), plain.height() + 10};
}

int StepSlider::positionOf(int step) const {
    const int handle = style()->pixelMetric(QStyle::PM_SliderLength, nullptr, this);
    return handle / 2 + QStyle::sliderPositionFromValue(minimum(), maximum(), step, width() - handle);
}

void StepSlider::paintEvent(QPaintEvent* event) {
    const Theme& theme = Theme::instance();
    QPainter painter(this);
    const auto tick = [&](int step, int height) { painter.drawLine(positionOf(step), rect().bottom() - height, positionOf(step), rect().bottom()); };
    if (maximum() - minimum() <= width() / 5) {
        painter.setPen(QPen(theme.color(Theme::Role::border), 1));
        for (int step = minimum(); step <= maximum(); ++step)
            tick(step, 4);
    }
    painter.setPen(QPen(theme.color(Theme::Role::accent), 3));
    for (const int step : marks_)
        tick(step, 6);
    painter.end();
    QSlider::paintEvent(event);
}

void StepSlider::mousePressEvent(QMouseEvent* event) {
    const int handle = style()->pixelMetric(QStyle::PM_SliderLength, nullptr, this);
    if (event->button() == Qt::LeftButton)
        setValue(QStyle::sliderValueFromPosition(minimum(), maximum(), static_cast<int>(event->position().x()) - handle / 2, width() - handle));
    QSlider::mousePressEvent(event);
}

} // namespace tunesmith
