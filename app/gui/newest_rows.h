// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QComboBox>
#include <QStandardItemModel>
#include <optional>
#include <vector>

namespace tunesmith {

constexpr std::size_t kMostListed = 500; // boxes of all rows of a large store would hold the window up

// Fills a box of choices with rows of a store, newest first: the newest ones, and the shown one if it is older. A last line, which cannot be chosen, counts the others.
// An item's data is its row's id.
template <class Row, class Text>
void listNewest(QComboBox* box, const std::vector<Row>& rows, std::optional<qint64> shown, Text text, const QString& others) {
    box->clear();
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (i < kMostListed || rows[i].id == shown)
            box->addItem(text(rows[i]), QVariant::fromValue<qint64>(rows[i].id));
    const std::size_t left = rows.size() - static_cast<std::size_t>(box->count());
    if (left > 0) {
        box->addItem(others.arg(left));
        if (auto* items = qobject_cast<QStandardItemModel*>(box->model()))
            items->item(box->count() - 1)->setEnabled(false);
    }
    box->setCurrentIndex(shown ? box->findData(QVariant::fromValue<qint64>(*shown)) : -1);
    box->setVisible(!rows.empty());
}

} // namespace tunesmith
