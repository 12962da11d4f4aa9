BEGIN TRANSACTION;
CREATE TABLE about (
	version INTEGER NOT NULL,
	record_id TEXT NOT NULL,
	time TEXT NOT NULL,
	PRIMARY KEY (version)
);
INSERT INTO "about" VALUES(4,'aa0280f5a81f4d599abb0be3919f49da','2020-01-01T00:00:00.000000Z');
CREATE TABLE approvals (
	number INTEGER NOT NULL,
	who TEXT NOT NULL,
	what TEXT NOT NULL,
	time TEXT NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
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
INSERT INTO "batches" VALUES(1,'2026-10','2020-01-01T00:00:00.000000Z','AUCross','de95e6aff7347d5b5201ee698127f059a02cbf76654d65066508714df5cd0d25','6e6acd396d6affdbaa222b4f12da6267a869c70abe043adaaa117356796e735b','["0", "1"]','["age", "debt", "income", "years"]','["branch"]',0.5,NULL,3,3,1,NULL,X'B872D27D8BA3C7775DACF88D330E0FFA4DB7764A090D152F26FA0512C0686527');
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
INSERT INTO "decisions" VALUES(2,1,NULL,'1',8.8356180351522428662e-01,8.8356180351522428662e-01,2.81922909607511151808e-01,7.75690550542556755964e-01,NULL,NULL,'automatic','automatic',NULL,NULL,NULL,X'253CA50AD2D1D39A677B6AC6BFC308820682D63A35CAFFD2BDA8A5EEC12C4DB3',X'9D9EB8924A1139C5AF3B1681E3108179307C0F524DCFD8AE9C1D90E88E81DFEF',NULL,NULL,X'4A659B57E4D02448C4BB9703BF7359753DC364C3C873706F9F68AFD9F854A22A');
INSERT INTO "decisions" VALUES(3,1,NULL,'1',6.25998454389354530569e-01,6.25998454389354530569e-01,2.81922909607511151808e-01,7.75690550542556755964e-01,NULL,'score 0.626 lies in the review range 0.282 to 0.776; about 78 % of cases with such a score belong to class 1','review','review','band',NULL,NULL,X'F818BE697EA696CE0ECD2E8F4D05D00D72C0784C3BCB8601AE64DB8854EA8645',X'BA230CAA92000F1B857EBAB4DB209BA2121F615DA71EA963C70C67F9E905A0C1',NULL,NULL,X'5F010D400D523CE236725A5391242B2FCF2ADB561DB9615EE4579AECBA233955');
INSERT INTO "decisions" VALUES(4,1,NULL,'1',7.04469509615839872829e-01,7.04469509615839872829e-01,2.81922909607511151808e-01,7.75690550542556755964e-01,NULL,'score 0.704 lies in the review range 0.282 to 0.776; about 79 % of cases with such a score belong to class 1','review','review','band',NULL,NULL,X'31D236DE430BB761B367BF83FA4D53B425A33C3084042D345913D24722E5B2FD',X'DB792215BB5A5E5FE0EC0BE86FD3A83BCFF0D9C26470FA01DDE59D5829811E22',NULL,NULL,X'31349434DF75411D9BF9AC89E59668F24DF9A38058B72DB316E0AC71C977FCCF');
CREATE TABLE erasures (
	number INTEGER NOT NULL,
	case_number INTEGER NOT NULL,
	why TEXT NOT NULL,
	time TEXT NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (case_number)
);
CREATE TABLE notes (
	review INTEGER NOT NULL,
	case_number INTEGER NOT NULL,
	note TEXT NOT NULL,
	salt BLOB NOT NULL,
	PRIMARY KEY (review)
);
INSERT INTO "notes" VALUES(5,3,'hm',X'DA5C4DBFDAF26576728D4EF8629851C2');
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
INSERT INTO "outcomes" VALUES(6,3,'1','2020-01-01T00:00:00.000000Z','2020-01-01T00:00:00.000000Z',NULL,X'A2D217F480601BAFD0CE15C30A71DB9931E9C7696863652957119126EEA3109E');
CREATE TABLE personal (
	case_number INTEGER NOT NULL,
	batch INTEGER NOT NULL,
	id TEXT NOT NULL,
	kept TEXT,
	salt BLOB NOT NULL,
	PRIMARY KEY (case_number)
);
INSERT INTO "personal" VALUES(2,1,'A-0','{"branch": "north"}',X'372CEFB8FBFF07CF09076F9D0F8129D0');
INSERT INTO "personal" VALUES(3,1,'A-1','{"branch": "south"}',X'C79859AD878ABDC95AA7E8F788646E96');
INSERT INTO "personal" VALUES(4,1,'A-2','{"branch": null}',X'6FAFC4B868183DC3335F127AD4F0CF65');
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
INSERT INTO "reviews" VALUES(5,3,'ann','1',NULL,NULL,NULL,'2020-01-01T00:00:00.000000Z',NULL,X'E21D0F8CA8F999CBCED12AF4090B116CED750A8C9CC197D858F05298ED3B835D',X'1D6471A5F516C24A270DA48FD12DB47ED330D8F828FBAB4A708E75A4AAB7F253');
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
INSERT INTO "transactions" VALUES(1,1,4,'2020-01-01T00:00:00.000000Z',X'DD0D5A50A786AD4251103636346876A1E2F876541AD907D182C22E59F21DA403',X'243C0FDC63412AC5FFBDBC86C866A6B9E6D8F32E88F99FC110FFD732BA2B843F');
INSERT INTO "transactions" VALUES(2,5,1,'2020-01-01T00:00:00.000000Z',X'243C0FDC63412AC5FFBDBC86C866A6B9E6D8F32E88F99FC110FFD732BA2B843F',X'425039611E8288A2E037AC8FC1CE5F2E02ED3E89B34C7BDE4ADA6DF685B209B7');
INSERT INTO "transactions" VALUES(3,6,1,'2020-01-01T00:00:00.000000Z',X'425039611E8288A2E037AC8FC1CE5F2E02ED3E89B34C7BDE4ADA6DF685B209B7',X'CF9624C0C85B5133888C0BF64B58F23CD10FDD73E6C2F9262FCC8E97FDE3F5F2');
CREATE INDEX ix_reviews_case_number ON reviews (case_number);
CREATE INDEX ix_outcomes_case_number ON outcomes (case_number);
CREATE INDEX ix_personal_id ON personal (id);
CREATE INDEX ix_notes_case_number ON notes (case_number);
CREATE VIEW cases AS SELECT b.name AS batch, p.id AS id, d.number AS case_number, b.time AS decided_at, d.decision AS decision, d.why AS why, d.would_be AS would_be, d.prediction AS prediction, d.score AS score, d.selection_score AS selection_score, d.lower AS lower, d.upper AS upper, d.level AS level, b.coverage AS coverage, b.capacity AS capacity, d.rank AS rank, d.reason AS reason, d.contributions AS contributions, d.audit_probability AS audit_probability, d.strip_probability AS strip_probability, b.model_fingerprint AS model_fingerprint, b.rule_fingerprint AS rule_fingerprint, p.kept AS kept, coalesce(r.n_reviews, 0) AS n_reviews, l.number AS review_number, l.reviewer AS reviewer, l.answer AS answer, l.reason_code AS reason_code, l.probability AS review_probability, l.time AS reviewed_at, CASE WHEN r.n_answers > 1 THEN 1 ELSE 0 END AS reviews_differ, CASE WHEN a.answer IS NULL OR d.prediction IS NULL THEN NULL
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
