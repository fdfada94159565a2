// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/graph_accessible.h"
#include "widgets/graph/graph_view.h"
#include <QAccessibleWidget>

namespace tunesmith {
namespace {

class GraphAccessible : public QAccessibleWidget {
public:
    explicit GraphAccessible(GraphView* view) : QAccessibleWidget(view, QAccessible::Canvas), view_(view) {}

    QString text(QAccessible::Text kind) const override {
        if (kind == QAccessible::Value)
            return selection();
        if (kind == QAccessible::Description)
            return GraphView::tr(
                "%n nodes. Arrow keys follow edges, Tab goes through the nodes, Control F finds.", nullptr,
                static_cast<int>(view_->scene().nodes.size()));
        return QAccessibleWidget::text(kind);
    }

private:
    QString selection() const {
        const auto* node = view_->selectedNode();
        if (!node)
            return GraphView::tr("No node selected");
        QStringList parts{node->title, node->subtitle, categoryName(node->category)};
        for (const auto& detail : node->details)
            parts << detail.name + QLatin1Char(' ') + detail.value;
        parts.removeAll(QString());
        return parts.join(QStringLiteral(", "));
    }

    GraphView* view_;
};

QAccessibleInterface* makeAccessible(const QString&, QObject* object) {
    auto* view = qobject_cast<GraphView*>(object);
    return view ? new GraphAccessible(view) : nullptr;
}

} // namespace

void installGraphAccessibility() {
    static const bool installed = (QAccessible::installFactory(makeAccessible), true);
    Q_UNUSED(installed);
}

} // namespace tunesmith
