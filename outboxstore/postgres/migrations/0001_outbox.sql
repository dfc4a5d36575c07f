CREATE TABLE "{{schema}}"."{{table}}" (
  id                uuid        NOT NULL CONSTRAINT "pk_{{table}}" PRIMARY KEY,
  aggregate_type    text        NOT NULL,
  aggregate_id      text        NOT NULL,
  aggregate_version bigint,
  event_type        text        NOT NULL,
  event_version     integer     NOT NULL,
  payload           json        NOT NULL,
  headers           json        NOT NULL DEFAULT '{}',
  occurred_at       timestamptz NOT NULL,
  created_at        timestamptz NOT NULL DEFAULT now(),
  available_at      timestamptz NOT NULL DEFAULT now(),
  published_at      timestamptz,
  attempts          integer     NOT NULL DEFAULT 0,
  last_error        text,
  lease_token       bigint,
  lease_owner       text,
  lease_until       timestamptz,
  dead_at           timestamptz,
  key_ids           text[]      NOT NULL DEFAULT '{}',
  CONSTRAINT "uq_{{table}}_aggregate" UNIQUE (aggregate_type, aggregate_id, aggregate_version)
) WITH (
  fillfactor = 85,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1
)
