-- The record: events, their chain, keys, leased work, timers, stops.
-- +goose Up

-- postgres:begin
-- +goose StatementBegin
CREATE FUNCTION witan_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
-- +goose StatementEnd
-- postgres:end

-- The tip of each account's chain. Narrow, and nothing references it: a foreign
-- key onto this row would slow every append threefold (architecture §4).
CREATE TABLE journal_heads (
  account_id  BLOB NOT NULL PRIMARY KEY,
  seq         INTEGER NOT NULL,
  hash        BLOB NOT NULL,
  recorded_at INTEGER NOT NULL,
  epoch       INTEGER NOT NULL,
  key_epoch   INTEGER NOT NULL
) STRICT;
-- structural: journal_heads.hash

CREATE TABLE events (
  account_id     BLOB NOT NULL,
  seq            INTEGER NOT NULL,
  id             BLOB NOT NULL,
  type           TEXT NOT NULL,
  version        INTEGER NOT NULL,
  stream_id      BLOB,
  addressee_id   BLOB,
  layer          INTEGER NOT NULL,
  source         TEXT NOT NULL,
  parents        BLOB,
  causation_id   BLOB,
  correlation_id BLOB,
  occurred_at    INTEGER NOT NULL,
  recorded_at    INTEGER NOT NULL,
  label          TEXT NOT NULL,
  salience       INTEGER,
  confidence     INTEGER,
  valence        INTEGER,
  arousal        INTEGER,
  evidence       BLOB,
  subject_id     BLOB,
  body_commit    BLOB NOT NULL,
  hash           BLOB NOT NULL,
  body           BLOB NOT NULL,
  PRIMARY KEY (account_id, seq)
) STRICT;
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_stream ON events (account_id, stream_id, seq) WHERE stream_id IS NOT NULL;
CREATE INDEX events_addressee ON events (account_id, addressee_id, seq) WHERE addressee_id IS NOT NULL;
CREATE INDEX events_correlation ON events (account_id, correlation_id) WHERE correlation_id IS NOT NULL;
-- structural: events.type, events.source, events.label, events.parents, events.evidence, events.body_commit, events.hash
-- The body is sealed with its subject's key; erasing destroys the key, never the row.
-- structural: events.body

-- Rows leave only when a sealed prefix is cut, and then all below the base.
CREATE TABLE journal_bases (
  account_id BLOB NOT NULL PRIMARY KEY,
  seq        INTEGER NOT NULL,
  hash       BLOB NOT NULL,
  key_id     TEXT NOT NULL,
  signature  BLOB NOT NULL,
  cut_at     INTEGER NOT NULL
) STRICT;
-- structural: journal_bases.hash, journal_bases.key_id, journal_bases.signature

-- sqlite:begin
-- +goose StatementBegin
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM journal_bases b WHERE b.account_id = OLD.account_id AND b.seq >= OLD.seq)
BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
-- +goose StatementEnd
-- sqlite:end
-- postgres:begin
-- +goose StatementBegin
CREATE FUNCTION witan_events_cut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM journal_bases b WHERE b.account_id = OLD.account_id AND b.seq >= OLD.seq) THEN
    RAISE EXCEPTION 'events is append-only';
  END IF;
  RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_no_update BEFORE UPDATE OR TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION witan_append_only();
CREATE TRIGGER events_no_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION witan_events_cut();
ALTER TABLE journal_heads SET (fillfactor = 50);
-- postgres:end

-- One data key per subject (contact, person, agent, account), wrapped by the
-- account key, which lives outside the database.
CREATE TABLE subject_keys (
  account_id BLOB NOT NULL,
  subject_id BLOB NOT NULL,
  wrapped    BLOB NOT NULL,
  made_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, subject_id)
) STRICT;
-- structural: subject_keys.wrapped

-- Reactions that did not run inside the appending transaction. The account's
-- router works them off in seq order; a parked row blocks its stream.
CREATE TABLE deferred (
  account_id BLOB NOT NULL,
  seq        INTEGER NOT NULL,
  subscriber TEXT NOT NULL,
  stream_id  BLOB NOT NULL,
  event_id   BLOB NOT NULL,
  tries      INTEGER NOT NULL,
  parked     INTEGER NOT NULL CHECK (parked IN (0, 1)),
  error_kind TEXT NOT NULL,
  error      TEXT NOT NULL,
  PRIMARY KEY (account_id, seq, subscriber)
) STRICT;
CREATE INDEX deferred_stream ON deferred (account_id, subscriber, stream_id, seq);
-- structural: deferred.subscriber, deferred.error_kind, deferred.error

-- Leased work: runs, effects, deliveries. A claim raises the fence.
CREATE TABLE work (
  account_id BLOB NOT NULL,
  kind       TEXT NOT NULL,
  id         BLOB NOT NULL,
  scope      TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'waiting', 'held')),
  due_at     INTEGER NOT NULL,
  node_id    BLOB,
  fence      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  PRIMARY KEY (account_id, kind, id)
) STRICT;
CREATE INDEX work_due ON work (kind, state, due_at);
-- structural: work.kind, work.scope, work.state, work.reason

-- One row per running process; leases of a node whose beat stopped are taken over.
CREATE TABLE nodes (
  id      BLOB NOT NULL PRIMARY KEY,
  beat_at INTEGER NOT NULL
) STRICT;

CREATE TABLE timers (
  account_id BLOB NOT NULL,
  kind       TEXT NOT NULL,
  key        TEXT NOT NULL,
  due_at     INTEGER NOT NULL,
  held       INTEGER NOT NULL CHECK (held IN (0, 1)),
  PRIMARY KEY (account_id, kind, key)
) STRICT;
CREATE INDEX timers_due ON timers (due_at) WHERE held = 0;
-- structural: timers.kind, timers.key

CREATE TABLE stops (
  account_id BLOB NOT NULL,
  scope      TEXT NOT NULL,
  since      INTEGER NOT NULL,
  PRIMARY KEY (account_id, scope)
) STRICT;
-- structural: stops.scope
