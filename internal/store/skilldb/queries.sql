-- name: save_entry
INSERT INTO skill_manifests (account_id, hash, name, version, kind, body, content, label, made_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, hash) DO NOTHING
-- name: entry
SELECT body, content, label FROM skill_manifests WHERE account_id = ? AND hash = ?

-- name: append_snapshot
INSERT INTO catalogues (account_id, number, digest, items, made_by, event_id, made_at)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, number) DO NOTHING
-- name: snapshot
SELECT number, digest, made_by, event_id, made_at FROM catalogues WHERE account_id = ? AND number = ?
-- name: head
SELECT number, digest, made_by, event_id, made_at FROM catalogues WHERE account_id = ? ORDER BY number DESC LIMIT 1
-- name: items
SELECT items FROM catalogues WHERE account_id = ? AND number = ?

-- name: add_effect
INSERT INTO effects (account_id, id, cause_event_id, run_id, step, call_id, actor, requester, workspace_id, skill, manifest,
  catalogue, class, state, attempt, idem_key, call_digest, approval_id, edit_event_id, decision_id, result_id, fence, node_id,
  deadline_at, reason, was, settling, label, stream_id, created_at, changed_at, version)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: save_effect
UPDATE effects SET state = ?, attempt = ?, call_digest = ?, edit_event_id = ?, decision_id = ?, result_id = ?, fence = ?,
  node_id = ?, deadline_at = ?, reason = ?, was = ?, settling = ?, changed_at = ?, version = version + 1
WHERE account_id = ? AND id = ? AND state = ? AND version = ? AND fence <= ?
-- name: add_step
INSERT INTO effect_steps (account_id, effect_id, number, state, attempt, fence, node_id, event_id, reason, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: effect
SELECT COLS FROM effects WHERE account_id = ? AND id = ?
-- name: by_cause
SELECT COLS FROM effects WHERE account_id = ? AND cause_event_id = ?
-- name: by_key
SELECT COLS FROM effects WHERE account_id = ? AND idem_key = ?
-- name: by_approval
SELECT COLS FROM effects WHERE account_id = ? AND approval_id = ?
-- name: list
SELECT COLS FROM effects WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: list_run
SELECT COLS FROM effects WHERE account_id = ? AND run_id = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: list_state
SELECT COLS FROM effects WHERE account_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: list_run_state
SELECT COLS FROM effects WHERE account_id = ? AND run_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: steps
SELECT number, state, attempt, fence, node_id, event_id, reason, at FROM effect_steps WHERE account_id = ? AND effect_id = ? ORDER BY number
