// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/encoding.h"
#include "core/store/store_impl.h"

// Rules of substitution.
namespace tunesmith {
namespace {

using sqlite::Connection;
using sqlite::Statement;

#define RULE_COLUMNS "text, name, origin, status, trials, preconditions, counter_example, created_at, proof_conditions, why_not_proved"

RuleRow ruleOf(Statement& row) {
    return {row.text(0), row.text(1), row.text(2), row.text(3), row.integer(4), encoding::texts(row.text(5)), row.text(6), row.integer(7),
            encoding::texts(row.text(8)), row.text(9)};
}

Status requireFreeName(Connection& connection, const RuleRow& rule) {
    TS_ASSIGN(auto other, connection.prepare("SELECT 1 FROM rule WHERE name = ? AND text <> ?"));
    other.bind(rule.name).bind(rule.text);
    TS_ASSIGN(const bool taken, other.step());
    if (!taken)
        return {};
    return inputError("the store " + connection.path() + " has another rule called '" + rule.name + "'; give it a name of its own");
}

Status addRule(Connection& connection, const RuleRow& rule) {
    TS_TRY(requireFreeName(connection, rule));
    TS_ASSIGN(auto insert, connection.prepare("INSERT INTO rule(" RULE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(text) DO UPDATE SET "
                                              "name = excluded.name, origin = excluded.origin, status = excluded.status, trials = excluded.trials, "
                                              "preconditions = excluded.preconditions, counter_example = excluded.counter_example, "
                                              "proof_conditions = excluded.proof_conditions, why_not_proved = excluded.why_not_proved"));
    insert.bind(rule.text).bind(rule.name).bind(rule.origin).bind(rule.status).bind(rule.trials);
    insert.bind(encoding::texts(rule.preconditions)).bind(rule.counterExample);
    insert.bind(rule.createdAt > 0 ? rule.createdAt : millisecondsSince1970());
    return insert.bind(encoding::texts(rule.proofConditions)).bind(rule.whyNotProved).run();
}

} // namespace

Status Store::addRules(const std::vector<RuleRow>& rules) {
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        for (const RuleRow& rule : rules)
            TS_TRY(addRule(connection, rule));
        return {};
    });
}

Result<std::vector<RuleRow>> Store::rules() const {
    return impl_->read<std::vector<RuleRow>>([](Connection& connection) -> Result<std::vector<RuleRow>> {
        TS_ASSIGN(auto rows, connection.prepare("SELECT " RULE_COLUMNS " FROM rule ORDER BY id"));
        return allRows(rows, &ruleOf);
    });
}

Result<std::optional<RuleRow>> Store::rule(const std::string& name) const {
    using Found = std::optional<RuleRow>;
    return impl_->read<Found>([&](Connection& connection) -> Result<Found> {
        TS_ASSIGN(auto row, connection.prepare("SELECT " RULE_COLUMNS " FROM rule WHERE name = ?"));
        row.bind(name);
        TS_ASSIGN(const bool found, row.step());
        return found ? Found(ruleOf(row)) : Found();
    });
}

} // namespace tunesmith
