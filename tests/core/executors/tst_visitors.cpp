// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/executors/visitors.h"

using namespace tunesmith;
using std::chrono::milliseconds;

namespace {

Visitors::Time at(int ms) { return Visitors::Time(milliseconds(ms)); }
Peer peer(const std::string& host, int port) { return {"ipv4:" + host + ":" + std::to_string(port), host}; }
std::uint64_t nothing(Visitors::Id) { return 0; }

std::string nameOf(const char* address, int port) {
    sockaddr_storage socket{};
    auto& v6 = reinterpret_cast<sockaddr_in6&>(socket);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<in_port_t>(port));
    return ::inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 ? peerOf(socket).value().name : "";
}

std::string networkAt(const char* address) {
    sockaddr_storage socket{};
    socket.ss_family = AF_INET6;
    ::inet_pton(AF_INET6, address, &reinterpret_cast<sockaddr_in6&>(socket).sin6_addr);
    return peerOf(socket).value().network;
}

} // namespace

class TestVisitors : public QObject {
    Q_OBJECT

private slots:
    void whoMakesNoCallGoes() {
        Visitors visitors({10, 10, 10, milliseconds(100), 1000, 2});
        const auto silent = visitors.enter(peer("a", 1), at(0)).id, good = visitors.enter(peer("a", 2), at(0)).id, late = visitors.enter(peer("a", 3), at(50)).id;
        visitors.prove("ipv4:a:2");
        QVERIFY(visitors.overdue(at(100), nothing).empty() && !visitors.areProven());
        QCOMPARE(visitors.overdue(at(101), nothing), std::vector{silent});
        QCOMPARE(visitors.overdue(at(151), nothing), (std::vector{silent, late}));
        visitors.leave(silent);
        visitors.leave(late);
        visitors.leave(late);
        QVERIFY(visitors.areProven() && visitors.overdue(at(10'000), nothing).empty());
        visitors.leave(good);
        QCOMPARE(visitors.size(), std::size_t(0));
    }

    void whoSendsMuchWithoutACallGoes() {
        Visitors visitors({10, 10, 10, milliseconds(100), 1000, 2});
        const auto one = visitors.enter(peer("a", 1), at(0)).id, other = visitors.enter(peer("a", 2), at(0)).id;
        const auto sent = [&](Visitors::Id id) { return std::uint64_t(id == one ? 1001 : 1000); };
        QCOMPARE(visitors.overdue(at(1), sent), std::vector{one});
        visitors.prove("ipv4:a:1");
        QVERIFY(visitors.overdue(at(1), sent).empty());
        QVERIFY(other != one);
    }

    // Of all together, whoever has sent most since its last message.
    void headersWithoutEnd() {
        Visitors visitors({.all = 10, .ofNetwork = 10, .unproven = 10, .headers = 1000});
        const auto one = visitors.enter(peer("a", 1), at(0)).id, other = visitors.enter(peer("b", 2), at(0)).id;
        std::map<Visitors::Id, std::uint64_t> bytes{{one, 400}, {other, 600}};
        const auto sent = [&](Visitors::Id id) { return bytes.at(id); };
        QVERIFY(!visitors.flooding(sent));
        visitors.prove("ipv4:b:2");
        bytes[other] = 601;
        QCOMPARE(visitors.flooding(sent), std::optional(other));
        visitors.received(other, 600);
        visitors.received(12345, 1);
        QVERIFY(!visitors.flooding(sent));
        bytes[one] = 1000;
        QCOMPARE(visitors.flooding(sent), std::optional(one));
        visitors.leave(one);
        bytes[other] = 0; // nothing is known of it any more
        QVERIFY(!visitors.flooding(sent));
    }

    // The kernel gives a port to the next one before the end of the last is heard of.
    void oneNameTwice() {
        Visitors visitors({10, 10, 10, milliseconds(100), 1000, 2});
        const auto old = visitors.enter(peer("a", 1), at(0)).id, young = visitors.enter(peer("a", 1), at(1)).id;
        visitors.leave(old);
        QCOMPARE(visitors.find("ipv4:a:1"), std::optional(young));
        visitors.prove("ipv4:a:1");
        QVERIFY(visitors.areProven());
        visitors.leave(young);
        QVERIFY(!visitors.find("ipv4:a:1") && visitors.size() == 0);
    }

    void whoIsRefusedTooOftenGoes() {
        Visitors visitors({10, 10, 10, milliseconds(100), 1000, 2});
        const auto id = visitors.enter(peer("a", 1), at(0)).id;
        visitors.prove("ipv4:a:1");
        QVERIFY(!visitors.refuse("ipv4:a:1") && !visitors.refuse("ipv4:a:1") && !visitors.refuse("unknown"));
        QCOMPARE(visitors.refuse("ipv4:a:1"), std::optional(id));
    }

    void aGoodCallMakesUpForRefusals() {
        Visitors visitors({10, 10, 10, milliseconds(100), 1000, 2});
        const auto id = visitors.enter(peer("a", 1), at(0)).id;
        for (int i = 0; i < 10; ++i) {
            QVERIFY(!visitors.refuse("ipv4:a:1") && !visitors.refuse("ipv4:a:1"));
            visitors.forgive("ipv4:a:1");
        }
        visitors.refuse("ipv4:a:1");
        visitors.refuse("ipv4:a:1");
        visitors.leave(id); // whoever has its name next is another one
        visitors.enter(peer("a", 1), at(1));
        QVERIFY(!visitors.refuse("ipv4:a:1"));
    }

    // Of whom there are most, however late another one comes.
    void aCrowdHarmsItself() {
        Visitors visitors({100, 50, 5});
        const auto honest = visitors.enter(peer("b", 1), at(0)).id;
        std::vector<Visitors::Id> crowd;
        for (int i = 0; i < 20; ++i) {
            const auto entered = visitors.enter(peer("a", i), at(i));
            crowd.push_back(entered.id);
            if (entered.goes) {
                QVERIFY(entered.goes != std::optional(honest));
                QCOMPARE(*entered.goes, crowd.front());
                crowd.erase(crowd.begin());
                visitors.leave(*entered.goes);
            }
        }
        QCOMPARE(visitors.size(), std::size_t(5));
        visitors.prove("ipv4:b:1");
        QVERIFY(!visitors.enter(peer("c", 1), at(30)).goes);
    }

    // Of networks that have as many, the one of whom the oldest is.
    void manyNetworksOfOneEach() {
        Visitors visitors({100, 50, 5});
        std::vector<Visitors::Id> all;
        for (const char* host : {"m", "a", "z", "c", "b"})
            all.push_back(visitors.enter(peer(host, 1), at(0)).id);
        const auto newcomer = visitors.enter(peer("0", 1), at(1));
        QCOMPARE(newcomer.goes, std::optional(all.front()));
        visitors.leave(all.front());
        visitors.prove("ipv4:a:1");
        QCOMPARE(visitors.dispensable(), std::optional(all[2]));
    }

    void aNetworkThatComesTooFastIsNotLetIn() {
        Visitors visitors({.all = 100, .ofNetwork = 50, .unproven = 50, .atOnce = 10, .perSecond = 100});
        const auto came = [&](const std::string& host, int ms) {
            int entered = 0;
            for (int i = 0; i < 40; ++i)
                entered += visitors.comesTooFast(peer(host, i), at(ms)) ? 0 : 1;
            return entered;
        };
        QCOMPARE(came("a", 0), 11);
        QCOMPARE(came("b", 0), 11); // which harms no other
        QCOMPARE(came("a", 0), 0);
        QCOMPARE(came("a", 50), 5); // 100 in a second
        QCOMPARE(came("a", 60), 1);
        QCOMPARE(came("a", 10'000), 11);
    }

    // Who has a site of IPv6 has 65,536 networks in it.
    void aSiteHasItsPace() {
        Visitors visitors({.all = 1000, .ofNetwork = 500, .unproven = 500, .atOnce = 10, .perSecond = 100});
        int entered = 0;
        for (int i = 0; i < 400; ++i)
            entered += visitors.comesTooFast({"name" + std::to_string(i), "network" + std::to_string(i), "site"}, at(0)) ? 0 : 1;
        QCOMPARE(entered, 161);
        QVERIFY(!visitors.comesTooFast({"name", "network", "other site"}, at(0)));
    }

    void fewNetworksAreRemembered() {
        Visitors visitors({.all = 4, .ofNetwork = 4, .unproven = 4, .atOnce = 1, .perSecond = 1});
        for (int round = 0; round < 3; ++round)
            for (int i = 0; i < 100; ++i)
                static_cast<void>(visitors.comesTooFast(peer("host" + std::to_string(i), 1), at(round)));
        QVERIFY(!visitors.comesTooFast(peer("x", 1), at(3)));
    }

    void aNetworkHasItsShare() {
        Visitors visitors({10, 3, 10});
        for (int i = 0; i < 3; ++i) {
            QVERIFY(!visitors.enter(peer("a", i), at(i)).goes);
            visitors.prove("ipv4:a:" + std::to_string(i));
        }
        const auto fourth = visitors.enter(peer("a", 4), at(4));
        QCOMPARE(fourth.goes, std::optional(fourth.id)); // the others are at work
        visitors.leave(fourth.id);
        QVERIFY(!visitors.enter(peer("b", 1), at(5)).goes);
    }

    void fullOfThoseAtWork() {
        Visitors visitors({2, 2, 2});
        for (int i = 0; i < 2; ++i) {
            QVERIFY(!visitors.enter(peer("host" + std::to_string(i), 1), at(i)).goes);
            visitors.prove("ipv4:host" + std::to_string(i) + ":1");
        }
        const auto third = visitors.enter(peer("a", 4), at(4));
        QCOMPARE(third.goes, std::optional(third.id));
    }

    void limitsFitTheDescriptors() {
        for (const std::size_t descriptors : {0, 16, 64, 128, 1024, 4096, 20'000, 1 << 20}) {
            const VisitorLimits limits = limitsFor(descriptors);
            QVERIFY(limits.all >= 4 && limits.unproven >= 2 && limits.unproven < limits.all && limits.ofNetwork < limits.all);
            QVERIFY(2 * limits.all <= std::max<std::size_t>(descriptors / 2, 8));
        }
        QCOMPARE(limitsFor(1 << 20).all, VisitorLimits().all);
    }

    void names() {
        QCOMPARE(nameOf("::ffff:10.0.0.3", 5), std::string("ipv4:10.0.0.3:5"));
        QCOMPARE(nameOf("fe80::1", 5), peerName("ipv6:%5Bfe80::1%253%5D:5"));
        QCOMPARE(nameOf("::1", 5), peerName("ipv6:%5B::1%5D:5"));
        QCOMPARE(peerName("ipv4:127.0.0.1:5"), std::string("ipv4:127.0.0.1:5"));
        for (const char* odd : {"", "%", "%5", "%5B", "unknown", "ipv6:%5B%25"})
            static_cast<void>(peerName(odd));
        QCOMPARE(networkAt("2001:db8::1"), networkAt("2001:db8::ffff:ffff:ffff:ffff"));
        QVERIFY(networkAt("2001:db8::1") != networkAt("2001:db8:0:1::1"));
        QCOMPARE(tunesmith::networkOf(std::string("ipv6:%5B2001:db8::1%5D:5")), tunesmith::networkOf(std::string("ipv6:%5B2001:db8::2%5D:6")));
        QCOMPARE(tunesmith::networkOf("ipv4:10.0.0.3:5"), std::string("10.0.0.3"));
        for (const char* odd : {"", "%", "unknown", "unix:x", "ipv6:%5Bx%5D:5", "::"})
            static_cast<void>(tunesmith::networkOf(odd));
        sockaddr_storage local{};
        local.ss_family = AF_UNIX;
        QVERIFY(!peerOf(local));
    }
};

QTEST_APPLESS_MAIN(TestVisitors)
#include "tst_visitors.moc"
