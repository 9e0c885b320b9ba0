-- name: add_inbox
INSERT INTO channel_inbox (account_id, channel, dedupe_key, digest, message_id, thread_id, at)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, channel, dedupe_key) DO NOTHING

-- name: find_inbox
SELECT digest, message_id, thread_id, at FROM channel_inbox WHERE account_id = ? AND channel = ? AND dedupe_key = ?

-- name: add_thread
INSERT INTO channel_threads (account_id, thread_id, channel, name_key, ref, person_id, subject_id, label, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: get_thread
SELECT thread_id, channel, name_key, ref, person_id, subject_id, label, at
FROM channel_threads WHERE account_id = ? AND thread_id = ?

-- name: find_thread
SELECT thread_id, channel, name_key, ref, person_id, subject_id, label, at
FROM channel_threads WHERE account_id = ? AND channel = ? AND name_key = ?

-- name: bind_thread
UPDATE channel_threads SET name_key = ?, ref = ?
WHERE account_id = ? AND thread_id = ? AND channel = ? AND name_key IS NULL
  AND NOT EXISTS (SELECT 1 FROM channel_threads o WHERE o.account_id = ? AND o.channel = ? AND o.name_key = ?)

-- name: list_threads
SELECT thread_id, channel, name_key, ref, person_id, subject_id, label, at
FROM channel_threads WHERE account_id = ? AND person_id = ? AND thread_id < ?
ORDER BY thread_id DESC LIMIT ?

-- name: save_cursor
INSERT INTO channel_cursors (account_id, channel, value) VALUES (?, ?, ?)
ON CONFLICT (account_id, channel) DO UPDATE SET value = excluded.value

-- name: get_cursor
SELECT value FROM channel_cursors WHERE account_id = ? AND channel = ?

-- name: save_state
INSERT INTO channel_states (account_id, channel, connected, reason, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (account_id, channel) DO UPDATE SET connected = excluded.connected, reason = excluded.reason, at = excluded.at
WHERE channel_states.connected <> excluded.connected OR channel_states.reason <> excluded.reason

-- name: list_states
SELECT channel, connected, reason, at FROM channel_states WHERE account_id = ? ORDER BY channel

-- name: add_attachment
INSERT INTO channel_attachments (account_id, message_id, place, digest, thread_id, person_id, subject_id, name, media_type, size, label)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: get_attachment
SELECT digest, message_id, place, thread_id, person_id, subject_id, name, media_type, size, label
FROM channel_attachments WHERE account_id = ? AND digest = ? ORDER BY message_id, place LIMIT 1

-- name: count_attachments
SELECT COUNT(*) FROM channel_attachments WHERE account_id = ? AND digest = ?
