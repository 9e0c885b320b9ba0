-- Definitions.

-- name: add_version
INSERT INTO agent_versions (account_id, agent, number, digest, yaml, event_id, at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: current_version
SELECT agent, number, digest, yaml, event_id, at FROM agent_versions WHERE account_id = ? AND agent = ? ORDER BY number DESC LIMIT 1
-- name: get_version
SELECT agent, number, digest, yaml, event_id, at FROM agent_versions WHERE account_id = ? AND agent = ? AND number = ?
-- name: list_current
SELECT agent, number, digest, yaml, event_id, at FROM agent_versions v WHERE account_id = ?
  AND number = (SELECT MAX(number) FROM agent_versions w WHERE w.account_id = v.account_id AND w.agent = v.agent) ORDER BY agent

-- Threads.

-- name: add_thread
INSERT INTO threads (account_id, id, active_id, turns, runs, summary_id, folded, changed_at) VALUES (?, ?, NULL, 0, 0, NULL, 0, ?)
ON CONFLICT DO NOTHING
-- name: get_thread
SELECT id, active_id, turns, runs, summary_id, folded, changed_at FROM threads WHERE account_id = ? AND id = ?
-- name: lock_thread sqlite
SELECT id, active_id, turns, runs, summary_id, folded, changed_at FROM threads WHERE account_id = ? AND id = ?
-- name: lock_thread postgres
SELECT id, active_id, turns, runs, summary_id, folded, changed_at FROM threads WHERE account_id = ? AND id = ? FOR UPDATE
-- name: save_thread
UPDATE threads SET active_id = ?, turns = ?, runs = ?, summary_id = ?, folded = ?, changed_at = ? WHERE account_id = ? AND id = ?
-- name: list_threads
SELECT id, active_id, turns, runs, summary_id, folded, changed_at FROM threads WHERE account_id = ? AND changed_at < ?
ORDER BY changed_at DESC, id DESC LIMIT ?

-- Turns.

-- name: append_turn
INSERT INTO turns (account_id, thread_id, seq, id, ord, role, author, text, label, event_id, message_id, run_id, channel, sender, files, covers, at, subject_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: get_turn
SELECT id, thread_id, seq, ord, role, author, text, label, event_id, message_id, run_id, channel, sender, files, covers, at, subject_id
FROM turns WHERE account_id = ? AND thread_id = ? AND id = ?
-- name: get_turns
SELECT id, thread_id, seq, ord, role, author, text, label, event_id, message_id, run_id, channel, sender, files, covers, at, subject_id
FROM turns WHERE account_id = ? AND thread_id = ? AND id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: load_open
SELECT id, thread_id, seq, ord, role, author, text, label, event_id, message_id, run_id, channel, sender, files, covers, at, subject_id
FROM turns WHERE account_id = ? AND thread_id = ? AND ord > ? AND role <> 'summary' ORDER BY ord, seq
-- name: list_turns
SELECT id, thread_id, seq, ord, role, author, text, label, event_id, message_id, run_id, channel, sender, files, covers, at, subject_id
FROM turns WHERE account_id = ? AND thread_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?

-- Runs.

-- name: add_run
INSERT INTO runs (account_id, id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: get_run
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs WHERE account_id = ? AND id = ?
-- name: lock_run sqlite
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs WHERE account_id = ? AND id = ?
-- name: lock_run postgres
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs WHERE account_id = ? AND id = ? FOR UPDATE
-- name: save_run
UPDATE runs SET state = ?, records = ?, delays = ?, due_at = ?, tokens_in = ?, tokens_out = ?, cost = ?, cost_known = ?, outcome = ?, steps = ?, digest = ?,
  started_at = ?, ended_at = ? WHERE account_id = ? AND id = ?
-- name: find_queued
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs
WHERE account_id = ? AND thread_id = ? AND state = 'queued' ORDER BY ord LIMIT 1
-- name: list_runs
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs
WHERE account_id = ? AND thread_id = ? AND ord < ? ORDER BY ord DESC LIMIT ?
-- name: list_resting
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs
WHERE account_id = ? AND state = 'resting' ORDER BY created_at, id LIMIT ?
-- name: list_unfinished
SELECT id, thread_id, agent, ord, state, task_id, turn_id, message_id, requester, subject_id, records, delays, due_at,
  tokens_in, tokens_out, cost, cost_known, outcome, steps, digest, created_at, started_at, ended_at FROM runs
WHERE account_id = ? AND state IN ('queued', 'ready', 'thinking', 'waiting', 'resting') ORDER BY created_at, id LIMIT ?

-- Logs.

-- name: append_record
INSERT INTO run_records (account_id, run_id, n, kind, step, call_id, event_id, label, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: load_records
SELECT n, kind, step, call_id, event_id, label, digest FROM run_records WHERE account_id = ? AND run_id = ? ORDER BY n
