-- The catalogue of skills and the ledger of effects.
-- +goose Up

-- Manifests by content hash. They describe software; what a stranger's server
-- says about its own tools carries that stranger's label.
CREATE TABLE skill_manifests (
  account_id BLOB NOT NULL,
  hash       TEXT NOT NULL,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL,
  kind       TEXT NOT NULL,
  body       BLOB NOT NULL,
  content    BLOB,
  label      TEXT NOT NULL,
  made_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, hash)
) STRICT;
-- structural: skill_manifests.hash, skill_manifests.name, skill_manifests.version, skill_manifests.kind
-- structural: skill_manifests.body, skill_manifests.content, skill_manifests.label
-- append_only: skill_manifests

-- Numbered, immutable snapshots: items is canonical JSON of name, hash, switches.
CREATE TABLE catalogues (
  account_id BLOB NOT NULL,
  number     INTEGER NOT NULL CHECK (number > 0),
  digest     TEXT NOT NULL,
  items      BLOB NOT NULL,
  made_by    TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  made_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, number)
) STRICT;
-- structural: catalogues.digest, catalogues.items, catalogues.made_by
-- append_only: catalogues

-- One row per effect. It holds no text of people: what a call says stands in
-- the sealed event that caused it, what came of it in the result's.
CREATE TABLE effects (
  account_id     BLOB NOT NULL,
  id             BLOB NOT NULL,
  cause_event_id BLOB NOT NULL,
  run_id         BLOB NOT NULL,
  step           INTEGER NOT NULL,
  call_id        TEXT NOT NULL,
  actor          TEXT NOT NULL,
  requester      TEXT NOT NULL,
  workspace_id   BLOB,
  skill          TEXT NOT NULL,
  manifest       TEXT NOT NULL,
  catalogue      INTEGER NOT NULL,
  class          TEXT NOT NULL CHECK (class IN ('read', 'idempotent', 'reconcilable', 'once')),
  state          TEXT NOT NULL CHECK (state IN ('asked', 'intended', 'dispatching', 'confirmed', 'failed', 'unknown', 'held', 'denied', 'refused')),
  attempt        INTEGER NOT NULL,
  idem_key       TEXT NOT NULL,
  call_digest    TEXT NOT NULL,
  approval_id    BLOB,
  edit_event_id  BLOB,
  decision_id    BLOB,
  result_id      BLOB,
  fence          INTEGER NOT NULL,
  node_id        BLOB,
  deadline_at    INTEGER NOT NULL,
  reason         TEXT NOT NULL,
  was            TEXT NOT NULL,
  settling       INTEGER NOT NULL CHECK (settling IN (0, 1)),
  label          TEXT NOT NULL,
  stream_id      BLOB NOT NULL,
  created_at     INTEGER NOT NULL,
  changed_at     INTEGER NOT NULL,
  version        INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX effects_key ON effects (account_id, idem_key);
CREATE UNIQUE INDEX effects_cause ON effects (account_id, cause_event_id);
-- One answer of a person lets one effect go (INV-7).
CREATE UNIQUE INDEX effects_approval ON effects (account_id, approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX effects_run ON effects (account_id, run_id, id);
CREATE INDEX effects_state ON effects (account_id, state, id);
-- structural: effects.call_id, effects.actor, effects.requester, effects.skill, effects.manifest, effects.class
-- structural: effects.state, effects.idem_key, effects.call_digest, effects.reason, effects.was, effects.label

-- The history of each effect.
CREATE TABLE effect_steps (
  account_id BLOB NOT NULL,
  effect_id  BLOB NOT NULL,
  number     INTEGER NOT NULL,
  state      TEXT NOT NULL,
  attempt    INTEGER NOT NULL,
  fence      INTEGER NOT NULL,
  node_id    BLOB,
  event_id   BLOB NOT NULL,
  reason     TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, effect_id, number)
) STRICT;
-- structural: effect_steps.state, effect_steps.reason
-- append_only: effect_steps

-- What the ledger promises holds against any writer of this database, not only
-- against ours (INV-5): nothing leaves without a committed skill.invoke of the
-- same account, nothing that ended changes, nothing skips dispatching, a fence
-- never falls, and what names the effect is fixed.
-- sqlite:begin
-- +goose StatementBegin
CREATE TRIGGER effects_new BEFORE INSERT ON effects
WHEN NEW.state NOT IN ('asked', 'intended', 'denied', 'refused')
BEGIN SELECT RAISE(ABORT, 'an effect begins as asked, intended, denied or refused'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_cause_needed BEFORE UPDATE ON effects
WHEN NEW.state IN ('dispatching', 'confirmed', 'unknown') AND NOT EXISTS (
  SELECT 1 FROM events e WHERE e.id = NEW.cause_event_id AND e.account_id = NEW.account_id AND e.type = 'skill.invoke')
BEGIN SELECT RAISE(ABORT, 'an effect needs a committed skill.invoke of its account'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_final BEFORE UPDATE ON effects
WHEN OLD.state IN ('confirmed', 'failed', 'denied', 'refused')
BEGIN SELECT RAISE(ABORT, 'an effect that ended does not change'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_order BEFORE UPDATE ON effects
WHEN NEW.fence < OLD.fence OR NEW.attempt < OLD.attempt OR NEW.version <> OLD.version + 1
  OR NEW.state = 'dispatching' AND OLD.state NOT IN ('intended', 'dispatching')
  OR NEW.state = 'dispatching' AND NEW.class = 'read'
  OR NEW.state = 'confirmed' AND OLD.state = 'intended' AND NEW.class <> 'read'
  OR OLD.state IN ('dispatching', 'unknown') AND NEW.state IN ('asked', 'denied', 'refused')
  OR OLD.state = 'unknown' AND NEW.state NOT IN ('unknown', 'confirmed', 'failed')
BEGIN SELECT RAISE(ABORT, 'an effect may not move that way'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_fixed BEFORE UPDATE ON effects
WHEN NEW.account_id <> OLD.account_id OR NEW.id <> OLD.id OR NEW.cause_event_id <> OLD.cause_event_id OR NEW.idem_key <> OLD.idem_key
  OR NEW.run_id <> OLD.run_id OR NEW.skill <> OLD.skill OR NEW.manifest <> OLD.manifest OR NEW.class <> OLD.class OR NEW.label <> OLD.label
BEGIN SELECT RAISE(ABORT, 'what names an effect is fixed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER effects_no_delete BEFORE DELETE ON effects BEGIN SELECT RAISE(ABORT, 'the ledger forgets nothing'); END;
-- +goose StatementEnd
-- sqlite:end
-- postgres:begin
-- +goose StatementBegin
CREATE FUNCTION witan_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR TG_OP = 'TRUNCATE' THEN
    RAISE EXCEPTION 'the ledger forgets nothing';
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF NEW.state NOT IN ('asked', 'intended', 'denied', 'refused') THEN
      RAISE EXCEPTION 'an effect begins as asked, intended, denied or refused';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IN ('dispatching', 'confirmed', 'unknown') AND NOT EXISTS (
    SELECT 1 FROM events e WHERE e.id = NEW.cause_event_id AND e.account_id = NEW.account_id AND e.type = 'skill.invoke') THEN
    RAISE EXCEPTION 'an effect needs a committed skill.invoke of its account';
  END IF;
  IF OLD.state IN ('confirmed', 'failed', 'denied', 'refused') THEN
    RAISE EXCEPTION 'an effect that ended does not change';
  END IF;
  IF NEW.fence < OLD.fence OR NEW.attempt < OLD.attempt OR NEW.version <> OLD.version + 1
    OR NEW.state = 'dispatching' AND OLD.state NOT IN ('intended', 'dispatching')
    OR NEW.state = 'dispatching' AND NEW.class = 'read'
    OR NEW.state = 'confirmed' AND OLD.state = 'intended' AND NEW.class <> 'read'
    OR OLD.state IN ('dispatching', 'unknown') AND NEW.state IN ('asked', 'denied', 'refused')
    OR OLD.state = 'unknown' AND NEW.state NOT IN ('unknown', 'confirmed', 'failed') THEN
    RAISE EXCEPTION 'an effect may not move that way';
  END IF;
  IF NEW.account_id <> OLD.account_id OR NEW.id <> OLD.id OR NEW.cause_event_id <> OLD.cause_event_id OR NEW.idem_key <> OLD.idem_key
    OR NEW.run_id <> OLD.run_id OR NEW.skill <> OLD.skill OR NEW.manifest <> OLD.manifest OR NEW.class <> OLD.class OR NEW.label <> OLD.label THEN
    RAISE EXCEPTION 'what names an effect is fixed';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER effects_guard BEFORE INSERT OR UPDATE OR DELETE ON effects FOR EACH ROW EXECUTE FUNCTION witan_effects();
CREATE TRIGGER effects_no_truncate BEFORE TRUNCATE ON effects FOR EACH STATEMENT EXECUTE FUNCTION witan_effects();
-- postgres:end
