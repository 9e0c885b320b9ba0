-- Prompts, model calls and what was spent on them.
-- +goose Up

-- Prompts are our own texts (INV-11: nothing untrusted gets in here).
CREATE TABLE prompts (
  account_id BLOB NOT NULL,
  name       TEXT NOT NULL,
  number     INTEGER NOT NULL CHECK (number > 0),
  body       TEXT NOT NULL,
  made_by    TEXT NOT NULL,
  digest     TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, name, number)
) STRICT;
-- structural: prompts.name, prompts.body, prompts.made_by, prompts.digest
-- append_only: prompts

-- One row per scope and period: what was spent, and what calls under way hold.
CREATE TABLE llm_spends (
  account_id   BLOB NOT NULL,
  scope        TEXT NOT NULL,
  period       TEXT NOT NULL,
  spent_tokens INTEGER NOT NULL,
  spent_usd    INTEGER NOT NULL,
  held_tokens  INTEGER NOT NULL CHECK (held_tokens >= 0),
  held_usd     INTEGER NOT NULL CHECK (held_usd >= 0),
  PRIMARY KEY (account_id, scope, period)
) STRICT;
-- structural: llm_spends.scope, llm_spends.period

-- A row holds no content: request and reply stand in the sealed bodies of its
-- two events, where erasing a subject reaches them.
CREATE TABLE llm_calls (
  account_id        BLOB NOT NULL,
  id                BLOB NOT NULL,
  key               TEXT,
  run_id            BLOB,
  step              INTEGER NOT NULL,
  agent             TEXT NOT NULL,
  role              TEXT NOT NULL,
  provider          TEXT NOT NULL,
  model             TEXT NOT NULL,
  prompt            TEXT NOT NULL,
  rendered          TEXT NOT NULL,
  max_tokens        INTEGER NOT NULL,
  temperature       INTEGER,
  seed              INTEGER,
  held_tokens       INTEGER NOT NULL,
  held_usd          INTEGER NOT NULL,
  limits            TEXT NOT NULL,
  tokens_in         INTEGER NOT NULL,
  tokens_cached     INTEGER NOT NULL,
  tokens_written    INTEGER NOT NULL,
  tokens_out        INTEGER NOT NULL,
  usage_reported    INTEGER NOT NULL CHECK (usage_reported IN (0, 1)),
  cost              INTEGER NOT NULL,
  cost_known        INTEGER NOT NULL CHECK (cost_known IN (0, 1)),
  latency_us        INTEGER NOT NULL,
  status            TEXT NOT NULL CHECK (status IN ('asked', 'answered', 'failed')),
  stop              TEXT NOT NULL,
  error_kind        TEXT NOT NULL,
  attempts          INTEGER NOT NULL,
  request_event_id  BLOB NOT NULL,
  response_event_id BLOB,
  asked_at          INTEGER NOT NULL,
  ended_at          INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX llm_calls_key ON llm_calls (account_id, key) WHERE key IS NOT NULL;
CREATE INDEX llm_calls_run ON llm_calls (account_id, run_id, asked_at) WHERE run_id IS NOT NULL;
CREATE INDEX llm_calls_asked ON llm_calls (account_id, asked_at);
-- structural: llm_calls.key, llm_calls.agent, llm_calls.role, llm_calls.provider, llm_calls.model, llm_calls.prompt
-- structural: llm_calls.rendered, llm_calls.limits, llm_calls.status, llm_calls.stop, llm_calls.error_kind
