BEGIN TRANSACTION;
CREATE TABLE about (
	version INTEGER NOT NULL,
	record_id TEXT NOT NULL,
	time TEXT NOT NULL,
	PRIMARY KEY (version)
);
INSERT INTO "about" VALUES(5,'c675276196ea4d629a3d22f5fa59063c','2026-11-18T20:28:49.841993Z');
CREATE TABLE approvals (
	number INTEGER NOT NULL,
	who TEXT NOT NULL,
	what TEXT NOT NULL,
	time TEXT NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "approvals" VALUES(12,'Risk committee','50% automatic','2020-01-01T00:00:00.000000Z',X'C987E359D1A14106F2B54876B58F82AAF721D65521F5C96DEE45804FEAC92D07');
CREATE TABLE batches (
	number INTEGER NOT NULL,
	name TEXT NOT NULL,
	time TEXT NOT NULL,
	method TEXT,
	model_fingerprint TEXT NOT NULL,
	rule_fingerprint TEXT NOT NULL,
	classes TEXT NOT NULL,
	features TEXT,
	kept TEXT,
	coverage FLOAT,
	capacity INTEGER,
	n_rows INTEGER NOT NULL,
	n_scored INTEGER NOT NULL,
	n_would_be_automatic INTEGER NOT NULL,
	shadow_of INTEGER,
	digest BLOB NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (name)
);
INSERT INTO "batches" VALUES(1,'2026-10','2020-01-01T00:00:00.000000Z','AUCross','84fc427ca35f8aadeb6591e824ac6fa5bc9124fa68d86243ff1b3ac1ff4ee200','a69a84ba0a3d040d40e211dc3c14876222f648f2baaf645dc3a3ea7d7d1a9989','["0", "1"]','["age", "debt", "income", "years"]','["branch"]',0.5,NULL,3,3,1,NULL,X'20F6AA93EC4BADB51E69A5655213E13F1219E6547A8659F3D72C895EDDA45617');
INSERT INTO "batches" VALUES(5,'shadow:84fc427ca35f:2026-10','2020-01-01T00:00:00.000000Z','AUCross','84fc427ca35f8aadeb6591e824ac6fa5bc9124fa68d86243ff1b3ac1ff4ee200','a69a84ba0a3d040d40e211dc3c14876222f648f2baaf645dc3a3ea7d7d1a9989','["0", "1"]','["age", "debt", "income", "years"]','["branch"]',0.7,NULL,3,3,2,1,X'47139649E06B5644697AD11D6F8A94BF45FE38289DB3DE62D15DC2637C50F609');
CREATE TABLE decisions (
	number INTEGER NOT NULL,
	batch INTEGER NOT NULL,
	shadow_of INTEGER,
	prediction TEXT,
	score FLOAT,
	selection_score FLOAT,
	lower FLOAT,
	upper FLOAT,
	rank INTEGER,
	reason TEXT,
	would_be TEXT NOT NULL,
	decision TEXT NOT NULL,
	why TEXT,
	audit_probability FLOAT,
	strip_probability FLOAT,
	personal_commitment BLOB,
	inputs_commitment BLOB,
	level FLOAT,
	contributions TEXT,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "decisions" VALUES(2,1,NULL,'0',3.30012413764064538312e-01,3.30012413764064538312e-01,3.30233756571895298304e-01,7.08943074415191110126e-01,NULL,NULL,'automatic','automatic',NULL,NULL,NULL,X'82E007DC13394BD1DE9E3D2CBAAC3C443CF6462BCED04C90195002FF92E100E1',X'24098B635B4BA39D06558B669695F6BFCF7A3E926DF2CA5B8945D2F430D0327F',NULL,NULL,X'3E6E0A8D2CC879DA31111E1334656C8416B8E31BCCC8E2AC0148B3C40B75FF00');
INSERT INTO "decisions" VALUES(3,1,NULL,'0',4.13818856421761416264e-01,4.13818856421761416264e-01,3.30233756571895298304e-01,7.08943074415191110126e-01,NULL,NULL,'review','review','band',NULL,NULL,X'92F681BA7C806C3060A3D4FD7098ACA7B5E7E3E70BCE3A31F795EAFA6AB75A2A',X'831EAC22C0C280C732D0FDA8F63D45CA54828A2036C8006B3BBE6751271CB82B',NULL,NULL,X'E26B092D0D02C977B422BFB51D45009013ABCBD161CF62EB97A10AE5E871B5A5');
INSERT INTO "decisions" VALUES(4,1,NULL,'0',3.70406260909101170408e-01,3.70406260909101170408e-01,3.30233756571895298304e-01,7.08943074415191110126e-01,NULL,NULL,'review','review','band',NULL,NULL,X'3A7056096803219052CEE423EBE546EFEBAC14256E514AC30D773DF3F5AB620E',X'B96C21208597DE2471CA94B93BE314EC3D9EE186233F8E124A9887AE47F170F3',NULL,NULL,X'D946A148A452DC18C8764A7A54CB7F9EAA4DC7740BF3B8B11079D5327AEDB23E');
INSERT INTO "decisions" VALUES(6,5,2,'0',3.30012413764064538312e-01,3.30012413764064538312e-01,4.07169749801150337997e-01,6.31618405170013219596e-01,NULL,NULL,'automatic','automatic',NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'8BB7DAAE6B4AAFDE0017ED7E7FC49CBAD2135CAA4115386AF3EA77D6CF42CAE2');
INSERT INTO "decisions" VALUES(7,5,3,'0',4.13818856421761416264e-01,4.13818856421761416264e-01,4.07169749801150337997e-01,6.31618405170013219596e-01,NULL,NULL,'review','review','band',NULL,NULL,NULL,NULL,NULL,NULL,X'5585E97F9C1F28693738F0EDA14608BDF2362662E4A6416E3ABED2D331CA6FB1');
INSERT INTO "decisions" VALUES(8,5,4,'0',3.70406260909101170408e-01,3.70406260909101170408e-01,4.07169749801150337997e-01,6.31618405170013219596e-01,NULL,NULL,'automatic','automatic',NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'50D1D75B4AB4228511599AEEB5CABFFB08AEDBFADCB768969AF3AC939ED7A14F');
CREATE TABLE erasures (
	number INTEGER NOT NULL,
	case_number INTEGER NOT NULL,
	why TEXT NOT NULL,
	time TEXT NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (case_number)
);
INSERT INTO "erasures" VALUES(13,4,'asked','2020-01-01T00:00:00.000000Z',X'CE89E11A0B2482B9DEE1B7C4FD4D852B934A90AF942F6043AEBF1410DEB58DB3');
CREATE TABLE notes (
	review INTEGER NOT NULL,
	case_number INTEGER NOT NULL,
	note TEXT NOT NULL,
	salt BLOB NOT NULL,
	PRIMARY KEY (review)
);
INSERT INTO "notes" VALUES(9,3,'looked at the file',X'DC1B90E98865AB3AE7BEFE8CD19EFB58');
CREATE TABLE outcomes (
	number INTEGER NOT NULL,
	case_number INTEGER NOT NULL,
	outcome TEXT NOT NULL,
	known_at TEXT NOT NULL,
	time TEXT NOT NULL,
	replaces INTEGER,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "outcomes" VALUES(10,3,'1','2020-01-01T00:00:00.000000Z','2020-01-01T00:00:00.000000Z',NULL,X'27079094EF522415302069B969694A26CA611E2AC0E066CE0006D5FE1E228794');
INSERT INTO "outcomes" VALUES(11,2,'0','2020-01-01T00:00:00.000000Z','2020-01-01T00:00:00.000000Z',NULL,X'3BFE75A7B4B1863F60217DAF15563FF2DD095635FD2A95E2EAD8BAB63C6371B4');
CREATE TABLE personal (
	case_number INTEGER NOT NULL,
	batch INTEGER NOT NULL,
	id TEXT NOT NULL,
	kept TEXT,
	reason TEXT,
	contributions TEXT,
	salt BLOB NOT NULL,
	PRIMARY KEY (case_number)
);
INSERT INTO "personal" VALUES(2,1,'A-0','{"branch": "north"}',NULL,NULL,X'721EBD1EABDDD7F00A0E80D13130A6C4');
INSERT INTO "personal" VALUES(3,1,'A-1','{"branch": "south"}','score 0.414 lies in the review range 0.330 to 0.709; about 48 % of cases with such a score belong to class 1',NULL,X'A90C29418C9B76FADFB3B17A622265D9');
CREATE TABLE reviews (
	number INTEGER NOT NULL,
	case_number INTEGER NOT NULL,
	reviewer TEXT NOT NULL,
	answer TEXT NOT NULL,
	reason_code TEXT,
	probability FLOAT,
	saw_machine INTEGER,
	time TEXT NOT NULL,
	replaces INTEGER,
	note_commitment BLOB,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "reviews" VALUES(9,3,'ann','1','income',NULL,NULL,'2020-01-01T00:00:00.000000Z',NULL,X'09B090098C27C1B92185FE0B077BBC1517CBD1F7AF658A9E50665D872F8188D2',X'86024F10DD37A69EAB2660A3E7F38F683A35C39922429044BE9028BA9886EEA7');
CREATE TABLE told (
	number INTEGER NOT NULL,
	who TEXT NOT NULL,
	review INTEGER NOT NULL,
	time TEXT NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
CREATE TABLE transactions (
	number INTEGER NOT NULL,
	first_event INTEGER NOT NULL,
	n_events INTEGER NOT NULL,
	time TEXT NOT NULL,
	previous_hash BLOB NOT NULL,
	hash BLOB NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (previous_hash),
	UNIQUE (hash)
);
INSERT INTO "transactions" VALUES(1,1,8,'2020-01-01T00:00:00.000000Z',X'56B2D4281E83CCB75C3C4F58FF73B02C71DCD5E9762E13EEAB5C3AC95406EBB5',X'B48F6D1446A8DB22A71039DBA093E50E838AD4B709F08CDE6CD5919D47D7E860');
INSERT INTO "transactions" VALUES(2,9,1,'2020-01-01T00:00:00.000000Z',X'B48F6D1446A8DB22A71039DBA093E50E838AD4B709F08CDE6CD5919D47D7E860',X'FE13B2B4F89625D600EDB36F4AA84952EAB993EFF37488F90795E9975B8DF5B0');
INSERT INTO "transactions" VALUES(3,10,2,'2020-01-01T00:00:00.000000Z',X'FE13B2B4F89625D600EDB36F4AA84952EAB993EFF37488F90795E9975B8DF5B0',X'7905A2873A58B9F3E76C5D3CEDD178A682803890034D97B7597E4DD6381CD267');
INSERT INTO "transactions" VALUES(4,12,1,'2020-01-01T00:00:00.000000Z',X'7905A2873A58B9F3E76C5D3CEDD178A682803890034D97B7597E4DD6381CD267',X'597E15F87888652BF6CF680849250A41DB75D3F0998C0308431921C83103F476');
INSERT INTO "transactions" VALUES(5,13,1,'2020-01-01T00:00:00.000000Z',X'597E15F87888652BF6CF680849250A41DB75D3F0998C0308431921C83103F476',X'8BD9EDB3835A69F5FF909D46742A6DDCC9EFF55A52B838D842ADC3F9E974F961');
CREATE INDEX ix_reviews_case_number ON reviews (case_number);
CREATE INDEX ix_outcomes_case_number ON outcomes (case_number);
CREATE INDEX ix_personal_id ON personal (id);
CREATE INDEX ix_notes_case_number ON notes (case_number);
CREATE VIEW cases AS SELECT b.name AS batch, p.id AS id, d.number AS case_number, b.time AS decided_at, d.decision AS decision, d.why AS why, d.would_be AS would_be, d.prediction AS prediction, d.score AS score, d.selection_score AS selection_score, d.lower AS lower, d.upper AS upper, d.level AS level, b.coverage AS coverage, b.capacity AS capacity, d.rank AS rank, coalesce(p.reason, d.reason) AS reason, coalesce(p.contributions, d.contributions) AS contributions, d.audit_probability AS audit_probability, d.strip_probability AS strip_probability, b.model_fingerprint AS model_fingerprint, b.rule_fingerprint AS rule_fingerprint, p.kept AS kept, coalesce(r.n_reviews, 0) AS n_reviews, l.number AS review_number, l.reviewer AS reviewer, l.answer AS answer, l.reason_code AS reason_code, l.probability AS review_probability, l.time AS reviewed_at, CASE WHEN r.n_answers > 1 THEN 1 ELSE 0 END AS reviews_differ, CASE WHEN a.answer IS NULL OR d.prediction IS NULL THEN NULL
  WHEN a.answer = d.prediction THEN 0 ELSE 1 END AS is_override, coalesce(o.n_outcomes, 0) AS n_outcomes, CASE WHEN o.n_values = 1 THEN o.outcome END AS outcome, o.known_at AS outcome_known_at, CASE WHEN o.n_values > 1 THEN 1 ELSE 0 END AS outcomes_contradict, coalesce(a.answer, CASE WHEN d.decision = 'automatic' THEN d.prediction END) AS final_decision, CASE WHEN a.answer IS NOT NULL THEN 'review' WHEN d.decision = 'automatic' THEN 'automatic' END AS final_by, CASE WHEN p.case_number IS NULL THEN 1 ELSE 0 END AS is_erased
FROM decisions d JOIN batches b ON b.number = d.batch LEFT JOIN personal p ON p.case_number = d.number
LEFT JOIN (SELECT case_number, count(*) AS n_reviews, max(number) AS last,
    max(CASE WHEN answer NOT IN ('cannot decide', 'needs documents') THEN number END) AS last_answer,
    count(DISTINCT CASE WHEN answer NOT IN ('cannot decide', 'needs documents') THEN answer END) AS n_answers FROM reviews
    WHERE number NOT IN (SELECT replaces FROM reviews WHERE replaces IS NOT NULL) GROUP BY case_number
) r ON r.case_number = d.number
LEFT JOIN reviews l ON l.number = r.last LEFT JOIN reviews a ON a.number = r.last_answer
LEFT JOIN (SELECT case_number, count(*) AS n_outcomes, count(DISTINCT outcome) AS n_values, min(outcome) AS outcome,
    min(known_at) AS known_at FROM outcomes
    WHERE number NOT IN (SELECT replaces FROM outcomes WHERE replaces IS NOT NULL) GROUP BY case_number
) o ON o.case_number = d.number
WHERE d.shadow_of IS NULL AND (d.why IS NULL OR d.why <> 'seeded');
CREATE TRIGGER about_update BEFORE UPDATE ON about BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER about_delete BEFORE DELETE ON about BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER about_insert BEFORE INSERT ON about WHEN NEW.version <= (SELECT max(version) FROM about) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER transactions_update BEFORE UPDATE ON transactions BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER transactions_delete BEFORE DELETE ON transactions BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER transactions_insert BEFORE INSERT ON transactions WHEN NEW.number <= (SELECT max(number) FROM transactions) OR EXISTS (SELECT 1 FROM transactions WHERE previous_hash = NEW.previous_hash) OR EXISTS (SELECT 1 FROM transactions WHERE hash = NEW.hash) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER batches_update BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER batches_delete BEFORE DELETE ON batches BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER batches_insert BEFORE INSERT ON batches WHEN NEW.number <= (SELECT max(number) FROM batches) OR EXISTS (SELECT 1 FROM batches WHERE name = NEW.name) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER decisions_update BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER decisions_delete BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER decisions_insert BEFORE INSERT ON decisions WHEN NEW.number <= (SELECT max(number) FROM decisions) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER reviews_update BEFORE UPDATE ON reviews BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER reviews_delete BEFORE DELETE ON reviews BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER reviews_insert BEFORE INSERT ON reviews WHEN NEW.number <= (SELECT max(number) FROM reviews) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER outcomes_update BEFORE UPDATE ON outcomes BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER outcomes_delete BEFORE DELETE ON outcomes BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER outcomes_insert BEFORE INSERT ON outcomes WHEN NEW.number <= (SELECT max(number) FROM outcomes) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER erasures_update BEFORE UPDATE ON erasures BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER erasures_delete BEFORE DELETE ON erasures BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER erasures_insert BEFORE INSERT ON erasures WHEN NEW.number <= (SELECT max(number) FROM erasures) OR EXISTS (SELECT 1 FROM erasures WHERE case_number = NEW.case_number) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER told_update BEFORE UPDATE ON told BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER told_delete BEFORE DELETE ON told BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER told_insert BEFORE INSERT ON told WHEN NEW.number <= (SELECT max(number) FROM told) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER approvals_update BEFORE UPDATE ON approvals BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER approvals_delete BEFORE DELETE ON approvals BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
CREATE TRIGGER approvals_insert BEFORE INSERT ON approvals WHEN NEW.number <= (SELECT max(number) FROM approvals) BEGIN SELECT RAISE(ABORT, 'the record is append-only: nothing of it is changed or removed'); END;
COMMIT;
