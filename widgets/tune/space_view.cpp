// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/space_view.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QLabel>
#include <QLinearGradient>
#include <QLocale>
#include <QPainter>
#include <QVBoxLayout>

namespace tunesmith {
namespace {

// What the colours and outlines of the cells mean.
class SpaceKey : public QWidget {
public:
    explicit SpaceKey(QWidget* parent) : QWidget(parent) {
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
        connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
    }
    QSize sizeHint() const override { return {200, fontMetrics().height() + 6}; }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setFont(Theme::scaled(font(), 0.9));
        const auto& theme = Theme::instance();
        double x = write(painter, 0, SpaceView::tr("%1 × best").arg(QLocale().toString(kSlowest, 'g', 2)));
        const QRectF ramp(x, height() * 0.25, 72, height() * 0.5);
        QLinearGradient colours(ramp.topLeft(), ramp.topRight());
        for (int i = 0; i <= 8; ++i)
            colours.setColorAt(i / 8.0, theme.ramp(i / 8.0));
        painter.fillRect(ramp, colours);
        x = write(painter, ramp.right() + 6, SpaceView::tr("best")) + 12;
        x = outline(painter, x, Theme::Role::border, SpaceView::tr("not tried"));
        outline(painter, x, Theme::Role::error, SpaceView::tr("failed"));
    }

private:
    double write(QPainter& painter, double x, const QString& text) const {
        painter.setPen(Theme::instance().color(Theme::Role::muted));
        painter.drawText(QRectF(x, 0, width() - x, height()), Qt::AlignVCenter | Qt::AlignLeft, text);
        return x + painter.fontMetrics().horizontalAdvance(text) + 6;
    }
    double outline(QPainter& painter, double x, Theme::Role role, const QString& text) const {
        if (x + height() * 0.8 + 6 + painter.fontMetrics().horizontalAdvance(text) > width())
            return width(); // a part of an explanation explains nothing; cells name themselves when pointed at
        painter.setPen(QPen(Theme::instance().color(role), 1));
        painter.drawRoundedRect(QRectF(x + 0.5, height() * 0.25, height() * 0.8, height() * 0.5), 2, 2);
        return write(painter, x + height() * 0.8 + 6, text) + 12;
    }
};

} // namespace

SpaceView::SpaceView(QWidget* parent)
    : QWidget(parent), title_(new QLabel(this)), detail_(new QLabel(this)), key_(new SpaceKey(this)), grid_(new SpaceGrid(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    QFont bold = title_->font();
    bold.setWeight(QFont::DemiBold);
    title_->setFont(bold);
    title_->setWordWrap(true);
    title_->setMinimumWidth(1); // also where a word of a foreign text is longer than the page
    for (QLabel* label : {title_, detail_}) {
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    detail_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // long values must not widen the dock
    column->addWidget(title_);
    column->addWidget(key_);
    column->addWidget(grid_, 1);
    column->addWidget(detail_);
    column->addStretch(0);
    setAccessibleName(tr("Coverage of the configuration space"));
    setFocusProxy(grid_);
    connect(grid_, &SpaceGrid::currentChanged, this, &SpaceView::showDetail);
    showMessage(tr("Choose a workload to see what of its space was tried."));
}

void SpaceView::showMap(const SpaceMap& map) {
    grid_->setMap(map);
    title_->setText(titleOf(map));
    for (QWidget* part : {key_, static_cast<QWidget*>(grid_), static_cast<QWidget*>(detail_)})
        part->setVisible(!map.parts.isEmpty());
    setAccessibleDescription(title());
}

void SpaceView::showMessage(const QString& message) {
    const QString text = oneLine(message, kValueLength);
    showMap({});
    title_->setText(text);
    setAccessibleDescription(text);
}

QString SpaceView::titleOf(const SpaceMap& map) {
    if (map.parts.isEmpty())
        return tr("This workload has no configuration space.");
    QString text = map.tried() == 0
                       ? tr("None of %1 configs was tried").arg(spaceText(map.configs()))
                       : tr("%1 of %2 configs were tried").arg(spaceText(static_cast<double>(map.tried())), spaceText(map.configs()));
    if (map.trials > 0)
        text += tr("; trials: %1, failed: %2").arg(map.trials).arg(map.failed);
    if (map.foreign > 0)
        text += tr("; of another version's space and not shown: %1").arg(map.foreign);
    return text;
}

void SpaceView::showDetail(const QString& text) {
    detail_->setText(text.isEmpty() ? tr("Arrow keys go from value to value.") : text);
    grid_->setAccessibleDescription(detail_->text());
}

QString SpaceView::title() const { return title_->text(); }
QString SpaceView::detail() const { return detail_->text(); }

} // namespace tunesmith
