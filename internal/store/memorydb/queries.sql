-- name: add_memory
INSERT INTO memories (account_id, id, shelf_id, number, kind, epistemic, scope, sensitivity, label, subject_id, title, body, details,
  tokens, occurred_at, valid_from, valid_to, importance, salience, valence, arousal, source, credibility, confidence, use_count,
  first_use, last_uses, retrieval_count, last_retrieved, simhash, root_group_id, origin_id, written_by, created_at, status)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: at_place
SELECT COLS FROM memories WHERE account_id = ? AND shelf_id = ? AND number = ? AND status = 'live'
-- name: by_id
SELECT COLS FROM memories WHERE account_id = ? AND id = ?
-- name: uses sqlite
SELECT first_use, last_uses FROM memories WHERE account_id = ? AND id = ?
-- name: uses postgres
SELECT first_use, last_uses FROM memories WHERE account_id = ? AND id = ? FOR UPDATE
-- name: add_use
UPDATE memories SET use_count = use_count + 1, first_use = ?, last_uses = ?, retrieval_count = retrieval_count + 1, last_retrieved = ?
WHERE account_id = ? AND id = ?

-- name: shelves
SELECT id, scope, label, sensitivity, subject_id, row_count, token_count, fresh_count FROM memory_shelves
WHERE account_id = ? AND scope_id = ? AND sensitivity <= ? ORDER BY id
-- name: grow_shelf
INSERT INTO memory_shelves (account_id, id, scope_id, scope, label, sensitivity, subject_id, row_count, token_count, fresh_count)
VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, 1)
ON CONFLICT (account_id, id) DO UPDATE SET row_count = memory_shelves.row_count + 1,
  token_count = memory_shelves.token_count + excluded.token_count, fresh_count = memory_shelves.fresh_count + 1
RETURNING row_count, token_count, fresh_count
-- name: fold_shelf
UPDATE memory_shelves SET fresh_count = 0 WHERE account_id = ? AND id = ?

-- name: add_fresh
INSERT INTO memory_fresh (account_id, shelf_id, number, subject_id, label, terms) VALUES (?, ?, ?, ?, ?, ?)
-- name: fresh
SELECT number, terms FROM memory_fresh WHERE account_id = ? AND shelf_id = ? ORDER BY number
-- name: drop_fresh
DELETE FROM memory_fresh WHERE account_id = ? AND shelf_id = ?

-- name: blocks
SELECT shelf_id, first_row, last_row, row_count, packed FROM memory_postings
WHERE account_id = ? AND scope_id = ? AND term = ? ORDER BY shelf_id, first_row
-- name: last_block
SELECT first_row, last_row, row_count, packed FROM memory_postings
WHERE account_id = ? AND scope_id = ? AND term = ? AND shelf_id = ? ORDER BY first_row DESC LIMIT 1
-- name: save_block
INSERT INTO memory_postings (account_id, scope_id, term, shelf_id, first_row, last_row, row_count, subject_id, label, packed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, scope_id, term, shelf_id, first_row) DO UPDATE SET last_row = excluded.last_row,
  row_count = excluded.row_count, packed = excluded.packed
