// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <thread>

#include "core/plugin/plugin_loader.h"
#include "problem_files.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

constexpr const char* kLevel = "[parameters.level]\ntype = 'enum'\nvalues = ['-O1', '-O2', '-O3']\ndefault = '-O2'\n";
constexpr const char* kScore = "[score]\nfrom = 'stdout'\n";

QByteArray running(const QByteArray& script) { return "[run]\ncommand = ['sh', '-c', '" + script + "', '{flags}']\ntimeout = 5\n"; }

Trial tried(Problem& problem, const Config& config, double seconds = 1e9) {
    ProfileLimits limits;
    limits.deadlineSeconds = seconds;
    return tryConfig(problem, config, limits);
}
Config defaultOf(const Problem& problem) { return problem.space().startingPoints().at(0); }

} // namespace

// What a problem file may say, and what its commands may do.
class ProgramProblemTest : public QObject {
    Q_OBJECT

    ProblemFolder folder_;

    Result<OpenedProblem> opened(const QByteArray& text) const { return openProblem(folder_.problem(text), {folder_.scratch()}); }
    std::unique_ptr<Problem> problem(const QByteArray& text) const { return take(opened(text)).problem; }
    Trial triedDefault(const QByteArray& text, double seconds = 1e9) const {
        const auto made = problem(text);
        return tried(*made, defaultOf(*made), seconds);
    }
    static QString commandOf(const Problem& problem, const Config& config, const QString& title) {
        for (const Description& part : problem.describeConfig(config))
            if (part.title == title.toStdString())
                return QString::fromStdString(std::get<TextPart>(part.part).text);
        return {};
    }

private slots:
    void parametersBecomeWords() {
        const auto made = problem("[parameters.level]\ntype = 'enum'\nvalues = [0, 1, 2]\ndefault = 2\nas = '-O{}'\n"
                                  "[parameters.unroll]\ntype = 'flag'\non = '-funroll-loops -fpeel-loops'\n"
                                  "[parameters.times]\ntype = 'int'\nlow = 2\nhigh = 16\nlog = true\ncount = 4\nas = '--times={}'\nwhen = 'unroll == on'\n"
                                  "[parameters.share]\ntype = 'float'\nlow = 0\nhigh = 1\ncount = 3\n"
                                  "[parameters.passes]\ntype = 'permutation'\nitems = ['a', 'b', 'c']\n"
                                  "[build]\ncommand = ['cc', '{flags}', '{{braces}}', '-o', '{output}']\n"
                                  "[run]\ncommand = ['{output}', '--passes={passes}', '{share}', 'at-{share}']\n[score]\nfrom = 'time'\n");
        const Config start = defaultOf(*made);
        QCOMPARE(commandOf(*made, start, "build"), QString("cc -O2 {braces} -o OUTPUT"));
        QCOMPARE(commandOf(*made, start, "run"), QString("OUTPUT --passes=a b c 0 at-0"));
        const Config other{{0, 1, 3, 1, 2, 1}, {}};
        QCOMPARE(commandOf(*made, other, "build"), QString("cc -O0 -funroll-loops -fpeel-loops --times=16 {braces} -o OUTPUT"));
        QCOMPARE(commandOf(*made, other, "run"), QString("OUTPUT --passes=c b a 0.5 at-0.5"));
        QCOMPARE(*made->space().size(), 3.0 * (1 + 4) * 3 * 6);
    }

    void conditions_data() {
        QTest::addColumn<QByteArray>("when");
        QTest::addColumn<double>("size");
        QTest::newRow("equal") << QByteArray("'n == 3'") << 4.0 + 2;
        QTest::newRow("one of") << QByteArray("'n == 1 | 3'") << 3.0 + 2 * 2;
        QTest::newRow("other") << QByteArray("'n != 3'") << 1.0 + 4 * 2;
        QTest::newRow("less") << QByteArray("'n < 3'") << 3.0 + 2 * 2;
        QTest::newRow("at most") << QByteArray("'n<=3'") << 2.0 + 3 * 2;
        QTest::newRow("more") << QByteArray("'n > 4.5'") << 4.0 + 2;
        QTest::newRow("both") << QByteArray("['n > 1', 'n < 4']") << 3.0 + 2 * 2;
    }
    void conditions() {
        QFETCH(QByteArray, when);
        QFETCH(double, size);
        const auto made = problem("[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 5\n[parameters.f]\ntype = 'flag'\non = 'x'\nwhen = " + when + "\n" + running("echo 1") + kScore);
        QCOMPARE(*made->space().size(), size);
    }

    void nonsense_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        const QByteArray rest = running("echo 1") + kScore;
        const auto parameter = [&](const char* name, const QByteArray& keys, const char* says) { QTest::newRow(name) << "[parameters.a]\n" + keys + "\n" + rest << says; };
        parameter("no type", "low = 1", "line 2: 'type' is missing");
        parameter("other type", "type = 'list'", "line 3: there is no type 'list'; use int, float, enum, flag or permutation");
        parameter("no bounds", "type = 'int'", "'low' is missing");
        parameter("bounds that cross", "type = 'int'\nlow = 5\nhigh = 4", "line 5: 'high' is to be a number from 5");
        parameter("nan", "type = 'float'\nlow = nan\nhigh = 4", "line 4: 'low'");
        parameter("infinite", "type = 'float'\nlow = 0\nhigh = inf", "'high' is to be");
        parameter("half an int", "type = 'int'\nlow = 0.5\nhigh = 4", "whole numbers");
        parameter("logarithm of 0", "type = 'int'\nlow = 0\nhigh = 4\nlog = true", "begins above 0");
        parameter("too many", "type = 'int'\nlow = 0\nhigh = 1000000000", "more than 4096 values");
        parameter("default outside", "type = 'int'\nlow = 0\nhigh = 4\ndefault = 9", "'default' is to be a number from 0 to 4");
        parameter("default of an enum", "type = 'enum'\nvalues = ['x']\ndefault = 'y'", "'y' is none of the values");
        parameter("no values", "type = 'enum'\nvalues = []", "'values' is to be a list");
        parameter("twice", "type = 'enum'\nvalues = ['x', 'x']", "'x' is listed twice");
        parameter("too many items", "type = 'permutation'\nitems = [" + [] {
            QByteArray items;
            for (int i = 0; i < 65; ++i)
                items += QByteArray::number(i) + ",";
            return items;
        }() + "]", "more than 64 items");
        parameter("other key", "type = 'flag'\non = 'x'\nlow = 1", "line 5: 'low' is no key here");
        parameter("condition on nothing", "type = 'flag'\non = 'x'\nwhen = 'b == 1'", "line 5: the condition 'b == 1' is about 'b'");
        parameter("condition on itself", "type = 'flag'\non = 'x'\nwhen = 'a == on'", "no parameter that stands before this one");
        parameter("no condition", "type = 'flag'\non = 'x'\nwhen = 'perhaps'", "is to be written as");
        const QByteArray level(kLevel);
        const auto with = [&](const char* name, const QByteArray& text, const char* says) { QTest::newRow(name) << level + text << says; };
        with("condition on no value", "[parameters.b]\ntype = 'flag'\non = 'x'\nwhen = 'level == -O9'\n" + rest, "'-O9', which is no value of 'level'");
        with("comparison of texts", "[parameters.b]\ntype = 'flag'\non = 'x'\nwhen = 'level < 3'\n" + rest, "compares what are no numbers");
        with("name with a space", "[parameters.'b c']\ntype = 'flag'\non = 'x'\n" + rest, "cannot be the name");
        with("name that is taken", "[parameters.output]\ntype = 'flag'\non = 'x'\n" + rest, "cannot be the name");
        with("no run", kScore, "'run' is missing");
        with("no score", running("echo 1"), "'score' is missing");
        with("no command", QByteArray("[run]\ntimeout = 1\n") + kScore, "'command' is missing");
        with("command as a text", QByteArray("[run]\ncommand = 'sh {flags}'\n") + kScore, "'command' is to be a list");
        with("unknown placeholder", QByteArray("[run]\ncommand = ['sh', '{wrong}', '{flags}']\n") + kScore, "there is no parameter for {wrong}");
        with("output without a build", QByteArray("[run]\ncommand = ['{output}', '{flags}']\n") + kScore, "there is no parameter for {output}");
        with("open brace", QByteArray("[run]\ncommand = ['sh', '{flags']\n") + kScore, "the braces of '{flags' do not match");
        with("parameter without use", QByteArray("[run]\ncommand = ['sh']\n") + kScore, "no command uses the parameter 'level'");
        with("build without output", "[build]\ncommand = ['cc', '{flags}']\n" + rest, "write {output} in its command");
        with("no time at all", QByteArray("[run]\ncommand = ['sh', '{flags}']\ntimeout = 0\n") + kScore, "'timeout' is to be");
        with("repeat", QByteArray("[run]\ncommand = ['sh', '{flags}']\nrepeat = 0\n") + kScore, "'repeat' is to be a whole number from 1 to 1000");
        with("score from nowhere", running("echo 1") + "[score]\nfrom = 'mind'\n", "use time, stdout or file");
        with("unit of a time", running("echo 1") + "[score]\nfrom = 'time'\nunit = 's'\n", "'unit' is no key here");
        with("pattern", running("echo 1") + "[score]\nfrom = 'stdout'\npattern = '(('\n", "no regular expression");
        with("reference to a group", running("echo 1") + "[score]\nfrom = 'stdout'\npattern = '(a)\\1'\n", "no regular expression");
        with("pattern that unfolds", running("echo 1") + "[score]\nfrom = 'stdout'\npattern = '((a{50}){50}){40}'\n", "repetitions are written out");
        with("long repetition", running("echo 1") + "[score]\nfrom = 'stdout'\npattern = '[0-9]{1,5000}'\n", "repetitions are written out");
        with("giant pattern", running("echo 1") + "[score]\nfrom = 'stdout'\npattern = '" + QByteArray(2000, 'a') + "'\n", "1 to 1000 characters");
        with("file of the score", running("echo 1") + "[score]\nfrom = 'file'\nfile = '/etc/passwd'\n", "write {scratch}/NAME");
        with("file above the folder", running("echo 1") + "[score]\nfrom = 'file'\nfile = '{scratch}/../x'\n", "write {scratch}/NAME");
        with("empty check", rest + "[check]\n", "a check needs output");
        with("other table", rest + "[more]\nx = 1\n", "'more' is no key here");
        QTest::newRow("parameters are no table") << "parameters = 1\n" + rest << "'parameters' is to be a table";
        QTest::newRow("no parameters") << "[parameters]\n" + rest << "there are no parameters";
        QTest::newRow("parameter is no table") << "[parameters]\na = 1\n" + rest << "'a' is to be a table";
    }
    void nonsense() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const auto made = opened(text);
        QVERIFY(!made.ok());
        const QString message = QString::fromStdString(made.error().message);
        QVERIFY2(message.contains(says) && message.contains("problem.toml, line "), qPrintable(message));
    }

    void scores_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<QByteArray>("score");
        QTest::addColumn<double>("value");
        QTest::newRow("all of it") << QByteArray("echo 12.5") << QByteArray("from = 'stdout'") << 12.5;
        QTest::newRow("last line that matches") << QByteArray("echo score 1; echo score 2; echo other 3") << QByteArray("from = 'stdout'\npattern = 'score (\\S+)'") << 2.0;
        QTest::newRow("no group") << QByteArray("echo it is 1e3 now") << QByteArray("from = 'stdout'\npattern = '[0-9]e[0-9]'") << 1000.0;
        QTest::newRow("seconds") << QByteArray("echo 0.25") << QByteArray("from = 'stdout'\nunit = 's'") << 250.0;
        QTest::newRow("points") << QByteArray("echo +7") << QByteArray("from = 'stdout'\nunit = 'points'\nhigher_is_better = true") << 7.0;
        QTest::newRow("file") << QByteArray("echo 3 > $1/score; echo 9") << QByteArray("from = 'file'\nfile = '{scratch}/score'") << 3.0;
    }
    void scores() {
        QFETCH(QByteArray, script);
        QFETCH(QByteArray, score);
        QFETCH(double, value);
        const Trial trial = triedDefault(QByteArray(kLevel) + "[run]\ncommand = ['sh', '-c', '" + script + "', '{flags}', '{scratch}']\n[score]\n" + score + "\n");
        QVERIFY2(trial.ok(), trial.message.c_str());
        QCOMPARE(trial.objectives.at(0).value, value);
        QVERIFY(!trial.samples.empty());
    }

    void whatGoesWrong_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<QString>("status");
        QTest::addColumn<QString>("says");
        QTest::newRow("exit status") << QByteArray("echo no luck >&2; exit 3") << "run_error" << "the program exited with status 3: no luck";
        QTest::newRow("crash") << QByteArray("kill -SEGV $$") << "crash" << "SIGSEGV";
        QTest::newRow("hangs") << QByteArray("sleep 1000") << "run_timeout" << "did not end within 0.2 s";
        QTest::newRow("floods") << QByteArray("head -c 1000000000 /dev/zero") << "run_error" << "printed more than 1024 KiB";
        QTest::newRow("prints nothing") << QByteArray("true") << "run_error" << "the score '' is no finite number";
        QTest::newRow("prints garbage") << QByteArray("head -c 1000 /dev/urandom") << "run_error" << "is no finite number";
        QTest::newRow("words") << QByteArray("echo fast") << "run_error" << "the score 'fast' is no finite number";
        QTest::newRow("nan") << QByteArray("echo nan") << "run_error" << "the score 'nan' is no finite number";
        QTest::newRow("infinite") << QByteArray("echo inf") << "run_error" << "no finite number";
        QTest::newRow("beyond double") << QByteArray("echo 1e999") << "run_error" << "no finite number";
    }
    void whatGoesWrong() {
        QFETCH(QByteArray, script);
        QFETCH(QString, status);
        QFETCH(QString, says);
        const Trial trial = triedDefault(kLevel + running(script).replace("timeout = 5", "timeout = 0.2") + kScore);
        QCOMPARE(QString::fromStdString(std::string(trialStatusName(trial.status))), status);
        QVERIFY2(QString::fromStdString(trial.message).contains(says), trial.message.c_str());
    }

    // What is made in the place of the score's file is not waited for: the measuring key is held meanwhile.
    void filesThatAreNone_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<QString>("says");
        QTest::newRow("pipe") << QByteArray("mkfifo $1/score") << "not a regular file";
        QTest::newRow("link to a pipe") << QByteArray("mkfifo $1/pipe; ln -s pipe $1/score") << "not a regular file";
        QTest::newRow("device") << QByteArray("ln -s /dev/zero $1/score") << "not a regular file";
        QTest::newRow("folder") << QByteArray("mkdir $1/score") << "a folder";
        QTest::newRow("nothing") << QByteArray("true") << "No such file";
        QTest::newRow("large") << QByteArray("truncate -s 1T $1/score") << "no finite number";
    }
    void filesThatAreNone() {
        QFETCH(QByteArray, script);
        QFETCH(QString, says);
        const Trial trial = triedDefault(QByteArray(kLevel) + "[run]\ncommand = ['sh', '-c', '" + script + "', '{flags}', '{scratch}']\n[score]\nfrom = 'file'\nfile = '{scratch}/score'\n");
        QCOMPARE(trial.status, TrialStatus::runError);
        QVERIFY2(QString::fromStdString(trial.message).contains(says), trial.message.c_str());
    }

    void timesThatAreNone_data() {
        QTest::addColumn<QByteArray>("printed");
        QTest::addColumn<QString>("says");
        QTest::newRow("beyond double in ms") << QByteArray("1e306") << "no finite number";
        for (const char* printed : {"0", "-1", "1e-49", "1e36", "1e7"})
            QTest::newRow(printed) << QByteArray(printed) << "not from a nanosecond to a million seconds";
        QTest::newRow("nanoseconds") << QByteArray("2e-9") << "";
        QTest::newRow("a million seconds") << QByteArray("1e6") << "";
    }
    void timesThatAreNone() {
        QFETCH(QByteArray, printed);
        QFETCH(QString, says);
        const Trial trial = triedDefault(kLevel + running("echo " + printed) + "repeat = 1\n" + kScore + "unit = 's'\n");
        QCOMPARE(trial.status, says.isEmpty() ? TrialStatus::ok : TrialStatus::runError);
        QVERIFY2(QString::fromStdString(trial.message).contains(says), trial.message.c_str());
    }

    // A pattern with which other engines take time that grows exponentially, or overflow their stack.
    void patternsTakeLittleTime() {
        const Trial trial = triedDefault(kLevel + running("head -c 500000 /dev/zero | tr \"\\\\000\" a") + "[score]\nfrom = 'stdout'\npattern = '(a+)+b'\n");
        QCOMPARE(trial.status, TrialStatus::runError);
        QVERIFY(QString::fromStdString(trial.message).contains("is in no line"));
    }

    void answersAreChecked_data() {
        QTest::addColumn<QByteArray>("check");
        QTest::addColumn<bool>("right");
        QTest::newRow("all") << QByteArray("output = '''sum 10.01\n'''") << true;
        QTest::newRow("other") << QByteArray("output = 'sum 10.02'") << false;
        QTest::newRow("pattern") << QByteArray("pattern = '^sum'") << true;
        QTest::newRow("no pattern") << QByteArray("pattern = '^product'") << false;
        QTest::newRow("near") << QByteArray("pattern = 'sum (\\S+)'\nvalue = 10\ntolerance = 1e-2") << true;
        QTest::newRow("far") << QByteArray("pattern = 'sum (\\S+)'\nvalue = 10\ntolerance = 1e-4") << false;
        QTest::newRow("no number") << QByteArray("pattern = 'sum'\nvalue = 10\n") << false;
    }
    void answersAreChecked() {
        QFETCH(QByteArray, check);
        QFETCH(bool, right);
        const Trial trial = triedDefault(kLevel + running("echo sum 10.01") + "repeat = 1\n[score]\nfrom = 'time'\n[check]\n" + check + "\n");
        QCOMPARE(trial.status, right ? TrialStatus::ok : TrialStatus::wrongAnswer);
    }

    void equalBuildsAreOne() {
        const auto made = problem(QByteArray("[parameters.level]\ntype = 'enum'\nvalues = ['a', 'b']\n[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 4\n"
                                  "[build]\ncommand = ['sh', '-c', 'echo x >> built; echo $0 > $1', '{level}', '{output}']\n"
                                  "[run]\ncommand = ['sh', '-c', 'cat $0; echo $1', '{output}', '{n}']\n[score]\nfrom = 'stdout'\npattern = '[0-9]+'\n"));
        std::set<std::uint64_t> hashes;
        for (int level = 0; level < 2; ++level)
            for (int n = 0; n < 4; ++n) {
                const Built built = take(made->build({{level, n}, {}}, {}));
                hashes.insert(built.artifact.hash);
                QCOMPARE(tried(*made, {{level, n}, {}}).objectives.at(0).value, 1.0 + n);
            }
        QCOMPARE(hashes.size(), std::size_t(8));
        QFile log(folder_.path("built"));
        QVERIFY(log.open(QIODevice::ReadOnly));
        QCOMPARE(log.readAll(), QByteArray("x\nx\n"));
    }

    void buildsGoWrong_data() {
        QTest::addColumn<QByteArray>("command");
        QTest::addColumn<QString>("status");
        QTest::addColumn<QString>("says");
        QTest::newRow("compiler is missing") << QByteArray("'no-compiler-is-called-so', '{flags}', '{output}'") << "build_error" << "cannot start no-compiler-is-called-so: No such file";
        QTest::newRow("compiler complains") << QByteArray("'sh', '-c', 'echo line 3: what is this >&2; exit 1', '{flags}', '{output}'") << "build_error"
                                            << "the build exited with status 1: line 3: what is this";
        QTest::newRow("compiler hangs") << QByteArray("'sh', '-c', 'sleep 1000', '{flags}', '{output}'") << "build_timeout" << "the build did not end within 0.2 s";
        QTest::newRow("nothing is made") << QByteArray("'true', '{flags}', '{output}'") << "build_error" << "without making";
    }
    void buildsGoWrong() {
        QFETCH(QByteArray, command);
        QFETCH(QString, status);
        QFETCH(QString, says);
        const Trial trial = triedDefault(QByteArray(kLevel) + "[build]\ncommand = [" + command + "]\ntimeout = 0.2\n" + "[run]\ncommand = ['{output}']\n[score]\nfrom = 'time'\n");
        QCOMPARE(QString::fromStdString(std::string(trialStatusName(trial.status))), status);
        QVERIFY2(QString::fromStdString(trial.message).contains(says), trial.message.c_str());
    }

    void theDeadlineIsOfAllRepeats() {
        const Trial some = triedDefault(kLevel + running("sleep 0.1") + "repeat = 100\n[score]\nfrom = 'time'\n", 0.35);
        QVERIFY2(some.ok() && some.samples.size() >= 1 && some.samples.size() < 5, some.message.c_str());
        const Trial none = triedDefault(kLevel + running("sleep 0.5") + "[score]\nfrom = 'time'\n", 0.1);
        QCOMPARE(none.status, TrialStatus::runTimeout);
    }

    void timesAreTakenInTurns() {
        const auto made = problem(QByteArray("[parameters.n]\ntype = 'enum'\nvalues = ['0.01', '0.03']\n[run]\ncommand = ['sleep', '{n}']\nrepeat = 3\n[score]\nfrom = 'time'\n"));
        const Built fast = take(made->build({{0}, {}}, {})), slow = take(made->build({{1}, {}}, {}));
        ProfileLimits limits;
        limits.reference = ProfileLimits::Reference{&fast.artifact, 1000}; // as if the machine had been a hundred times slower
        const Trial trial = made->profile(slow.artifact, limits);
        QVERIFY(trial.ok());
        QVERIFY2(trial.objectives.at(0).value > 1200 && trial.objectives.at(0).value < 9000, qPrintable(QString::number(trial.objectives.at(0).value)));
        QCOMPARE(trial.samples.size(), std::size_t(3));
    }

    void cancelled() {
        const auto made = problem(kLevel + running("sleep 1000") + "[score]\nfrom = 'time'\n");
        StopSource source;
        std::jthread other([&] { std::this_thread::sleep_for(std::chrono::milliseconds(50)), source.requestStop(); });
        ProfileLimits limits;
        limits.stop = source.token();
        QCOMPARE(tryConfig(*made, defaultOf(*made), limits).status, TrialStatus::cancelled);
    }

    void configsOfOtherSpaces() {
        const auto made = problem(kLevel + running("echo 1") + kScore);
        QVERIFY(!made->build({{7}, {}}, {}).ok());
        Artifact artifact;
        artifact.bytes = "what is this";
        QVERIFY(!made->profile(artifact, {}).ok());
    }
};

QTEST_GUILESS_MAIN(ProgramProblemTest)
#include "tst_program_problem.moc"
