// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/encoding.h"
#include "core/store/store_impl.h"

// What runs refer to: machines, targets, models, workloads.
namespace tunesmith {
namespace {

using sqlite::Connection;
using sqlite::Statement;

// The id in the single row that an INSERT ... RETURNING gives.
Result<std::int64_t> returnedId(Statement& statement) {
    TS_ASSIGN(const bool row, statement.step());
    const std::int64_t id = row ? statement.integer(0) : -1;
    TS_TRY(statement.run());
    return id;
}

MachineRow machineOf(Statement& row) {
    return {MachineId(row.integer(0)),        row.text(1), row.text(2), row.text(3),
            row.smallInteger(4), row.text(5)};
}
TargetRow targetOf(Statement& row) {
    return {TargetId(row.integer(0)), row.text(1), MachineId(row.integer(2))};
}
ModelRow modelOf(Statement& row) {
    return {ModelId(row.integer(0)), row.text(1), row.text(2), row.text(3)};
}

} // namespace

Result<MachineId> Store::addMachine(const MachineRow& machine) {
    TS_TRY(encoding::requireJson(machine.ceilings, "the list of measured ceilings"));
    return impl_->write<MachineId>(
        Durability::processDeath, [&](Connection& connection) -> Result<MachineId> {
            TS_ASSIGN(auto insert,
                      connection.prepare(
                          "INSERT INTO machine(key, cpu, isa, cores, ceilings) VALUES (?, ?, ?, ?, ?) "
                          "ON CONFLICT(key) DO UPDATE SET ceilings = CASE excluded.ceilings WHEN '{}' THEN ceilings "
                          "ELSE excluded.ceilings END RETURNING id"));
            insert.bind(machine.key)
                .bind(machine.cpu)
                .bind(machine.isa)
                .bind(machine.cores)
                .bind(machine.ceilings);
            TS_ASSIGN(const auto id, returnedId(insert));
            return MachineId(id);
        });
}

Result<TargetId> Store::addTarget(const TargetRow& target) {
    return impl_->write<TargetId>(Durability::processDeath, [&](Connection& connection) -> Result<TargetId> {
        TS_ASSIGN(auto insert,
                  connection.prepare(
                      "INSERT INTO target(key, machine_id) VALUES (?, ?) ON CONFLICT(key, machine_id) "
                      "DO UPDATE SET key = excluded.key RETURNING id"));
        insert.bind(target.key).bind(target.machine.value());
        TS_ASSIGN(const auto id, returnedId(insert));
        return TargetId(id);
    });
}

Result<ModelId> Store::addModel(const ModelRow& model) {
    return impl_->write<ModelId>(Durability::processDeath, [&](Connection& connection) -> Result<ModelId> {
        TS_ASSIGN(
            auto insert,
            connection.prepare("INSERT INTO model(name, path, hash) VALUES (?, ?, ?) ON CONFLICT(hash, path) "
                               "DO UPDATE SET name = excluded.name RETURNING id"));
        insert.bind(model.name).bind(model.path).bind(model.hash);
        TS_ASSIGN(const auto id, returnedId(insert));
        return ModelId(id);
    });
}

Status Store::addWorkload(const WorkloadRow& workload) {
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        TS_ASSIGN(auto insert, connection.prepare("INSERT INTO workload(key, name, op, shape, graph, flops) "
                                                  "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(key) DO NOTHING"));
        insert.bind(workload.key).bind(workload.name).bind(workload.op).bind(workload.shape);
        return insert.bindBlob(workload.graph).bind(workload.flops).run();
    });
}

Result<std::int64_t> workloadNumber(Connection& connection, const std::string& key) {
    TS_ASSIGN(auto statement, connection.prepare("SELECT id FROM workload WHERE key = ?"));
    statement.bind(key);
    TS_ASSIGN(const bool row, statement.step());
    if (!row)
        return inputError("the store " + connection.path() + " does not know the workload '" + key +
                          "'; add it before its trials");
    return statement.integer(0);
}

Result<std::vector<MachineRow>> Store::machines() const {
    return impl_->read<std::vector<MachineRow>>(
        [](Connection& connection) -> Result<std::vector<MachineRow>> {
            TS_ASSIGN(auto rows, connection.prepare(
                                     "SELECT id, key, cpu, isa, cores, ceilings FROM machine ORDER BY id"));
            return allRows(rows, &machineOf);
        });
}

Result<std::vector<TargetRow>> Store::targets() const {
    return impl_->read<std::vector<TargetRow>>([](Connection& connection) -> Result<std::vector<TargetRow>> {
        TS_ASSIGN(auto rows, connection.prepare("SELECT id, key, machine_id FROM target ORDER BY id"));
        return allRows(rows, &targetOf);
    });
}

Result<std::vector<ModelRow>> Store::models() const {
    return impl_->read<std::vector<ModelRow>>([](Connection& connection) -> Result<std::vector<ModelRow>> {
        TS_ASSIGN(auto rows, connection.prepare("SELECT id, name, path, hash FROM model ORDER BY id"));
        return allRows(rows, &modelOf);
    });
}

Result<std::optional<WorkloadRow>> Store::workload(const std::string& key) const {
    using Found = std::optional<WorkloadRow>;
    return impl_->read<Found>([&](Connection& connection) -> Result<Found> {
        TS_ASSIGN(auto row, connection.prepare(
                                "SELECT key, name, op, shape, graph, flops FROM workload WHERE key = ?"));
        row.bind(key);
        TS_ASSIGN(const bool found, row.step());
        if (!found)
            return Found();
        const auto graph = row.blob(4);
        return Found(WorkloadRow{
            row.text(0), row.text(1), row.text(2), row.text(3), {graph.begin(), graph.end()}, row.real(5)});
    });
}

} // namespace tunesmith
