-- The business tables of examples/producer and examples/consumer. The outbox itself is made by `fieldcrypt migrate`.

CREATE TABLE invoices (
  number text    NOT NULL PRIMARY KEY,
  total  numeric NOT NULL
);

-- Which events the consumer has applied.
CREATE TABLE letters (
  event_id uuid NOT NULL PRIMARY KEY,
  number   text NOT NULL
);
