// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/table_copy.h"
#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <set>

namespace tunesmith {
namespace {

QString cell(const QVariant& value) {
    QString text = value.toString();
    return text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
}

} // namespace

QString tableAsTsv(const QAbstractItemView& view) {
    const auto* model = view.model();
    std::set<int> rows, columns;
    const auto selected = view.selectionModel()->selectedIndexes();
    for (const auto& index : selected) {
        rows.insert(index.row());
        columns.insert(index.column());
    }
    for (int row = 0; selected.isEmpty() && row < model->rowCount(); ++row)
        rows.insert(row);
    for (int column = 0; selected.isEmpty() && column < model->columnCount(); ++column)
        columns.insert(column);
    QStringList lines, header;
    for (const int column : columns)
        header << cell(model->headerData(column, Qt::Horizontal));
    lines << header.join(QLatin1Char('\t'));
    for (const int row : rows) {
        QStringList cells;
        for (const int column : columns)
            cells << cell(model->index(row, column).data());
        lines << cells.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

QAction* addTableCopy(QAbstractItemView& view) {
    auto* copy = new QAction(QCoreApplication::translate("tunesmith::TableCopy", "&Copy as table"), &view);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    copy->setObjectName(QStringLiteral("copy"));
    QObject::connect(copy, &QAction::triggered, &view,
                     [&view] { QApplication::clipboard()->setText(tableAsTsv(view)); });
    view.addAction(copy);
    view.setContextMenuPolicy(Qt::ActionsContextMenu);
    return copy;
}

} // namespace tunesmith
