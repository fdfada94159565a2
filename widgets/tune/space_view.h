// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/tune/space_grid.h"

class QLabel;

namespace tunesmith {

// Coverage of a configuration space: how much of it was tried, which values of its knobs, and what the current cell means.
class SpaceView : public QWidget {
    Q_OBJECT
public:
    explicit SpaceView(QWidget* parent = nullptr);

    void showMap(const SpaceMap& map);
    void showMessage(const QString& text); // instead of a space

    QString title() const;
    QString detail() const;
    SpaceGrid* grid() const { return grid_; }

private:
    static QString titleOf(const SpaceMap& map);
    void showDetail(const QString& text);

    QLabel *title_, *detail_;
    QWidget* key_;
    SpaceGrid* grid_;
};

} // namespace tunesmith
