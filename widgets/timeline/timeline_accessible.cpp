// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_accessible.h"
#include "widgets/timeline/timeline_view.h"
#include <QAccessibleWidget>

namespace tunesmith {
namespace {

class TimelineAccessible : public QAccessibleWidget {
public:
    explicit TimelineAccessible(TimelineView* view) : QAccessibleWidget(view, QAccessible::Canvas), view_(view) {}

    QString text(QAccessible::Text kind) const override {
        if (kind == QAccessible::Value)
            return view_->selected() < 0 ? TimelineView::tr("No slice selected") : view_->sliceText(view_->selected()).replace(QLatin1Char('\n'),
                QStringLiteral(", "));
        if (kind == QAccessible::Description)
            return TimelineView::tr("Slices: %1, tracks: %2. Arrow keys go from slice to slice, W and S zoom, A and D pan, F fits.")
                .arg(view_->model().size())
                .arg(view_->model().tracks().size());
        return QAccessibleWidget::text(kind);
    }

private:
    TimelineView* view_;
};

QAccessibleInterface* makeAccessible(const QString&, QObject* object) {
    auto* view = qobject_cast<TimelineView*>(object);
    return view ? new TimelineAccessible(view) : nullptr;
}

} // namespace

void installTimelineAccessibility() {
    static const bool installed = (QAccessible::installFactory(makeAccessible), true);
    Q_UNUSED(installed);
}

} // namespace tunesmith
