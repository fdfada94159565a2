// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/autotvm/log_file.h"
#include "core/graph/npy.h"
#include "core/module/module_info.h"
#include "core/plugin/settings.h"
#include "core/substitution/rule_text.h"
#include "core/substitution/stored_rule.h"
#include "core/substitution/taso_file.h"
#include "core/substitution/taso_text.h"
#include "core/workbench/family_file.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/sweep.h"
#include "core/workbench/work_file.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/targets.h"

namespace tunesmith::fuzz {
namespace {

std::string_view textOf(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Asks for keys of the plugins' problems, as texts, numbers and lists, and for all tables.
void ask(Settings table, int depth) {
    for (const char* key : {"problem", "command", "parameters", "measure", "a"}) {
        requireSentence(table.text(key));
        requireSentence(table.words(key));
        requireSentence(table.number(key, -1e9, 1e9, 0.5));
        requireSentence(table.whole(key, 0, 100));
        requireSentence(table.flag(key));
    }
    requireSentence(table.done());
    if (const auto tables = table.tables(); tables.ok() && depth < 8)
        for (const auto& [name, inner] : *tables)
            ask(inner, depth + 1);
    else
        requireSentence(tables);
}

void requireSame(const substitution::Rule& rule) {
    const std::string text = substitution::ruleText(rule);
    const auto again = substitution::parseRule(text);
    require(again.ok() && substitution::ruleText(*again) == text, "a rule's text is read as the same: " + text);
}

bool requireLog(const std::filesystem::path& file) {
    const auto damage = autotvm::readLog(file, [](const autotvm::Record& record) {
        const auto again = autotvm::parseRecord(autotvm::recordLine(record));
        require(again.ok(), again.ok() ? "" : "a record that was read can be written: " + again.error().message);
        require(*again == record, "a record comes back: " + autotvm::recordLine(record));
        return Status();
    });
    requireSentence(damage);
    require(!damage.ok() || damage->lines == 0 || isSentence(damage->first), "damage is one sentence");
    return damage.ok();
}

} // namespace

bool settings(std::span<const std::byte> bytes) {
    const auto file = scratch().write("a.toml", bytes);
    const auto read = Settings::read(file);
    requireSentence(read);
    if (read.ok()) {
        require(read->hash() == Settings::read(file)->hash(), "a hash is the same again");
        ask(*read, 0);
    }
    static_cast<void>(workFileKind(file));
    requireSentence(readJobFile(file));
    requireSentence(readSweepFile(file));
    return read.ok();
}

bool npy(std::span<const std::byte> bytes) {
    const auto tensor = readNpy(scratch().write("a.npy", bytes));
    requireSentence(tensor);
    if (!tensor.ok())
        return false;
    const auto file = scratch().path() / "b.npy";
    const Status written = writeNpy(file, *tensor);
    require(written.ok(), written.ok() ? "" : "a tensor that was read can be written: " + written.error().message);
    const auto again = readNpy(file);
    require(again.ok() && again->type() == tensor->type() && again->shape() == tensor->shape(), "a tensor comes back");
    require(std::ranges::equal(again->bytes(), tensor->bytes()), "its bytes come back");
    return true;
}

bool rules(std::span<const std::byte> bytes) {
    const std::string_view text = textOf(bytes);
    const auto stored = substitution::parseStoredRules(text);
    requireSentence(stored);
    if (stored.ok()) {
        const std::string printed = substitution::storedRulesText(*stored);
        const auto again = substitution::parseStoredRules(printed);
        require(again.ok() && substitution::storedRulesText(*again) == printed, "rules that are written are read as the same");
    }
    bool understood = stored.ok() && !stored->empty();
    for (const auto& read : {substitution::parseTasoRules(text), substitution::parseTasoFile(text)}) {
        requireSentence(read);
        if (read.ok())
            std::ranges::for_each(*read, requireSame);
        understood |= read.ok() && !read->empty();
    }
    return understood;
}

bool autotvmLog(std::span<const std::byte> bytes) { return requireLog(scratch().write("a.log", bytes)); }

bool moduleFolder(std::span<const std::byte> bytes) {
    constexpr std::byte kFile[64] = {};
    scratch().write("libtiny.so", kFile);
    scratch().write("weights.bin", kFile);
    scratch().write("module.json", bytes);
    scratch().write(kFamilyFile, bytes);
    static_cast<void>(isModuleFolder(scratch().path()));
    const auto info = readModuleInfo(scratch().path());
    requireSentence(info);
    if (info.ok()) {
        requireSentence(checkLibrary(*info));
        static_cast<void>(info->flops());
        require(wantedInputs(*info).size() == info->inputs.size(), "every input is wanted");
    }
    const auto family = readFamily(scratch().path());
    requireSentence(family);
    static_cast<void>(ownFamilyFiles(scratch().path()));
    static_cast<void>(ownModuleFiles(scratch().path()));
    if (family.ok())
        requireSentence(readModuleInfo(scratch().path() / (family->members.empty() ? "none" : family->members[0].folder)));
    return info.ok() || family.ok();
}

} // namespace tunesmith::fuzz
