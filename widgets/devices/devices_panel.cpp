// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/devices/devices_panel.h"
#include "widgets/base/foreign_text.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/timeline/timeline_data.h"
#include <QAction>
#include <QCheckBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QToolButton>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

QString amount(double value, const QString& unit) {
    return std::isfinite(value) && value > 0 ? unit.arg(QLocale().toString(value, 'f', value < 10 ? 1 : 0)) : QStringLiteral("–");
}

QString servedText(const DeviceEntry& device) {
    if (device.deaf)
        return DevicesPanel::tr("does not answer");
    return device.client.isEmpty() ? DevicesPanel::tr("free") : DevicesPanel::tr("%1, for %2").arg(oneLine(device.client), secondsText(std::floor(device.seconds)));
}

QVector<TableColumn<DeviceEntry>> deviceColumns() {
    using Row = DeviceEntry;
    const auto has = [](const Row& row) { return row.client.isEmpty() ? QVariant() : QVariant(DevicesPanel::tr("priority %1").arg(row.priority)); };
    return {{DevicesPanel::tr("Keys"), DevicesPanel::tr("By which tunings ask for it"), [](const Row& row) { return oneLine(row.keys); }},
            {DevicesPanel::tr("Device"), DevicesPanel::tr("Point at one to see where it is reached"), [](const Row& row) { return oneLine(row.name); }, nullptr, kLeft,
             [](const Row& row) { return row.key; }},
            {DevicesPanel::tr("Processor"), DevicesPanel::tr("As it says itself"), [](const Row& row) { return oneLine(row.processor); }},
            {DevicesPanel::tr("Threads"), DevicesPanel::tr("That a kernel may use there"), [](const Row& row) { return QLocale().toString(row.threads); },
             [](const Row& row) { return row.threads; }, kRight},
            {DevicesPanel::tr("Memory"), DevicesPanel::tr("That a kernel may use there"), [](const Row& row) { return amount(row.memoryGb, DevicesPanel::tr("%1 GiB")); },
             [](const Row& row) { return row.memoryGb; }, kRight},
            {DevicesPanel::tr("Arithmetic"), DevicesPanel::tr("What all its threads can do, measured"), [](const Row& row) { return amount(row.gflops, DevicesPanel::tr("%1 GFLOP/s")); },
             [](const Row& row) { return row.gflops; }, kRight},
            {DevicesPanel::tr("Bandwidth"), DevicesPanel::tr("What all its threads can read and write, measured"), [](const Row& row) { return amount(row.gbs, DevicesPanel::tr("%1 GB/s")); },
             [](const Row& row) { return row.gbs; }, kRight},
            {DevicesPanel::tr("Served"), DevicesPanel::tr("Who has it, and since when"), servedText, nullptr, kLeft, has},
            {DevicesPanel::tr("Confined"), DevicesPanel::tr("How far a kernel is kept from the rest of that machine, as it says itself"),
             [](const Row& row) { return row.confinement.isEmpty() ? QStringLiteral("–") : oneLine(row.confinement); }}};
}

// "2 devices, free: 1 · waiting: 1 (me@here for epyc, 12 s)"
QString countText(const QVector<DeviceEntry>& devices, const QVector<WaitingEntry>& waiting) {
    const auto free = std::count_if(devices.begin(), devices.end(), [](const DeviceEntry& device) { return device.client.isEmpty() && !device.deaf; });
    QString text = DevicesPanel::tr("Devices: %1, of which free: %2").arg(devices.size()).arg(free);
    if (!waiting.isEmpty())
        text += DevicesPanel::tr(" · waiting: %1, the first for %2").arg(waiting.size()).arg(oneLine(waiting.front().key, 40));
    return text;
}

QString waitingTip(const QVector<WaitingEntry>& waiting) {
    constexpr qsizetype kMost = 20;
    QStringList lines;
    for (const WaitingEntry& one : waiting.mid(0, kMost))
        lines << DevicesPanel::tr("%1 waits for %2 with priority %3 for %4").arg(oneLine(one.client), oneLine(one.key)).arg(one.priority).arg(secondsText(std::floor(one.seconds)));
    return lines.isEmpty() ? QString() : plainToolTip(lines.join(QLatin1Char('\n')));
}

} // namespace

bool DeviceEntry::operator==(const DeviceEntry& other) const {
    return key == other.key && keys == other.keys && name == other.name && processor == other.processor && confinement == other.confinement && threads == other.threads && same(memoryGb, other.memoryGb) &&
           same(gflops, other.gflops) && same(gbs, other.gbs) && client == other.client && priority == other.priority && same(seconds, other.seconds) && deaf == other.deaf;
}

DevicesPanel::DevicesPanel(QWidget* parent)
    : QWidget(parent), address_(new QLineEdit(this)), token_(new QLineEdit(this)), authority_(new QLineEdit(this)), insecure_(new QCheckBox(tr("Do &without TLS or token"), this)),
      status_(new QLabel(this)), connect_(new QAction(this)), model_(new RowTableModel<DeviceEntry>(deviceColumns(), this)), table_(new PlainTable(model_, 2, this)) {
    setAccessibleName(tr("Devices"));
    table_->setAccessibleName(tr("Devices of the tracker"));
    connect_->setObjectName(QStringLiteral("connectTracker"));
    connect(connect_, &QAction::triggered, this, [this] {
        if (state_ == State::off)
            emit connectRequested();
        else
            emit disconnectRequested();
    });
    for (QLineEdit* line : {address_, token_, authority_}) {
        connect(line, &QLineEdit::textChanged, this, &DevicesPanel::refresh);
        connect(line, &QLineEdit::returnPressed, connect_, &QAction::trigger);
    }
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    row->addWidget(createForm());
    row->addWidget(table_, 1);
    refresh();
}

QWidget* DevicesPanel::createForm() {
    auto* left = new QWidget(this);
    left->setFixedWidth(fontMetrics().averageCharWidth() * 60);
    auto* form = new QFormLayout(left);
    form->setContentsMargins(10, 6, 12, 6);
    address_->setPlaceholderText(tr("HOST:9290"));
    address_->setToolTip(tr("Where the tracker listens (tunesmith-cli tracker, --tracker)"));
    token_->setToolTip(tr("File that holds the token of the tracker; readable for you only (--token-file)"));
    authority_->setToolTip(tr("Certificates of whom to trust, PEM; with it calls use TLS (--ca)"));
    insecure_->setToolTip(tr("Also between machines; anybody on the network can then read and change what is sent (--insecure)"));
    address_->setAccessibleName(tr("Address of the tracker"));
    token_->setAccessibleName(tr("Token file"));
    authority_->setAccessibleName(tr("Certificates"));
    auto* button = new QToolButton(this);
    button->setDefaultAction(connect_);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setFocusPolicy(Qt::TabFocus);
    auto* where = new QHBoxLayout;
    where->addWidget(address_, 1);
    where->addWidget(button);
    form->addRow(tr("&Tracker:"), where);
    if (auto* label = qobject_cast<QLabel*>(form->labelForField(where)))
        label->setBuddy(address_);
    form->addRow(tr("T&oken:"), fileField(token_, tr("Token file")));
    form->addRow(tr("C&ertificates:"), fileField(authority_, tr("Certificates of whom to trust")));
    form->addRow(QString(), insecure_);
    form->addRow(status_);
    status_->setTextFormat(Qt::PlainText);
    status_->setWordWrap(true);
    status_->setForegroundRole(QPalette::PlaceholderText);
    return left;
}

QWidget* DevicesPanel::fileField(QLineEdit* line, const QString& title) {
    auto* field = new QWidget(this);
    auto* row = new QHBoxLayout(field);
    row->setContentsMargins(0, 0, 0, 0);
    auto* browse = new QToolButton(this);
    browse->setText(tr("…"));
    browse->setToolTip(tr("Choose a file"));
    browse->setAccessibleName(tr("%1: choose a file").arg(title));
    browse->setFocusPolicy(Qt::TabFocus);
    row->addWidget(line, 1);
    row->addWidget(browse);
    field->setFocusProxy(line);
    connect(browse, &QToolButton::clicked, this, [this, line, title] {
        auto* dialog = new QFileDialog(this, title, line->text());
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setFileMode(QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, line, &QLineEdit::setText);
        dialog->open();
    });
    return field;
}

TrackerChoice DevicesPanel::tracker() const {
    return {address_->text().trimmed(), token_->text(), authority_->text(), insecure_->isChecked()};
}

void DevicesPanel::setTracker(const TrackerChoice& tracker) {
    address_->setText(tracker.address);
    token_->setText(tracker.tokenFile);
    authority_->setText(tracker.authority);
    insecure_->setChecked(tracker.insecure);
}

void DevicesPanel::setState(State state) {
    state_ = state;
    if (state == State::off)
        setDevices({}, {});
    refresh();
}

void DevicesPanel::setDevices(const QVector<DeviceEntry>& devices, const QVector<WaitingEntry>& waiting) {
    const bool first = model_->rows().isEmpty() && !devices.isEmpty();
    model_->setRows(devices);
    waiting_ = waiting;
    if (first)
        table_->fitColumns();
    refresh();
}

void DevicesPanel::setProblem(const QString& reason) {
    problem_ = oneLine(reason, kValueLength);
    refresh();
}

QString DevicesPanel::status() const {
    return status_->text();
}

void DevicesPanel::refresh() {
    const bool off = state_ == State::off;
    for (QWidget* field : std::initializer_list<QWidget*>{address_, token_, authority_, insecure_})
        field->setEnabled(off);
    connect_->setText(off ? tr("&Connect") : tr("Dis&connect"));
    connect_->setToolTip(off ? tr("Ask the tracker what it has to lend") : tr("Ask no more; tunings that have a device keep it"));
    connect_->setEnabled(!off || !address_->text().trimmed().isEmpty());
    const QString known = !problem_.isEmpty()                ? problem_
                          : state_ == State::connecting      ? tr("Asking the tracker…")
                          : off                              ? tr("A tracker lends machines on which tunesmith-cli server runs. Kernels are then built and measured there.")
                          : model_->rows().isEmpty()         ? tr("The tracker knows no device: start tunesmith-cli server on a machine.")
                                                             : countText(model_->rows(), waiting_);
    status_->setText(known);
    status_->setToolTip(waitingTip(waiting_));
    table_->setEnabled(!off);
}

} // namespace tunesmith
