-- A store of version 5 with one finished run of three trials, the second of them a final, and one job that waits. Frozen: never edit.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE machine(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE CHECK(key <> ''), cpu TEXT NOT NULL, isa TEXT NOT NULL,
    cores INTEGER NOT NULL CHECK(cores > 0), ceilings TEXT NOT NULL) STRICT;
INSERT INTO machine VALUES(1,'m1','Some CPU','avx512',2,'{"fma":[100.5,199]}');
CREATE TABLE target(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL CHECK(key <> ''), machine_id INTEGER NOT NULL REFERENCES machine(id),
    UNIQUE(key, machine_id)) STRICT;
INSERT INTO target VALUES(1,'cpu-avx512-t1',1);
CREATE TABLE model(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL, hash TEXT NOT NULL CHECK(length(hash) = 16),
    UNIQUE(hash, path)) STRICT;
INSERT INTO model VALUES(1,'resnet18','/models/resnet18.onnx','0000000000000007');
CREATE TABLE workload(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE CHECK(length(key) = 16), name TEXT NOT NULL, op TEXT NOT NULL,
    shape TEXT NOT NULL, graph BLOB NOT NULL, flops REAL NOT NULL CHECK(flops >= 0)) STRICT;
INSERT INTO workload VALUES(1,'ff1756c6f08f7444','conv0','conv2d','1x64x56x56 * 64x64x3x3',X'000102ff0000',230000000.0);
CREATE TABLE run(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL CHECK(kind <> ''), model_id INTEGER REFERENCES model(id),
    target_id INTEGER REFERENCES target(id), strategy TEXT NOT NULL, seed INTEGER NOT NULL,
    options TEXT NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('RUNNING', 'STOPPED', 'COMPLETED', 'FAILED')), stop_reason TEXT NOT NULL,
    started_at INTEGER NOT NULL, ended_at INTEGER CHECK(ended_at >= started_at), before_ms REAL, after_ms REAL,
    version TEXT NOT NULL, owner TEXT NOT NULL, resume TEXT NOT NULL,
    CHECK((state = 'RUNNING') = (ended_at IS NULL))) STRICT;
INSERT INTO run VALUES(1,'tune',1,1,'random',-81985529216486896,'{"batch":8}','COMPLETED','budget',1795234201201,1795234201207,2.0,1.0,'0.1.0','d6d5c235-7153-4b68-9d53-fc3e317f5e49:pid-[4026531836]:3904:267748','{}');
CREATE TABLE run_workload(
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, workload_id INTEGER NOT NULL REFERENCES workload(id),
    ordinal INTEGER NOT NULL, occurrences INTEGER NOT NULL CHECK(occurrences > 0), space TEXT NOT NULL,
    space_size REAL NOT NULL CHECK(space_size >= 0), budget INTEGER NOT NULL CHECK(budget >= 0),
    PRIMARY KEY(run_id, workload_id)) STRICT, WITHOUT ROWID;
INSERT INTO run_workload VALUES(1,1,0,1,'nchwc',1.0000000000000000198e+30,64);
CREATE TABLE run_state(
    id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, workload_id INTEGER NOT NULL,
    batch INTEGER NOT NULL CHECK(batch >= 0), next_idx INTEGER NOT NULL CHECK(next_idx >= 0),
    state TEXT NOT NULL, saved_at INTEGER NOT NULL, UNIQUE(run_id, workload_id),
    FOREIGN KEY(run_id, workload_id) REFERENCES run_workload(run_id, workload_id) ON DELETE CASCADE) STRICT;
INSERT INTO run_state VALUES(1,1,1,0,3,'{}',1795234201204);
CREATE TABLE trial(
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL, workload_id INTEGER NOT NULL,
    batch INTEGER NOT NULL CHECK(batch >= 0), idx INTEGER NOT NULL CHECK(idx >= 0), config TEXT NOT NULL,
    config_hash INTEGER NOT NULL, effective TEXT, predicted REAL, status TEXT NOT NULL CHECK(status <> ''),
    detail TEXT NOT NULL, objectives TEXT NOT NULL, p5_ms REAL, build_s REAL NOT NULL,
    measured_at INTEGER NOT NULL, feature_version INTEGER NOT NULL,
    samples BLOB NOT NULL CHECK(length(samples) % 4 = 0), final INTEGER NOT NULL DEFAULT 0 CHECK(final = 0 OR (final = 1 AND status = 'ok')),
    CHECK((status = 'ok') = (p5_ms IS NOT NULL)), CHECK(status <> 'ok' OR length(samples) > 0),
    FOREIGN KEY(run_id, workload_id) REFERENCES run_workload(run_id, workload_id) ON DELETE CASCADE) STRICT;
INSERT INTO trial VALUES(1,1,1,0,0,'tile=[4, 0];unroll=1',-1,NULL,0.60126299941790484204,'ok','','[["p5",1.7477740925472398,"ms"],["memory",4096.0,"B"]]',1.7477740925472398103,0.25,1700000000000,3,X'10b7df3fbefee03f6c46e23f1a8ee33fc8d5e43f761de63f2465e73fd2ace83f80f4e93f2e3ceb3fdd83ec3f8bcbed3f3913ef3fe75af03f95a2f13f43eaf23ff131f43f9f79f53f4dc1f63ffb08f83f',0);
INSERT INTO trial VALUES(2,1,1,0,1,'tile=[4, 1];unroll=1',-2,NULL,0.70873680438590891395,'ok','','[["p5",1.5200698849331886,"ms"],["memory",4096.0,"B"]]',1.5200698849331886197,0.25,1700000000000,3,X'a691c23f54d9c33f0321c53fb168c63f5fb0c73f0df8c83fbb3fca3f6987cb3f17cfcc3fc516ce3f735ecf3f21a6d03fcfedd13f7d35d33f2c7dd43fdac4d53f880cd73f3654d83fe49bd93f92e3da3f',1);
INSERT INTO trial VALUES(3,1,1,0,2,'tile=[4, 4];unroll=1',-5,NULL,0.8629142164895743372,'run_timeout','no answer within 5 s','[]',NULL,0.25,1700000000000,3,X'',0);
CREATE TABLE rule(
    id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE CHECK(text <> ''), name TEXT NOT NULL UNIQUE CHECK(name <> ''),
    origin TEXT NOT NULL, status TEXT NOT NULL CHECK(status IN ('untested', 'tested', 'proved', 'refuted')),
    trials INTEGER NOT NULL CHECK(trials >= 0), preconditions TEXT NOT NULL, counter_example TEXT NOT NULL,
    created_at INTEGER NOT NULL, proof_conditions TEXT NOT NULL DEFAULT '[]', why_not_proved TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO rule VALUES(1,'relu(v1) = relu(relu(v1)) where v1: 2x4','generated/1','generated','proved',1800,'[]','',1700000000000,'["ends: pads are half a kernel"]','');
INSERT INTO rule VALUES(2,'average_pool(v1) = conv(v1, pool_weights) where v1: 2x4x5x5','generated/2','generated','tested',500,'["left to right: pools count their pads"]','left to right: it is 3, not 7',1700000000001,'[]','no chain of axioms was found in 5 seconds');
CREATE TABLE record(
    workload_id INTEGER NOT NULL REFERENCES workload(id), target_id INTEGER NOT NULL REFERENCES target(id),
    trial_id INTEGER NOT NULL REFERENCES trial(id), p5_ms REAL NOT NULL,
    PRIMARY KEY(workload_id, target_id)) STRICT, WITHOUT ROWID;
INSERT INTO record VALUES(1,1,2,1.5200698849331886197);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('run',1);
INSERT INTO sqlite_sequence VALUES('trial',3);
CREATE INDEX target_machine ON target(machine_id);
CREATE INDEX run_model ON run(model_id);
CREATE INDEX run_target ON run(target_id);
CREATE INDEX run_workload_workload ON run_workload(workload_id);
CREATE INDEX trial_run ON trial(run_id);
CREATE INDEX trial_pair ON trial(run_id, workload_id);
CREATE INDEX trial_workload ON trial(workload_id);
CREATE INDEX trial_fastest ON trial(workload_id, p5_ms) WHERE status = 'ok';
CREATE UNIQUE INDEX trial_sequence ON trial(run_id, workload_id, idx);
CREATE INDEX trial_config ON trial(workload_id, config_hash);
CREATE INDEX record_target ON record(target_id);
CREATE INDEX record_trial ON record(trial_id);
CREATE TABLE job(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL CHECK(kind <> ''), name TEXT NOT NULL, what TEXT NOT NULL,
    priority INTEGER NOT NULL, state TEXT NOT NULL CHECK(state IN ('QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
    wish TEXT NOT NULL CHECK(wish IN ('run', 'pause', 'cancel')), run_id INTEGER REFERENCES run(id) ON DELETE SET NULL,
    progress REAL NOT NULL CHECK(progress BETWEEN 0 AND 1), seconds REAL NOT NULL CHECK(seconds >= 0), detail TEXT NOT NULL,
    created_at INTEGER NOT NULL, ended_at INTEGER, owner TEXT NOT NULL,
    CHECK((state IN ('QUEUED', 'RUNNING')) = (ended_at IS NULL))) STRICT;
CREATE INDEX job_run ON job(run_id);
CREATE TABLE job_session(
    id INTEGER PRIMARY KEY AUTOINCREMENT, policy TEXT NOT NULL, resources TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER CHECK(ended_at >= started_at), version TEXT NOT NULL, owner TEXT NOT NULL) STRICT;
CREATE TABLE job_slice(
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES job_session(id) ON DELETE CASCADE,
    job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE, stage TEXT NOT NULL CHECK(stage <> ''), uses TEXT NOT NULL,
    called_s REAL NOT NULL, begin_s REAL NOT NULL CHECK(begin_s >= called_s), end_s REAL NOT NULL CHECK(end_s >= begin_s),
    expected_s REAL NOT NULL) STRICT;
CREATE INDEX job_slice_session ON job_slice(session_id);
CREATE INDEX job_slice_job ON job_slice(job_id);
INSERT INTO job VALUES(1,'tune','mlp','{"model":"mlp"}',2,'QUEUED','run',1,0.5,3.25,'',1795234201301,NULL,'');
INSERT INTO job_session VALUES(1,'fair','[["core",2]]',1795234201302,1795234201309,'0.1.0','d6d5c235-7153-4b68-9d53-fc3e317f5e49:pid-[4026531836]:3904:267748');
INSERT INTO job_slice VALUES(1,1,1,'build','{"core":[0]}',0.0,0.5,1.5,1.0);
COMMIT;
PRAGMA application_id = 1416975213;
PRAGMA user_version = 5;
