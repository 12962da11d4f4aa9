-- The tables and figures of the oversight report, on the view of cases. Each block has a name, the question that it
-- answers, and a query for SQLite and PostgreSQL. {words} in braces are filled in.

-- decided
-- What is decided?
SELECT count(*) AS cases, count(DISTINCT substr(decided_at, 1, 7)) AS months,
       avg(CASE WHEN decision = 'automatic' THEN 1.0 ELSE 0.0 END) AS automatic,
       avg(CASE WHEN coverage IS NULL THEN NULL WHEN would_be = 'automatic' THEN 1.0 ELSE 0.0 END) AS coverage_kept,
       avg(coverage) AS coverage_asked,
       count(CASE WHEN decision = 'review' THEN 1 END) AS for_review,
       count(CASE WHEN decision = 'review' AND final_by = 'review' THEN 1 END) AS reviewed
FROM cases

-- months
-- Of the cases decided in a month, how many are automatic, for people and answered so far, and was the coverage kept?
SELECT substr(decided_at, 1, 7) AS month,
       count(*) AS cases,
       sum(CASE WHEN decision = 'automatic' THEN 1 ELSE 0 END) AS automatic,
       sum(CASE WHEN decision = 'review' THEN 1 ELSE 0 END) AS for_review,
       avg(CASE WHEN would_be = 'automatic' THEN 1.0 ELSE 0.0 END) AS coverage_kept,
       avg(coverage) AS coverage_asked,
       sum(CASE WHEN decision = 'review' AND final_by = 'review' THEN 1 ELSE 0 END) AS reviewed,
       sum(coalesce(audit_probability, 0.0)) AS audits_planned,
       sum(CASE WHEN audit_probability > 0 AND decision = 'review' THEN 1 ELSE 0 END) AS audits_drawn,
       sum(CASE WHEN audit_probability > 0 AND decision = 'review' AND outcome IS NOT NULL THEN 1 ELSE 0 END)
         AS audits_labelled,
       sum(CASE WHEN decision = 'review' AND is_override = 1 THEN 1 ELSE 0 END) AS overrides
FROM cases GROUP BY 1 ORDER BY 1

-- answers
-- In which month did people answer, whenever the case was decided?
SELECT substr(reviewed_at, 1, 7) AS month_of_the_answer, count(*) AS answers,
       sum(CASE WHEN is_override = 1 THEN 1 ELSE 0 END) AS overrides
FROM cases WHERE decision = 'review' AND final_by = 'review' GROUP BY 1 ORDER BY 1

-- why_reviewed
-- Why do cases go to people?
SELECT why, count(*) AS cases, sum(CASE WHEN final_by = 'review' THEN 1 ELSE 0 END) AS answered
FROM cases WHERE decision = 'review' GROUP BY 1 ORDER BY 2 DESC, 1

-- time_to_review
-- How long do cases wait for a person?
SELECT count(*) AS reviewed, avg({hours}) AS mean_hours, max({hours}) AS longest_hours
FROM cases WHERE final_by = 'review'

-- labelled
-- Which cases have a label, and what do they stand for?
  SELECT would_be AS the_band_says, substr(decided_at, 1, 7) AS month, score, outcome, prediction,
         CASE WHEN would_be = 'automatic' THEN 1.0 / audit_probability
              ELSE 1.0 / coalesce(strip_probability, 1.0) END AS w,
         CASE WHEN would_be = 'automatic' THEN prediction ELSE final_decision END AS used
  FROM cases
  WHERE outcome IS NOT NULL AND prediction IS NOT NULL AND substr(decided_at, 1, 7) NOT IN ({late})
    AND ((audit_probability > 0 AND decision = 'review') OR (would_be = 'review' AND final_by = 'review'))

-- right_answers
-- How often is the machine's answer right, and how often the one that was used, among labelled cases?
SELECT the_band_says,
       sum(w * CASE WHEN prediction = outcome THEN 1.0 ELSE 0.0 END) / sum(w) AS machine_alone,
       sum(w * CASE WHEN used = outcome THEN 1.0 ELSE 0.0 END) / sum(w) AS with_review,
       count(*) AS labelled_cases
FROM ({labelled}) labelled GROUP BY 1 ORDER BY 1

-- ranked
-- How well are cases ranked by the machine alone, and how well once people have answered theirs?
WITH a AS (
  SELECT score, outcome, w, CASE WHEN the_band_says = 'automatic' THEN 0 WHEN used = '{positive}' THEN 1 ELSE -1 END AS said
  FROM ({labelled}) labelled WHERE score IS NOT NULL AND month NOT IN ({unaudited})
)
SELECT sum(p.w * n.w * CASE WHEN p.score > n.score THEN 1.0 WHEN p.score = n.score THEN 0.5 ELSE 0.0 END)
         / sum(p.w * n.w) AS machine_alone,
       sum(p.w * n.w * CASE WHEN p.said > n.said OR (p.said = 0 AND n.said = 0 AND p.score > n.score) THEN 1.0
                            WHEN p.said < n.said OR (p.said = 0 AND n.said = 0 AND p.score < n.score) THEN 0.0
                            ELSE 0.5 END) / sum(p.w * n.w) AS with_review
FROM a p JOIN a n ON p.outcome = '{positive}' AND n.outcome <> '{positive}'

-- upheld
-- Who was right where people overrode the machine, and where they upheld it?
SELECT CASE WHEN is_override = 1 THEN 'overridden' ELSE 'upheld' END AS cases_that_were,
       count(*) AS with_outcome,
       avg(CASE WHEN prediction = outcome THEN 1.0 ELSE 0.0 END) AS machine_right,
       avg(CASE WHEN final_decision = outcome THEN 1.0 ELSE 0.0 END) AS person_right
FROM cases WHERE final_by = 'review' AND outcome IS NOT NULL AND prediction IS NOT NULL GROUP BY 1 ORDER BY 1

-- second_reviews
-- Do two people give the same answer?
SELECT count(*) AS reviewed_twice, sum(reviews_differ) AS differ FROM cases WHERE n_reviews >= 2

-- machine_shown
-- Do people follow the machine once they see its answer?
SELECT CASE WHEN r.saw_machine = 1 THEN 'after' ELSE 'before' END AS answered,
       c.would_be AS the_band_says,
       count(*) AS answers,
       avg(CASE WHEN r.answer = c.prediction THEN 1.0 ELSE 0.0 END) AS agree
FROM reviews r JOIN cases c ON c.case_number = r.case_number
WHERE r.saw_machine IS NOT NULL AND c.prediction IS NOT NULL AND r.answer NOT IN ('cannot decide', 'needs documents')
GROUP BY 1, 2 ORDER BY 1 DESC, 2

-- overrides
-- In which direction do people change the machine's answer?
SELECT prediction AS machine, final_decision AS person, count(*) AS cases
FROM cases WHERE final_by = 'review' AND prediction IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2

-- reasons
-- Which reasons do people give for an override?
SELECT coalesce(reason_code, 'none given') AS reason, count(*) AS overrides
FROM cases WHERE is_override = 1 GROUP BY 1 ORDER BY 2 DESC, 1

-- reviewers
-- Do reviewers override alike?
SELECT reviewer, count(*) AS answered,
       sum(CASE WHEN is_override = 1 THEN 1 ELSE 0 END) AS overrides,
       avg(CASE WHEN is_override = 1 THEN 1.0 ELSE 0.0 END) AS share
FROM cases WHERE final_by = 'review' AND prediction IS NOT NULL GROUP BY 1 ORDER BY 1

-- changes
-- When did the model, its rule or the coverage change, and who allowed it?
SELECT time, name AS batch, model_fingerprint AS model, rule_fingerprint AS rule, coverage, capacity,
       (SELECT who FROM approvals a WHERE a.number < b.number AND a.number > coalesce(b.number_before, 0)
        ORDER BY a.number DESC LIMIT 1) AS allowed_by
FROM (
  SELECT number, time, lag(number) OVER (ORDER BY number) AS number_before, name, model_fingerprint, rule_fingerprint, coverage, capacity,
         lag(model_fingerprint) OVER (ORDER BY number) AS model_before,
         lag(rule_fingerprint) OVER (ORDER BY number) AS rule_before,
         lag(coalesce(coverage, -1)) OVER (ORDER BY number) AS coverage_before,
         lag(coalesce(capacity, -1)) OVER (ORDER BY number) AS capacity_before
  FROM batches WHERE shadow_of IS NULL
) b
WHERE model_before IS NULL OR model_before <> model_fingerprint OR rule_before <> rule_fingerprint
   OR coverage_before <> coalesce(coverage, -1) OR capacity_before <> coalesce(capacity, -1)
ORDER BY number

-- approvals
-- What was allowed, and by whom?
SELECT time, who, what FROM approvals ORDER BY number

-- contradictions
-- Is there anything in the record that contradicts itself, or was erased?
SELECT coalesce(sum(outcomes_contradict), 0) AS outcomes_that_contradict, coalesce(sum(is_erased), 0) AS erased_cases
FROM cases

-- drift
-- Do the cases that come change from month to month?
SELECT substr(decided_at, 1, 7) AS month,
       count(*) AS cases,
       avg(score) AS mean_score,
       avg(CASE WHEN lower IS NULL THEN NULL WHEN selection_score < lower THEN 1.0 ELSE 0.0 END) AS below_the_band,
       avg(CASE WHEN upper IS NULL THEN NULL WHEN selection_score > upper THEN 1.0 ELSE 0.0 END) AS above_the_band,
       avg(CASE WHEN score IS NULL THEN 1.0 ELSE 0.0 END) AS without_score,
       avg(CASE WHEN why = 'unfamiliar' THEN 1.0 ELSE 0.0 END) AS unfamiliar
FROM cases GROUP BY 1 ORDER BY 1

-- scores
-- Do the cases of the last month have scores like those before?
SELECT substr(decided_at, 1, 7) AS month, score FROM cases WHERE score IS NOT NULL AND model_fingerprint =
  (SELECT model_fingerprint FROM batches WHERE shadow_of IS NULL ORDER BY number DESC LIMIT 1)

-- label_free
-- How good are automatic decisions expected to be each month, without any label?
SELECT substr(decided_at, 1, 7) AS month, score FROM cases
WHERE would_be = 'automatic' AND coalesce(why, '') <> 'unfamiliar' AND score IS NOT NULL
  AND model_fingerprint = '{model}'

-- costs
-- What does a labelled case cost by the machine alone, and what with review?
SELECT the_band_says, sum(w * CASE WHEN prediction = outcome THEN 0.0 WHEN outcome = '{positive}' THEN {missed}
                               ELSE {alarm} END) / sum(w) AS cost_of_machine,
       sum(w * (CASE WHEN used = outcome THEN 0.0 WHEN outcome = '{positive}' THEN {missed} ELSE {alarm} END
                + CASE WHEN the_band_says = 'review' THEN {review} ELSE 0.0 END)) / sum(w) AS cost_with_review,
       count(*) AS labelled_cases
FROM ({labelled}) labelled GROUP BY 1 ORDER BY 1

-- strip
-- What does review change at the edges of the band, where a coin decides who answers?
SELECT CASE WHEN decision = 'review' AND why <> 'audit' THEN 'people' ELSE 'machine' END AS answered_by,
       count(*) AS labelled_cases,
       avg(CASE WHEN (CASE WHEN why = 'audit' THEN prediction ELSE final_decision END) = outcome THEN 0.0 ELSE 1.0 END)
         AS wrong_answers
FROM cases WHERE strip_probability IS NOT NULL AND outcome IS NOT NULL
  AND (why = 'audit' OR final_decision IS NOT NULL) GROUP BY 1 ORDER BY 1

-- seeded
-- Do people find the cases whose answer is known?
SELECT o.outcome AS known_answer, count(*) AS cases, sum(CASE WHEN r.answer = o.outcome THEN 1 ELSE 0 END) AS found,
       avg(CASE WHEN r.answer = o.outcome THEN 1.0 ELSE 0.0 END) AS share_found
FROM decisions d JOIN outcomes o ON o.case_number = d.number JOIN reviews r ON r.case_number = d.number
WHERE d.why = 'seeded' AND r.number = (
  SELECT max(b.number) FROM reviews b WHERE b.case_number = d.number AND coalesce(b.saw_machine, 0) = 0
    AND b.answer NOT IN ('cannot decide', 'needs documents'))
GROUP BY 1 ORDER BY 1

-- group
-- Are people treated differently by {column}?
SELECT {value} AS value,
       count(*) AS cases,
       avg(CASE WHEN decision = 'automatic' OR why = 'audit' THEN 1.0 ELSE 0.0 END) AS automatic_or_audited,
       avg(CASE WHEN is_override = 1 THEN 1.0 ELSE 0.0 END) AS overridden,
       count(CASE WHEN final_decision IS NOT NULL THEN outcome END) AS with_outcome,
       avg(CASE WHEN outcome IS NULL OR final_decision IS NULL THEN NULL
                WHEN final_decision = outcome THEN 1.0 ELSE 0.0 END) AS right_answers
FROM cases GROUP BY 1 ORDER BY 1

-- cells
-- How many cases have the same values of all compared columns?
SELECT {values}, count(*) AS cases, count(CASE WHEN final_decision IS NOT NULL THEN outcome END) AS with_outcome
FROM cases GROUP BY {places}

-- audited
-- How good are the decisions that nobody looked at?
SELECT score, audit_probability, decision, CASE WHEN decision = 'review' THEN outcome END AS outcome
FROM cases WHERE would_be = 'automatic' AND score IS NOT NULL AND audit_probability > 0
  AND substr(decided_at, 1, 7) NOT IN ({late})

-- audited_auc
-- How good are the decisions that nobody looked at?
WITH a AS (
  SELECT score, outcome, 1.0 / audit_probability AS w
  FROM cases WHERE audit_probability > 0 AND decision = 'review' AND outcome IS NOT NULL AND score IS NOT NULL
    AND substr(decided_at, 1, 7) NOT IN ({late})
)
SELECT sum(p.w * n.w * CASE WHEN p.score > n.score THEN 1.0 WHEN p.score = n.score THEN 0.5 ELSE 0.0 END)
       / sum(p.w * n.w) AS auc
FROM a p JOIN a n ON p.outcome = '{positive}' AND n.outcome <> '{positive}'

-- answered
-- Where are both answers and the outcome known?
SELECT outcome, prediction, final_decision
FROM cases WHERE final_by = 'review' AND outcome IS NOT NULL AND prediction IS NOT NULL

-- effect
-- What does review change, where both answers and the outcome are known?
SELECT avg(CASE WHEN prediction = outcome THEN 0.0 ELSE 1.0 END)
         - avg(CASE WHEN final_decision = outcome THEN 0.0 ELSE 1.0 END) AS effect,
       count(*) AS reviewed
FROM cases WHERE final_by = 'review' AND outcome IS NOT NULL AND prediction IS NOT NULL

-- trend
-- Do overrides become more or fewer?
WITH a AS (
  SELECT dense_rank() OVER (ORDER BY substr(decided_at, 1, 7)) - 1.0 AS month,
         CASE WHEN decision = 'review' AND final_by = 'review' THEN 1.0 ELSE 0.0 END AS n,
         CASE WHEN decision = 'review' AND is_override = 1 THEN 1.0 ELSE 0.0 END AS k
  FROM cases
), b AS (
  SELECT sum(k) / nullif(sum(n), 0.0) AS share, sum(k * month) - sum(k) / nullif(sum(n), 0.0) * sum(n * month) AS excess,
         sum(n * month * month) - sum(n * month) * sum(n * month) / nullif(sum(n), 0.0) AS spread
  FROM a
)
SELECT share, excess * excess / nullif(share * (1.0 - share) * spread, 0.0) AS z_squared FROM b

-- drift_test
-- Do the cases of the last month have scores like those before?
WITH a AS (
  SELECT score, CASE WHEN month = (SELECT max(month) FROM ({scores}) s) THEN 1.0 ELSE 0.0 END AS is_last
  FROM ({scores}) s
), b AS (
  SELECT sum(is_last) OVER (ORDER BY score) / nullif(sum(is_last) OVER (), 0.0) AS now_below,
         sum(1.0 - is_last) OVER (ORDER BY score) / nullif(sum(1.0 - is_last) OVER (), 0.0) AS then_below
  FROM a
)
SELECT max(abs(now_below - then_below)) AS distance FROM b
