PRAGMA user_version = 6;
BEGIN TRANSACTION;
CREATE TABLE channels (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, value REAL, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
INSERT INTO "channels" VALUES(1,'odd',NULL);
INSERT INTO "channels" VALUES(1,'right',1.0);
INSERT INTO "channels" VALUES(2,'odd',9e999);
INSERT INTO "channels" VALUES(2,'right',0.0);
INSERT INTO "channels" VALUES(4,'odd',NULL);
INSERT INTO "channels" VALUES(4,'right',1.0);
INSERT INTO "channels" VALUES(5,'odd',9e999);
INSERT INTO "channels" VALUES(5,'right',0.0);
CREATE TABLE evaluations (step INTEGER PRIMARY KEY, result TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, text TEXT, time REAL);
CREATE TABLE features (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, name TEXT, data BLOB, PRIMARY KEY (trajectory, place, name)) WITHOUT ROWID;
INSERT INTO "features" VALUES(1,0,'ref_logp',X'3C66380A78016360C0073EEC87CA1EC0A78A8181E300005FCF0338');
INSERT INTO "features" VALUES(1,0,'value',X'3C66380A78016360C0072ED8436461342EB517EC01521D032E');
INSERT INTO "features" VALUES(4,0,'old_logp',X'3C66380A78016360C0073EEC87CA1E80D01C501A2A8A41091C00008D2F0408');
CREATE TABLE groups (id INTEGER PRIMARY KEY, step INTEGER, task_id TEXT, task TEXT, fate TEXT, part INTEGER);
INSERT INTO "groups" VALUES(1,4,'task','{"id": "task", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": {"__tuple__": [1, "x"]}, "tools": ["calculator"], "metadata": {"level": 2}}','trained',0);
INSERT INTO "groups" VALUES(2,4,'task','{"id": "task", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": {"__tuple__": [1, "x"]}, "tools": ["calculator"], "metadata": {"level": 2}}','trained',3);
CREATE TABLE metrics (step INTEGER, name TEXT, value REAL, PRIMARY KEY (step, name)) WITHOUT ROWID;
CREATE TABLE sequences (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, ids BLOB, author BLOB, turn BLOB, logp BLOB, behaviour_logp BLOB, version BLOB,
    advantages BLOB, returns BLOB, trains BLOB, pushed BLOB,
    PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
INSERT INTO "sequences" VALUES(1,0,X'3C69380A78010B6780006528DD0BA515A1F43734BA14CA5F08A533A03400A4000493',X'7C69310A780163646460666660626006000044000E',X'3C69380A7801FBFF1F3B6020123042D50100A6EF17EA',X'3C66340A780163604001FB813C104606FB011D3D023E',X'3C66340A780163604001FB813C104606FB011D3D023E',X'3C69380A7801FBFF1F3B604003D855FDFF0F53060091192FD1',X'3C66380A78016360C00E66CD04819DF6301ABB2A0606983C0088E50DAE',X'3C66380A78016360C007641C20B2301A975A1907001B900115',NULL,NULL);
INSERT INTO "sequences" VALUES(2,0,X'3C69380A78010B6780006528DD0BA515A1F437280D002918021F',X'7C69310A78016364646066060000170009',X'3C69380A7801FBFF1F3B60400300A99A17E9',X'3C66340A780163604001FB81BCFD00048E017F',X'3C66340A780163604001FB81BCFD00048E017F',X'3C69380A7801FBFF1F3B60400300A99A17E9',X'3C66380A78016360C00E66CD048193F6301A005044093F',X'3C66380A78016360C007641C20B2320E0003F800B9',NULL,NULL);
INSERT INTO "sequences" VALUES(2,1,X'3C69380A7801FBC60001A5507A2194CE80D26E50DA014AE741690080200369',X'7C69310A7801636464606062600600001D0008',X'3C69380A7801FBFF9F34C0C800010012822FD2',X'3C66340A78016360C009F6030000DB00C0',X'3C66340A78016360C009F6030000DB00C0',X'3C69380A7801FBFF9F34C0000500127A2FD1',X'3C66380A78016360200DCC9A090227ED0115CA04A0',X'3C66380A780163602007C838000000B0005D',NULL,NULL);
INSERT INTO "sequences" VALUES(3,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(4,0,X'3C69380A78010B6780006528DD0BA515A1F43734BA14CA5F08A533A0B41B940600CAC804D9',X'7C69310A7801636464606661666062650600006C0017',X'3C69380A7801FBFF1F3B6020113042D50300664617EA',X'3C66340A780163604001FBA13C180D93DC0F00203D023E',X'3C66340A780163604001FB813C184696D80F002FE802FD',X'3C69380A7801FBFF1F3B608002982C3A1F260EA361F200B31B37C9',X'3C66380A78016360C0071ED84364D1695C7A1ED803008ED4047D',NULL,X'7C62310A780163646464640062464600003B000A',NULL);
INSERT INTO "sequences" VALUES(5,0,X'3C69380A78010B6780006528DD0BA515A1F437280D002918021F',X'7C69310A78016364646066060000170009',X'3C69380A7801FBFF1F3B60400300A99A17E9',X'3C66340A780163604001FB81BCFD00048E017F',X'3C66340A780163604001FB81BCFD00048E017F',X'3C69380A7801FBFF1F3B60400300A99A17E9',X'3C66380A78016360C0071ED843641FD803000D1E023F',NULL,X'7C62310A7801636404020000140006',NULL);
INSERT INTO "sequences" VALUES(5,1,X'3C69380A7801FBC60001A5507A2194CE80D26E50DA014AE741690080200369',X'7C69310A7801636464606062600600001D0008',X'3C69380A7801FBFF9F34C0C800010012822FD2',X'3C66340A78016360C009F6030000DB00C0',X'3C66340A78016360C009F6030000DB00C0',X'3C69380A7801FBFF9F34C0000500127A2FD1',X'3C66380A7801636020073CB0070002370120',NULL,X'7C62310A7801636404030000230008',NULL);
INSERT INTO "sequences" VALUES(6,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
CREATE TABLE steps (step INTEGER PRIMARY KEY, time REAL);
CREATE TABLE toolsets (id INTEGER PRIMARY KEY, schemas TEXT UNIQUE);
INSERT INTO "toolsets" VALUES(1,'[]');
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY,
    group_id INTEGER REFERENCES groups (id) ON DELETE CASCADE,
    name TEXT, sample INTEGER, ending TEXT, reason TEXT, scored INTEGER, trained INTEGER, outcome REAL,
    eligible INTEGER, num_turns INTEGER, num_calls INTEGER, num_tokens INTEGER, final_text TEXT, cost REAL,
    seconds REAL, seed INTEGER, branch TEXT, env TEXT, messages TEXT, toolset INTEGER REFERENCES toolsets (id),
    notes TEXT, asked TEXT, spent TEXT, total REAL, called TEXT, left_out_by TEXT, age REAL,
    dispositions TEXT);
INSERT INTO "trajectories" VALUES(1,1,'task/0',0,'completed','',1,1,1.0,1,2,0,3,'',0.0,0.0,9223372036854775807,NULL,'{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,2.0,'[]','',NULL,'[["trained", ""]]');
INSERT INTO "trajectories" VALUES(2,1,'task/1',1,'truncated','turns',1,0,NULL,0,2,0,3,'',0.0,0.1,9223372036854775806,'["task/0", 0, 3]','{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL,'[["unscored", "reward"], ["masked", "on_ending"]]');
INSERT INTO "trajectories" VALUES(3,1,'task/2',2,'infra_error',X'6469656420EDA0802000',0,0,NULL,NULL,1,0,1,'',0.0,0.2,9223372036854775805,NULL,'{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL,'[["unscored", "infra_error"]]');
INSERT INTO "trajectories" VALUES(4,2,'task/0',0,'completed','',1,1,1.0,1,2,0,4,'',0.0,0.0,9223372036854775807,NULL,'{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,'{"tried": [1, {"__tuple__": [2]}], "why \ud800": "?"}',NULL,NULL,1.0,'[]','',NULL,'[["trained", ""]]');
INSERT INTO "trajectories" VALUES(5,2,'task/1',1,'truncated','turns',1,0,NULL,0,2,0,3,'',0.0,0.1,9223372036854775806,'["task/0", 0, 3]','{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL,'[["unscored", "reward"], ["masked", "on_ending"]]');
INSERT INTO "trajectories" VALUES(6,2,'task/2',2,'infra_error',X'6469656420EDA0802000',0,0,NULL,NULL,1,0,1,'',0.0,0.2,9223372036854775805,NULL,'{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL,'[["unscored", "infra_error"]]');
CREATE TABLE turn_scores (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, data BLOB, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
INSERT INTO "turn_scores" VALUES(1,'',X'3C66380A7801636040061FEC01022F0130');
INSERT INTO "turn_scores" VALUES(1,'fast',X'3C66380A7801636040061FEC01022F0130');
INSERT INTO "turn_scores" VALUES(2,'',X'3C66380A7801636040061FEC01022F0130');
INSERT INTO "turn_scores" VALUES(2,'fast',X'3C66380A7801636040061FEC01022F0130');
CREATE TABLE turns (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, sequence INTEGER, start INTEGER, stop INTEGER, finish TEXT, parsed TEXT, sampling TEXT,
    seed INTEGER, replies TEXT, seconds REAL, cost REAL, facts TEXT, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
INSERT INTO "turns" VALUES(1,0,0,3,5,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(1,1,0,8,9,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',1,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(2,0,0,3,5,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(2,1,1,6,7,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',1,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(3,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(4,0,0,3,6,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,'{"reward": 0.5, "board": {"__tuple__": ["x", null]}}');
INSERT INTO "turns" VALUES(4,1,0,9,10,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',1,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(5,0,0,3,5,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(5,1,1,6,7,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',1,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(6,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
CREATE INDEX groups_by_step ON groups (step);
CREATE INDEX trajectories_by_group ON trajectories (group_id);
CREATE INDEX trajectories_in_short ON trajectories (
    group_id, sample, ending, reason, scored, trained, outcome, total, num_turns, num_calls, num_tokens, cost, seconds,
    called, left_out_by);
COMMIT;
