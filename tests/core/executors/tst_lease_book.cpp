// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <map>
#include <set>

#include "core/base/rng.h"
#include "remote_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// A book with a clock that stands until it is moved.
struct Desk {
    explicit Desk(LeaseTiming given = {}) : timing(given), book(given, [this] { return "s" + std::to_string(++secrets); }) {}

    // Its id.
    std::string add(const std::string& name, const std::string& key = "cpu", const std::optional<Lease>& serving = {}) {
        const LeaseBook::Added added = take(book.add(testDevice(name, key), serving, now));
        secretOf[added.id] = added.secret;
        return added.id;
    }
    // As the server of the device with the id.
    LeaseBook::BeatAnswer beat(const std::string& id, const std::string& lease) { return book.beat(secretOf.at(id), lease, now); }
    std::optional<Lease> confirm(const std::string& id, const std::string& lease) { return book.confirm(secretOf.at(id), lease, now); }
    LeaseBook::Answer ask(const std::string& who, int priority = 0, const std::string& key = "cpu") {
        return take(book.ask({who, who, key, {}, priority, {}}, now));
    }
    std::string open(const LeaseBook::Answer& answer) {
        confirm(answer.device, answer.lease->id);
        return answer.lease->id;
    }
    void pass(milliseconds time) { now += time; }

    int secrets = 0;
    std::map<std::string, std::string> secretOf; // by id
    LeaseTiming timing;
    LeaseBook book;
    LeaseBook::Time now{};
};

} // namespace

class TestLeaseBook : public QObject {
    Q_OBJECT

private slots:
    void grantsByKey() {
        Desk desk;
        const std::string cpu = desk.add("a", "cpu"), gpu = desk.add("b", "gpu");
        QVERIFY(!desk.ask("x", 0, "tpu").lease);
        QCOMPARE(desk.ask("x", 0, "tpu").devices, std::size_t(0));
        QCOMPARE(desk.ask("y", 0, "gpu").device, gpu);
        QCOMPARE(desk.ask("z", 0, "cpu").device, cpu);
        QVERIFY(!desk.ask("w", 0, "cpu").lease);
    }

    void askingAgainIsTheSameWish() {
        Desk desk;
        desk.add("a"), desk.add("b");
        const auto first = desk.ask("x"), again = desk.ask("x");
        QCOMPARE(first.lease->id, again.lease->id);
        QVERIFY(desk.ask("y").lease);
    }

    void priorityThenFirstCome() {
        Desk desk;
        const std::string device = desk.add("a");
        std::string lease = desk.open(desk.ask("holder"));
        for (const auto& [who, priority] : {std::pair("low", -1), {"first", 0}, {"second", 0}, {"high", 5}}) {
            QVERIFY(!desk.ask(who, priority).lease);
            desk.pass(milliseconds(10));
        }
        QCOMPARE(desk.ask("second", 0).ahead, std::size_t(2));
        const std::map<std::string, int> wishes{{"low", -1}, {"first", 0}, {"second", 0}, {"high", 5}};
        std::vector<std::string> order;
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            desk.beat(device, {}); // given back
            for (const auto& [who, priority] : wishes)
                if (std::ranges::find(order, who) == order.end())
                    if (const auto answer = desk.ask(who, priority); answer.lease) {
                        order.push_back(who);
                        desk.open(answer);
                    }
        }
        QCOMPARE(order, (std::vector<std::string>{"high", "first", "second", "low"}));
    }

    void aLeaseIsConfirmedOnceAndOnItsDevice() {
        Desk desk;
        const std::string a = desk.add("a"), b = desk.add("b");
        const auto granted = desk.ask("x");
        QCOMPARE(granted.device, a);
        QVERIFY(!desk.confirm(b, granted.lease->id));
        QVERIFY(!desk.confirm(a, "made up"));
        QCOMPARE(desk.confirm(a, granted.lease->id)->client, std::string("x"));
        QVERIFY(!desk.confirm(a, granted.lease->id));
    }

    void whatClientsKnowOfADeviceSaysNothingInItsName() {
        Desk desk;
        const std::string a = desk.add("a");
        const auto granted = desk.ask("x");
        QCOMPARE(granted.device, a);
        QVERIFY(!desk.book.confirm(granted.device, granted.lease->id, desk.now));
        const std::string lease = desk.open(granted);
        for (const std::string& said : {std::string(), lease})
            QVERIFY(!desk.book.beat(granted.device, said, desk.now).known);
        desk.book.remove(granted.device);
        QCOMPARE(desk.book.devices(desk.now).at(0).lease->id, lease);
        QVERIFY(desk.beat(a, lease).known && !desk.ask("y").lease);
        QCOMPARE(take(desk.book.ask({"z", "z", "cpu", {}, 0, {a}}, desk.now)).devices, std::size_t(0)); // it can be avoided
        desk.book.remove(desk.secretOf.at(a));
        QVERIFY(desk.book.devices(desk.now).empty());
    }

    void whatIsNotFetchedIsGivenToTheNext() {
        Desk desk;
        const std::string a = desk.add("a");
        desk.ask("x");
        QVERIFY(!desk.ask("y").lease);
        desk.pass(desk.timing.opened - milliseconds(1000));
        desk.beat(a, {});
        QVERIFY(!desk.ask("y").lease);
        desk.pass(milliseconds(1001));
        desk.beat(a, {});
        QVERIFY(desk.ask("y").lease);
    }

    void lostHeartbeatsEndTheLease() {
        Desk desk;
        const std::string a = desk.add("a");
        const std::string lease = desk.open(desk.ask("x"));
        desk.pass(desk.timing.lost);
        QVERIFY(desk.beat(a, lease).known);
        desk.pass(desk.timing.lost + milliseconds(1));
        QVERIFY(desk.book.devices(desk.now).empty());
        QVERIFY(!desk.beat(a, lease).known);
    }

    void clientsThatDoNotAskAnyMoreAreForgotten() {
        Desk desk;
        const std::string a = desk.add("a");
        const std::string lease = desk.open(desk.ask("x"));
        desk.ask("gone", 9);
        for (int i = 0; i < 6; ++i) {
            desk.pass(seconds(1));
            desk.beat(a, lease);
            desk.ask("here", 0);
        }
        desk.beat(a, {});
        QVERIFY(desk.ask("here", 0).lease);
    }

    void aNewTrackerTakesOverWhatIsServed() {
        Desk desk;
        const std::string a = desk.add("a", "cpu", Lease{"old", "x", 3});
        QVERIFY(!desk.ask("y").lease);
        QVERIFY(!desk.beat(a, "old").revoked);
        QCOMPARE(desk.book.devices(desk.now).at(0).lease->client, std::string("x"));
        desk.beat(a, {});
        QVERIFY(desk.ask("y").lease);
    }

    void whoServesALeaseOfNobodyIsTold() {
        Desk desk;
        const std::string a = desk.add("a");
        QVERIFY(desk.beat(a, "unheard of").revoked);
        QVERIFY(!desk.beat(a, {}).revoked);
    }

    void aRestartedServerReplacesItself() {
        Desk desk;
        desk.add("a");
        desk.open(desk.ask("x"));
        desk.add("a");
        QCOMPARE(desk.book.devices(desk.now).size(), std::size_t(1));
        QVERIFY(desk.ask("y").lease);
    }

    void aDeafServerLosesItsPlace() {
        using Hearing = LeaseBook::Hearing;
        Desk desk;
        const std::string deaf = desk.add("a"), other = desk.add("bb");
        const std::string held = desk.open(desk.ask("x"));
        QVERIFY(desk.book.knocked(deaf, true) == Hearing::same && desk.book.knocked(deaf, false) == Hearing::same);
        QVERIFY(desk.book.knocked(deaf, true) == Hearing::same); // one lost knock is none
        QVERIFY(desk.book.knocked(deaf, false) == Hearing::same && desk.book.knocked(deaf, false) == Hearing::deaf && desk.book.knocked(deaf, false) == Hearing::same);
        QVERIFY(desk.beat(deaf, held).known && !desk.beat(deaf, held).revoked); // whom it serves goes on
        QCOMPARE(desk.ask("y").device, other);
        desk.beat(deaf, "");
        QVERIFY(!desk.ask("z").lease);
        QCOMPARE(desk.ask("z").devices, std::size_t(1));
        QVERIFY(desk.book.devices(desk.now)[0].deaf && !desk.book.devices(desk.now)[1].deaf);
        const std::string again = desk.add("a"); // coming again is no answer
        QVERIFY(desk.ask("z").lease == std::nullopt && desk.book.devices(desk.now)[1].deaf);
        QVERIFY(desk.book.knocked(again, true) == Hearing::back);
        QCOMPARE(desk.ask("z").device, again);
        QVERIFY(desk.book.knocked("nobody", false) == Hearing::same);
        QCOMPARE(desk.book.places().size(), std::size_t(2));
    }

    // Clients may reach it in a way that the tracker does not know.
    void aServerThatNeverAnsweredKeepsItsPlace() {
        using Hearing = LeaseBook::Hearing;
        Desk desk;
        const std::string behind = desk.add("a");
        for (int i = 0; i < 5; ++i)
            QVERIFY(desk.book.knocked(behind, false) == Hearing::same);
        QVERIFY(!desk.book.devices(desk.now)[0].deaf);
        const std::string again = desk.add("a");
        for (int i = 0; i < 5; ++i)
            QVERIFY(desk.book.knocked(again, false) == Hearing::same);
        QCOMPARE(desk.ask("x").device, again);
    }

    void failedDevicesAreAvoided() {
        Desk desk;
        const std::string a = desk.add("a"), b = desk.add("b");
        QCOMPARE(take(desk.book.ask({"t", "x", "cpu", {}, 0, {a}}, desk.now)).device, b);
        QVERIFY(!take(desk.book.ask({"u", "y", "cpu", {}, 0, {a, b}}, desk.now)).lease);
        QVERIFY(!take(desk.book.ask({"v", "y", "cpu", "another-machine", 0, {}}, desk.now)).lease);
    }

    void turnsEndOnlyWhenSomebodyWaits() {
        Desk desk;
        const std::string a = desk.add("a");
        const std::string lease = desk.open(desk.ask("x"));
        const auto wanted = [&] { return desk.beat(a, lease).wanted; };
        desk.pass(desk.timing.least);
        QVERIFY(!wanted());
        desk.ask("lower", -1);
        QVERIFY(!wanted());
        desk.ask("equal", 0);
        QVERIFY(!wanted());
        for (auto left = desk.timing.turn; left.count() > 0; left -= milliseconds(1000)) {
            desk.pass(milliseconds(1000));
            desk.ask("equal", 0);
            desk.beat(a, lease);
        }
        QVERIFY(wanted());
        desk.book.withdraw("equal");
        QVERIFY(!wanted());
        desk.ask("higher", 1);
        QVERIFY(wanted());
    }

    // A run that may have several devices takes none from itself, and shares with others of its priority.
    void severalDevicesOfOneClient() {
        Desk desk;
        std::map<std::string, std::string> leases; // by device
        for (const char* name : {"a", "bb", "ccc", "dddd"})
            leases[desk.add(name)] = "";
        const auto ask = [&](const std::string& ticket, const std::string& client, int priority = 0) {
            const auto answer = take(desk.book.ask({ticket, client, "cpu", {}, priority, {}}, desk.now));
            if (answer.lease)
                leases[answer.device] = desk.open(answer);
            return answer.lease.has_value();
        };
        const auto wanted = [&] {
            std::vector<std::string> devices;
            for (const auto& [device, lease] : leases)
                if (desk.beat(device, lease).wanted)
                    devices.push_back(device);
            return devices;
        };
        const auto pass = [&](seconds time, const std::vector<std::pair<const char*, const char*>>& waiting, int priority = 0) {
            for (seconds gone{0}; gone < time; gone += seconds(1)) {
                desk.pass(seconds(1));
                for (const auto& [ticket, client] : waiting)
                    QVERIFY(!ask(ticket, client, priority));
                wanted();
            }
        };
        for (const char* ticket : {"l1", "l2", "l3", "l4"})
            QVERIFY(ask(ticket, "large"));
        pass(seconds(100), {{"l5", "large"}});
        QVERIFY(wanted().empty()); // its own
        pass(seconds(1), {{"l5", "large"}, {"s1", "small"}});
        QCOMPARE(wanted().size(), std::size_t(1));
        const std::string given = wanted().front();
        desk.beat(given, leases[given] = "");
        QVERIFY(!ask("l5", "large") && ask("s1", "small")); // who has none, although the other one has waited longer
        pass(seconds(40), {{"l5", "large"}, {"s2", "small"}});
        QCOMPARE(wanted().size(), std::size_t(1)); // two and two then
        const std::string second = wanted().front();
        desk.beat(second, leases[second] = "");
        QVERIFY(ask("s2", "small"));
        pass(seconds(40), {{"l5", "large"}, {"s3", "small"}});
        QVERIFY(wanted().empty());
        pass(seconds(4), {{"s3", "small"}}, 1);
        QVERIFY(wanted().size() == 1); // of a higher priority, however many it has
    }

    void refusesWhatMakesNoSense() {
        Desk desk;
        DeviceInfo device = testDevice("a");
        device.keys.clear();
        QVERIFY(!desk.book.add(device, {}, desk.now).ok());
        device = testDevice("a");
        device.isa = "sse";
        QVERIFY(!desk.book.add(device, {}, desk.now).ok());
        device = testDevice("a");
        device.machine.ceilings = "{";
        QVERIFY(!desk.book.add(device, {}, desk.now).ok());
        device = testDevice("a");
        device.threads = 0;
        QVERIFY(!desk.book.add(device, {}, desk.now).ok());
        QVERIFY(!desk.book.ask({"", "x", "cpu"}, desk.now).ok());
        QVERIFY(!desk.book.ask({"t", "x", std::string(1000, 'k')}, desk.now).ok());
        QVERIFY(!desk.book.ask({"t", "x\n", "cpu"}, desk.now).ok());
        QVERIFY(!desk.book.ask({"t", "x", "cpu", {}, 2'000'000'000}, desk.now).ok());
    }

    // Many clients of every priority, devices that come, go and fall silent: never two holders of one device, and everybody is
    // served, those of the lowest priority too.
    void manyClients() {
        Desk desk;
        Rng rng(5);
        struct Client {
            int priority = 0;
            std::optional<LeaseBook::Answer> held;
            seconds left{0};
            int served = 0;
        };
        std::map<std::string, Client> clients;
        for (int i = 0; i < 40; ++i)
            clients["c" + std::to_string(i)].priority = i % 4;
        std::map<std::string, std::string> devices; // id to name
        for (int i = 0; i < 3; ++i)
            devices[desk.add("dev" + std::string(static_cast<std::size_t>(i + 1), 'x'))] = "";
        for (int second = 0; second < 3600; ++second) {
            desk.pass(seconds(1));
            std::set<std::string> inUse;
            for (auto& [name, client] : clients) {
                if (client.held && --client.left <= seconds(0))
                    client.held.reset();
                if (client.held)
                    QVERIFY2(inUse.insert(client.held->device).second, "two holders of one device");
            }
            for (const auto& [id, unused] : devices) {
                std::string lease;
                for (const auto& [name, client] : clients)
                    if (client.held && client.held->device == id)
                        lease = client.held->lease->id;
                QVERIFY(!desk.beat(id, lease).revoked);
            }
            for (auto& [name, client] : clients)
                if (!client.held)
                    if (const auto answer = desk.ask(name + "-" + std::to_string(client.served), client.priority); answer.lease) {
                        QVERIFY(desk.confirm(answer.device, answer.lease->id));
                        client.held = answer;
                        client.left = seconds(1 + static_cast<int>(rng.below(10)));
                        ++client.served;
                    }
        }
        for (const auto& [name, client] : clients)
            QVERIFY2(client.served > 0, name.c_str());
        QVERIFY(clients["c3"].served > clients["c0"].served);
    }

    // Who has the token cannot take all places.
    void anAddressHasItsShare() {
        Desk desk;
        std::size_t devices = 0, clients = 0;
        for (std::size_t i = 0; i < kMostDevicesOfNetwork + 5; ++i) {
            DeviceInfo device = testDevice("a");
            device.address = "127.0.0.1:" + std::to_string(i + 1);
            devices += desk.book.add(device, {}, desk.now, "10.0.0.1").ok() ? 1 : 0;
        }
        QCOMPARE(devices, kMostDevicesOfNetwork);
        for (std::size_t i = 0; i < kMostWaitersOfNetwork + 5; ++i)
            clients += desk.book.ask({std::to_string(i), "x", "none", {}, 0, {}}, desk.now, "10.0.0.1").ok() ? 1 : 0;
        QCOMPARE(clients, kMostWaitersOfNetwork);
        QVERIFY(desk.book.ask({"0", "x", "none", {}, 0, {}}, desk.now, "10.0.0.1").ok()); // asks how things stand
        DeviceInfo other = testDevice("b");
        other.address = "127.0.0.2:1";
        QVERIFY(desk.book.add(other, {}, desk.now, "10.0.0.2").ok() && desk.book.ask({"other", "y", "cpu", {}, 0, {}}, desk.now, "10.0.0.2").ok());
        DeviceInfo again = testDevice("a");
        again.address = "127.0.0.1:1";
        QVERIFY(desk.book.add(again, {}, desk.now, "10.0.0.1").ok()); // in the place of its own
    }
};

QTEST_APPLESS_MAIN(TestLeaseBook)
#include "tst_lease_book.moc"
