-- Signals, their triggers, and what was published.
-- +goose Up

-- What describes a signal or a trigger is the account's, whoever typed it.
CREATE TABLE signals (
  account_id  BLOB NOT NULL,
  id          BLOB NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  guidelines  TEXT NOT NULL,
  faq         TEXT NOT NULL,
  created_by  TEXT NOT NULL,
  subject_id  BLOB NOT NULL,
  trust       INTEGER NOT NULL,
  label       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  archived_at INTEGER NOT NULL,
  revision    INTEGER NOT NULL CHECK (revision > 0),
  revisions   TEXT NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX signals_name ON signals (account_id, name);
-- structural: signals.name, signals.created_by, signals.label, signals.revisions
-- erasable: signals subject=subject_id blank=description,guidelines,faq

CREATE TABLE triggers (
  account_id   BLOB NOT NULL,
  id           BLOB NOT NULL,
  signal_id    BLOB NOT NULL,
  workspace_id BLOB NOT NULL,
  title        TEXT NOT NULL,
  body         TEXT NOT NULL,
  assignee     TEXT NOT NULL CHECK (assignee IN ('human', 'agent')),
  assignee_ref TEXT NOT NULL,
  allow_all    INTEGER NOT NULL CHECK (allow_all IN (0, 1)),
  emit_id      BLOB,
  enabled      INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  created_by   TEXT NOT NULL,
  subject_id   BLOB NOT NULL,
  trust        INTEGER NOT NULL,
  label        TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  revision     INTEGER NOT NULL CHECK (revision > 0),
  revisions    TEXT NOT NULL,
  CHECK (emit_id IS NULL OR emit_id <> signal_id),
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX triggers_signal ON triggers (account_id, signal_id, id);
CREATE INDEX triggers_emit ON triggers (account_id, emit_id, id) WHERE emit_id IS NOT NULL;
CREATE INDEX triggers_workspace ON triggers (account_id, workspace_id, id);
-- structural: triggers.assignee, triggers.assignee_ref, triggers.created_by, triggers.label, triggers.revisions
-- erasable: triggers subject=subject_id blank=title,body

-- A task publishes a signal once, and a key of an author names one publish.
CREATE TABLE signal_publishes (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  signal_id  BLOB NOT NULL,
  task_id    BLOB,
  key_digest BLOB,
  author     TEXT NOT NULL,
  subject_id BLOB NOT NULL,
  trust      INTEGER NOT NULL,
  label      TEXT NOT NULL,
  payload    TEXT NOT NULL,
  faq        TEXT NOT NULL,
  chain      TEXT NOT NULL,
  stopped    TEXT NOT NULL CHECK (stopped IN ('', 'circle', 'depth')),
  passed     TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX signal_publishes_task ON signal_publishes (account_id, task_id, signal_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX signal_publishes_key ON signal_publishes (account_id, key_digest) WHERE key_digest IS NOT NULL;
CREATE INDEX signal_publishes_signal ON signal_publishes (account_id, signal_id, id);
-- structural: signal_publishes.key_digest, signal_publishes.author, signal_publishes.label, signal_publishes.chain
-- structural: signal_publishes.stopped, signal_publishes.passed
-- erasable: signal_publishes subject=subject_id blank=payload,faq

-- Which tasks a publish made, and so in which chain a task stands.
CREATE TABLE signal_spawns (
  account_id   BLOB NOT NULL,
  task_id      BLOB NOT NULL,
  publish_id   BLOB NOT NULL,
  trigger_id   BLOB NOT NULL,
  workspace_id BLOB NOT NULL,
  task_key     TEXT NOT NULL,
  PRIMARY KEY (account_id, task_id)
) STRICT;
CREATE INDEX signal_spawns_publish ON signal_spawns (account_id, publish_id, task_id);
-- structural: signal_spawns.task_key

CREATE INDEX tasks_trigger ON tasks (account_id, trigger_id, id) WHERE trigger_id IS NOT NULL;
