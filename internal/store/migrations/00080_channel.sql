-- Channels: what was taken in, conversations, cursors, states, attachments.
-- +goose Up

-- One row per message or notice that the medium gave an id: the second with the
-- same id is a repeat. Digests only, so nothing personal stays when the sealed
-- body is erased.
CREATE TABLE channel_inbox (
  account_id BLOB NOT NULL,
  channel    TEXT NOT NULL,
  dedupe_key BLOB NOT NULL,
  digest     BLOB NOT NULL,
  message_id BLOB NOT NULL,
  thread_id  BLOB,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, channel, dedupe_key)
) STRICT;
-- structural: channel_inbox.channel, channel_inbox.dedupe_key, channel_inbox.digest

CREATE TABLE channel_threads (
  account_id BLOB NOT NULL,
  thread_id  BLOB NOT NULL,
  channel    TEXT NOT NULL,
  name_key   BLOB,
  ref        TEXT NOT NULL,
  person_id  BLOB,
  subject_id BLOB NOT NULL,
  label      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, thread_id)
) STRICT;
CREATE UNIQUE INDEX channel_threads_name ON channel_threads (account_id, channel, name_key) WHERE name_key IS NOT NULL;
CREATE INDEX channel_threads_person ON channel_threads (account_id, person_id, thread_id) WHERE person_id IS NOT NULL;
-- structural: channel_threads.channel, channel_threads.name_key, channel_threads.label
-- erasable: channel_threads subject=subject_id blank=ref

CREATE TABLE channel_cursors (
  account_id BLOB NOT NULL,
  channel    TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (account_id, channel)
) STRICT;
-- structural: channel_cursors.channel, channel_cursors.value

CREATE TABLE channel_states (
  account_id BLOB NOT NULL,
  channel    TEXT NOT NULL,
  connected  INTEGER NOT NULL CHECK (connected IN (0, 1)),
  reason     TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, channel)
) STRICT;
-- structural: channel_states.channel, channel_states.reason

-- Uses of stored content. What no row names is not served.
CREATE TABLE channel_attachments (
  account_id BLOB NOT NULL,
  message_id BLOB NOT NULL,
  place      INTEGER NOT NULL,
  digest     TEXT NOT NULL,
  thread_id  BLOB NOT NULL,
  person_id  BLOB,
  subject_id BLOB NOT NULL,
  name       TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size       INTEGER NOT NULL,
  label      TEXT NOT NULL,
  PRIMARY KEY (account_id, message_id, place)
) STRICT;
CREATE INDEX channel_attachments_digest ON channel_attachments (account_id, digest, message_id);
-- structural: channel_attachments.digest, channel_attachments.label
-- erasable: channel_attachments subject=subject_id delete
