-- name: get_bucket sqlite
SELECT level, at FROM rate_buckets WHERE account_id = ? AND kind = ? AND bucket_key = ?
-- name: get_bucket postgres
SELECT level, at FROM rate_buckets WHERE account_id = ? AND kind = ? AND bucket_key = ? FOR UPDATE
-- name: add_bucket
INSERT INTO rate_buckets (account_id, kind, bucket_key, level, at, full_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, kind, bucket_key) DO NOTHING
-- name: save_bucket
UPDATE rate_buckets SET level = ?, at = ?, full_at = ? WHERE account_id = ? AND kind = ? AND bucket_key = ?
-- name: prune_buckets sqlite
DELETE FROM rate_buckets WHERE account_id = ? AND rowid IN
  (SELECT rowid FROM rate_buckets WHERE account_id = ? AND full_at <= ? ORDER BY full_at LIMIT 4)
-- name: prune_buckets postgres
DELETE FROM rate_buckets WHERE account_id = ? AND ctid IN
  (SELECT ctid FROM rate_buckets WHERE account_id = ? AND full_at <= ? ORDER BY full_at LIMIT 4 FOR UPDATE SKIP LOCKED)

-- name: route
SELECT agent FROM dispatch_routes WHERE account_id = ?
  AND (kind = 'thread' AND key = ? OR kind = 'contact' AND key = ? OR kind = 'channel' AND key = ?)
ORDER BY CASE kind WHEN 'thread' THEN 1 WHEN 'contact' THEN 2 ELSE 3 END LIMIT 1
-- name: save_route
INSERT INTO dispatch_routes (account_id, kind, key, agent) VALUES (?, ?, ?, ?)
ON CONFLICT (account_id, kind, key) DO UPDATE SET agent = excluded.agent
-- name: drop_route
DELETE FROM dispatch_routes WHERE account_id = ? AND kind = ? AND key = ?
-- name: list_routes
SELECT kind, key, agent FROM dispatch_routes WHERE account_id = ? ORDER BY kind, key

-- name: add_fate
INSERT INTO message_fates (account_id, message_id, event_id, channel, thread_id, outcome, reason, run_id, agent, contact_id,
  person_id, address, subject_id, label, trust, trust_channel, trust_contact, trust_risk, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: set_fate
UPDATE message_fates SET outcome = ?, reason = ?, run_id = ?, agent = ?, contact_id = ?, label = ?,
  trust = ?, trust_channel = ?, trust_contact = ?, trust_risk = ?
WHERE account_id = ? AND message_id = ?
-- name: get_fate
SELECT message_id, event_id, channel, thread_id, outcome, reason, run_id, agent, contact_id,
  person_id, address, subject_id, label, trust, trust_channel, trust_contact, trust_risk, at
FROM message_fates WHERE account_id = ? AND message_id = ?
-- name: fate_of_run
SELECT message_id, event_id, channel, thread_id, outcome, reason, run_id, agent, contact_id,
  person_id, address, subject_id, label, trust, trust_channel, trust_contact, trust_risk, at
FROM message_fates WHERE account_id = ? AND run_id = ?

-- name: add_later
INSERT INTO later_tasks (account_id, task_id, cause_id, agent, thread_id, requester, trust, task_text, channel, person_id,
  contact_id, address, in_reply_to, subject_id, label, due_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: take_later
DELETE FROM later_tasks WHERE account_id = ? AND task_id = ?
RETURNING task_id, cause_id, agent, thread_id, requester, trust, task_text, channel, person_id,
  contact_id, address, in_reply_to, subject_id, label, due_at

-- name: add_contact
INSERT INTO contacts (account_id, contact_id, name, status, person_id, entity_id, confidence, version, label, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
-- name: save_contact
UPDATE contacts SET name = ?, status = ?, entity_id = ?, confidence = ?, version = version + 1
WHERE account_id = ? AND contact_id = ? AND version = ?
-- name: get_contact
SELECT contact_id, name, status, person_id, entity_id, confidence, version, label, at
FROM contacts WHERE account_id = ? AND contact_id = ?
-- name: contact_of_person
SELECT c.contact_id, c.name, c.status, c.person_id, c.entity_id, c.confidence, c.version, c.label, c.at,
  (SELECT COUNT(*) FROM contact_identities i WHERE i.account_id = c.account_id AND i.channel = ? AND i.address = ?)
FROM contacts c WHERE c.account_id = ? AND c.person_id = ?
-- name: contact_by_address
SELECT c.contact_id, c.name, c.status, c.person_id, c.entity_id, c.confidence, c.version, c.label, c.at
FROM contact_identities i JOIN contacts c ON c.account_id = i.account_id AND c.contact_id = i.contact_id
WHERE i.account_id = ? AND i.channel = ? AND i.address = ?
-- name: list_contacts
SELECT contact_id, name, status, person_id, entity_id, confidence, version, label, at
FROM contacts WHERE account_id = ? AND contact_id > ? AND (? = '' OR status = ?) ORDER BY contact_id LIMIT ?

-- name: add_identity
INSERT INTO contact_identities (account_id, channel, address, contact_id, subject_id, added_by, label, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, channel, address) DO NOTHING
-- name: drop_identity
DELETE FROM contact_identities WHERE account_id = ? AND channel = ? AND address = ?
-- name: list_identities
SELECT channel, address, contact_id, subject_id, added_by, label, at
FROM contact_identities WHERE account_id = ? AND contact_id = ? ORDER BY at, channel, address

-- name: add_held
INSERT INTO held_messages (account_id, held_id, message_id, event_id, channel, thread_id, contact_id, sender_key, proven,
  reason, state, settled_by, at, settled_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: lock_held sqlite
SELECT held_id, message_id, event_id, channel, thread_id, contact_id, sender_key, proven, reason, state, settled_by, at, settled_at
FROM held_messages WHERE account_id = ? AND held_id = ?
-- name: lock_held postgres
SELECT held_id, message_id, event_id, channel, thread_id, contact_id, sender_key, proven, reason, state, settled_by, at, settled_at
FROM held_messages WHERE account_id = ? AND held_id = ? FOR UPDATE
-- name: settle_held
UPDATE held_messages SET state = ?, settled_by = ?, settled_at = ?, contact_id = ?
WHERE account_id = ? AND held_id = ? AND state = 'pending'
-- name: list_held
SELECT held_id, message_id, event_id, channel, thread_id, contact_id, sender_key, proven, reason, state, settled_by, at, settled_at
FROM held_messages WHERE account_id = ? AND state = 'pending' AND held_id > ? ORDER BY held_id LIMIT ?
-- name: held_of sqlite
SELECT held_id, message_id, event_id, channel, thread_id, contact_id, sender_key, proven, reason, state, settled_by, at, settled_at
FROM held_messages WHERE account_id = ? AND state = 'pending' AND sender_key = ? AND proven >= ? ORDER BY held_id LIMIT ?
-- name: held_of postgres
SELECT held_id, message_id, event_id, channel, thread_id, contact_id, sender_key, proven, reason, state, settled_by, at, settled_at
FROM held_messages WHERE account_id = ? AND state = 'pending' AND sender_key = ? AND proven >= ? ORDER BY held_id LIMIT ? FOR UPDATE
-- name: count_held
SELECT COUNT(*) FROM held_messages WHERE account_id = ? AND state = 'pending'

-- name: reserve
INSERT INTO outbox_queues (account_id, channel, thread_id, next) VALUES (?, ?, ?, ?)
ON CONFLICT (account_id, channel, thread_id) DO UPDATE SET next = outbox_queues.next + excluded.next
RETURNING next
-- name: lock_queue
UPDATE outbox_queues SET next = next WHERE account_id = ? AND channel = ? AND thread_id = ?
-- name: next_queued
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND channel = ? AND thread_id = ? AND state IN ('queued', 'sending') ORDER BY position LIMIT 1
-- name: add_delivery
INSERT INTO outbox (account_id, delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts,
  from_byte, to_byte, key, state, position, attempts, open, error_kind, provider_key, queued_at, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account_id, key) DO NOTHING
-- name: save_delivery
UPDATE outbox SET state = ?, position = ?, attempts = ?, open = ?, error_kind = ?, provider_key = ?, queued_at = ?
WHERE account_id = ? AND delivery_id = ?
-- name: get_delivery sqlite
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND delivery_id = ?
-- name: get_delivery postgres
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND delivery_id = ? FOR UPDATE
-- name: delivery_by_key
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND key = ?
-- name: delivery_by_provider
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND channel = ? AND provider_key = ? ORDER BY delivery_id DESC LIMIT 1
-- name: answers
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND in_reply_to = ? AND part = 1 ORDER BY delivery_id LIMIT 100
-- name: list_deliveries
SELECT delivery_id, message_id, event_id, channel, thread_id, in_reply_to, agent, part, parts, from_byte, to_byte, key, state,
  position, attempts, open, error_kind, provider_key, queued_at, at
FROM outbox WHERE account_id = ? AND state = ? AND delivery_id > ? ORDER BY delivery_id LIMIT ?
