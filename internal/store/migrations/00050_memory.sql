-- What agents and minds remember, its index, and the account's documents and
-- reminders.
-- +goose Up

-- A shelf holds the rows of one scope, label, sensitivity and subject. Its id is
-- a digest of those.
CREATE TABLE memory_shelves (
  account_id  BLOB NOT NULL,
  id          BLOB NOT NULL,
  scope_id    BLOB NOT NULL,
  scope       TEXT NOT NULL,
  label       TEXT NOT NULL,
  sensitivity INTEGER NOT NULL CHECK (sensitivity BETWEEN 0 AND 3),
  subject_id  BLOB NOT NULL,
  row_count   INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  fresh_count INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX memory_shelves_scope ON memory_shelves (account_id, scope_id, sensitivity, id);
-- erasable: memory_shelves subject=subject_id delete

CREATE TABLE memories (
  account_id      BLOB NOT NULL,
  id              BLOB NOT NULL,
  shelf_id        BLOB NOT NULL,
  number          INTEGER NOT NULL,
  kind            TEXT NOT NULL CHECK (kind IN ('episodic', 'semantic', 'procedural', 'autobiographical')),
  epistemic       TEXT NOT NULL CHECK (epistemic IN ('observed', 'told', 'inferred', 'imagined', 'generated')),
  scope           TEXT NOT NULL,
  sensitivity     INTEGER NOT NULL CHECK (sensitivity BETWEEN 0 AND 3),
  label           TEXT NOT NULL,
  subject_id      BLOB NOT NULL,
  title           TEXT NOT NULL,
  body            TEXT NOT NULL,
  details         TEXT NOT NULL,
  tokens          INTEGER NOT NULL,
  occurred_at     INTEGER NOT NULL,
  valid_from      INTEGER NOT NULL,
  valid_to        INTEGER NOT NULL,
  importance      INTEGER NOT NULL,
  salience        INTEGER NOT NULL,
  valence         INTEGER NOT NULL,
  arousal         INTEGER NOT NULL,
  source          TEXT NOT NULL,
  credibility     INTEGER NOT NULL,
  confidence      INTEGER NOT NULL,
  use_count       INTEGER NOT NULL,
  first_use       INTEGER NOT NULL,
  last_uses       BLOB NOT NULL,
  retrieval_count INTEGER NOT NULL,
  last_retrieved  INTEGER NOT NULL,
  simhash         INTEGER NOT NULL,
  root_group_id   BLOB NOT NULL,
  origin_id       BLOB NOT NULL,
  written_by      TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('live', 'archived')),
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX memories_place ON memories (account_id, shelf_id, number);
-- erasable: memories subject=subject_id delete

-- The words of rows that are not in the postings yet, one row each.
CREATE TABLE memory_fresh (
  account_id BLOB NOT NULL,
  shelf_id   BLOB NOT NULL,
  number     INTEGER NOT NULL,
  subject_id BLOB NOT NULL,
  label      TEXT NOT NULL,
  terms      BLOB NOT NULL,
  PRIMARY KEY (account_id, shelf_id, number)
) STRICT;
-- erasable: memory_fresh subject=subject_id delete

-- Postings in blocks: which rows of a shelf hold a term, packed.
CREATE TABLE memory_postings (
  account_id BLOB NOT NULL,
  scope_id   BLOB NOT NULL,
  term       TEXT NOT NULL,
  shelf_id   BLOB NOT NULL,
  first_row  INTEGER NOT NULL,
  last_row   INTEGER NOT NULL,
  row_count  INTEGER NOT NULL,
  subject_id BLOB NOT NULL,
  label      TEXT NOT NULL,
  packed     BLOB NOT NULL,
  PRIMARY KEY (account_id, scope_id, term, shelf_id, first_row)
) STRICT;
-- erasable: memory_postings subject=subject_id delete

-- Pano: documents of the account by path. The path is the account's; what a
-- person wrote is the revision's.
CREATE TABLE pano_documents (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  path       TEXT NOT NULL,
  subject_id BLOB NOT NULL,
  label      TEXT NOT NULL,
  revision   INTEGER NOT NULL CHECK (revision > 0),
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX pano_documents_path ON pano_documents (account_id, path);
-- erasable: pano_documents subject=subject_id delete

CREATE TABLE pano_revisions (
  account_id  BLOB NOT NULL,
  document_id BLOB NOT NULL,
  revision    INTEGER NOT NULL CHECK (revision > 0),
  subject_id  BLOB NOT NULL,
  label       TEXT NOT NULL,
  body        TEXT NOT NULL,
  digest      TEXT NOT NULL,
  size        INTEGER NOT NULL,
  written_by  TEXT NOT NULL,
  event_id    BLOB NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (account_id, document_id, revision)
) STRICT;
-- structural: pano_revisions.digest, pano_revisions.label, pano_revisions.written_by
-- erasable: pano_revisions subject=subject_id blank=body

CREATE TABLE reminders (
  account_id     BLOB NOT NULL,
  id             BLOB NOT NULL,
  due_at         INTEGER NOT NULL,
  body           TEXT NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('waiting', 'fired', 'cancelled')),
  run_id         BLOB NOT NULL,
  thread_id      BLOB NOT NULL,
  channel        TEXT NOT NULL,
  requester      TEXT NOT NULL,
  agent          TEXT NOT NULL,
  label          TEXT NOT NULL,
  subject_id     BLOB NOT NULL,
  event_id       BLOB NOT NULL,
  correlation_id BLOB NOT NULL,
  created_at     INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX reminders_requester ON reminders (account_id, requester, state, due_at, id);
-- erasable: reminders subject=subject_id delete
