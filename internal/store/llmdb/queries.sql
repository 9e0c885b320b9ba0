-- name: add_prompt
INSERT INTO prompts (account_id, name, number, body, made_by, digest, event_id, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, name, number) DO NOTHING
-- name: prompt
SELECT number, body, made_by, digest, event_id, at FROM prompts WHERE account_id = ? AND name = ? AND number = ?
-- name: newest_prompt
SELECT number, body, made_by, digest, event_id, at FROM prompts WHERE account_id = ? AND name = ? ORDER BY number DESC LIMIT 1
-- name: prompts
SELECT number, body, made_by, digest, event_id, at FROM prompts p WHERE account_id = ?
  AND number = (SELECT MAX(n.number) FROM prompts n WHERE n.account_id = p.account_id AND n.name = p.name) ORDER BY name

-- name: ensure_spend
INSERT INTO llm_spends (account_id, scope, period, spent_tokens, spent_usd, held_tokens, held_usd)
VALUES (?, ?, ?, 0, 0, 0, 0) ON CONFLICT (account_id, scope, period) DO NOTHING
-- name: lock_spends sqlite
-- The account stands in each alternative: outside of them SQLite would walk all spends of the account.
SELECT scope, period, spent_tokens, spent_usd, held_tokens, held_usd FROM llm_spends
WHERE (account_id = ?1 AND scope = ?2 AND period = ?3) OR (account_id = ?1 AND scope = ?4 AND period = ?5) OR (account_id = ?1 AND scope = ?6 AND period = ?7)
-- name: lock_spends postgres
SELECT scope, period, spent_tokens, spent_usd, held_tokens, held_usd FROM llm_spends
WHERE account_id = ? AND ((scope = ? AND period = ?) OR (scope = ? AND period = ?) OR (scope = ? AND period = ?))
ORDER BY scope COLLATE "C", period COLLATE "C" FOR UPDATE
-- name: save_spend
UPDATE llm_spends SET spent_tokens = ?, spent_usd = ?, held_tokens = ?, held_usd = ?
WHERE account_id = ? AND scope = ? AND period = ?
-- name: save_three_spends
INSERT INTO llm_spends (account_id, scope, period, spent_tokens, spent_usd, held_tokens, held_usd)
VALUES (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, scope, period) DO UPDATE SET spent_tokens = excluded.spent_tokens, spent_usd = excluded.spent_usd,
  held_tokens = excluded.held_tokens, held_usd = excluded.held_usd
-- name: spends
SELECT scope, spent_tokens, spent_usd, held_tokens, held_usd FROM llm_spends WHERE account_id = ? AND period = ? ORDER BY scope

-- name: add_call
INSERT INTO llm_calls (account_id, COLS)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: call sqlite
SELECT COLS FROM llm_calls WHERE account_id = ? AND id = ?
-- name: call postgres
SELECT COLS FROM llm_calls WHERE account_id = ? AND id = ? FOR UPDATE
-- name: call_by_key
SELECT COLS FROM llm_calls WHERE account_id = ? AND key = ?
-- name: save_call
UPDATE llm_calls SET provider = ?, model = ?, held_tokens = ?, held_usd = ?, tokens_in = ?, tokens_cached = ?, tokens_written = ?,
  tokens_out = ?, usage_reported = ?, cost = ?, cost_known = ?, latency_us = ?, status = ?, stop = ?, error_kind = ?, attempts = ?,
  response_event_id = ?, ended_at = ?
WHERE account_id = ? AND id = ?
-- name: calls
SELECT COLS FROM llm_calls WHERE account_id = ? AND asked_at < ? AND (? = '' OR agent = ?) AND (? = '' OR role = ?)
ORDER BY asked_at DESC, id DESC LIMIT ?
-- name: calls_of_run
SELECT COLS FROM llm_calls WHERE account_id = ? AND run_id = ? AND asked_at < ? AND (? = '' OR agent = ?) AND (? = '' OR role = ?)
ORDER BY asked_at DESC, id DESC LIMIT ?
