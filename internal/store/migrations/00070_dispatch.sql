-- Dispatch: contacts, rates, routes, what became of messages, held ones, the outbox.
-- +goose Up

CREATE TABLE contacts (
  account_id BLOB NOT NULL,
  contact_id BLOB NOT NULL,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL CHECK (status IN ('confirmed', 'provisional', 'blocked')),
  person_id  BLOB,
  entity_id  BLOB,
  confidence INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  label      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, contact_id)
) STRICT;
CREATE UNIQUE INDEX contacts_person ON contacts (account_id, person_id) WHERE person_id IS NOT NULL;
-- structural: contacts.status, contacts.label
-- erasable: contacts subject=contact_id blank=name

CREATE TABLE contact_identities (
  account_id BLOB NOT NULL,
  channel    TEXT NOT NULL,
  address    TEXT NOT NULL,
  contact_id BLOB NOT NULL,
  subject_id BLOB NOT NULL,
  added_by   TEXT NOT NULL,
  label      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, channel, address)
) STRICT;
CREATE INDEX contact_identities_contact ON contact_identities (account_id, contact_id);
-- structural: contact_identities.channel, contact_identities.added_by, contact_identities.label
-- erasable: contact_identities subject=subject_id delete

-- Token buckets. A full one tells nothing, so its row may go.
CREATE TABLE rate_buckets (
  account_id BLOB NOT NULL,
  kind       TEXT NOT NULL,
  bucket_key BLOB NOT NULL,
  level      INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  full_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, kind, bucket_key)
) STRICT;
CREATE INDEX rate_buckets_full ON rate_buckets (account_id, full_at);
-- structural: rate_buckets.kind, rate_buckets.bucket_key

CREATE TABLE dispatch_routes (
  account_id BLOB NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('thread', 'contact', 'channel')),
  key        TEXT NOT NULL,
  agent      TEXT NOT NULL,
  PRIMARY KEY (account_id, kind, key)
) STRICT;
-- structural: dispatch_routes.kind, dispatch_routes.key, dispatch_routes.agent

-- What became of each message, and the way back of the answer of its run.
CREATE TABLE message_fates (
  account_id    BLOB NOT NULL,
  message_id    BLOB NOT NULL,
  event_id      BLOB NOT NULL,
  channel       TEXT NOT NULL,
  thread_id     BLOB NOT NULL,
  outcome       TEXT NOT NULL CHECK (outcome IN ('tasked', 'held', 'rejected')),
  reason        TEXT NOT NULL,
  run_id        BLOB,
  agent         TEXT NOT NULL,
  contact_id    BLOB,
  person_id     BLOB,
  address       TEXT NOT NULL,
  subject_id    BLOB NOT NULL,
  label         TEXT NOT NULL,
  trust         INTEGER NOT NULL,
  trust_channel INTEGER NOT NULL,
  trust_contact INTEGER NOT NULL,
  trust_risk    INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  PRIMARY KEY (account_id, message_id)
) STRICT;
CREATE UNIQUE INDEX message_fates_run ON message_fates (account_id, run_id) WHERE run_id IS NOT NULL;
-- structural: message_fates.channel, message_fates.outcome, message_fates.reason, message_fates.agent, message_fates.label
-- erasable: message_fates subject=subject_id blank=address

CREATE TABLE held_messages (
  account_id BLOB NOT NULL,
  held_id    BLOB NOT NULL,
  message_id BLOB NOT NULL,
  event_id   BLOB NOT NULL,
  channel    TEXT NOT NULL,
  thread_id  BLOB NOT NULL,
  contact_id BLOB,
  sender_key BLOB NOT NULL,
  proven     INTEGER NOT NULL CHECK (proven IN (0, 1)),
  reason     TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('pending', 'identify', 'release', 'dismiss', 'block')),
  settled_by BLOB,
  at         INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, held_id)
) STRICT;
CREATE INDEX held_messages_pending ON held_messages (account_id, held_id) WHERE state = 'pending';
CREATE INDEX held_messages_sender ON held_messages (account_id, sender_key, held_id) WHERE state = 'pending';
-- structural: held_messages.settled_by, held_messages.channel, held_messages.sender_key, held_messages.reason, held_messages.state

-- One row per part of an outbound message. The text is in its event.
CREATE TABLE outbox (
  account_id   BLOB NOT NULL,
  delivery_id  BLOB NOT NULL,
  message_id   BLOB NOT NULL,
  event_id     BLOB NOT NULL,
  channel      TEXT NOT NULL,
  thread_id    BLOB NOT NULL,
  in_reply_to  BLOB,
  agent        TEXT NOT NULL,
  part         INTEGER NOT NULL,
  parts        INTEGER NOT NULL,
  from_byte    INTEGER NOT NULL,
  to_byte      INTEGER NOT NULL,
  key          TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('recorded', 'queued', 'sending', 'sent', 'failed', 'unknown')),
  position     INTEGER NOT NULL,
  attempts     INTEGER NOT NULL,
  open         INTEGER NOT NULL,
  error_kind   TEXT NOT NULL,
  provider_key BLOB,
  queued_at    INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (account_id, delivery_id)
) STRICT;
CREATE UNIQUE INDEX outbox_key ON outbox (account_id, key);
CREATE INDEX outbox_queue ON outbox (account_id, channel, thread_id, position) WHERE state IN ('queued', 'sending');
CREATE INDEX outbox_answers ON outbox (account_id, in_reply_to, delivery_id) WHERE in_reply_to IS NOT NULL;
CREATE INDEX outbox_provider ON outbox (account_id, channel, provider_key) WHERE provider_key IS NOT NULL;
CREATE INDEX outbox_undelivered ON outbox (account_id, state, delivery_id) WHERE state IN ('failed', 'unknown');
-- structural: outbox.in_reply_to, outbox.channel, outbox.agent, outbox.key, outbox.state, outbox.error_kind, outbox.provider_key

-- The end of each thread's queue; locking the row locks the queue.
CREATE TABLE outbox_queues (
  account_id BLOB NOT NULL,
  channel    TEXT NOT NULL,
  thread_id  BLOB NOT NULL,
  next       INTEGER NOT NULL,
  PRIMARY KEY (account_id, channel, thread_id)
) STRICT;
-- structural: outbox_queues.channel

-- Tasks that wait for their moment.
CREATE TABLE later_tasks (
  account_id  BLOB NOT NULL,
  task_id     BLOB NOT NULL,
  cause_id    BLOB NOT NULL,
  agent       TEXT NOT NULL,
  thread_id   BLOB,
  requester   TEXT NOT NULL,
  trust       INTEGER NOT NULL,
  task_text   TEXT NOT NULL,
  channel     TEXT NOT NULL,
  person_id   BLOB,
  contact_id  BLOB,
  address     TEXT NOT NULL,
  in_reply_to BLOB,
  subject_id  BLOB NOT NULL,
  label       TEXT NOT NULL,
  due_at      INTEGER NOT NULL,
  PRIMARY KEY (account_id, task_id)
) STRICT;
-- structural: later_tasks.in_reply_to, later_tasks.agent, later_tasks.requester, later_tasks.channel, later_tasks.label
-- erasable: later_tasks subject=subject_id blank=task_text,address
