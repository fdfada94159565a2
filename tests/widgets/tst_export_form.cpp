// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/theme.h"
#include "widgets/base/foreign_text.h"
#include "widgets/export/export_form.h"
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTreeWidget>

using namespace tunesmith;

class ExportFormTest : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void saysWhatIsMissing_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("fine");
        QTest::newRow("complete") << "/tmp"
                                  << "resnet18" << true;
        QTest::newRow("no folder") << " "
                                   << "resnet18" << false;
        QTest::newRow("no name") << "/tmp"
                                 << "" << false;
        QTest::newRow("slash") << "/tmp"
                               << "a/b" << false;
        QTest::newRow("dots") << "/tmp"
                              << ".." << false;
    }
    void saysWhatIsMissing() {
        QFETCH(QString, folder);
        QFETCH(QString, name);
        QFETCH(bool, fine);
        ExportForm form;
        form.setFolder(folder);
        form.setName(name);
        QCOMPARE(form.problem().isEmpty(), fine);
        QCOMPARE(form.findChild<QPushButton*>("export")->isEnabled(), fine);
        QCOMPARE(form.findChild<QLabel*>("problem")->text(), form.problem());
    }

    void prefixesAreNames_data() {
        QTest::addColumn<QString>("prefix");
        QTest::addColumn<bool>("fine");
        QTest::newRow("none") << "" << true;
        QTest::newRow("name") << "encoder_2" << true;
        QTest::newRow("digit first") << "2nd" << false;
        QTest::newRow("space") << "a b" << false;
        QTest::newRow("umlaut") << QString::fromUtf8("ä") << false;
    }
    void prefixesAreNames() {
        QFETCH(QString, prefix);
        QFETCH(bool, fine);
        ExportForm form;
        form.setFolder("/tmp");
        form.setName("net");
        form.setUsualPrefix("net");
        auto* edit = form.findChild<QLineEdit*>("prefix");
        QCOMPARE(edit->placeholderText(), QString("net"));
        edit->setText(prefix);
        QCOMPARE(form.prefix(), prefix);
        QCOMPARE(form.problem().isEmpty(), fine);
        form.setUsualPrefix("other"); // of another model
        QVERIFY(form.prefix().isEmpty() && form.problem().isEmpty());
    }

    void nothingUnexplainedIsAcceptedUnlessAsked() {
        ExportForm form;
        QCOMPARE(form.acceptedDifference(), 0.0);
        form.findChild<QDoubleSpinBox*>()->setValue(2.5);
        QCOMPARE(form.acceptedDifference(), 0.025);
    }

    void exports() {
        ExportForm form;
        form.setFolder("/tmp");
        form.setName("net");
        QSignalSpy spy(&form, &ExportForm::exportRequested);
        auto* button = form.findChild<QPushButton*>("export");
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(spy.count(), 1);
        QCOMPARE(spy[0][0].toString(), QString("/tmp"));
        QCOMPARE(spy[0][1].toString(), QString("net"));
        form.setBusy(true);
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(spy.count(), 1);
    }

    void failedChecksForbid() {
        ExportForm form;
        form.setFolder("/tmp");
        form.setName("net");
        form.setChecks(
            {{"Outputs agree", "2e-6", CheckState::passed}, {"Size", "large", CheckState::warning}});
        QVERIFY(form.problem().isEmpty());
        QCOMPARE(form.findChild<QTreeWidget*>()->topLevelItemCount(), 2);
        form.setChecks({{"Outputs agree", "0.3", CheckState::failed}});
        QVERIFY(form.problem().contains("Outputs agree"));
        Theme::instance().setMode(Theme::Mode::dark);
        QCOMPARE(form.findChild<QTreeWidget*>()->topLevelItemCount(), 1);
    }

    // A model may fail a check for each of its inputs, and call them as it likes.
    void manyAndLongChecks() {
        ExportForm form;
        QVector<ExportCheck> checks(20'000, {"Inputs", QString(100'000, 'x'), CheckState::failed});
        form.setChecks(checks);
        const auto* tree = form.findChild<QTreeWidget*>();
        QCOMPARE(tree->topLevelItemCount(), 101);
        QVERIFY(tree->topLevelItem(0)->text(1).size() <= kValueLength && tree->topLevelItem(100)->text(0).contains("19900"));
        QCOMPARE(form.checks().size(), 20'000);
    }

    void sizeIsReadable() {
        ExportForm form;
        form.setEstimatedBytes(45 * 1024 * 1024);
        bool found = false;
        for (const auto* label : form.findChildren<QLabel*>())
            found = found || label->text().contains("45");
        QVERIFY(found);
    }
};

QTEST_MAIN(ExportFormTest)
#include "tst_export_form.moc"
