-- Resident agents: their definitions, the threads they talk in, their runs.
-- +goose Up

-- Every version stays: a run and its replay name theirs.
CREATE TABLE agent_versions (
  account_id BLOB NOT NULL,
  agent      TEXT NOT NULL,
  number     INTEGER NOT NULL,
  digest     TEXT NOT NULL,
  yaml       TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, agent, number)
) STRICT;
-- structural: agent_versions.agent, agent_versions.digest, agent_versions.yaml
-- append_only: agent_versions

CREATE TABLE threads (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  active_id  BLOB,
  turns      INTEGER NOT NULL,
  runs       INTEGER NOT NULL,
  summary_id BLOB,
  folded     INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX threads_changed ON threads (account_id, changed_at);

-- What was said in a thread, in (ord, seq) order. A summary stands for all turns
-- up to its ord.
CREATE TABLE turns (
  account_id BLOB NOT NULL,
  thread_id  BLOB NOT NULL,
  seq        INTEGER NOT NULL,
  id         BLOB NOT NULL,
  ord        INTEGER NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'summary', 'note')),
  author     TEXT NOT NULL,
  text       TEXT NOT NULL,
  label      TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  message_id BLOB,
  run_id     BLOB,
  channel    TEXT NOT NULL,
  sender     TEXT NOT NULL,
  files      TEXT NOT NULL,
  covers     INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  subject_id BLOB NOT NULL,
  PRIMARY KEY (account_id, thread_id, seq)
) STRICT;
CREATE UNIQUE INDEX turns_id ON turns (account_id, id);
CREATE UNIQUE INDEX turns_event ON turns (account_id, event_id, role);
CREATE INDEX turns_ord ON turns (account_id, thread_id, ord);
CREATE INDEX turns_subject ON turns (account_id, subject_id);
-- structural: turns.role, turns.author, turns.label, turns.channel
-- erasable: turns subject=subject_id blank=text,sender,files

CREATE TABLE runs (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  thread_id  BLOB NOT NULL,
  agent      TEXT NOT NULL,
  ord        INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('queued', 'ready', 'thinking', 'waiting', 'resting', 'finished')),
  task_id    BLOB NOT NULL,
  turn_id    BLOB NOT NULL,
  message_id BLOB NOT NULL,
  requester  TEXT NOT NULL,
  subject_id BLOB NOT NULL,
  records    INTEGER NOT NULL,
  delays     INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  tokens_in  INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost       INTEGER NOT NULL,
  cost_known INTEGER NOT NULL CHECK (cost_known IN (0, 1)),
  outcome    TEXT NOT NULL,
  steps      INTEGER NOT NULL,
  digest     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX runs_ord ON runs (account_id, thread_id, ord);
CREATE INDEX runs_open ON runs (account_id, state, created_at);
-- structural: runs.agent, runs.state, runs.requester, runs.outcome, runs.digest

-- The log of a run. The content of a line is its event; the digest holds both.
CREATE TABLE run_records (
  account_id BLOB NOT NULL,
  run_id     BLOB NOT NULL,
  n          INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  step       INTEGER NOT NULL,
  call_id    TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  label      TEXT NOT NULL,
  digest     BLOB NOT NULL,
  PRIMARY KEY (account_id, run_id, n)
) STRICT;
-- structural: run_records.kind, run_records.call_id, run_records.label, run_records.digest
-- append_only: run_records
