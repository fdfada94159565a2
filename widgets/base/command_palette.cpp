// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/command_palette.h"
#include "widgets/base/theme.h"
#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPainter>
#include <QSet>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

namespace tunesmith {
namespace {

QString plainText(const QAction* action) {
    QString text = action->text();
    text.replace(QLatin1String("&&"), QLatin1String("\1")).remove(QLatin1Char('&'));
    return text.replace(QLatin1Char('\1'), QLatin1Char('&'));
}

const QLatin1String kPaletteName("commandPalette"); // does not list itself

// Commands of a view that cannot be seen (on another page, say) would act out of sight.
bool isOutOfSight(const QAction* action, const QWidget* window) {
    const auto* owner = qobject_cast<const QWidget*>(action->parent());
    return owner && owner != window && !qobject_cast<const QMenu*>(owner) && window->isAncestorOf(owner) &&
           !owner->isVisibleTo(window);
}

bool isCommand(const QAction* action) {
    return action->objectName() != kPaletteName && action->isEnabled() && action->isVisible() &&
           !action->isSeparator() && !action->menu() && !action->text().isEmpty();
}

constexpr int kKeysRole = Qt::UserRole + 1;

class CommandDelegate : public QStyledItemDelegate { // the shortcut at the right
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        return {QStyledItemDelegate::sizeHint(option, index).width(), option.fontMetrics.height() * 7 / 4};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const bool chosen = option.state & QStyle::State_Selected;
        painter->setPen(Theme::instance().color(chosen ? Theme::Role::onAccent : Theme::Role::muted));
        painter->drawText(option.rect.adjusted(0, 0, -10, 0), Qt::AlignVCenter | Qt::AlignRight,
                          index.data(kKeysRole).toString());
    }
};

} // namespace

int fuzzyScore(const QString& pattern, const QString& text) {
    if (pattern.isEmpty())
        return 0;
    if (text.compare(pattern, Qt::CaseInsensitive) == 0)
        return 10000;
    const auto at = text.indexOf(pattern, 0, Qt::CaseInsensitive);
    const int brevity = std::max(0, 500 - static_cast<int>(text.size()));
    if (at == 0)
        return 8000 + brevity;
    if (at > 0)
        return (text[at - 1].isLetterOrNumber() ? 4000 : 6000) + brevity;
    int found = 0, gaps = 0, last = -1;
    for (int i = 0; i < text.size() && found < pattern.size(); ++i)
        if (text[i].toCaseFolded() == pattern[found].toCaseFolded()) {
            gaps += last >= 0 ? i - last - 1 : 0;
            last = i;
            ++found;
        }
    return found == pattern.size() ? std::max(1, 2000 - 20 * gaps) : -1;
}

QList<QAction*> CommandPalette::commands(const QWidget* window) {
    QSet<QAction*> seen;
    QList<QAction*> result;
    const auto take = [&](const QList<QAction*>& actions) {
        for (QAction* action : actions)
            if (isCommand(action) && !isOutOfSight(action, window) && !seen.contains(action)) {
                seen.insert(action);
                result.push_back(action);
            }
    };
    take(window->actions());
    take(window->findChildren<QAction*>());
    for (const auto* widget : window->findChildren<QWidget*>())
        take(widget->actions());
    return result;
}

QAction* CommandPalette::createAction(QWidget* window) {
    auto* action = new QAction(tr("&Command palette…"), window);
    action->setObjectName(kPaletteName);
    action->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P));
    action->setStatusTip(tr("Find and run any command by typing a few of its letters"));
    window->addAction(action);
    connect(action, &QAction::triggered, window, [window] {
        auto* palette = new CommandPalette(window);
        palette->setAttribute(Qt::WA_DeleteOnClose);
        palette->popup();
    });
    return action;
}

CommandPalette::CommandPalette(QWidget* window)
    : QDialog(window, Qt::Popup), window_(window), input_(new QLineEdit(this)), list_(new QListWidget(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(input_);
    column->addWidget(list_);
    input_->setPlaceholderText(tr("Type a command"));
    input_->setAccessibleName(tr("Command to search for"));
    input_->setClearButtonEnabled(true);
    input_->installEventFilter(this);
    list_->setAccessibleName(tr("Matching commands"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setUniformItemSizes(true);
    list_->setItemDelegate(new CommandDelegate(list_));
    list_->setFocusPolicy(Qt::NoFocus);
    connect(input_, &QLineEdit::textChanged, this, &CommandPalette::refill);
    connect(list_, &QListWidget::itemActivated, this, &CommandPalette::run);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
    for (QAction* action : commands(window))
        commands_.push_back(action);
    refill();
}

void CommandPalette::popup() {
    const int width = std::clamp(window_->width() / 2, 360, 640);
    resize(width, 340);
    move(window_->mapToGlobal(QPoint((window_->width() - width) / 2, 60)));
    show();
    input_->setFocus();
}

void CommandPalette::refill() {
    struct Hit {
        int score, index;
    };
    std::vector<Hit> hits;
    for (int i = 0; i < commands_.size(); ++i)
        if (commands_[i])
            if (const int score = fuzzyScore(input_->text().trimmed(), plainText(commands_[i])); score >= 0)
                hits.push_back({score, i});
    std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
    list_->clear();
    for (const auto& hit : hits) {
        const auto* action = commands_[hit.index].data();
        const auto keys = action->shortcut().toString(QKeySequence::NativeText);
        auto* item = new QListWidgetItem(action->icon(), plainText(action), list_);
        item->setData(Qt::UserRole, hit.index);
        item->setData(kKeysRole, keys);
        item->setToolTip(action->statusTip());
    }
    list_->setCurrentRow(0);
}

void CommandPalette::run() {
    const auto* item = list_->currentItem();
    const QPointer<QAction> action = item ? commands_[item->data(Qt::UserRole).toInt()] : nullptr;
    close();
    if (action)
        QTimer::singleShot(0, action, &QAction::trigger);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == input_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const int row = list_->currentRow();
        if (key->key() == Qt::Key_Down)
            return list_->setCurrentRow(std::min(row + 1, list_->count() - 1)), true;
        if (key->key() == Qt::Key_Up)
            return list_->setCurrentRow(std::max(row - 1, 0)), true;
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)
            return run(), true;
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace tunesmith
