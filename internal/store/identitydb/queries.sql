-- Accounts.

-- name: find_account cross-account
SELECT account_id, handle, name, created_at, setup_closed_at FROM accounts WHERE handle = ?
-- name: list_accounts cross-account
SELECT account_id, handle, name, created_at, setup_closed_at FROM accounts ORDER BY created_at, account_id
-- name: get_account
SELECT account_id, handle, name, created_at, setup_closed_at FROM accounts WHERE account_id = ?
-- name: add_account
INSERT INTO accounts (account_id, handle, name, created_at, setup_closed_at) VALUES (?, ?, ?, ?, 0)
ON CONFLICT DO NOTHING
-- name: close_setup
UPDATE accounts SET setup_closed_at = ? WHERE account_id = ? AND setup_closed_at = 0

-- People.

-- name: add_person
INSERT INTO people (account_id, id, name, sign_in, role, state, created_at, updated_at, version)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: save_person
UPDATE people SET name = ?, sign_in = ?, role = ?, state = ?, updated_at = ?, version = version + 1
WHERE account_id = ? AND id = ? AND version = ?
-- name: get_person
SELECT id, name, sign_in, role, state, created_at, updated_at, version FROM people WHERE account_id = ? AND id = ?
-- name: lock_person sqlite
SELECT id, name, sign_in, role, state, created_at, updated_at, version FROM people WHERE account_id = ? AND id = ?
-- name: lock_person postgres
SELECT id, name, sign_in, role, state, created_at, updated_at, version FROM people WHERE account_id = ? AND id = ? FOR UPDATE
-- name: find_person_by_sign_in
SELECT id, name, sign_in, role, state, created_at, updated_at, version FROM people
WHERE account_id = ? AND sign_in = ? AND sign_in <> ''
-- name: list_people
SELECT id, name, sign_in, role, state, created_at, updated_at, version FROM people
WHERE account_id = ? ORDER BY created_at, id
-- name: lock_active_owners sqlite
SELECT id FROM people WHERE account_id = ? AND role = 'owner' AND state = 'active' ORDER BY id
-- name: lock_active_owners postgres
SELECT id FROM people WHERE account_id = ? AND role = 'owner' AND state = 'active' ORDER BY id FOR UPDATE

-- name: find_password
SELECT phc FROM passwords WHERE account_id = ? AND person_id = ?
-- name: save_password
INSERT INTO passwords (account_id, person_id, phc, set_at) VALUES (?, ?, ?, ?)
ON CONFLICT (account_id, person_id) DO UPDATE SET phc = excluded.phc, set_at = excluded.set_at
-- name: replace_password
UPDATE passwords SET phc = ? WHERE account_id = ? AND person_id = ? AND phc = ?
-- name: delete_password
DELETE FROM passwords WHERE account_id = ? AND person_id = ?

-- Links.

-- name: add_link
INSERT INTO links (account_id, id, kind, person_id, digest, created_at, expires_at, used_at)
VALUES (?, ?, ?, ?, ?, ?, ?, 0)
-- name: find_link
SELECT id, kind, person_id, digest, created_at, expires_at FROM links
WHERE account_id = ? AND kind = ? AND digest = ? AND used_at = 0
-- name: use_link
UPDATE links SET used_at = ? WHERE account_id = ? AND kind = ? AND digest = ? AND used_at = 0 AND expires_at > ?
-- name: withdraw_links
UPDATE links SET used_at = ? WHERE account_id = ? AND kind = ? AND person_id = ? AND used_at = 0
-- name: withdraw_setup_links
UPDATE links SET used_at = ? WHERE account_id = ? AND kind = ? AND person_id IS NULL AND used_at = 0
-- name: withdraw_all_links
UPDATE links SET used_at = ? WHERE account_id = ? AND used_at = 0

-- Passkeys.

-- name: add_passkey
INSERT INTO passkeys (account_id, id, person_id, name, host, synced, sign_count, created_at, last_used_at, credential, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: find_passkey
SELECT id, person_id, name, host, synced, sign_count, created_at, last_used_at, credential, record FROM passkeys
WHERE account_id = ? AND credential = ?
-- name: list_passkeys
SELECT id, person_id, name, host, synced, sign_count, created_at, last_used_at, credential, record FROM passkeys
WHERE account_id = ? AND person_id = ? ORDER BY created_at, id
-- name: list_all_passkeys
SELECT id, person_id, name, host, synced, sign_count, created_at, last_used_at, credential, record FROM passkeys
WHERE account_id = ? ORDER BY created_at, id
-- name: used_passkey
UPDATE passkeys SET synced = ?, sign_count = ?, last_used_at = ?, record = ?
WHERE account_id = ? AND id = ? AND (sign_count < ? OR sign_count = 0 AND sign_count = ?)
-- name: rename_passkey
UPDATE passkeys SET name = ? WHERE account_id = ? AND person_id = ? AND id = ?
-- name: delete_passkey
DELETE FROM passkeys WHERE account_id = ? AND person_id = ? AND id = ?

-- Ceremonies.

-- name: add_ceremony
INSERT INTO ceremonies (account_id, digest, kind, person_id, data, expires_at) VALUES (?, ?, ?, ?, ?, ?)
-- name: find_ceremony
SELECT digest, kind, person_id, data, expires_at FROM ceremonies WHERE account_id = ? AND digest = ?
-- name: take_ceremony
DELETE FROM ceremonies WHERE account_id = ? AND digest = ?
-- name: purge_ceremonies
DELETE FROM ceremonies WHERE account_id = ? AND expires_at <= ?
-- name: count_ceremonies
SELECT count(*) FROM ceremonies WHERE account_id = ?
-- name: delete_all_ceremonies
DELETE FROM ceremonies WHERE account_id = ?

-- Sessions.

-- name: add_session
INSERT INTO sessions (account_id, id, digest, person_id, how, address, agent, created_at, seen_at, verified_at, ends_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: find_session
SELECT s.id, s.person_id, s.how, s.address, s.agent, s.created_at, s.seen_at, s.verified_at, s.ends_at, s.digest,
  p.id, p.name, p.sign_in, p.role, p.state, p.created_at, p.updated_at, p.version
FROM sessions s JOIN people p ON p.account_id = s.account_id AND p.id = s.person_id
WHERE s.account_id = ? AND s.digest = ?
-- name: list_sessions
SELECT id, person_id, how, address, agent, created_at, seen_at, verified_at, ends_at FROM sessions
WHERE account_id = ? AND person_id = ? ORDER BY created_at DESC, id DESC
-- name: touch_session
UPDATE sessions SET seen_at = ? WHERE account_id = ? AND id = ? AND seen_at <= ?
-- name: verify_session
UPDATE sessions SET verified_at = ? WHERE account_id = ? AND person_id = ? AND id = ?
-- name: delete_session
DELETE FROM sessions WHERE account_id = ? AND person_id = ? AND id = ?
-- name: delete_sessions
DELETE FROM sessions WHERE account_id = ? AND person_id = ? AND id <> ?
RETURNING id, person_id, how, address, agent, created_at, seen_at, verified_at, ends_at
-- name: delete_all_sessions
DELETE FROM sessions WHERE account_id = ?
RETURNING id, person_id, how, address, agent, created_at, seen_at, verified_at, ends_at
-- name: delete_dead_sessions
DELETE FROM sessions WHERE account_id = ? AND person_id = ? AND (ends_at <= ? OR seen_at <= ?)
RETURNING id, person_id, how, address, agent, created_at, seen_at, verified_at, ends_at

-- Tokens.

-- name: add_token
INSERT INTO api_tokens (account_id, id, digest, person_id, name, prefix, narrowed, created_at, expires_at, last_used_at, revoked_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)
-- name: find_token
SELECT t.id, t.person_id, t.name, t.prefix, t.narrowed, t.created_at, t.expires_at, t.last_used_at, t.revoked_at, t.digest,
  p.id, p.name, p.sign_in, p.role, p.state, p.created_at, p.updated_at, p.version
FROM api_tokens t JOIN people p ON p.account_id = t.account_id AND p.id = t.person_id
WHERE t.account_id = ? AND t.digest = ? AND t.revoked_at = 0
-- name: get_token
SELECT id, person_id, name, prefix, narrowed, created_at, expires_at, last_used_at, revoked_at FROM api_tokens
WHERE account_id = ? AND id = ?
-- name: list_tokens
SELECT id, person_id, name, prefix, narrowed, created_at, expires_at, last_used_at, revoked_at FROM api_tokens
WHERE account_id = ? AND person_id = ? ORDER BY created_at DESC, id DESC
-- name: touch_token
UPDATE api_tokens SET last_used_at = ? WHERE account_id = ? AND id = ? AND last_used_at <= ?
-- name: revoke_token
UPDATE api_tokens SET revoked_at = ? WHERE account_id = ? AND person_id = ? AND id = ? AND revoked_at = 0

-- Counters of tries.

-- name: find_limit
SELECT failures, locked_until, updated_at FROM sign_in_limits WHERE account_id = ? AND scope = ? AND key = ?
-- name: add_limit
INSERT INTO sign_in_limits (account_id, scope, key, failures, locked_until, updated_at) VALUES (?, ?, ?, 0, 0, ?)
ON CONFLICT DO NOTHING
-- name: lock_limit sqlite
SELECT failures, locked_until, updated_at FROM sign_in_limits WHERE account_id = ? AND scope = ? AND key = ?
-- name: lock_limit postgres
SELECT failures, locked_until, updated_at FROM sign_in_limits WHERE account_id = ? AND scope = ? AND key = ? FOR UPDATE
-- name: save_limit
UPDATE sign_in_limits SET failures = ?, locked_until = ?, updated_at = ? WHERE account_id = ? AND scope = ? AND key = ?
-- name: delete_limit
DELETE FROM sign_in_limits WHERE account_id = ? AND scope = ? AND key = ?
-- name: purge_limits
DELETE FROM sign_in_limits WHERE account_id = ? AND updated_at < ?

-- Vault.

-- name: save_secret
INSERT INTO vault (account_id, name, sealed, created_at, updated_at, stored_by) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at, stored_by = excluded.stored_by
-- name: find_secret
SELECT sealed FROM vault WHERE account_id = ? AND name = ?
-- name: list_secrets
SELECT name, created_at, updated_at, stored_by FROM vault WHERE account_id = ? ORDER BY name
-- name: delete_secret
DELETE FROM vault WHERE account_id = ? AND name = ?
