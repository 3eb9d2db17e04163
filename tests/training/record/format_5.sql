BEGIN TRANSACTION;
CREATE TABLE channels (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, value REAL, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
CREATE TABLE evaluations (step INTEGER PRIMARY KEY, result TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, text TEXT, time REAL);
CREATE TABLE features (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, name TEXT, data BLOB, PRIMARY KEY (trajectory, place, name)) WITHOUT ROWID;
CREATE TABLE groups (id INTEGER PRIMARY KEY, step INTEGER, task_id TEXT, task TEXT, fate TEXT, part INTEGER);
INSERT INTO "groups" VALUES(1,0,'t','{"id": "t", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": null, "tools": null, "metadata": {}}','trained',0);
INSERT INTO "groups" VALUES(2,0,'t','{"id": "t", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": null, "tools": null, "metadata": {}}','unselected',0);
INSERT INTO "groups" VALUES(3,0,'t','{"id": "t", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": null, "tools": null, "metadata": {}}','surplus',0);
INSERT INTO "groups" VALUES(4,0,'t','{"id": "t", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": null, "tools": null, "metadata": {}}','dropped',0);
INSERT INTO "groups" VALUES(5,0,'t','{"id": "t", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": null, "tools": null, "metadata": {}}','unscored',0);
INSERT INTO "groups" VALUES(6,1,'t','{"id": "t", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": null, "tools": null, "metadata": {}}','trained',2);
CREATE TABLE metrics (step INTEGER, name TEXT, value REAL, PRIMARY KEY (step, name)) WITHOUT ROWID;
INSERT INTO "metrics" VALUES(0,'optimiser_steps',1.0);
INSERT INTO "metrics" VALUES(1,'optimiser_steps',0.0);
CREATE TABLE sequences (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, ids BLOB, author BLOB, turn BLOB, logp BLOB, behaviour_logp BLOB, version BLOB,
    advantages BLOB, returns BLOB, trains BLOB, pushed BLOB,
    PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
INSERT INTO "sequences" VALUES(1,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66380A78016360C0071ED80300021F0120',NULL,NULL,X'7C62310A780163606060040000050002');
INSERT INTO "sequences" VALUES(2,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66380A78016360C0071ED80300021F0120',NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(3,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66380A78016360C0071ED80300021F0120',NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(4,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(5,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(6,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(7,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66380A78016360C0071ED80300021F0120',NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(8,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66380A78016360C0071ED80300021F0120',NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(9,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(10,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(11,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL,NULL,NULL);
INSERT INTO "sequences" VALUES(12,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66380A78016360C0071ED80300021F0120',NULL,NULL,NULL);
CREATE TABLE steps (step INTEGER PRIMARY KEY, time REAL);
INSERT INTO "steps" VALUES(0,0.0);
INSERT INTO "steps" VALUES(1,0.0);
CREATE TABLE toolsets (id INTEGER PRIMARY KEY, schemas TEXT UNIQUE);
INSERT INTO "toolsets" VALUES(1,'[]');
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY,
    group_id INTEGER REFERENCES groups (id) ON DELETE CASCADE,
    name TEXT, sample INTEGER, ending TEXT, reason TEXT, scored INTEGER, trained INTEGER, outcome REAL,
    eligible INTEGER, num_turns INTEGER, num_calls INTEGER, num_tokens INTEGER, final_text TEXT, cost REAL,
    seconds REAL, seed INTEGER, branch TEXT, env TEXT, messages TEXT, toolset INTEGER REFERENCES toolsets (id),
    notes TEXT, asked TEXT, spent TEXT, total REAL, called TEXT, left_out_by TEXT, age REAL);
INSERT INTO "trajectories" VALUES(1,1,'0/t/0',0,'completed','',1,1,0.0,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,0.0,'[]','',1.0);
INSERT INTO "trajectories" VALUES(2,1,'0/t/1',1,'completed','',1,0,1.0,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,1.0,'[]','mask_overlong',0.0);
INSERT INTO "trajectories" VALUES(3,1,'0/t/2/retry-1',2,'truncated','length',1,0,2.0,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,2.0,'[]','',0.0);
INSERT INTO "trajectories" VALUES(4,1,'0/t/3',3,'infra_error','x',0,0,NULL,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL);
INSERT INTO "trajectories" VALUES(5,1,'0/t/2',2,'infra_error','x',0,0,NULL,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL);
INSERT INTO "trajectories" VALUES(6,1,'0/t/4',4,'truncated','stopped',0,0,NULL,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',0.0);
INSERT INTO "trajectories" VALUES(7,2,'0/t/5',5,'completed','',1,0,0.0,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,0.0,'[]','drop_equal_groups',NULL);
INSERT INTO "trajectories" VALUES(8,3,'0/t/6',6,'completed','',1,0,0.0,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,0.0,'[]','',NULL);
INSERT INTO "trajectories" VALUES(9,4,'0/t/7',7,'infra_error','x',0,0,NULL,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL);
INSERT INTO "trajectories" VALUES(10,4,'0/t/8',8,'completed','',0,0,NULL,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL);
INSERT INTO "trajectories" VALUES(11,5,'0/t/9',9,'infra_error','x',0,0,NULL,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,NULL,'[]','',NULL);
INSERT INTO "trajectories" VALUES(12,6,'1/t/0',0,'completed','',1,1,0.0,NULL,1,0,1,'',0.0,0.0,0,NULL,'{}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',1,NULL,NULL,NULL,0.0,'[]','',NULL);
CREATE TABLE turn_scores (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, data BLOB, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
CREATE TABLE turns (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, sequence INTEGER, start INTEGER, stop INTEGER, finish TEXT, parsed TEXT, sampling TEXT,
    seed INTEGER, replies TEXT, seconds REAL, cost REAL, facts TEXT, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
INSERT INTO "turns" VALUES(1,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(2,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(3,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(4,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(5,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(6,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(7,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(8,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(9,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(10,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(11,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
INSERT INTO "turns" VALUES(12,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": "", "spans": []}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0,NULL);
CREATE INDEX groups_by_step ON groups (step);
CREATE INDEX trajectories_by_group ON trajectories (group_id);
CREATE INDEX trajectories_in_short ON trajectories (
    group_id, sample, ending, reason, scored, trained, outcome, total, num_turns, num_calls, num_tokens, cost, seconds,
    called, left_out_by);
COMMIT;
PRAGMA user_version = 5;
