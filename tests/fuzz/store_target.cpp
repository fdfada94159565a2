// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstring>
#include <vector>

#include "core/store/store.h"
#include "tests/core/store/store_samples.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace tunesmith::fuzz {
namespace {

void fill(Store& store) {
    const auto run = samples::beginRun(store);
    for (int workload = 0; workload < 3; ++workload)
        for (std::int64_t index = 0; index < 6; ++index)
            require(store.addTrial(samples::trial(*run, workload, index)).ok(), "a trial is stored");
    require(store.saveRunState({*run, samples::key(0), 1, 6, R"({"seed":1})"}).ok(), "a state is stored");
    JobRow job;
    job.name = "resnet18";
    const auto jobs = store.addJobs({job, job});
    JobSessionRow sitting;
    sitting.policy = "fifo";
    const auto session = store.beginJobSession(sitting);
    require(jobs.ok() && session.ok(), "jobs are stored");
    require(store.addJobSlices(*session, {{jobs->front(), "build", R"({"core":[0,1]})", 0, 1, 2, 1}}).ok(), "a slice is stored");
    RuleRow rule;
    rule.text = "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4";
    rule.name = "generated/1";
    require(store.addRules({rule}).ok(), "a rule is stored");
}

// A store with something in each table, as its one file.
const std::vector<std::byte>& wholeStore() {
    static const std::vector<std::byte> bytes = [] {
        const std::filesystem::path file = scratch().path() / "whole.db";
        fill(**Store::open(file));
        std::vector<std::byte> read(std::filesystem::file_size(file));
        std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(read.data()), static_cast<std::streamsize>(read.size()));
        return read;
    }();
    return bytes;
}

// The store after changes: each an offset of three bytes, a length of one, and so many bytes. An offset behind the end cuts the file to an eighth of it.
std::vector<std::byte> changed(std::span<const std::byte> changes) {
    constexpr std::size_t kHead = 4;
    std::vector<std::byte> file = wholeStore();
    while (changes.size() >= kHead) {
        std::size_t offset = 0;
        std::memcpy(&offset, changes.data(), 3);
        const std::size_t length = std::min(std::to_integer<std::size_t>(changes[3]), changes.size() - kHead);
        if (offset >= file.size())
            file.resize(std::min(file.size(), offset / 8));
        else
            std::memcpy(file.data() + offset, changes.data() + kHead, std::min(length, file.size() - offset));
        changes = changes.subspan(kHead + length);
    }
    return file;
}

void read(const Store& store) {
    requireSentence(store.machines());
    requireSentence(store.targets());
    requireSentence(store.models());
    requireSentence(store.rules());
    requireSentence(store.stats());
    requireSentence(store.check());
    requireSentence(store.trials({}));
    requireSentence(store.bestRecords("cpu-avx512-t1"));
    requireSentence(store.workload(samples::key(1)));
    requireSentence(store.jobSessions());
    const auto runs = store.runs();
    requireSentence(runs);
    for (std::size_t i = 0; runs.ok() && i < std::min<std::size_t>(runs->size(), 4); ++i) {
        const RunId run = (*runs)[i].id;
        requireSentence(store.runWorkloads(run));
        requireSentence(store.curve(run, samples::key(0)));
        requireSentence(store.runState(run, samples::key(0)));
    }
    const auto jobs = store.jobs();
    requireSentence(jobs);
    for (std::size_t i = 0; jobs.ok() && i < std::min<std::size_t>(jobs->size(), 4); ++i)
        requireSentence(store.job((*jobs)[i].id));
}

void write(Store& store) {
    const auto run = samples::beginRun(store);
    requireSentence(run);
    if (run.ok())
        requireSentence(store.addTrial(samples::trial(*run, 0, 0)));
    JobRow job;
    job.name = "another";
    requireSentence(store.addJobs({job}));
    requireSentence(store.gc());
}

} // namespace

bool store(std::span<const std::byte> bytes) {
    for (const char* rest : {"a.db-wal", "a.db-shm", "a.db-journal"})
        std::filesystem::remove(scratch().path() / rest);
    const std::string file = scratch().write("a.db", changed(bytes));
    bool understood = true;
    for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite}) {
        const auto opened = Store::open(file, mode);
        requireSentence(opened);
        understood &= opened.ok();
        if (!opened.ok())
            continue;
        read(**opened);
        if (mode == StoreMode::readWrite)
            write(**opened);
    }
    return understood;
}

std::vector<std::pair<std::string, std::string>> storeSeeds() {
    std::vector<std::pair<std::string, std::string>> seeds{{"whole", ""}};
    const auto change = [&](std::size_t offset, const std::string& with) {
        std::string seed(4, '\0');
        std::memcpy(seed.data(), &offset, 3);
        seed[3] = static_cast<char>(with.size());
        seeds.emplace_back("damaged_at_" + std::to_string(offset), seed + with);
    };
    const std::string_view whole(reinterpret_cast<const char*>(wholeStore().data()), wholeStore().size());
    for (std::size_t offset = 0; offset < 100; offset += 4) // the file's header
        change(offset, std::string("\x7f\xff\xff\xff", 4));
    for (std::size_t page = 0; page < whole.size(); page += 4096) // those of its pages: kind, free blocks, cells
        for (const std::size_t at : {0, 1, 3, 5, 8, 12})
            change(page + at, std::string("\xff\xfe", 2));
    for (const char* word : {"CREATE TABLE trial", "CREATE INDEX trial_run", "QUEUED", "ok", "RUNNING", "cpu-avx512-t1", "tile=[4"})
        if (const std::size_t at = whole.find(word); at != whole.npos)
            change(at, std::string(word).size() > 4 ? "CREATE VIEW" : "\xff");
    return seeds;
}

} // namespace tunesmith::fuzz
