// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/export/export_form.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QRegularExpression>
#include <QTreeWidget>
#include <algorithm>

namespace tunesmith {
namespace {

constexpr qsizetype kMostShown = 100; // checks; a model may fail one for each of its inputs

} // namespace

ExportForm::ExportForm(QWidget* parent)
    : QWidget(parent), folder_(new QLineEdit(this)), name_(new QLineEdit(this)), prefix_(new QLineEdit(this)), accepted_(new QDoubleSpinBox(this)), size_(new QLabel(this)),
      target_(new QLabel(this)), problem_(new QLabel(this)), checks_(new QTreeWidget(this)),
      export_(new QPushButton(tr("E&xport"), this)) {
    auto* choose = new QPushButton(tr("B&rowse…"), this);
    connect(choose, &QPushButton::clicked, this, &ExportForm::browse);
    auto* where = new QHBoxLayout;
    where->addWidget(folder_, 1);
    where->addWidget(choose);
    auto* form = new QFormLayout(this);
    form->addRow(tr("&Folder:"), where);
    form->addRow(tr("&Name:"), name_);
    form->addRow(tr("&Prefix:"), prefix_);
    form->addRow(tr("&Accept:"), accepted_);
    form->addRow(tr("Writes:"), target_);
    form->addRow(tr("Size:"), size_);
    form->addRow(tr("&Checks:"), checks_);
    auto* last = new QHBoxLayout;
    last->addWidget(problem_, 1);
    last->addWidget(export_);
    form->addRow(last);
    if (auto* label = qobject_cast<QLabel*>(form->labelForField(where)))
        label->setBuddy(folder_);
    folder_->setAccessibleName(tr("Folder"));
    name_->setAccessibleName(tr("Name of the module"));
    prefix_->setObjectName(QStringLiteral("prefix"));
    prefix_->setAccessibleName(tr("Prefix of the module's C functions"));
    prefix_->setToolTip(tr("Of the library, its header and its functions: modules of different prefixes go together into one program"));
    accepted_->setAccessibleName(tr("Accepted difference from the reference"));
    accepted_->setToolTip(tr("How far outputs may differ from the reference where rounding does not explain it"));
    accepted_->setDecimals(4);
    accepted_->setMaximum(100);
    accepted_->setSuffix(tr(" % of the output's scale"));
    accepted_->setSpecialValueText(tr("no difference that rounding does not explain"));
    checks_->setAccessibleName(tr("Checks before export"));
    checks_->setHeaderLabels({tr("Check"), tr("Result")});
    checks_->setRootIsDecorated(false);
    checks_->setUniformRowHeights(true);
    checks_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    checks_->setMinimumHeight(fontMetrics().height() * 7);
    for (QLabel* label : {target_, problem_})
        label->setTextFormat(Qt::PlainText);
    target_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    target_->setForegroundRole(QPalette::PlaceholderText);
    problem_->setWordWrap(true);
    problem_->setObjectName(QStringLiteral("problem"));
    export_->setObjectName(QStringLiteral("export"));
    export_->setDefault(true);
    for (auto* edit : {folder_, name_, prefix_})
        connect(edit, &QLineEdit::textChanged, this, &ExportForm::refresh);
    connect(export_, &QPushButton::clicked, this, [this] { emit exportRequested(folder(), name()); });
    connect(&Theme::instance(), &Theme::changed, this, [this] { setChecks(QVector<ExportCheck>(rows_)); });
    setEstimatedBytes(-1);
    refresh();
}

QString ExportForm::folder() const {
    return folder_->text().trimmed();
}
QString ExportForm::name() const {
    return name_->text().trimmed();
}
void ExportForm::setFolder(const QString& folder) {
    folder_->setText(folder);
}
void ExportForm::setName(const QString& name) {
    name_->setText(name);
}

void ExportForm::setUsualPrefix(const QString& prefix) {
    prefix_->clear();
    prefix_->setPlaceholderText(prefix);
}
QString ExportForm::prefix() const {
    return prefix_->text().trimmed();
}
double ExportForm::acceptedDifference() const {
    return accepted_->value() / 100;
}

void ExportForm::setEstimatedBytes(qint64 bytes) {
    size_->setText(bytes < 0 ? tr("not known yet") : tr("about %1").arg(QLocale().formattedDataSize(bytes)));
}

void ExportForm::setBusy(bool busy) {
    busy_ = busy;
    refresh();
}

void ExportForm::setChecks(const QVector<ExportCheck>& checks) {
    rows_ = checks;
    checks_->clear();
    using Role = Theme::Role;
    constexpr Role kRoles[] = {Role::muted, Role::accent, Role::success, Role::warning, Role::error};
    static const QString kMarks[] = {QStringLiteral("○"), QStringLiteral("…"), QStringLiteral("✓"),
                                     QStringLiteral("!"), QStringLiteral("✗")};
    for (const auto& check : rows_.mid(0, kMostShown)) {
        const auto state = static_cast<int>(check.state);
        auto* item =
            new QTreeWidgetItem(checks_, {kMarks[state] + QStringLiteral("  ") + check.name, oneLine(check.result, kValueLength)});
        item->setForeground(0, Theme::instance().color(kRoles[state]));
        item->setToolTip(1, plainToolTip(check.result));
        item->setSizeHint(
            0, {fontMetrics().horizontalAdvance(item->text(0)) + 12, fontMetrics().height() * 8 / 5});
    }
    if (rows_.size() > kMostShown)
        new QTreeWidgetItem(checks_, {tr("and %1 more").arg(rows_.size() - kMostShown)});
    refresh();
}

QString ExportForm::problem() const {
    if (busy_)
        return tr("Exporting…");
    if (folder().isEmpty())
        return tr("Choose the folder to write to.");
    if (name().isEmpty())
        return tr("Give the module a name.");
    if (name().contains(QLatin1Char('/')) || name() == QLatin1String(".") || name() == QLatin1String(".."))
        return tr("A name cannot contain a slash or be dots only.");
    static const QRegularExpression kIdentifier(QStringLiteral("^[A-Za-z][A-Za-z0-9_]*$"));
    if (!prefix().isEmpty() && !kIdentifier.match(prefix()).hasMatch())
        return tr("A prefix has letters without accents, digits and underscores, and begins with a letter.");
    const auto failed =
        std::find_if(rows_.begin(), rows_.end(), [](const auto& c) { return c.state == CheckState::failed; });
    return failed == rows_.end() ? QString() : tr("A check has failed: %1").arg(failed->name);
}

void ExportForm::refresh() {
    const QString reason = problem();
    problem_->setText(reason);
    export_->setEnabled(reason.isEmpty());
    target_->setText(folder().isEmpty() || name().isEmpty()
                         ? QString()
                         : QDir::toNativeSeparators(QDir(folder()).filePath(name())));
    emit changed();
}

void ExportForm::browse() {
    auto* dialog = new QFileDialog(this, tr("Folder for the module"), folder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, this, &ExportForm::setFolder);
    dialog->open();
}

} // namespace tunesmith
