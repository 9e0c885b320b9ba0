-- name: lock_graph sqlite
SELECT COUNT(*) FROM task_graphs WHERE account_id = ?
-- name: lock_graph postgres
INSERT INTO task_graphs (account_id, changes) VALUES (?, 1) ON CONFLICT (account_id) DO UPDATE SET changes = task_graphs.changes + 1 RETURNING changes

-- name: add_workspace
INSERT INTO workspaces (account_id, id, prefix, name, description, learning_note, allow_all, resident, token_digest, token_last, token_at,
  created_by, subject_id, label, created_at, updated_at, archived_at, fork_of_id, merged_at,
  revision, revisions, last_number)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, 0)
-- name: save_workspace
UPDATE workspaces SET name = ?, description = ?, learning_note = ?, allow_all = ?, resident = ?, token_digest = ?, token_last = ?, token_at = ?,
  label = ?, updated_at = ?, archived_at = ?, merged_at = ?, revision = ?, revisions = ? WHERE account_id = ? AND id = ?
-- name: workspace
SELECT WSP FROM workspaces WHERE account_id = ? AND id = ?
-- name: share_workspace sqlite
SELECT WSP FROM workspaces WHERE account_id = ? AND id = ?
-- name: share_workspace postgres
SELECT WSP FROM workspaces WHERE account_id = ? AND id = ? FOR KEY SHARE
-- name: share_workspace_of sqlite
SELECT WSP FROM workspaces WHERE account_id = ? AND id = (SELECT t.workspace_id FROM tasks t WHERE t.account_id = ? AND t.id = ?)
-- name: share_workspace_of postgres
SELECT WSP FROM workspaces WHERE account_id = ? AND id = (SELECT t.workspace_id FROM tasks t WHERE t.account_id = ? AND t.id = ?) FOR KEY SHARE
-- name: lock_workspace sqlite
SELECT WSP FROM workspaces WHERE account_id = ? AND id = ?
-- name: lock_workspace postgres
SELECT WSP FROM workspaces WHERE account_id = ? AND id = ? FOR UPDATE
-- name: workspace_by_token
SELECT WSP FROM workspaces WHERE account_id = ? AND token_digest = ?
-- name: prefix_taken
SELECT COUNT(*) FROM workspaces WHERE account_id = ? AND prefix = ?
-- name: workspaces
SELECT WSP FROM workspaces WHERE account_id = ? AND id > ? AND (archived_at = 0 OR ? = 1) ORDER BY id LIMIT ?
-- name: forks sqlite
SELECT WSP FROM workspaces WHERE account_id = ? AND fork_of_id = ? AND fork_of_id IS NOT NULL AND merged_at = 0 ORDER BY id
-- name: forks postgres
SELECT WSP FROM workspaces WHERE account_id = ? AND fork_of_id = ? AND fork_of_id IS NOT NULL AND merged_at = 0 ORDER BY id FOR UPDATE
-- name: unfinished
SELECT COUNT(*) FROM tasks WHERE account_id = ? AND workspace_id = ? AND status IN ('notstarted', 'ongoing', 'blocked', 'cron')
-- name: move_tasks
UPDATE tasks SET workspace_id = ?, updated_at = ? WHERE account_id = ? AND workspace_id = ?
-- name: next_number
UPDATE workspaces SET last_number = last_number + 1 WHERE account_id = ? AND id = ? AND archived_at = 0 RETURNING last_number

-- name: add_task
INSERT INTO tasks (account_id, id, workspace_id, prefix, number, created_by, author, trust, label, assignee, assignee_ref, status, cause, title,
  title_subject_id, body, attachments, body_subject_id, cron_schedule, parent_id, trigger_id, event_id, sort_order, allow_all, waits, pending, messages,
  claimant, fence, lease_span, lease_until, losses, created_at, updated_at, status_at, revision, revisions)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: save_task
UPDATE tasks SET assignee = ?, assignee_ref = ?, status = ?, cause = ?, cron_schedule = ?, parent_id = ?, event_id = ?, sort_order = ?, allow_all = ?,
  waits = ?, pending = ?, messages = ?, claimant = ?, fence = ?, lease_span = ?, lease_until = ?, losses = ?, updated_at = ?, status_at = ?,
  revision = ?, revisions = ? WHERE account_id = ? AND id = ?
-- name: save_words
UPDATE tasks SET title = ?, title_subject_id = ?, body = ?, attachments = ?, body_subject_id = ?, label = ?, trust = ? WHERE account_id = ? AND id = ?
-- name: task
SELECT TSK FROM tasks WHERE account_id = ? AND id = ?
-- name: lock_task sqlite
SELECT TSK FROM tasks WHERE account_id = ? AND id = ?
-- name: lock_task postgres
SELECT TSK FROM tasks WHERE account_id = ? AND id = ? FOR UPDATE
-- name: task_by_key
SELECT TSK FROM tasks WHERE account_id = ? AND prefix = ? AND number = ?
-- name: drop_task
DELETE FROM tasks WHERE account_id = ? AND id = ?
-- name: offer sqlite
SELECT TSK FROM tasks INDEXED BY tasks_offer WHERE account_id = ? AND workspace_id = ? AND assignee_ref = ? AND status = 'notstarted' AND assignee = 'agent' AND waits = 0
ORDER BY sort_order, id LIMIT 1
-- name: offer postgres
SELECT TSK FROM tasks WHERE account_id = ? AND workspace_id = ? AND assignee_ref = ? AND status = 'notstarted' AND assignee = 'agent' AND waits = 0
ORDER BY sort_order, id LIMIT 1 FOR UPDATE SKIP LOCKED
-- name: tasks_all
SELECT TSK FROM tasks WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: tasks_of_workspace
SELECT TSK FROM tasks WHERE account_id = ? AND workspace_id = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: tasks_of_status
SELECT TSK FROM tasks WHERE account_id = ? AND status = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: tasks_of_both
SELECT TSK FROM tasks WHERE account_id = ? AND workspace_id = ? AND status = ? AND id < ? ORDER BY id DESC LIMIT ?
-- name: tasks_pending
SELECT TSK FROM tasks WHERE account_id = ? AND pending > 0 AND id < ? ORDER BY id DESC LIMIT ?
-- name: tasks_pending_here
SELECT TSK FROM tasks WHERE account_id = ? AND workspace_id = ? AND pending > 0 AND id < ? ORDER BY id DESC LIMIT ?
-- name: column
SELECT TSK FROM tasks WHERE account_id = ? AND workspace_id = ? AND status = ? AND (sort_order, id) > (?, ?) ORDER BY sort_order, id LIMIT ?
-- name: ongoing
SELECT TSK FROM tasks WHERE account_id = ? AND status = 'ongoing' AND id > ? ORDER BY id LIMIT ?
-- name: ongoing_of
SELECT TSK FROM tasks WHERE account_id = ? AND workspace_id = ? AND status = 'ongoing' ORDER BY id LIMIT ?
-- name: children
SELECT TSK FROM tasks WHERE account_id = ? AND parent_id = ? AND id > ? ORDER BY id LIMIT ?
-- name: count_tasks
SELECT status, COUNT(*) FROM tasks WHERE account_id = ? AND workspace_id = ? GROUP BY status

-- name: add_link
INSERT INTO task_links (account_id, task_id, blocker_id, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
-- name: drop_link
DELETE FROM task_links WHERE account_id = ? AND task_id = ? AND blocker_id = ?
-- name: drop_links
DELETE FROM task_links WHERE account_id = ? AND (task_id = ? OR blocker_id = ?)
-- name: blockers
SELECT blocker_id FROM task_links WHERE account_id = ? AND task_id = ? ORDER BY blocker_id
-- name: dependents
SELECT task_id FROM task_links WHERE account_id = ? AND blocker_id = ? ORDER BY task_id

-- name: add_message
INSERT INTO task_messages (account_id, task_id, number, id, sender, author, subject_id, label, body, attachments, meta_type, request, tool, meta_status,
  details, event_id, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: message_by_request
SELECT MSG FROM task_messages WHERE account_id = ? AND task_id = ? AND request = ? AND request <> ''
-- name: settle_message
UPDATE task_messages SET meta_status = ? WHERE account_id = ? AND task_id = ? AND number = ?
-- name: messages
SELECT MSG FROM task_messages WHERE account_id = ? AND task_id = ? AND number > ? AND number < ? ORDER BY number LIMIT ?
-- name: messages_newest
SELECT MSG FROM task_messages WHERE account_id = ? AND task_id = ? AND number > ? AND number < ? ORDER BY number DESC LIMIT ?
-- name: drop_messages
DELETE FROM task_messages WHERE account_id = ? AND task_id = ?
