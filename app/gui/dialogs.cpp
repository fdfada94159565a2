// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/dialogs.h"
#include "app/gui/settings.h"
#include "widgets/base/foreign_text.h"
#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QVBoxLayout>

namespace tunesmith {

namespace {

constexpr int kOpen = -1; // of a dimension that has no value
constexpr std::size_t kMostRows = 64; // a model can leave open as many as it has inputs

} // namespace

DimensionsDialog::DimensionsDialog(const ModelInfo& info, const Dimensions& bound, QWidget* parent)
    : QDialog(parent), bound_(bound) {
    setWindowTitle(tr("Dimensions"));
    Dimensions all = bound;
    for (const std::string& name : info.openDimensions)
        all.try_emplace(name, kOpen);
    QString text = tr("This model leaves some sizes open. Kernels are made for fixed sizes, so give each a value.");
    if (all.size() > kMostRows)
        text += QLatin1Char(' ') + tr("It has %1 of them, of which these are the first; tunesmith-cli takes all with --dims.").arg(all.size());
    auto* sentence = new QLabel(text, this);
    sentence->setWordWrap(true);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
    auto* rows = new QWidget(scroll);
    auto* form = new QFormLayout(rows);
    for (const auto& [name, extent] : all) {
        if (rows_.size() == kMostRows)
            break;
        auto* value = new QSpinBox(rows);
        value->setRange(kOpen, 1 << 24); // an empty cache has extent 0
        value->setSpecialValueText(tr("open"));
        value->setValue(static_cast<int>(extent));
        value->setAccessibleName(QString::fromStdString(name));
        value->setObjectName(QString::fromStdString(name));
        auto* label = new QLabel(rows);
        label->setTextFormat(Qt::PlainText);
        label->setText(oneLine(name, 40) + QLatin1Char(':'));
        form->addRow(label, value);
        rows_.emplace_back(name, value);
    }
    scroll->setWidget(rows);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(sentence);
    column->addWidget(scroll, 1);
    column->addWidget(buttons);
}

Dimensions DimensionsDialog::dimensions() const {
    Dimensions bound = bound_;
    for (const auto& [name, value] : rows_)
        if (value->value() != kOpen)
            bound[name] = value->value();
        else
            bound.erase(name);
    return bound;
}

SettingsDialog::SettingsDialog(QWidget* parent)
    : QDialog(parent), theme_(new QComboBox(this)),
      wheel_(new QCheckBox(tr("The mouse &wheel zooms the graph"), this)) {
    setWindowTitle(tr("Settings"));
    theme_->addItems({tr("as the desktop"), tr("light"), tr("dark")});
    theme_->setCurrentIndex(static_cast<int>(settings::theme()));
    theme_->setToolTip(tr("On the command line: --theme system|light|dark"));
    theme_->setObjectName(QStringLiteral("theme"));
    wheel_->setChecked(settings::wheelZooms());
    wheel_->setToolTip(tr("Otherwise the wheel scrolls, and Ctrl+wheel zooms"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close | QDialogButtonBox::RestoreDefaults, this);
    auto* form = new QFormLayout(this);
    form->addRow(tr("&Theme:"), theme_);
    form->addRow(wheel_);
    form->addRow(buttons);
    connect(theme_, &QComboBox::currentIndexChanged, this, &SettingsDialog::apply);
    connect(wheel_, &QCheckBox::toggled, this, &SettingsDialog::apply);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons->button(QDialogButtonBox::RestoreDefaults), &QPushButton::clicked, this, [this] {
        theme_->setCurrentIndex(static_cast<int>(Theme::Mode::system));
        wheel_->setChecked(true);
    });
}

void SettingsDialog::apply() {
    settings::setTheme(static_cast<Theme::Mode>(theme_->currentIndex()));
    settings::setWheelZooms(wheel_->isChecked());
    emit changed();
}

} // namespace tunesmith
