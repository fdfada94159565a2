// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/work.h"
#include "core/base/result.h"

namespace tunesmith {

// Remote devices: a tracker knows the servers, a server offers the machine that it runs on, a tuning asks the tracker for a device
// by key. Between machines with TLS and one token for all, unless `insecure` says otherwise.
struct RemoteFiles {
    std::string token;            // holds the token; readable for its owner only
    std::string ca;               // PEM: whom to trust when calling
    std::string certificate, key; // PEM: of who listens
    bool insecure = false;
};

struct DeviceChoice {
    static constexpr int kMost = 64;
    std::string tracker = {}; // HOST:PORT
    RemoteFiles files = {};
    std::string key = {};
    int devices = 1;  // most at a time, all of one kind of machine; workloads are spread over them
    int priority = 0; // larger ones first
    std::function<int()> priorityNow = {}; // instead, where it changes: asked before each lease, from any thread
    std::string job = {};                  // tells the jobs of one program apart, as the tracker shows them
    std::function<void(bool)> missing = {}; // from any thread: one device more, or no longer, was lost in the middle of a call and is waited for
};

// Check options before anything is begun.
Status checkRemoteAddress(const std::string& address); // HOST:PORT
Status checkDeviceKey(const std::string& key);
Status checkCoreList(const std::string& cores);        // 0-3,6

// Both serve until `stop`. `listening` is told the address, with the port that was chosen where 0 was asked for. What is
// refused, and who comes and goes, is logged (core/base/log.h).
using Listening = std::function<void(const std::string& address)>;
Status serveTracker(const std::string& listen, const RemoteFiles& files, const Listening& listening, const StopToken& stop);

struct ServerRequest {
    std::string listen = "127.0.0.1:0";
    std::string advertised = {}; // host by which clients reach it; empty: that of `listen`
    std::string tracker = {};
    RemoteFiles files = {};
    std::vector<std::string> keys = {};
    std::string name = {};  // for people; empty: the host's
    std::string cores = {}; // "0-3,6": the only ones that are used; empty: all
    int threads = 0;        // most of a kernel; 0: as many as there are cores
    double memoryGb = 0;    // of its workers together; 0: three quarters of the machine's, or of its control group's
    std::string store = {}; // keeps the machine's measured ceilings
    struct Mock {
        double buildMs = 10, profileMs = 20;
    };
    std::optional<Mock> mock = {}; // stages of these lengths and times that are made up, for tests
};
Status serveDevice(const ServerRequest& request, const Listening& listening, const Work& work);

struct DeviceState {
    std::string name, address;
    std::vector<std::string> keys;
    std::string cpu, isa;
    int cores = 1, threads = 1;
    double memoryGb = 0;
    bool mock = false;
    std::string confinement; // of kernels: "full", or all but what; empty: not known
    std::string client;    // that has it; empty: free
    int priority = 0;      // of that one
    double seconds = 0;    // since
    double fmaGflops = 0, memoryGbs = 0; // ceilings at `threads`; 0: not known
    bool deaf = false;     // its server takes no connections from the tracker: it is lent to nobody
};
struct WaitingClient {
    std::string client, key;
    int priority = 0;
    double seconds = 0;
};
struct DeviceList {
    std::vector<DeviceState> devices;
    std::vector<WaitingClient> waiting;
};
Result<DeviceList> listDevices(const std::string& tracker, const RemoteFiles& files, const StopToken& stop = {});

} // namespace tunesmith
