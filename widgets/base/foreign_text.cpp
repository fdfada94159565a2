// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/foreign_text.h"
#include <QTextDocument>

namespace tunesmith {

namespace {

// Marks of direction and the like, which change how what comes after them is read. Joiners stay: scripts are written with them.
bool isMark(QChar c) {
    return c.category() == QChar::Other_Format && c != QChar(0x200c) && c != QChar(0x200d);
}

void showMarks(QString& text) {
    for (QChar& c : text)
        if (isMark(c))
            c = QChar(QChar::ReplacementCharacter);
}

} // namespace

QString oneLine(const QString& text, int most) {
    QString line = text.size() > most ? text.left(most - 1) + QChar(0x2026) : text;
    for (QChar& c : line)
        if (c.category() == QChar::Other_Control || c == QChar::LineSeparator ||
            c == QChar::ParagraphSeparator)
            c = QLatin1Char(' ');
    showMarks(line);
    return line;
}

QString oneLine(const std::string& utf8, int most) {
    const auto enough = std::min<std::size_t>(utf8.size(), static_cast<std::size_t>(most) * 4 + 4);
    return oneLine(QString::fromUtf8(utf8.data(), static_cast<qsizetype>(enough)), most);
}

QString plainToolTip(const QString& text) {
    QString shown = text.size() > kValueLength ? text.left(kValueLength - 1) + QChar(0x2026) : text;
    showMarks(shown);
    return Qt::mightBeRichText(shown) ? Qt::convertFromPlainText(shown) : shown;
}

} // namespace tunesmith
