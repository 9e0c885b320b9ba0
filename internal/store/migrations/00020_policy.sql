-- What may be done, and what a person said to it.
-- +goose Up

-- The version in force.
CREATE TABLE policy_heads (
  account_id BLOB NOT NULL PRIMARY KEY,
  version    INTEGER NOT NULL,
  digest     TEXT NOT NULL
) STRICT;
-- structural: policy_heads.digest

-- Documents are never changed; an edit makes the next version. A document is
-- configuration, not somebody's data, and stands in the chain as well.
CREATE TABLE policy_versions (
  account_id BLOB NOT NULL,
  version    INTEGER NOT NULL,
  document   TEXT NOT NULL,
  person_id  BLOB,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, version)
) STRICT;
-- structural: policy_versions.document
-- append_only: policy_versions

CREATE TABLE policy_dials (
  account_id BLOB NOT NULL,
  scope      TEXT NOT NULL,
  value      INTEGER NOT NULL CHECK (value BETWEEN 0 AND 100),
  person_id  BLOB,
  moved_at   INTEGER NOT NULL,
  PRIMARY KEY (account_id, scope)
) STRICT;
-- structural: policy_dials.scope

CREATE TABLE policy_dial_moves (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  scope      TEXT NOT NULL,
  value      INTEGER NOT NULL CHECK (value BETWEEN 0 AND 100),
  person_id  BLOB,
  moved_at   INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX policy_dial_moves_scope ON policy_dial_moves (account_id, scope, id);
-- structural: policy_dial_moves.scope
-- append_only: policy_dial_moves

CREATE TABLE policy_grants (
  account_id  BLOB NOT NULL,
  id          BLOB NOT NULL,
  holder      TEXT NOT NULL,
  spec        TEXT NOT NULL,
  uses        INTEGER NOT NULL,
  used        INTEGER NOT NULL CHECK (used >= 0),
  expires_at  INTEGER NOT NULL,
  person_id   BLOB NOT NULL,
  approval_id BLOB,
  subject_id  BLOB NOT NULL,
  label       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  ended       TEXT NOT NULL CHECK (ended IN ('', 'revoked', 'used', 'withdrawn')),
  ended_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK (uses = 0 OR used <= uses)
) STRICT;
CREATE INDEX policy_grants_holder ON policy_grants (account_id, holder, expires_at);
-- structural: policy_grants.holder, policy_grants.label, policy_grants.ended
-- Patterns can hold addresses; without its patterns a grant is nothing.
-- erasable: policy_grants subject=subject_id delete

-- A second attempt of an effect is the same use.
CREATE TABLE policy_grant_uses (
  account_id BLOB NOT NULL,
  grant_id   BLOB NOT NULL,
  use_id     BLOB NOT NULL,
  used_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, grant_id, use_id)
) STRICT;

CREATE TABLE policy_endorsements (
  account_id  BLOB NOT NULL,
  id          BLOB NOT NULL,
  run_id      BLOB NOT NULL,
  skill       TEXT NOT NULL,
  targets     TEXT NOT NULL,
  label       TEXT NOT NULL,
  person_id   BLOB NOT NULL,
  approval_id BLOB NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE INDEX policy_endorsements_run ON policy_endorsements (account_id, run_id);
-- structural: policy_endorsements.skill, policy_endorsements.targets, policy_endorsements.label

CREATE TABLE policy_approval_numbers (
  account_id BLOB NOT NULL PRIMARY KEY,
  last       INTEGER NOT NULL
) STRICT;

CREATE TABLE policy_approvals (
  account_id     BLOB NOT NULL,
  id             BLOB NOT NULL,
  number         INTEGER NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('open', 'allowed', 'denied', 'used', 'expired', 'cancelled', 'superseded')),
  revision       INTEGER NOT NULL,
  asker          TEXT NOT NULL CHECK (asker IN ('run', 'mcp_session', 'plan_step', 'draft')),
  asker_id       BLOB NOT NULL,
  run_id         BLOB,
  invoke_id      BLOB,
  subject_id     BLOB NOT NULL,
  request        TEXT NOT NULL,
  original       TEXT NOT NULL,
  call           TEXT NOT NULL,
  digest         TEXT NOT NULL,
  shape          TEXT NOT NULL,
  asks           TEXT NOT NULL,
  rule           TEXT NOT NULL,
  policy_version INTEGER NOT NULL,
  risk           TEXT NOT NULL,
  reasons        TEXT NOT NULL,
  words          TEXT NOT NULL,
  evidence       TEXT NOT NULL,
  reversible     INTEGER NOT NULL CHECK (reversible IN (0, 1)),
  asked_at       INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL,
  requested_id   BLOB,
  correlation_id BLOB,
  label          TEXT NOT NULL,
  answer         TEXT NOT NULL,
  answered_by    BLOB,
  answered_at    INTEGER NOT NULL,
  scope          TEXT NOT NULL,
  via            TEXT NOT NULL,
  reason         TEXT NOT NULL,
  effective_at   INTEGER NOT NULL,
  grant_id       BLOB,
  endorsement_id BLOB,
  use_id         BLOB,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX policy_approvals_number ON policy_approvals (account_id, number);
CREATE UNIQUE INDEX policy_approvals_open ON policy_approvals (account_id, asker_id, call) WHERE state = 'open';
CREATE INDEX policy_approvals_asker ON policy_approvals (account_id, asker_id);
CREATE INDEX policy_approvals_state ON policy_approvals (account_id, state, number);
CREATE INDEX policy_approvals_run ON policy_approvals (account_id, run_id) WHERE run_id IS NOT NULL;
-- structural: policy_approvals.state, policy_approvals.asker, policy_approvals.call, policy_approvals.digest, policy_approvals.shape
-- structural: policy_approvals.asks, policy_approvals.rule, policy_approvals.risk, policy_approvals.evidence, policy_approvals.label
-- structural: policy_approvals.answer, policy_approvals.answered_by, policy_approvals.scope, policy_approvals.via
-- erasable: policy_approvals subject=subject_id blank=request,original,reasons,words,reason
