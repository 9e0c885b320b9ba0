-- name: document
SELECT DOC, r.body FROM pano_documents d JOIN pano_revisions r
ON r.account_id = d.account_id AND r.document_id = d.id AND r.revision = d.revision
WHERE d.account_id = ? AND d.path = ?
-- name: revision
SELECT DOC, r.body FROM pano_documents d JOIN pano_revisions r ON r.account_id = d.account_id AND r.document_id = d.id
WHERE d.account_id = ? AND d.path = ? AND r.revision = ?
-- name: documents
SELECT DOC, '' FROM pano_documents d JOIN pano_revisions r
ON r.account_id = d.account_id AND r.document_id = d.id AND r.revision = d.revision
WHERE d.account_id = ? AND d.path > ? ORDER BY d.path
-- name: texts
SELECT DOC, r.body FROM pano_documents d JOIN pano_revisions r
ON r.account_id = d.account_id AND r.document_id = d.id AND r.revision = d.revision
WHERE d.account_id = ? AND d.path > ? ORDER BY d.path
-- name: begin_document
INSERT INTO pano_documents (account_id, id, path, subject_id, label, revision) VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING
-- name: move_document
UPDATE pano_documents SET revision = ?, label = ? WHERE account_id = ? AND id = ? AND revision = ?
-- name: add_revision
INSERT INTO pano_revisions (account_id, document_id, revision, subject_id, label, body, digest, size, written_by, event_id, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_reminder
INSERT INTO reminders (account_id, id, due_at, body, state, run_id, thread_id, channel, requester, agent, label, subject_id, event_id, correlation_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: reminder
SELECT REM FROM reminders WHERE account_id = ? AND id = ?
-- name: reminders
SELECT REM FROM reminders WHERE account_id = ? AND requester = ? AND state = 'waiting' ORDER BY due_at, id LIMIT ?
-- name: end_reminder
UPDATE reminders SET state = ? WHERE account_id = ? AND id = ? AND state = 'waiting'
