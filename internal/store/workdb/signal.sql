
-- name: add_signal
INSERT INTO signals (account_id, id, name, description, guidelines, faq, created_by, subject_id, trust, label, created_at, updated_at, archived_at,
  revision, revisions) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: save_signal
UPDATE signals SET description = ?, guidelines = ?, faq = ?, trust = ?, label = ?, updated_at = ?, archived_at = ?, revision = ?, revisions = ?
WHERE account_id = ? AND id = ?
-- name: signal
SELECT SIG FROM signals WHERE account_id = ? AND id = ?
-- name: share_signal sqlite
SELECT SIG FROM signals WHERE account_id = ? AND id = ?
-- name: share_signal postgres
SELECT SIG FROM signals WHERE account_id = ? AND id = ? FOR KEY SHARE
-- name: lock_signal sqlite
SELECT SIG FROM signals WHERE account_id = ? AND id = ?
-- name: lock_signal postgres
SELECT SIG FROM signals WHERE account_id = ? AND id = ? FOR UPDATE
-- name: signal_by_name
SELECT SIG FROM signals WHERE account_id = ? AND name = ?
-- name: signals
SELECT SIG FROM signals WHERE account_id = ? AND id > ? AND (archived_at = 0 OR ? = 1) ORDER BY id LIMIT ?
-- name: count_signals
SELECT COUNT(*) FROM signals WHERE account_id = ?
-- name: drop_signal
DELETE FROM signals WHERE account_id = ? AND id = ?
-- name: drop_publishes
DELETE FROM signal_publishes WHERE account_id = ? AND signal_id = ?
-- name: drop_spawns
DELETE FROM signal_spawns WHERE account_id = ? AND publish_id IN (SELECT p.id FROM signal_publishes p WHERE p.account_id = ? AND p.signal_id = ?)

-- name: add_trigger
INSERT INTO triggers (account_id, id, signal_id, workspace_id, title, body, assignee, assignee_ref, allow_all, emit_id, enabled, created_by, subject_id,
  trust, label, created_at, updated_at, revision, revisions) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: save_trigger
UPDATE triggers SET workspace_id = ?, title = ?, body = ?, assignee = ?, assignee_ref = ?, allow_all = ?, emit_id = ?, enabled = ?, trust = ?, label = ?,
  updated_at = ?, revision = ?, revisions = ? WHERE account_id = ? AND id = ?
-- name: trigger
SELECT TRG FROM triggers WHERE account_id = ? AND id = ?
-- name: lock_trigger sqlite
SELECT TRG FROM triggers WHERE account_id = ? AND id = ?
-- name: lock_trigger postgres
SELECT TRG FROM triggers WHERE account_id = ? AND id = ? FOR UPDATE
-- name: triggers_of
SELECT TRG FROM triggers WHERE account_id = ? AND signal_id = ? ORDER BY id
-- name: triggers_emitting
SELECT TRG FROM triggers WHERE account_id = ? AND emit_id = ? ORDER BY id
-- name: triggers_into
SELECT TRG FROM triggers WHERE account_id = ? AND workspace_id = ? ORDER BY id
-- name: count_triggers
SELECT COUNT(*) FROM triggers WHERE account_id = ?
-- name: chains
SELECT signal_id, emit_id FROM triggers WHERE account_id = ? AND emit_id IS NOT NULL AND id <> ? ORDER BY emit_id, id
-- name: drop_trigger
DELETE FROM triggers WHERE account_id = ? AND id = ?

-- name: add_publish
INSERT INTO signal_publishes (account_id, id, signal_id, task_id, key_digest, author, subject_id, trust, label, payload, faq, chain, stopped, passed, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
-- name: publish_of_task
SELECT PUB FROM signal_publishes WHERE account_id = ? AND task_id = ? AND signal_id = ?
-- name: publish_of_key
SELECT PUB FROM signal_publishes WHERE account_id = ? AND key_digest = ?
-- name: publishes
SELECT PUB FROM signal_publishes WHERE account_id = ? AND signal_id = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: chain_of
SELECT chain FROM signal_publishes WHERE account_id = ? AND id = (SELECT s.publish_id FROM signal_spawns s WHERE s.account_id = ? AND s.task_id = ?)
-- name: add_spawn
INSERT INTO signal_spawns (account_id, task_id, publish_id, trigger_id, workspace_id, task_key) VALUES (?, ?, ?, ?, ?, ?)
-- name: spawns
SELECT trigger_id, workspace_id, task_id, task_key FROM signal_spawns WHERE account_id = ? AND publish_id = ? ORDER BY task_id
-- name: tasks_of_signal
SELECT TSK FROM tasks WHERE account_id = ? AND trigger_id = ? AND id < ? ORDER BY id DESC LIMIT ?
