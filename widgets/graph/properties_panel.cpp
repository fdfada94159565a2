// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/properties_panel.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QTreeWidget>
#include <QTreeWidgetItemIterator>
#include <QVBoxLayout>

namespace tunesmith {

PropertiesPanel::PropertiesPanel(QWidget* parent)
    : QWidget(parent), title_(new QLabel(this)), subtitle_(new QLabel(this)), tree_(new QTreeWidget(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(10, 10, 10, 10);
    for (QWidget* widget : std::initializer_list<QWidget*>{title_, subtitle_, tree_})
        column->addWidget(widget);
    QFont large = Theme::scaled(title_->font(), 1.25);
    large.setWeight(QFont::DemiBold);
    title_->setFont(large);
    for (QLabel* label : {title_, subtitle_}) {
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long words must not widen it
    }
    subtitle_->setWordWrap(true);
    subtitle_->setForegroundRole(QPalette::PlaceholderText);
    tree_->setHeaderLabels({tr("Name"), tr("Value"), tr("Type")});
    tree_->setAccessibleName(tr("Properties of the selected node"));
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree_->setAlternatingRowColors(true);
    tree_->setIndentation(12);
    tree_->setUniformRowHeights(true);
    tree_->header()->setSectionResizeMode(QHeaderView::Interactive);
    tree_->header()->setStretchLastSection(false); // it would keep a scroll bar for an empty stretch
    tree_->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    auto* copy = new QAction(tr("&Copy as table"), this);
    copy->setObjectName(QStringLiteral("copyProperties"));
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(copy, &QAction::triggered, this, [this] { QApplication::clipboard()->setText(asTsv()); });
    addAction(copy);
    tree_->addAction(copy);
    tree_->setContextMenuPolicy(Qt::ActionsContextMenu);
    clear();
}

void PropertiesPanel::showNode(const NodeProperties& node) {
    node_ = node;
    title_->setText(node.title);
    subtitle_->setText(node.subtitle);
    subtitle_->setVisible(!node.subtitle.isEmpty());
    tree_->clear();
    tree_->show();
    const auto sized = [this](QTreeWidgetItem* item) {
        item->setSizeHint(
            0, {fontMetrics().horizontalAdvance(item->text(0)) + 12, fontMetrics().height() * 3 / 2});
    };
    for (const auto& section : node.sections) {
        auto* parent = new QTreeWidgetItem(tree_, {section.title});
        QFont bold = tree_->font();
        bold.setWeight(QFont::DemiBold);
        parent->setFont(0, bold);
        parent->setFirstColumnSpanned(true);
        sized(parent);
        for (const auto& row : section.rows) {
            auto* item = new QTreeWidgetItem(parent, {row.name, row.value, row.type});
            sized(item);
            item->setToolTip(0, plainToolTip(row.name));
            item->setToolTip(1, plainToolTip(row.value));
            item->setToolTip(2, plainToolTip(row.type));
        }
        parent->setExpanded(true);
    }
    for (int column = 0; column < 2; ++column) {
        tree_->resizeColumnToContents(column);
        tree_->setColumnWidth(
            column, std::min(tree_->columnWidth(column) + 8, fontMetrics().averageCharWidth() * 26));
    }
}

void PropertiesPanel::clear() {
    node_ = {};
    tree_->clear();
    tree_->hide();
    title_->setText(tr("Nothing selected"));
    subtitle_->setText(
        tr("Click a node in the graph, or press Tab there, to see its attributes, inputs and outputs."));
    subtitle_->show();
    subtitle_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
}

QString PropertiesPanel::asTsv() const {
    const bool all = tree_->selectedItems().isEmpty();
    QStringList lines{
        QStringList{tr("Section"), tr("Name"), tr("Value"), tr("Type")}.join(QLatin1Char('\t'))};
    for (QTreeWidgetItemIterator it(tree_); *it; ++it)
        if ((*it)->parent() && (all || (*it)->isSelected()))
            lines << QStringList{(*it)->parent()->text(0), (*it)->text(0), (*it)->text(1), (*it)->text(2)}
                         .join(QLatin1Char('\t'));
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

} // namespace tunesmith
