// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/foreign_text.h"
#include <QAbstractTableModel>
#include <QVector>
#include <functional>

namespace tunesmith {

constexpr int kSortRole = Qt::UserRole; // the raw value, for sorting and delegates
constexpr int kRowKeyRole = Qt::UserRole + 1;
constexpr Qt::Alignment kLeft = Qt::AlignLeft | Qt::AlignVCenter, kRight = Qt::AlignRight | Qt::AlignVCenter; // of texts and of numbers

template <class Row> struct TableColumn {
    using Cell = std::function<QVariant(const Row&)>;
    // The header's tool tip and What's This (unit and meaning) is `help`; `sort` is `display` unless given.
    TableColumn(QString titleText, QString helpText, Cell displayCell, Cell sortCell = nullptr,
                Qt::Alignment align = kLeft, Cell tipCell = nullptr)
        : title(std::move(titleText)), help(std::move(helpText)), display(std::move(displayCell)),
          sort(std::move(sortCell)), alignment(align), toolTip(std::move(tipCell)) {}

    QString title, help;
    Cell display, sort;
    Qt::Alignment alignment;
    Cell toolTip;
};

// A table of plain structs that does Qt's bookkeeping: setRows() compares with what is shown and announces
// only what changed (as long as the known rows stay in their order; else it resets). Row needs `key`
// (comparable, convertible to QVariant) and operator==. Texts of cells and tool tips may be foreign: they are shown as `foreign_text.h` has it.
template <class Row> class RowTableModel : public QAbstractTableModel {
public:
    explicit RowTableModel(QVector<TableColumn<Row>> columns, QObject* parent = nullptr)
        : QAbstractTableModel(parent), columns_(std::move(columns)) {}

    const QVector<Row>& rows() const { return rows_; }

    void setTable(QVector<TableColumn<Row>> columns, const QVector<Row>& rows) { // another table altogether
        beginResetModel();
        columns_ = std::move(columns);
        rows_ = rows;
        endResetModel();
    }

    void setRows(const QVector<Row>& rows) {
        if (!extends(rows)) {
            beginResetModel();
            rows_ = rows;
            endResetModel();
            return;
        }
        const int known = static_cast<int>(rows_.size());
        for (int i = 0; i < known; ++i)
            updateRow(i, rows[i]);
        if (rows.size() > known) {
            beginInsertRows({}, known, static_cast<int>(rows.size()) - 1);
            rows_ += rows.mid(known);
            endInsertRows();
        }
    }

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(rows_.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(columns_.size());
    }

    QVariant data(const QModelIndex& index, int role) const override {
        if (!checkIndex(index, CheckIndexOption::IndexIsValid))
            return {};
        const auto& column = columns_[index.column()];
        const auto& row = rows_[index.row()];
        switch (role) {
        case Qt::DisplayRole:
            return shown(column.display(row), [](const QString& text) { return oneLine(text, kValueLength); });
        case kSortRole:
            return column.sort ? column.sort(row) : column.display(row);
        case kRowKeyRole:
            return QVariant::fromValue(row.key);
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(column.alignment);
        case Qt::ToolTipRole:
            return column.toolTip ? shown(column.toolTip(row), plainToolTip) : QVariant();
        default:
            return {};
        }
    }

    QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
        if (orientation != Qt::Horizontal || section < 0 || section >= columns_.size())
            return QAbstractTableModel::headerData(section, orientation, role);
        const auto& column = columns_[section];
        if (role == Qt::DisplayRole)
            return column.title;
        if (role == Qt::ToolTipRole || role == Qt::WhatsThisRole)
            return column.help;
        return role == Qt::TextAlignmentRole ? QVariant::fromValue(column.alignment) : QVariant();
    }

private:
    template <class Clean> static QVariant shown(const QVariant& cell, const Clean& clean) {
        if (cell.typeId() != QMetaType::QString)
            return cell;
        const QString text = cell.toString();
        return text.isEmpty() ? QVariant() : QVariant(clean(text));
    }

    bool extends(const QVector<Row>& rows) const {
        if (rows.size() < rows_.size())
            return false;
        for (int i = 0; i < rows_.size(); ++i)
            if (!(rows[i].key == rows_[i].key))
                return false;
        return true;
    }

    void updateRow(int i, const Row& row) {
        if (rows_[i] == row)
            return;
        rows_[i] = row;
        emit dataChanged(index(i, 0), index(i, columnCount() - 1));
    }

    QVector<TableColumn<Row>> columns_;
    QVector<Row> rows_;
};

} // namespace tunesmith
