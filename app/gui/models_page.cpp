// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models_page.h"
#include "app/gui/icons.h"
#include "core/workbench/model.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QAction>
#include <QCommandLinkButton>
#include <QDir>
#include <QFileInfo>
#include <QFrame>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace tunesmith {
namespace {

QLabel* muted(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setWordWrap(true);
    label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

QCommandLinkButton* linkButton(Glyph glyph, const QString& title, const QString& description,
                               QWidget* parent) {
    auto* button = new QCommandLinkButton(title, description, parent);
    const auto draw = [button, glyph] { button->setIcon(glyphIcon(glyph)); };
    draw();
    QObject::connect(&Theme::instance(), &Theme::changed, button, draw);
    button->setIconSize({24, 24});
    button->setAccessibleName(title);
    button->setAccessibleDescription(description);
    return button;
}

} // namespace

ModelsPage::ModelsPage(QAction* open, QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("modelsPage"));
    auto* title = new QLabel(tr("What would you like to tune?"), this);
    QFont large = Theme::scaled(title->font(), 1.8);
    large.setWeight(QFont::DemiBold);
    title->setFont(large);
    auto* sentence =
        muted(tr("Drop an ONNX file anywhere on this window. Its graph appears at once; then tune it "
                 "for this machine, and export a module that any C program can load."),
              this);
    auto* cards = new QHBoxLayout;
    cards->setSpacing(18);
    for (QFrame* card : {createOpenCard(open), createSampleCard(), createRecentCard()})
        cards->addWidget(card, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(48, 36, 48, 36);
    column->setSpacing(10);
    column->addStretch(1);
    column->addWidget(title);
    column->addWidget(sentence);
    column->addSpacing(14);
    column->addLayout(cards, 6);
    column->addStretch(2);
    showRecent({});
}

QFrame* ModelsPage::createCard(const QString& title, const QString& sentence, QVBoxLayout*& column) {
    auto* card = new QFrame(this);
    card->setFrameShape(QFrame::StyledPanel);
    card->setAutoFillBackground(true);
    card->setBackgroundRole(QPalette::Base);
    card->setMinimumWidth(fontMetrics().averageCharWidth() * 30);
    column = new QVBoxLayout(card);
    column->setContentsMargins(20, 18, 20, 18);
    column->setSpacing(6);
    auto* heading = new QLabel(title, card);
    QFont font = Theme::scaled(heading->font(), 1.25);
    font.setWeight(QFont::DemiBold);
    heading->setFont(font);
    column->addWidget(heading);
    column->addWidget(muted(sentence, card));
    column->addSpacing(8);
    card->setAccessibleName(title);
    return card;
}

QFrame* ModelsPage::createOpenCard(QAction* open) {
    QVBoxLayout* column = nullptr;
    QFrame* card =
        createCard(tr("Open a model"), tr("An .onnx file, with its external data beside it, or a tensor expression in a .te file."), column);
    auto* picture = new QLabel(card);
    const auto draw = [picture] { picture->setPixmap(glyphIcon(Glyph::open).pixmap(QSize(48, 48))); };
    draw();
    connect(&Theme::instance(), &Theme::changed, picture, draw);
    auto* button = new QPushButton(tr("&Open…"), card);
    button->setObjectName(QStringLiteral("openButton"));
    button->setDefault(true);
    button->setMinimumHeight(fontMetrics().height() * 5 / 2);
    button->setToolTip(tr("Choose a file (%1)").arg(open->shortcut().toString(QKeySequence::NativeText)));
    connect(button, &QPushButton::clicked, open, &QAction::trigger);
    column->addStretch(2);
    column->addWidget(picture, 0, Qt::AlignHCenter);
    auto* hint = muted(tr("Drop a file here, or choose one"), card);
    hint->setAlignment(Qt::AlignHCenter);
    column->addWidget(hint);
    column->addStretch(3);
    column->addWidget(button);
    return card;
}

QFrame* ModelsPage::createSampleCard() {
    QVBoxLayout* column = nullptr;
    QFrame* card = createCard(tr("Try a sample"),
                              tr("Built on the spot with random weights; nothing is downloaded."), column);
    for (const SampleInfo& sample : sampleList()) {
        const QString name = QString::fromStdString(sample.name);
        auto* button = linkButton(Glyph::sample, name, QString::fromStdString(sample.description), card);
        button->setObjectName(QStringLiteral("sample:") + name);
        connect(button, &QPushButton::clicked, this, [this, name] { emit sampleRequested(name); });
        column->addWidget(button);
    }
    column->addStretch(1);
    return card;
}

QFrame* ModelsPage::createRecentCard() {
    QFrame* card = createCard(tr("Recent"), tr("Go on where you left off."), recentColumn_);
    recent_ = card;
    return card;
}

void ModelsPage::showRecent(const QStringList& files) {
    looking_.start(
        tr("Looking for recent files"),
        [files](const Work&) {
            QVector<bool> exists;
            for (const QString& file : files)
                exists.push_back(QFileInfo::exists(file));
            return exists;
        },
        [this, files](const QVector<bool>& exists) { fillRecent(files, exists); });
}

void ModelsPage::fillRecent(const QStringList& files, const QVector<bool>& exists) {
    constexpr int kHeading = 3; // title, sentence, space
    while (recentColumn_->count() > kHeading) {
        const std::unique_ptr<QLayoutItem> item(recentColumn_->takeAt(kHeading));
        delete item->widget();
    }
    if (files.isEmpty())
        recentColumn_->addWidget(muted(tr("Models that you open appear here."), recent_));
    const int width = fontMetrics().averageCharWidth() * 34;
    for (int i = 0; i < files.size() && i < 6; ++i) {
        const QFileInfo file(files[i]);
        const QString where =
            exists[i] ? QDir::toNativeSeparators(file.absolutePath()) : tr("no longer there");
        auto* button = linkButton(Glyph::recent,
                                  fontMetrics().elidedText(file.fileName(), Qt::ElideMiddle, width * 3 / 4),
                                  fontMetrics().elidedText(where, Qt::ElideLeft, width), recent_);
        button->setObjectName(QStringLiteral("recent:") + file.fileName());
        button->setToolTip(plainToolTip(QDir::toNativeSeparators(file.filePath())));
        button->setEnabled(exists[i]);
        connect(button, &QPushButton::clicked, this, [this, path = files[i]] { emit fileRequested(path); });
        recentColumn_->addWidget(button);
    }
    recentColumn_->addStretch(1);
    QStringList missing;
    for (int i = 0; i < files.size(); ++i)
        if (!exists[i])
            missing << files[i];
    emit recentShown(missing);
}

void ModelsPage::setDropHighlighted(bool highlighted) {
    highlighted_ = highlighted;
    update();
}

void ModelsPage::paintEvent(QPaintEvent*) {
    if (!highlighted_)
        return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(Theme::instance().color(Theme::Role::accent), 3, Qt::DashLine));
    painter.drawRoundedRect(QRectF(rect()).adjusted(12, 12, -12, -12), 10, 10);
}

} // namespace tunesmith
