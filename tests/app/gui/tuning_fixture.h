// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/tune_page.h"
#include "tests/app/gui/window_fixture.h"
#include "widgets/tune/budget_form.h"

class QMessageBox;

namespace tunesmith {

constexpr int kPatience = 120000; // ms

// A sample or file, open, with its tasks listed and this budget chosen, on the Tune page. Null: it failed.
TunePage* readyToTune(WindowFixture& fixture, BudgetKind kind, int amount, std::optional<int> threads = 1,
                      const QString& model = QStringLiteral("mlp")); // no threads: as the page proposes

int dots(const TunePage* page); // of the plot of convergence
void press(QMessageBox* box, const QString& text);

} // namespace tunesmith
