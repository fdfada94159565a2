// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/model.h"
#include <QDialog>

class QCheckBox;
class QComboBox;
class QSpinBox;

namespace tunesmith {

// Values for the dimensions that a model leaves open, one row each, as far as a dialog has room.
class DimensionsDialog : public QDialog {
    Q_OBJECT
public:
    DimensionsDialog(const ModelInfo& info, const Dimensions& bound, QWidget* parent = nullptr);
    Dimensions dimensions() const; // those that have a value

private:
    const Dimensions bound_; // before
    std::vector<std::pair<std::string, QSpinBox*>> rows_;
};

// Applies at once; Restore defaults goes back.
class SettingsDialog : public QDialog {
    Q_OBJECT
public:
    explicit SettingsDialog(QWidget* parent = nullptr);

signals:
    void changed();

private:
    void apply();

    QComboBox* theme_;
    QCheckBox* wheel_;
};

} // namespace tunesmith
