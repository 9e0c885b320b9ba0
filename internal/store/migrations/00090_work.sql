-- Workspaces, their tasks, the threads of tasks and what tasks wait for.
-- +goose Up

-- What describes a workspace is the account's, whoever typed it.
CREATE TABLE workspaces (
  account_id    BLOB NOT NULL,
  id            BLOB NOT NULL,
  prefix        TEXT NOT NULL,
  name          TEXT NOT NULL,
  description   TEXT NOT NULL,
  learning_note TEXT NOT NULL,
  allow_all     INTEGER NOT NULL CHECK (allow_all IN (0, 1)),
  resident      TEXT NOT NULL,
  token_digest  BLOB,
  token_last    TEXT NOT NULL,
  token_at      INTEGER NOT NULL,
  last_number   INTEGER NOT NULL,
  created_by    TEXT NOT NULL,
  subject_id    BLOB NOT NULL,
  label         TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  archived_at   INTEGER NOT NULL,
  fork_of_id    BLOB,
  merged_at     INTEGER NOT NULL,
  revision      INTEGER NOT NULL CHECK (revision > 0),
  revisions     TEXT NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT;
CREATE UNIQUE INDEX workspaces_prefix ON workspaces (account_id, prefix);
CREATE INDEX workspaces_forks ON workspaces (account_id, fork_of_id, id) WHERE fork_of_id IS NOT NULL AND merged_at = 0;
CREATE UNIQUE INDEX workspaces_token ON workspaces (account_id, token_digest) WHERE token_digest IS NOT NULL;
-- structural: workspaces.prefix, workspaces.resident, workspaces.token_digest, workspaces.token_last, workspaces.created_by
-- structural: workspaces.label, workspaces.revisions
-- erasable: workspaces subject=subject_id blank=name,description,learning_note

-- A task is ongoing exactly while somebody holds it.
CREATE TABLE tasks (
  account_id       BLOB NOT NULL,
  id               BLOB NOT NULL,
  workspace_id     BLOB NOT NULL,
  prefix           TEXT NOT NULL,
  number           INTEGER NOT NULL CHECK (number > 0),
  created_by       TEXT NOT NULL CHECK (created_by IN ('human', 'agent')),
  author           TEXT NOT NULL,
  trust            INTEGER NOT NULL,
  label            TEXT NOT NULL,
  assignee         TEXT NOT NULL CHECK (assignee IN ('human', 'agent')),
  assignee_ref     TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('notstarted', 'ongoing', 'completed', 'rejected', 'blocked', 'cron')),
  cause            TEXT NOT NULL,
  title            TEXT NOT NULL,
  title_subject_id BLOB NOT NULL,
  body             TEXT NOT NULL,
  attachments      TEXT NOT NULL,
  body_subject_id  BLOB NOT NULL,
  cron_schedule    TEXT NOT NULL,
  parent_id        BLOB,
  trigger_id       BLOB,
  event_id         BLOB,
  sort_order       INTEGER NOT NULL,
  allow_all        INTEGER NOT NULL CHECK (allow_all IN (0, 1)),
  waits            INTEGER NOT NULL CHECK (waits >= 0),
  pending          INTEGER NOT NULL CHECK (pending >= 0),
  messages         INTEGER NOT NULL,
  claimant         TEXT NOT NULL,
  fence            INTEGER NOT NULL,
  lease_span       INTEGER NOT NULL,
  lease_until      INTEGER NOT NULL,
  losses           INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  status_at        INTEGER NOT NULL,
  revision         INTEGER NOT NULL CHECK (revision > 0),
  revisions        TEXT NOT NULL,
  CHECK ((status = 'ongoing') = (claimant <> '')),
  CHECK (pending <= messages),
  PRIMARY KEY (account_id, id)
) STRICT;
-- A task keeps its key when it goes from a fork to its parent.
CREATE UNIQUE INDEX tasks_key ON tasks (account_id, prefix, number);
CREATE INDEX tasks_workspace ON tasks (account_id, workspace_id, id);
-- What can be claimed, and nothing else, in the order in which it is offered: a
-- task that waits is not in it, so it hides none of those behind it.
CREATE INDEX tasks_offer ON tasks (account_id, workspace_id, assignee_ref, sort_order, id)
  WHERE status = 'notstarted' AND assignee = 'agent' AND waits = 0;
CREATE INDEX tasks_board ON tasks (account_id, workspace_id, status, sort_order, id);
CREATE INDEX tasks_of_status ON tasks (account_id, workspace_id, status, id);
CREATE INDEX tasks_status ON tasks (account_id, status, id);
CREATE INDEX tasks_children ON tasks (account_id, parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_pending ON tasks (account_id, id) WHERE pending > 0;
-- structural: tasks.prefix, tasks.created_by, tasks.author, tasks.label, tasks.assignee, tasks.assignee_ref, tasks.status, tasks.cause
-- structural: tasks.cron_schedule, tasks.claimant, tasks.revisions
-- erasable: tasks subject=title_subject_id blank=title
-- erasable: tasks subject=body_subject_id blank=body,attachments

-- Which tasks a task waits for.
CREATE TABLE task_links (
  account_id BLOB NOT NULL,
  task_id    BLOB NOT NULL,
  blocker_id BLOB NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (account_id, task_id, blocker_id)
) STRICT;
CREATE INDEX task_links_blocker ON task_links (account_id, blocker_id, task_id);

-- Locking the account's row locks what parents and links look like, so that two
-- transactions cannot close a circle together.
CREATE TABLE task_graphs (
  account_id BLOB NOT NULL,
  changes    INTEGER NOT NULL,
  PRIMARY KEY (account_id)
) STRICT;

CREATE TABLE task_messages (
  account_id  BLOB NOT NULL,
  task_id     BLOB NOT NULL,
  number      INTEGER NOT NULL CHECK (number > 0),
  id          BLOB NOT NULL,
  sender      TEXT NOT NULL,
  author      TEXT NOT NULL,
  subject_id  BLOB NOT NULL,
  label       TEXT NOT NULL,
  body        TEXT NOT NULL,
  attachments TEXT NOT NULL,
  meta_type   TEXT NOT NULL,
  request     TEXT NOT NULL,
  tool        TEXT NOT NULL,
  meta_status TEXT NOT NULL,
  details     TEXT NOT NULL,
  event_id    BLOB NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (account_id, task_id, number)
) STRICT;
CREATE UNIQUE INDEX task_messages_request ON task_messages (account_id, task_id, request) WHERE request <> '';
-- structural: task_messages.sender, task_messages.author, task_messages.label, task_messages.meta_type, task_messages.request
-- structural: task_messages.tool, task_messages.meta_status
-- erasable: task_messages subject=subject_id blank=body,attachments,details
