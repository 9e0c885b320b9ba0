-- Who may come in: the account, its people, and how they prove who they are.
-- +goose Up

CREATE TABLE accounts (
  account_id      BLOB NOT NULL PRIMARY KEY,
  handle          TEXT NOT NULL,
  name            TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  setup_closed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX accounts_handle ON accounts (handle);
-- structural: accounts.handle
-- own: accounts the name its owner gave the account
-- erasable: accounts subject=account_id blank=name

CREATE TABLE people (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  name       TEXT NOT NULL,
  sign_in    TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'operator', 'viewer')),
  state      TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
-- An erased person keeps the row, with an empty name.
CREATE UNIQUE INDEX people_sign_in ON people (account_id, sign_in) WHERE sign_in <> '';
-- structural: people.role, people.state
-- own: people what people typed about themselves
-- erasable: people subject=id blank=name,sign_in

CREATE TABLE passwords (
  account_id BLOB NOT NULL,
  person_id  BLOB NOT NULL,
  phc        TEXT NOT NULL,
  set_at     INTEGER NOT NULL,
  PRIMARY KEY (account_id, person_id)
) STRICT;
-- own: passwords an argon2id hash of what the person chose
-- erasable: passwords subject=person_id delete

-- One-time setup and reset links. person_id is NULL for setup.
CREATE TABLE links (
  account_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('setup', 'reset')),
  person_id  BLOB,
  digest     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX links_digest ON links (account_id, digest);
-- structural: links.kind, links.digest

CREATE TABLE passkeys (
  account_id   BLOB NOT NULL,
  id           BLOB NOT NULL,
  person_id    BLOB NOT NULL,
  name         TEXT NOT NULL,
  host         TEXT NOT NULL,
  synced       INTEGER NOT NULL CHECK (synced IN (0, 1)),
  sign_count   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  credential   BLOB NOT NULL,
  record       BLOB NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX passkeys_credential ON passkeys (account_id, credential);
CREATE INDEX passkeys_person ON passkeys (account_id, person_id);
-- structural: passkeys.host, passkeys.credential, passkeys.record
-- own: passkeys the name the person gave it
-- erasable: passkeys subject=person_id delete

-- Passkey ceremonies between their two halves: minutes old at most.
CREATE TABLE ceremonies (
  account_id BLOB NOT NULL,
  digest     BLOB NOT NULL,
  kind       TEXT NOT NULL,
  person_id  BLOB,
  data       BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT;
CREATE INDEX ceremonies_expiry ON ceremonies (account_id, expires_at);
-- structural: ceremonies.digest, ceremonies.kind
-- own: ceremonies the name of the owner to be, for five minutes
-- erasable: ceremonies subject=person_id delete

CREATE TABLE sessions (
  account_id  BLOB NOT NULL,
  id          BLOB NOT NULL,
  digest      BLOB NOT NULL,
  person_id   BLOB NOT NULL,
  how         TEXT NOT NULL,
  address     TEXT NOT NULL,
  agent       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  seen_at     INTEGER NOT NULL,
  verified_at INTEGER NOT NULL,
  ends_at     INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX sessions_digest ON sessions (account_id, digest);
CREATE INDEX sessions_person ON sessions (account_id, person_id);
-- structural: sessions.digest, sessions.how
-- own: sessions where the person signed in from, shown to them only
-- erasable: sessions subject=person_id delete

CREATE TABLE api_tokens (
  account_id   BLOB NOT NULL,
  id           BLOB NOT NULL,
  digest       BLOB NOT NULL,
  person_id    BLOB NOT NULL,
  name         TEXT NOT NULL,
  prefix       TEXT NOT NULL,
  narrowed     TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  revoked_at   INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX api_tokens_digest ON api_tokens (account_id, digest);
CREATE INDEX api_tokens_person ON api_tokens (account_id, person_id);
-- structural: api_tokens.digest, api_tokens.prefix, api_tokens.narrowed
-- own: api_tokens the name the person gave it
-- erasable: api_tokens subject=person_id delete

-- Counters of tries. The key is a MAC of a name or an address, not the text.
CREATE TABLE sign_in_limits (
  account_id   BLOB NOT NULL,
  scope        TEXT NOT NULL,
  key          BLOB NOT NULL,
  failures     INTEGER NOT NULL,
  locked_until INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (account_id, scope, key)
) STRICT;
CREATE INDEX sign_in_limits_age ON sign_in_limits (account_id, updated_at);
-- structural: sign_in_limits.scope, sign_in_limits.key

CREATE TABLE vault (
  account_id BLOB NOT NULL,
  name       TEXT NOT NULL,
  sealed     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  stored_by  TEXT NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT;
-- structural: vault.name, vault.sealed, vault.stored_by
