// Package topics holds the help that belongs to no single command: `fieldcrypt help settings`, `events`, `output` and `exit-codes`. docs/cli.md is made from it too.
package topics

import "github.com/spf13/cobra"

// All returns the topics as commands that cannot run, which is how cobra knows a help topic.
func All() []*cobra.Command {
	return []*cobra.Command{
		{Use: "settings", Short: "Flags, variables and fieldcrypt.yaml", Long: settingsText},
		{Use: "events", Short: "The lines that commands read and write", Long: eventsText},
		{Use: "output", Short: "Machine output with --output json", Long: outputText},
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitText},
	}
}

const settingsText = `Flags win over environment variables, these over fieldcrypt.yaml (found upwards from
the working directory), these over defaults. A repeatable setting is taken whole from
the first place that has it. Paths in fieldcrypt.yaml are relative to that file, all
others to the working directory.

    flag            variable                     file key          value
    --schemas       FIELDCRYPT_SCHEMAS           schemas           directory (walked) or file; repeatable
    --keyring       FIELDCRYPT_KEYRING           keyring           [NAME=]URL; repeatable
    --outbox        FIELDCRYPT_OUTBOX            outbox            URL; repeatable where a command asks several
                    FIELDCRYPT_PASSPHRASE_FILE   passphrase_file   a file keyring's passphrase
                    FIELDCRYPT_PASSPHRASE                          the passphrase itself
    --audit-log     FIELDCRYPT_AUDIT_LOG         audit_log         file of the audit trail
    --no-audit                                                     leave no trace in the audit trail
    --output        FIELDCRYPT_OUTPUT            output            text (default), json, …
    --quiet                                                        leave out notes and progress
    --no-progress                                                  leave out progress
    --log-level                                                    debug, info, warn (default), error

A variable for a repeatable flag is space-separated. In the file a repeatable setting
is one string or a list; keyring is one URL, or a map of names to URLs:

    schemas: schemas
    keyring:
      default: file:keyring.json
      health: vault://secret/fieldcrypt/health?transit=transit/fieldcrypt-health
    outbox: postgres://app@db.internal/app?table=events.outbox
    passphrase_file: passphrase

The file also holds lint.ignore: see fieldcrypt lint --help.

A keyring's NAME matches [a-z][a-z0-9_-]{0,62}; without one it is "default". keys and
rotate act on --name.

    keyring   file:PATH                                 one file, sealed under a passphrase
              vault://MOUNT/PATH?transit=MOUNT/KEY      KV v2 mount and path, then Transit mount and key
    outbox    sqlite:PATH                               one file
              postgres://USER@HOST:PORT/DATABASE        the parameters are libpq's and pgx's

An outbox is the table outbox_events; ?table=NAME, with Postgres also ?table=SCHEMA.NAME,
names another one.

What opens personal data, changes a key or re-encrypts rows is written into the audit trail:
into the file that is configured, else into the first outbox's database (the table
fieldcrypt_audit, which migrate makes), else into a file beside a file keyring,
KEYRINGFILE.audit. Where there is none of these the command refuses, unless --no-audit is
given: see fieldcrypt audit trail --help.

A secret never comes from a flag. The passphrase comes from FIELDCRYPT_PASSPHRASE,
else from the passphrase file, which nobody but its owner may be able to read, else
from a prompt on the terminal.

Vault is found and trusted as Vault's own tools do it: VAULT_ADDR, VAULT_NAMESPACE,
VAULT_CACERT, VAULT_CAPATH, VAULT_CLIENT_CERT, VAULT_CLIENT_KEY, VAULT_TLS_SERVER_NAME. The
login is the first of these that there is: the token in VAULT_TOKEN; an AppRole, of
VAULT_ROLE_ID and VAULT_SECRET_ID, each itself or in a file that VAULT_ROLE_ID_FILE and
VAULT_SECRET_ID_FILE name; a pod's service account, of the role VAULT_K8S_ROLE; the token
that vault login left in ~/.vault-token. A token is renewed for as long as Vault lets it, and
then a login gets another. Each call ends within VAULT_CLIENT_TIMEOUT (10s), with its retries.

A database password may stand in the URL, in PGPASSWORD or in libpq's password file; it is
never printed. What the URL leaves out comes from libpq's variables (PGHOST, PGUSER,
PGSSLMODE …). Connecting ends within connect_timeout (10s), each statement within 5
minutes; migrate waits 5s for a lock and a minute for another migration, and an index may
take its time.

Durations are Go's, and d and w: 90d, 2w, 10m.`

const eventsText = `Commands that take events read one JSON object a line from FILE… or from standard input
("-", the default), and write one JSON object a line.

    plaintext:  {"id":"0190…","type":"invoice.issued","version":1,
                 "aggregate_type":"invoice","aggregate_id":"42","aggregate_version":7,
                 "occurred_at":"2026-11-30T12:00:00Z","headers":{"traceparent":"…"},
                 "payload":{…}}
    sealed:     the same with the payload in wire form, and "key_ids":["seal:0f3a9c01"],
                with --indexes also "blind_indexes":{"tax_id":"bi1:…"}

(Each stands on one line.) On input type, aggregate_id and payload are required. A missing
id becomes a new UUIDv7, a missing occurred_at the present, a missing version 1, a missing
aggregate_type the type up to its first dot; aggregate_version and headers may be left out.
An unknown member is an error. Lines are spliced, never re-encoded: a payload's clear bytes
come out as they went in.

A refused line is reported on standard error as FILE:LINE:COL: location: what (COL in bytes
from 1; - is standard input), gives no output, and the rest goes on; --fail-fast stops at
the first. No report holds a value of the payload.`

const outputText = `With --output json a command writes one JSON object a line. Members are only ever added.

    keys list   {"keyring":"default","id":"0f3a9c01","purpose":"seal","state":"primary","since":"2026-11-30T12:00:00Z"}
    write       {"written":300,"duplicates":0,"refused":2}
    rotate      {"step":"promoted","keyring":"default","purpose":"seal","id":"0f3a9c01"}
                {"step":"re-encrypted","rotated":300,"skipped":0,"failed":0,"failed_ids":[]}
    verify      {"kind":"plaintext","severity":"finding","count":1,"rows":["0190…"]}
                {"rows":300,"findings":1,"warnings":0,"not_checked":[]}
    lint, validate
                {"file":"a.v1.json","line":3,"column":14,"location":"/properties/mail",
                 "rule":"personal-unflagged","severity":"warning","message":"…"}
    migrate     {"statement":"ALTER TABLE …","done":true}
    audit trail {"seq":7,"time":"2026-11-30T12:00:00.000000Z","actor":"ada@ops1","operation":"keys.promote",
                 "result":"begun","keyring":"default","key_ids":["seal:0f3a9c01"],"previous":"…","hash":"…"}
                with --check {"entries":7,"head":"…","whole":true,"unfinished":[]}

(Each stands on one line.) lint and validate also have --output github, which marks
the lines in a pull request, junit and sarif.`

const exitText = `    0   done, nothing found
    1   the run could not go on: files, settings, keyring, network, Vault or database away, a lost
        check-and-set
    2   wrong usage
    3   some line, row or schema was refused or found

A set of schemas that does not load is 3 in validate, lint and plan, else 1.`
