// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/tuning_fixture.h"
#include "widgets/tune/convergence_plot.h"
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>

namespace tunesmith {

TunePage* readyToTune(WindowFixture& fixture, BudgetKind kind, int amount, std::optional<int> threads,
                      const QString& model) {
    TunePage* page = fixture.window().tunePage();
    QSignalSpy listed(page, &TunePage::historyShown);
    if (!fixture.open(model) || (listed.isEmpty() && !listed.wait(kPatience)))
        return nullptr;
    auto* form = page->findChild<BudgetForm*>();
    BudgetChoice choice = form->choice();
    choice.kind = kind;
    choice.amount = amount;
    choice.threads = threads.value_or(choice.threads);
    form->setChoice(choice);
    fixture.window().showPage(MainWindow::Page::tune);
    return page;
}

int dots(const TunePage* page) {
    return page->findChild<ConvergencePlot*>()->dots();
}

void press(QMessageBox* box, const QString& text) {
    QVERIFY(box);
    for (QAbstractButton* button : box->buttons())
        if (QString(button->text()).remove(QLatin1Char('&')) == text)
            return button->click();
    QFAIL("no such button");
}

} // namespace tunesmith
