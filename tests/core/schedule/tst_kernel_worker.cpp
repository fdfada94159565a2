// SPDX-License-Identifier: GPL-3.0-or-later
#include "schedule_testing.h"

#include <nlohmann/json.hpp>

#include "core/schedule/kernel_bench.h"

using namespace tunesmith;
using namespace tunesmith::testing;

class TestKernelWorker : public QObject {
    Q_OBJECT

private slots:
    void packageSurvivesItsTravel() {
        KernelPackage package;
        package.kernel = {"kernel", {3, 7}, {128}, {std::byte{0}, std::byte{10}, std::byte{255}}};
        package.argumentLayouts = {loops::Layout::blocked(4, 1, 16), loops::Layout::rowMajor(1)};
        package.argumentTransforms = {WeightTransform::winograd4, WeightTransform::none};
        package.outputLayouts = {loops::Layout::rowMajor(4)};
        package.config = "1,2";
        package.hash = package.computeHash();
        const KernelPackage back = take(KernelPackage::unpack(package.pack()));
        QCOMPARE(back.kernel.object, package.kernel.object);
        QCOMPARE(back.kernel.phaseExtents, package.kernel.phaseExtents);
        QVERIFY(back.argumentLayouts == package.argumentLayouts && back.argumentTransforms == package.argumentTransforms && back.outputLayouts == package.outputLayouts);
        QCOMPARE(back.computeHash(), package.hash);
        QVERIFY(!KernelPackage::unpack("no package").ok());
        QVERIFY(!KernelPackage::unpack("{\"name\": 1}\nxyz").ok());
    }

    void buildsChecksAndTimes_data() {
        QTest::addColumn<int>("threads");
        QTest::newRow("one thread") << 1;
        QTest::newRow("two threads") << 2;
    }
    void buildsChecksAndTimes() {
        QFETCH(int, threads);
        const Target target = take(hostTarget(threads));
        const Workload workload = convWorkload(target);
        const auto workers = take(KernelWorkers::start(testWorkers()));
        const auto problem = take(ScheduleProblem::make(workload, target, *workers));
        Rng rng(1);
        std::vector<Config> configs{problem->schedules().defaultConfig()};
        for (int i = 0; i < 6; ++i)
            configs.push_back(problem->space().sample(rng));
        for (const Config& config : configs) {
            const Trial trial = tryConfig(*problem, config, {});
            QVERIFY2(trial.ok(), (config.text() + ": " + trial.message).c_str());
            QVERIFY(trial.samples.size() >= 5);
            QVERIFY(trial.objectives.at(0).value > 0 && trial.objectives[0].value < 100);
            QVERIFY(trial.artifactHash != 0);
        }
        QVERIFY(workers->probeMs() > 0);
    }

    void classifiesFaults_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("status");
        QTest::newRow("crash") << "crash" << "crash";
        QTest::newRow("hang") << "hang" << "run_timeout";
        QTest::newRow("iteration left out") << "short" << "wrong_answer";
        QTest::newRow("build hangs") << "build-hang" << "build_timeout";
        QTest::newRow("build crashes") << "build-crash" << "crash";
        QTest::newRow("build refuses") << "build-error" << "build_error";
    }
    void classifiesFaults() {
        QFETCH(QString, fault);
        QFETCH(QString, status);
        const Target target = take(hostTarget(1));
        const Workload workload = convWorkload(target);
        const std::string bad = take(ScheduleSpace::make(workload, target)).defaultConfig().text();
        auto options = testWorkers({{"TEST_INJECT", nlohmann::json{{fault.toStdString(), bad}}.dump()}});
        options.buildSeconds = fault == "build-hang" ? 4 : 20;
        const auto workers = take(KernelWorkers::start(options));
        const auto problem = take(ScheduleProblem::make(workload, target, *workers));
        const Config config = problem->schedules().defaultConfig();
        ProfileLimits limits;
        limits.deadlineSeconds = fault == "hang" ? 1 : 10;
        const auto built = problem->tryBuild(config, {});
        Trial trial = Trial::failure(config, built.status, built.message);
        if (built.built)
            trial = problem->profile(built.built->artifact, limits);
        QCOMPARE(QString::fromUtf8(trialStatusName(trial.status).data()), status);
        QVERIFY(!trial.message.empty() && trial.samples.empty());
        // The workers go on.
        Rng rng(3);
        Config other = config;
        while (other == config)
            other = problem->space().sample(rng);
        const Trial next = tryConfig(*problem, other, {});
        QVERIFY2(next.ok(), next.message.c_str());
    }

    void noticesWritesBesideABuffer() {
        const Target target = take(hostTarget(1));
        const Workload small = reluWorkload(target, 14), large = reluWorkload(target, 15);
        const auto kernel = [&](const Workload& workload) {
            const ScheduleSpace space = take(ScheduleSpace::make(workload, target));
            const ScheduledKernel scheduled = take(space.schedule(space.defaultConfig()));
            KernelPackage package;
            package.kernel = take(compileKernel(scheduled.nest, target, {})).kernel;
            package.argumentLayouts = scheduled.lowered.argumentLayouts;
            package.argumentTransforms = scheduled.lowered.argumentTransforms;
            package.outputLayouts = scheduled.lowered.outputLayouts;
            return package;
        };
        const auto runner = take(PhaseRunner::make(1));
        const auto kase = take(KernelCase::make(small, 0));
        QCOMPARE(take(BenchKernel::load(kase, kernel(small)))->check(*runner), std::string());
        const std::string why = take(BenchKernel::load(kase, kernel(large)))->check(*runner);
        QVERIFY2(why.find("outside its buffers") != std::string::npos, why.c_str());
    }

    void describesAConfig() {
        const Target target = take(hostTarget(1));
        const auto workers = take(KernelWorkers::start(testWorkers()));
        const auto problem = take(ScheduleProblem::make(convWorkload(target), target, *workers));
        const auto parts = problem->describeConfig(problem->schedules().defaultConfig());
        QCOMPARE(parts.size(), std::size_t(3));
        QVERIFY(std::get<TextPart>(parts[0].part).text.find("parallel") != std::string::npos);
        QVERIFY(std::get<TextPart>(parts[1].part).text.find("define") != std::string::npos);
        QVERIFY(std::get<TextPart>(parts[2].part).text.find("vfmadd") != std::string::npos);
    }

    void comparesInTurns() {
        const Target target = take(hostTarget(1));
        const auto workers = take(KernelWorkers::start(testWorkers()));
        const auto problem = take(ScheduleProblem::make(convWorkload(target), target, *workers));
        Rng rng(2);
        std::vector<Artifact> artifacts;
        for (int i = 0; i < 3; ++i)
            artifacts.push_back(take(problem->build(problem->space().sample(rng), {})).artifact);
        const auto samples = take(problem->compare(artifacts, 10, {}));
        QCOMPARE(samples.size(), std::size_t(3));
        QVERIFY(samples[0].size() >= 20 && samples[0].size() == samples[2].size());
    }

    void saysWhenWorkersCannotStart() {
        auto options = testWorkers();
        options.worker.executable = "/nonexistent/worker";
        QVERIFY(!KernelWorkers::start(options).ok());
    }
};

QTEST_GUILESS_MAIN(TestKernelWorker)
#include "tst_kernel_worker.moc"
