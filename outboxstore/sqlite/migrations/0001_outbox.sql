CREATE TABLE main."{{table}}" (
  id                TEXT    NOT NULL PRIMARY KEY,
  aggregate_type    TEXT    NOT NULL,
  aggregate_id      TEXT    NOT NULL,
  aggregate_version INTEGER,
  event_type        TEXT    NOT NULL,
  event_version     INTEGER NOT NULL,
  payload           TEXT    NOT NULL,
  headers           TEXT    NOT NULL DEFAULT '{}',
  occurred_at       TEXT    NOT NULL,
  created_at        TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
  available_at      TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
  published_at      TEXT,
  attempts          INTEGER NOT NULL DEFAULT 0,
  last_error        TEXT,
  lease_token       INTEGER,
  lease_owner       TEXT,
  lease_until       TEXT,
  dead_at           TEXT,
  UNIQUE (aggregate_type, aggregate_id, aggregate_version)
) STRICT

CREATE TABLE main."{{table}}_key_ids" (
  event_id TEXT NOT NULL REFERENCES "{{table}}" (id) ON DELETE CASCADE,
  key_id   TEXT NOT NULL,
  PRIMARY KEY (event_id, key_id)
) STRICT, WITHOUT ROWID

CREATE INDEX main."ix_{{table}}_key_ids" ON "{{table}}_key_ids" (key_id)

CREATE TRIGGER main."{{table}}_key_ids_delete" AFTER DELETE ON "{{table}}" BEGIN
  DELETE FROM "{{table}}_key_ids" WHERE event_id = OLD.id;
END
