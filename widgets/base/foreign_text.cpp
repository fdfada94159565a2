// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/foreign_text.h"
#include <QTextDocument>

namespace tunesmith {

QString oneLine(const QString& text, int most) {
    QString line = text.size() > most ? text.left(most - 1) + QChar(0x2026) : text;
    for (QChar& c : line)
        if (c.category() == QChar::Other_Control || c == QChar::LineSeparator ||
            c == QChar::ParagraphSeparator)
            c = QLatin1Char(' ');
    return line;
}

QString oneLine(const std::string& utf8, int most) {
    const auto enough = std::min<std::size_t>(utf8.size(), static_cast<std::size_t>(most) * 4 + 4);
    return oneLine(QString::fromUtf8(utf8.data(), static_cast<qsizetype>(enough)), most);
}

QString plainToolTip(const QString& text) {
    const QString shown = text.size() > kValueLength ? text.left(kValueLength - 1) + QChar(0x2026) : text;
    return Qt::mightBeRichText(shown) ? Qt::convertFromPlainText(shown) : shown;
}

} // namespace tunesmith
