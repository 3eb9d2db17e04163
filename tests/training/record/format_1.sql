PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE channels (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, value REAL, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
INSERT INTO "channels" VALUES(1,'small',0.5);
INSERT INTO "channels" VALUES(1,'twice',1.0);
INSERT INTO "channels" VALUES(2,'small',4.28571428571428547638e-01);
INSERT INTO "channels" VALUES(2,'twice',8.57142857142857095276e-01);
INSERT INTO "channels" VALUES(3,'small',0.5);
INSERT INTO "channels" VALUES(3,'twice',1.0);
INSERT INTO "channels" VALUES(4,'small',0.5);
INSERT INTO "channels" VALUES(4,'twice',1.0);
INSERT INTO "channels" VALUES(5,'odd',NULL);
INSERT INTO "channels" VALUES(5,'right',1.0);
INSERT INTO "channels" VALUES(6,'odd',9e999);
INSERT INTO "channels" VALUES(6,'right',0.0);
CREATE TABLE evaluations (step INTEGER PRIMARY KEY, result TEXT);
INSERT INTO "evaluations" VALUES(0,'{"accuracy": 0.0}');
INSERT INTO "evaluations" VALUES(1,'{"accuracy": 0.25}');
INSERT INTO "evaluations" VALUES(2,'{"accuracy": 0.5}');
CREATE TABLE events (id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, text TEXT, time REAL);
INSERT INTO "events" VALUES(1,0,'started','',1.79531939629210066794e+09);
INSERT INTO "events" VALUES(2,1,'finished','',1.79531939641952800745e+09);
CREATE TABLE features (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, name TEXT, data BLOB, PRIMARY KEY (trajectory, place, name)) WITHOUT ROWID;
INSERT INTO "features" VALUES(1,0,'old_logp',X'3C66340A78016360A02EF8E0BDE3C0B3731B0E589E5E7DC061D1FC0305EFB71FE83DBBED40C6C40D07EE88EC3CF0DA77E78183EB0E1CC065EB95D8DD07FC7E2F3CA0A833E7C0C39B3B0FC84F9B7B20E3E0810300D7D1298D');
INSERT INTO "features" VALUES(2,0,'old_logp',X'3C66340A78016360A02EF8E0BDE3C0B3731B0E589E5E7DC061D1FC0305EFB71FE83DBBED40C6C40D07EE88EC3CF0DA77E78183EB0E1CC065EB95D8DD07B254F61C082D9A7B60EFD20307009A22245C');
INSERT INTO "features" VALUES(3,0,'old_logp',X'3C66340A78016360A02ED83073FB81A307371C78DBB4FA402BD782033B166D3FB02877DB816D5C1B0E946EDB79C03A65E78173330E1CC065EBAA9E5D07C2172E38605F3CFBC0DD889D07E4CDE71E08B874E00000960F27C0');
INSERT INTO "features" VALUES(4,0,'old_logp',X'3C66340A78016360A02ED83073FB81A307371C78DBB4FA402BD782033B166D3FB02877DB816D5C1B0E946EDB79C03A65E78173330E1CC065EBAA9E5D07C2172E38605F3CFBC0DD889D07E4CDE71E08B874E00000960F27C0');
INSERT INTO "features" VALUES(5,0,'ref_logp',X'3C66380A78016360C0073EEC87CA1EC0A78A8181E300005FCF0338');
INSERT INTO "features" VALUES(5,0,'value',X'3C66380A78016360C0072ED8436461342EB517EC01521D032E');
CREATE TABLE groups (id INTEGER PRIMARY KEY, step INTEGER, task_id TEXT, task TEXT, fate TEXT);
INSERT INTO "groups" VALUES(1,0,'t0','{"id": "t0", "messages": [{"role": "user", "content": "t0?", "calls": [], "call_id": "", "name": ""}], "answer": "t0", "tools": null, "metadata": {}}','trained');
INSERT INTO "groups" VALUES(2,0,'t1','{"id": "t1", "messages": [{"role": "user", "content": "t1?", "calls": [], "call_id": "", "name": ""}], "answer": "t1", "tools": null, "metadata": {}}','trained');
INSERT INTO "groups" VALUES(3,1,'task','{"id": "task", "messages": [{"role": "user", "content": "?", "calls": [], "call_id": "", "name": ""}], "answer": {"__tuple__": [1, "x"]}, "tools": ["calculator"], "metadata": {"level": 2}}','trained');
CREATE TABLE metrics (step INTEGER, name TEXT, value REAL, PRIMARY KEY (step, name)) WITHOUT ROWID;
INSERT INTO "metrics" VALUES(0,'calls',1.0);
INSERT INTO "metrics" VALUES(0,'channel/small',4.82142857142857150787e-01);
INSERT INTO "metrics" VALUES(0,'channel/twice',9.64285714285714301574e-01);
INSERT INTO "metrics" VALUES(0,'ending/completed',4.0);
INSERT INTO "metrics" VALUES(0,'ending/infra_error',0.0);
INSERT INTO "metrics" VALUES(0,'ending/policy_error',0.0);
INSERT INTO "metrics" VALUES(0,'ending/truncated',0.0);
INSERT INTO "metrics" VALUES(0,'ending/verifier_error',0.0);
INSERT INTO "metrics" VALUES(0,'eval/accuracy',0.25);
INSERT INTO "metrics" VALUES(0,'grad_clipped',0.0);
INSERT INTO "metrics" VALUES(0,'grad_norm',0.857507735490799);
INSERT INTO "metrics" VALUES(0,'groups',2.0);
INSERT INTO "metrics" VALUES(0,'groups/dropped',0.0);
INSERT INTO "metrics" VALUES(0,'groups/held',0.0);
INSERT INTO "metrics" VALUES(0,'groups/lone',0.0);
INSERT INTO "metrics" VALUES(0,'groups/surplus',0.0);
INSERT INTO "metrics" VALUES(0,'groups/trained',2.0);
INSERT INTO "metrics" VALUES(0,'groups/unscored',0.0);
INSERT INTO "metrics" VALUES(0,'groups/unselected',0.0);
INSERT INTO "metrics" VALUES(0,'groups/zero_advantage',0.0);
INSERT INTO "metrics" VALUES(0,'learning_rate',0.01);
INSERT INTO "metrics" VALUES(0,'loss',2.44959342479705810546e+00);
INSERT INTO "metrics" VALUES(0,'loss/adv_max',0.5);
INSERT INTO "metrics" VALUES(0,'loss/tokens',31.0);
INSERT INTO "metrics" VALUES(0,'nothing_to_train',0.0);
INSERT INTO "metrics" VALUES(0,'optimiser_steps',2.0);
INSERT INTO "metrics" VALUES(0,'reply/ok',4.0);
INSERT INTO "metrics" VALUES(0,'reward',4.82142857142857150787e-01);
INSERT INTO "metrics" VALUES(0,'reward_spread',1.78571428571428630904e-02);
INSERT INTO "metrics" VALUES(0,'seconds/credit',1.03191750001769833033e-02);
INSERT INTO "metrics" VALUES(0,'seconds/reward',6.37857999890911742113e-04);
INSERT INTO "metrics" VALUES(0,'seconds/sampling',1.95847000009052862878e-03);
INSERT INTO "metrics" VALUES(0,'seconds/tools',0.004);
INSERT INTO "metrics" VALUES(0,'seconds/update',2.56456679999246262013e-02);
INSERT INTO "metrics" VALUES(0,'staleness/max',0.0);
INSERT INTO "metrics" VALUES(0,'staleness/mean',0.0);
INSERT INTO "metrics" VALUES(0,'stopped',0.0);
INSERT INTO "metrics" VALUES(0,'stopped/share',0.0);
INSERT INTO "metrics" VALUES(0,'tokens',15.5);
INSERT INTO "metrics" VALUES(0,'tokens/sampled',62.0);
INSERT INTO "metrics" VALUES(0,'tokens/trained',62.0);
INSERT INTO "metrics" VALUES(0,'trained_share',1.0);
INSERT INTO "metrics" VALUES(0,'trajectories',4.0);
INSERT INTO "metrics" VALUES(0,'trajectories/trained',4.0);
INSERT INTO "metrics" VALUES(0,'turns',2.0);
INSERT INTO "metrics" VALUES(1,'reward',NULL);
CREATE TABLE sequences (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, ids BLOB, author BLOB, turn BLOB, logp BLOB, behaviour_logp BLOB, version BLOB,
    advantages BLOB, returns BLOB, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
INSERT INTO "sequences" VALUES(1,0,X'3C69340A78014DCC390E80300C445187F51A94D0B11C80B3240A25142C0DA7E78F9448144F76C6B19D33F36616939E7AE0C18E800D272E0CA8D92970D38F5853569235F0BCF3BD8E7E82EA8C96B9F62BFC7365DA5FF893BDF4A2D907994D0975',X'7C69310A7801636040018C8C8C0C0CCC70C0C0C4C404E303000300003A',X'3C69320A7801FBFF9F38C0400030322020000B0027DF',X'3C66340A78016360181A000000A80001',X'3C66340A78016360181A000000A80001',X'3C69340A7801FBFF9FBA80814880CB565CDA016B996799',X'3C66380A78016360180AE0813DC495D4A249F533F1F602006FFA11F1',NULL);
INSERT INTO "sequences" VALUES(2,0,X'3C69340A78014DCCB90D80301044D135671B84907114E05A8C20848023A17AFE488B44F0B4EBB1C7219825335B5CCBDC7163C38C15074E7428E964B8D87B44CF72B20A89F3F75FC33E407344CDBDFA05FEB932F527DE3C4ED90B5179090F',X'7C69310A7801636040018C8C8C0C0CCC70C0C0C4C404E10300028F0034',X'3C69320A7801FBFF9F38C0400030324020006B7727DD',X'3C66340A7801636018DC000000A00001',X'3C66340A7801636018DC000000A00001',X'3C69340A7801FBFF9FBA80814880CB5674ED002EA46799',X'3C66380A7801636018DCE0F6B65C10B2A7164DAA6F09D90B005CC14735',NULL);
INSERT INTO "sequences" VALUES(3,0,X'3C69340A78014DCC390E80300C445187F51A94500207E02C414909054BC3E9F92325528A273B633BCE9979330BC9483DF1E2C08E880B3726B4DC5478E8676C29ABC93A78DEF9BF815E3BAA0B7AE6BA6F50E6CA74BFB2937DF4A2D90F99B50976',X'7C69310A7801636040018C8C8C0C0CCC70C0C0C4C404E303000300003A',X'3C69320A7801FBFF9F38C0400030322020000B0027DF',X'3C66340A78016360181A000000A80001',X'3C66340A78016360181A000000A80001',X'3C69340A7801FBFF9FBA80814880CB565CDA016B996799',X'3C66380A7801636018DCA034801D88EEDA538B26D5B7A4DA0B00F0412B41',NULL);
INSERT INTO "sequences" VALUES(4,0,X'3C69340A78014DCC390E80300C445187F51A94500207E02C414909054BC3E9F92325528A273B633BCE9979330BC9483DF1E2C08E880B3726B4DC5478E8676C29ABC93A78DEF9BF815E3BAA0B7AE6BA6F50E6CA74BFB2937DF4A2D90F99B50976',X'7C69310A7801636040018C8C8C0C0CCC70C0C0C4C404E303000300003A',X'3C69320A7801FBFF9F38C0400030322020000B0027DF',X'3C66340A78016360181A000000A80001',X'3C66340A78016360181A000000A80001',X'3C69340A7801FBFF9FBA80814880CB565CDA016B996799',X'3C66380A7801636018DCA034801D88EEDA538B26D5B7A4DA0B00F0412B41',NULL);
INSERT INTO "sequences" VALUES(5,0,X'3C69380A78010B6780006528DD0BA515A1F43734BA14CA5F08A533A03400A4000493',X'7C69310A780163646460666660626006000044000E',X'3C69380A7801FBFF1F3B6020123042D50100A6EF17EA',X'3C66340A780163604001FB813C104606FB011D3D023E',X'3C66340A780163604001FB813C104606FB011D3D023E',X'3C69380A7801FBFF1F3B604003D855FDFF0F53060091192FD1',X'3C66380A78016360C00E66CD04819DF6301ABB2A0606983C0088E50DAE',X'3C66380A78016360C007641C20B2301A975A1907001B900115');
INSERT INTO "sequences" VALUES(6,0,X'3C69380A78010B6780006528DD0BA515A1F437280D002918021F',X'7C69310A78016364646066060000170009',X'3C69380A7801FBFF1F3B60400300A99A17E9',X'3C66340A780163604001FB81BCFD00048E017F',X'3C66340A780163604001FB81BCFD00048E017F',X'3C69380A7801FBFF1F3B60400300A99A17E9',X'3C66380A78016360C00E66CD048193F6301A005044093F',X'3C66380A78016360C007641C20B2320E0003F800B9');
INSERT INTO "sequences" VALUES(6,1,X'3C69380A7801FBC60001A5507A2194CE80D26E50DA014AE741690080200369',X'7C69310A7801636464606062600600001D0008',X'3C69380A7801FBFF9F34C0C800010012822FD2',X'3C66340A78016360C009F6030000DB00C0',X'3C66340A78016360C009F6030000DB00C0',X'3C69380A7801FBFF9F34C0000500127A2FD1',X'3C66380A78016360200DCC9A090227ED0115CA04A0',X'3C66380A780163602007C838000000B0005D');
INSERT INTO "sequences" VALUES(7,0,X'3C69380A78010B6780006528DD0BA515A1340018200129',X'7C69310A7801636464600600000E0006',X'3C69380A7801FBFF1F3B60800200EA4317E9',X'3C66340A780163604001FB0100CF00C0',X'3C66340A780163604001FB0100CF00C0',X'3C69380A7801FBFF1F3B60800200EA4317E9',NULL,NULL);
CREATE TABLE steps (step INTEGER PRIMARY KEY, time REAL);
INSERT INTO "steps" VALUES(0,1.79531939635578703879e+09);
INSERT INTO "steps" VALUES(1,1795319396.45373);
CREATE TABLE toolsets (id INTEGER PRIMARY KEY, schemas TEXT UNIQUE);
INSERT INTO "toolsets" VALUES(1,'[{"name": "add", "description": "Add numbers.", "parameters": {"type": "object", "properties": {"numbers": {"type": "string"}}}}]');
INSERT INTO "toolsets" VALUES(2,'[]');
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY,
    group_id INTEGER REFERENCES groups (id) ON DELETE CASCADE,
    name TEXT, sample INTEGER, ending TEXT, reason TEXT, scored INTEGER, trained INTEGER, outcome REAL,
    eligible INTEGER, num_turns INTEGER, num_calls INTEGER, num_tokens INTEGER, final_text TEXT, cost REAL,
    seconds REAL, seed INTEGER, branch TEXT, env TEXT, messages TEXT, toolset INTEGER REFERENCES toolsets (id));
INSERT INTO "trajectories" VALUES(1,1,'0/t0/0',0,'completed','',1,1,0.5,1,2,1,16,'333zz',0.0,0.001,5072524930940788984,NULL,'{"calls": 1}','[{"role": "user", "content": "t0?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "call_id": "", "name": ""}, {"role": "tool", "content": "1 2", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "333zz", "calls": [], "call_id": "", "name": ""}]',1);
INSERT INTO "trajectories" VALUES(2,1,'0/t0/1',1,'completed','',1,1,4.28571428571428547638e-01,1,2,1,14,'3zz',0.0,0.001,458850031173191630,NULL,'{"calls": 1}','[{"role": "user", "content": "t0?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "call_id": "", "name": ""}, {"role": "tool", "content": "1 2", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "3zz", "calls": [], "call_id": "", "name": ""}]',1);
INSERT INTO "trajectories" VALUES(3,2,'0/t1/0',0,'completed','',1,1,0.5,1,2,1,16,'333zz',0.0,0.001,2166481096514892117,NULL,'{"calls": 1}','[{"role": "user", "content": "t1?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "call_id": "", "name": ""}, {"role": "tool", "content": "1 2", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "333zz", "calls": [], "call_id": "", "name": ""}]',1);
INSERT INTO "trajectories" VALUES(4,2,'0/t1/1',1,'completed','',1,1,0.5,1,2,1,16,'333zz',0.0,0.001,4179464410262227391,NULL,'{"calls": 1}','[{"role": "user", "content": "t1?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "call_id": "", "name": ""}, {"role": "tool", "content": "1 2", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "333zz", "calls": [], "call_id": "", "name": ""}]',1);
INSERT INTO "trajectories" VALUES(5,3,'task/0',0,'completed','',1,1,1.0,1,2,0,3,'',0.0,0.0,9223372036854775807,NULL,'{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',2);
INSERT INTO "trajectories" VALUES(6,3,'task/1',1,'truncated','turns',1,0,NULL,0,2,0,3,'',0.0,0.1,9223372036854775806,'["task/0", 0, 3]','{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',2);
INSERT INTO "trajectories" VALUES(7,3,'task/2',2,'infra_error',X'6469656420EDA0802000',0,0,NULL,NULL,1,0,1,'',0.0,0.2,9223372036854775805,NULL,'{"files": {"__tuple__": ["a", "b"]}, "n": 1}','[{"role": "user", "content": "What is 12*34?", "calls": [], "call_id": "", "name": ""}, {"role": "assistant", "content": "", "calls": [], "call_id": "", "name": ""}]',2);
CREATE TABLE turn_scores (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    name TEXT, data BLOB, PRIMARY KEY (trajectory, name)) WITHOUT ROWID;
INSERT INTO "turn_scores" VALUES(5,'',X'3C66380A7801636040061FEC01022F0130');
INSERT INTO "turn_scores" VALUES(5,'fast',X'3C66380A7801636040061FEC01022F0130');
INSERT INTO "turn_scores" VALUES(6,'',X'3C66380A7801636040061FEC01022F0130');
INSERT INTO "turn_scores" VALUES(6,'fast',X'3C66380A7801636040061FEC01022F0130');
CREATE TABLE turns (
    trajectory INTEGER REFERENCES trajectories (id) ON DELETE CASCADE,
    place INTEGER, sequence INTEGER, start INTEGER, stop INTEGER, finish TEXT, parsed TEXT, sampling TEXT,
    seed INTEGER, replies TEXT, seconds REAL, cost REAL, PRIMARY KEY (trajectory, place)) WITHOUT ROWID;
INSERT INTO "turns" VALUES(1,0,0,20,30,'stop','{"text": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "errors": [], "raw": "<CALL>add 1 2<CALL_END><END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',4370354533532291141,'[{"call_id": "t0c0", "name": "add", "content": "1 2", "status": "ok", "seconds": 0.001, "cost": 0.0}]',0.0,0.0);
INSERT INTO "turns" VALUES(1,1,0,36,42,'stop','{"text": "333zz", "calls": [], "errors": [], "raw": "333zz<END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',7667705202266389463,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(2,0,0,20,30,'stop','{"text": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "errors": [], "raw": "<CALL>add 1 2<CALL_END><END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',1846957181735728020,'[{"call_id": "t0c0", "name": "add", "content": "1 2", "status": "ok", "seconds": 0.001, "cost": 0.0}]',0.0,0.0);
INSERT INTO "turns" VALUES(2,1,0,36,40,'stop','{"text": "3zz", "calls": [], "errors": [], "raw": "3zz<END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',3065941833692393874,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(3,0,0,20,30,'stop','{"text": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "errors": [], "raw": "<CALL>add 1 2<CALL_END><END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',7380282141992454844,'[{"call_id": "t0c0", "name": "add", "content": "1 2", "status": "ok", "seconds": 0.001, "cost": 0.0}]',0.0,0.0);
INSERT INTO "turns" VALUES(3,1,0,36,42,'stop','{"text": "333zz", "calls": [], "errors": [], "raw": "333zz<END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',1976076130677943484,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(4,0,0,20,30,'stop','{"text": "", "calls": [{"name": "add", "arguments": {"numbers": "1 2"}, "id": "t0c0"}], "errors": [], "raw": "<CALL>add 1 2<CALL_END><END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',3580015233251642938,'[{"call_id": "t0c0", "name": "add", "content": "1 2", "status": "ok", "seconds": 0.001, "cost": 0.0}]',0.0,0.0);
INSERT INTO "turns" VALUES(4,1,0,36,42,'stop','{"text": "333zz", "calls": [], "errors": [], "raw": "333zz<END>"}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 6}',3943514018455850306,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(5,0,0,3,5,'stop','{"text": "", "calls": [], "errors": [], "raw": ""}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(5,1,0,8,9,'stop','{"text": "", "calls": [], "errors": [], "raw": ""}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',1,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(6,0,0,3,5,'stop','{"text": "", "calls": [], "errors": [], "raw": ""}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(6,1,1,6,7,'stop','{"text": "", "calls": [], "errors": [], "raw": ""}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',1,'[]',0.0,0.0);
INSERT INTO "turns" VALUES(7,0,0,3,4,'stop','{"text": "", "calls": [], "errors": [], "raw": ""}','{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 64}',0,'[]',0.0,0.0);
CREATE INDEX groups_by_step ON groups (step);
CREATE INDEX trajectories_by_group ON trajectories (group_id);
COMMIT;
