// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/theme.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/timeline/jobs_panel.h"
#include <QAction>
#include <QSignalSpy>
#include <QSpinBox>

using namespace tunesmith;
using State = TimelineJob::State;

namespace {

TimelineJob job(qint64 key, const QString& name, State state, int priority = 0) {
    TimelineJob made;
    made.key = key;
    made.name = name;
    made.state = state;
    made.priority = priority;
    made.color = static_cast<int>(key);
    return made;
}

QVector<TimelineJob> sample() {
    QVector<TimelineJob> jobs{job(7, "resnet18", State::running, 2), job(3, "mnist", State::paused), job(9, "broken", State::failed)};
    jobs[0].progress = 0.42;
    jobs[0].budgetLeft = "120 trials";
    jobs[0].bestMs = 14.2;
    jobs[1].result = "26 kernels → 18 kernels; wrote <i>out.onnx</i>";
    jobs[2].problem = "<b>model.onnx</b> cannot be read";
    return jobs;
}

QString cell(const JobsPanel& panel, int row, JobsModel::Column column) {
    return panel.rows().index(row, column).data().toString();
}

} // namespace

class JobsPanelTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        QuietTest::start();
        Theme::instance().setMode(Theme::Mode::light);
    }
    void cleanup() { QuietTest::finish(); }

    void rowsTellAll() {
        JobsPanel panel;
        panel.setJobs(sample());
        QCOMPARE(cell(panel, 0, JobsModel::name), QString("resnet18"));
        QCOMPARE(cell(panel, 0, JobsModel::state), QString("Running"));
        QCOMPARE(cell(panel, 0, JobsModel::progress), QString("42 %"));
        QCOMPARE(cell(panel, 0, JobsModel::priority), QString("2"));
        QCOMPARE(cell(panel, 0, JobsModel::budget), QString("120 trials"));
        QCOMPARE(cell(panel, 0, JobsModel::best), QString("14.2 ms"));
        QCOMPARE(cell(panel, 0, JobsModel::result), QString("–"));
        QCOMPARE(cell(panel, 1, JobsModel::result), QString("26 kernels → 18 kernels; wrote <i>out.onnx</i>"));
        QVERIFY(panel.rows().index(1, JobsModel::result).data(Qt::ToolTipRole).toString().contains("&lt;i&gt;"));
        QCOMPARE(cell(panel, 1, JobsModel::progress), QString("–"));
        QCOMPARE(cell(panel, 1, JobsModel::best), QString("–"));
        QCOMPARE(panel.rows().index(0, JobsModel::name).data(Qt::DecorationRole).value<QColor>(), Theme::instance().category(7));
        QVERIFY(panel.rows().index(2, JobsModel::state).data(Qt::ToolTipRole).toString().contains("&lt;b&gt;")); // no markup of a file's
        QVERIFY(!panel.rows().index(0, JobsModel::state).data(Qt::ToolTipRole).isValid());
    }

    void actionsFitTheJob_data() {
        QTest::addColumn<qint64>("key");
        QTest::addColumn<QString>("enabled");
        QTest::newRow("none") << qint64(0) << "";
        QTest::newRow("running") << qint64(7) << "pauseJob cancelJob jobUp jobDown";
        QTest::newRow("paused") << qint64(3) << "resumeJob cancelJob jobUp jobDown";
        QTest::newRow("failed") << qint64(9) << "";
    }
    void actionsFitTheJob() {
        QFETCH(qint64, key);
        QFETCH(QString, enabled);
        JobsPanel panel;
        panel.setJobs(sample());
        panel.setCurrent(key);
        QStringList found;
        for (const char* name : {"pauseJob", "resumeJob", "cancelJob", "jobUp", "jobDown"})
            if (panel.action(name)->isEnabled())
                found << name;
        QCOMPARE(found.join(' '), enabled);
        QCOMPARE(panel.current() != nullptr, key != 0);
    }

    void wishesAreSignals() {
        JobsPanel panel;
        panel.setJobs(sample());
        QSignalSpy pause(&panel, &JobsPanel::pauseRequested), resume(&panel, &JobsPanel::resumeRequested), cancel(&panel, &JobsPanel::cancelRequested),
            priority(&panel, &JobsPanel::priorityRequested);
        panel.setCurrent(7);
        panel.action("pauseJob")->trigger();
        panel.action("cancelJob")->trigger();
        panel.action("jobUp")->trigger();
        panel.action("jobDown")->trigger();
        panel.setCurrent(3);
        panel.action("resumeJob")->trigger();
        QCOMPARE(pause.value(0), QVariantList{qint64(7)});
        QCOMPARE(cancel.value(0), QVariantList{qint64(7)});
        QCOMPARE(resume.value(0), QVariantList{qint64(3)});
        QCOMPARE(priority.value(0), (QVariantList{qint64(7), 3}));
        QCOMPARE(priority.value(1), (QVariantList{qint64(7), 1}));
        QCOMPARE(cell(panel, 0, JobsModel::priority), QString("2")); // until it is so
    }

    void prioritiesAreEdited() {
        JobsPanel panel;
        panel.resize(700, 200);
        panel.setJobs(sample());
        panel.show();
        QSignalSpy priority(&panel, &JobsPanel::priorityRequested);
        panel.setCurrent(7);
        panel.table()->edit(panel.table()->currentIndex().siblingAtColumn(JobsModel::priority));
        auto* box = panel.table()->findChild<QSpinBox*>();
        QVERIFY(box);
        QCOMPARE(box->value(), 2);
        box->setValue(11);
        QTest::keyClick(box, Qt::Key_Return);
        QTRY_COMPARE(priority.count(), 1);
        QCOMPARE(priority.value(0), (QVariantList{qint64(7), 11}));
    }

    void onlySoundPrioritiesAreTaken() {
        JobsModel model;
        model.setRows(sample());
        QSignalSpy edited(&model, &JobsModel::priorityEdited);
        const QModelIndex running = model.index(0, JobsModel::priority);
        QVERIFY(!model.setData(running, "many", Qt::EditRole));
        QVERIFY(!model.setData(running, JobsPanel::kHighest + 1, Qt::EditRole));
        QVERIFY(!model.setData(model.index(0, JobsModel::name), 3, Qt::EditRole));
        QVERIFY(!model.setData(model.index(2, JobsModel::priority), 3, Qt::EditRole)); // it has ended
        QVERIFY(model.setData(running, 2, Qt::EditRole)); // what it is already
        QVERIFY(edited.isEmpty());
        model.setEditable(false);
        QVERIFY(!model.setData(running, 3, Qt::EditRole));
    }

    void theEndsOfPriorities() {
        JobsPanel panel;
        panel.setJobs({job(1, "highest", State::running, JobsPanel::kHighest), job(2, "lowest", State::waiting, JobsPanel::kLowest)});
        panel.setCurrent(1);
        QVERIFY(!panel.action("jobUp")->isEnabled() && panel.action("jobDown")->isEnabled());
        panel.setCurrent(2);
        QVERIFY(panel.action("jobUp")->isEnabled() && !panel.action("jobDown")->isEnabled());
    }

    void theChosenJobOutlivesNews() {
        JobsPanel panel;
        panel.setJobs(sample());
        panel.setCurrent(3);
        QVector<TimelineJob> jobs = sample();
        jobs[1].state = State::done;
        panel.setJobs(jobs);
        QVERIFY(panel.current() && panel.current()->key == 3);
        QVERIFY(!panel.action("resumeJob")->isEnabled());
        jobs.removeFirst();
        panel.setJobs(jobs);
        QVERIFY(panel.current() && panel.current()->key == 3);
        panel.setJobs({});
        QVERIFY(!panel.current() && !panel.action("cancelJob")->isEnabled());
    }

    void withoutControlsItIsToLookAt() {
        JobsPanel panel;
        panel.setJobs(sample());
        panel.setCurrent(7);
        panel.setControls(false);
        QVERIFY(!panel.action("pauseJob")->isEnabled() && !panel.action("pauseJob")->isVisible());
        QVERIFY(!(panel.rows().flags(panel.rows().index(0, JobsModel::priority)) & Qt::ItemIsEditable));
        panel.setControls(true);
        QVERIFY(panel.action("pauseJob")->isEnabled());
    }
};

QTEST_MAIN(JobsPanelTest)
#include "tst_jobs_panel.moc"
