-- name: get_head
SELECT version, digest FROM policy_heads WHERE account_id = ?
-- name: get_version
SELECT version, document, person_id, created_at FROM policy_versions WHERE account_id = ? AND version = ?
-- name: list_versions
SELECT version, document, person_id, created_at FROM policy_versions WHERE account_id = ? ORDER BY version DESC
-- name: first_head
INSERT INTO policy_heads (account_id, version, digest) VALUES (?, ?, ?) ON CONFLICT (account_id) DO NOTHING
-- name: move_head
UPDATE policy_heads SET version = ?, digest = ? WHERE account_id = ? AND version = ?
-- name: append_version
INSERT INTO policy_versions (account_id, version, document, person_id, created_at) VALUES (?, ?, ?, ?, ?)

-- name: find_dials
SELECT scope, value FROM policy_dials WHERE account_id = ? AND scope IN ('account', ?)
-- name: save_dial
INSERT INTO policy_dials (account_id, scope, value, person_id, moved_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (account_id, scope) DO UPDATE SET value = excluded.value, person_id = excluded.person_id, moved_at = excluded.moved_at
-- name: append_move
INSERT INTO policy_dial_moves (account_id, id, scope, value, person_id, moved_at) VALUES (?, ?, ?, ?, ?, ?)
-- name: list_dials
SELECT scope, value, person_id, moved_at FROM policy_dials WHERE account_id = ? ORDER BY scope
-- name: list_moves
SELECT scope, value, person_id, moved_at FROM policy_dial_moves WHERE account_id = ? AND scope = ? ORDER BY id DESC LIMIT 1000

-- name: list_grants_for
SELECT id, holder, spec, used, person_id, approval_id, subject_id, label, created_at, ended, ended_at
FROM policy_grants
WHERE account_id = ? AND holder = ? AND expires_at > ? AND created_at <= ?
  AND (ended = '' AND (uses = 0 OR used < uses)
    OR ended IN ('', 'used') AND EXISTS (SELECT 1 FROM policy_grant_uses u
      WHERE u.account_id = policy_grants.account_id AND u.grant_id = policy_grants.id AND u.use_id = ?))
ORDER BY id
-- name: list_grants
SELECT id, holder, spec, used, person_id, approval_id, subject_id, label, created_at, ended, ended_at
FROM policy_grants WHERE account_id = ? AND (ended = '' OR ? = 1) ORDER BY id DESC LIMIT 1000
-- name: get_grant
SELECT id, holder, spec, used, person_id, approval_id, subject_id, label, created_at, ended, ended_at
FROM policy_grants WHERE account_id = ? AND id = ?
-- name: add_grant
INSERT INTO policy_grants (account_id, id, holder, spec, uses, used, expires_at, person_id, approval_id, subject_id, label, created_at, ended, ended_at)
VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, '', 0)
-- name: was_used
SELECT used_at FROM policy_grant_uses WHERE account_id = ? AND grant_id = ? AND use_id = ?
-- name: use_grant
UPDATE policy_grants SET used = used + 1
WHERE account_id = ? AND id = ? AND ended = '' AND expires_at > ? AND created_at <= ? AND (uses = 0 OR used < uses)
-- name: note_use
INSERT INTO policy_grant_uses (account_id, grant_id, use_id, used_at) VALUES (?, ?, ?, ?)
-- name: end_grant
UPDATE policy_grants SET ended = ?, ended_at = ? WHERE account_id = ? AND id = ? AND ended = ''

-- name: list_endorsements
SELECT id, run_id, skill, targets, label FROM policy_endorsements WHERE account_id = ? AND run_id = ? ORDER BY id
-- name: add_endorsement
INSERT INTO policy_endorsements (account_id, id, run_id, skill, targets, label, person_id, approval_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: drop_endorsement
DELETE FROM policy_endorsements WHERE account_id = ? AND id = ?

-- name: next_approval
INSERT INTO policy_approval_numbers (account_id, last) VALUES (?, 1)
ON CONFLICT (account_id) DO UPDATE SET last = policy_approval_numbers.last + 1 RETURNING last
-- name: add_approval
INSERT INTO policy_approvals (account_id, id, number, state, revision, asker, asker_id, run_id, invoke_id, subject_id,
  request, original, call, digest, shape, asks, rule, policy_version, risk, reasons, words, evidence, reversible,
  asked_at, expires_at, requested_id, correlation_id, label,
  answer, answered_by, answered_at, scope, via, reason, effective_at, grant_id, endorsement_id, use_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, asker_id, call) WHERE state = 'open' DO NOTHING
-- name: set_requested
UPDATE policy_approvals SET requested_id = ?, correlation_id = ?, label = ? WHERE account_id = ? AND id = ?
-- name: update_approval
UPDATE policy_approvals SET state = ?, revision = ?, request = ?, original = ?, call = ?, digest = ?, shape = ?, asks = ?, rule = ?,
  policy_version = ?, risk = ?, reasons = ?, answer = ?, answered_by = ?, answered_at = ?, scope = ?, via = ?, reason = ?,
  effective_at = ?, grant_id = ?, endorsement_id = ?, use_id = ?
WHERE account_id = ? AND id = ? AND revision = ?
-- name: get_approval
SELECT id, number, state, revision, asker, asker_id, run_id, invoke_id, subject_id,
  request, original, call, digest, shape, asks, rule, policy_version, risk, reasons, words, evidence, reversible,
  asked_at, expires_at, requested_id, correlation_id, label,
  answer, answered_by, answered_at, scope, via, reason, effective_at, grant_id, endorsement_id, use_id
FROM policy_approvals WHERE account_id = ? AND id = ?
-- name: get_approval_by_number
SELECT id, number, state, revision, asker, asker_id, run_id, invoke_id, subject_id,
  request, original, call, digest, shape, asks, rule, policy_version, risk, reasons, words, evidence, reversible,
  asked_at, expires_at, requested_id, correlation_id, label,
  answer, answered_by, answered_at, scope, via, reason, effective_at, grant_id, endorsement_id, use_id
FROM policy_approvals WHERE account_id = ? AND number = ?
-- name: find_live
SELECT id, number, state, revision, asker, asker_id, run_id, invoke_id, subject_id,
  request, original, call, digest, shape, asks, rule, policy_version, risk, reasons, words, evidence, reversible,
  asked_at, expires_at, requested_id, correlation_id, label,
  answer, answered_by, answered_at, scope, via, reason, effective_at, grant_id, endorsement_id, use_id
FROM policy_approvals WHERE account_id = ? AND asker_id = ? AND call = ? AND state IN ('open', 'allowed')
ORDER BY number DESC LIMIT 1
-- name: find_denied
SELECT id, number, state, revision, asker, asker_id, run_id, invoke_id, subject_id,
  request, original, call, digest, shape, asks, rule, policy_version, risk, reasons, words, evidence, reversible,
  asked_at, expires_at, requested_id, correlation_id, label,
  answer, answered_by, answered_at, scope, via, reason, effective_at, grant_id, endorsement_id, use_id
FROM policy_approvals WHERE account_id = ? AND asker_id = ? AND shape = ? AND state = 'denied'
ORDER BY number DESC LIMIT 1
-- name: list_approvals
SELECT id, number, state, revision, asker, asker_id, run_id, invoke_id, subject_id,
  request, original, call, digest, shape, asks, rule, policy_version, risk, reasons, words, evidence, reversible,
  asked_at, expires_at, requested_id, correlation_id, label,
  answer, answered_by, answered_at, scope, via, reason, effective_at, grant_id, endorsement_id, use_id
FROM policy_approvals
WHERE account_id = ? AND number < ? AND (? = '' OR state = ?) AND (? = 0 OR run_id = ?) AND (? = 0 OR asker_id = ?)
ORDER BY number DESC LIMIT ?
