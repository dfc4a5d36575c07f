#!/usr/bin/env python3
"""Checks an audit trail without fieldcrypt: docs/format.md, section 9.1, with Python's standard library alone.

    python3 testvectors/audittrail.py [--head HASH] [FILE]      (default: standard input)

FILE is a trail in a file, or what psql -At -c 'SELECT entry FROM fieldcrypt_audit ORDER BY seq' prints. HASH is a head that was noted once. Prints the number of
entries and the head, and exits 0; or says where the trail is not whole, and exits 3.
"""

import datetime
import hashlib
import json
import re
import struct
import sys

RESULTS = ("begun", "ok", "refused", "failed")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
HASH = re.compile(r"[0-9a-f]{64}")
EPOCH = datetime.datetime(1970, 1, 1)
MEMBERS = ("seq", "time", "actor", "operation", "of", "result", "error", "keyring", "key_ids", "store", "detail", "rows", "counts", "previous", "hash")


class Damage(Exception):
    """The first place where a trail is not whole: changed, missing, out-of-order, unlinked or cut; at is the entry's number, 0 for cut."""

    def __init__(self, kind, at):
        super().__init__(f"{kind} at entry {at}" if at else kind)
        self.kind, self.at = kind, at


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">I", len(data)) + data


def number(value):
    return struct.pack(">Q", value)


def items(values):
    return struct.pack(">I", len(values)) + b"".join(values)


def hashed(e):
    """The bytes of which an entry's hash is the SHA-256."""
    rows = e.get("rows", {})
    micros = (datetime.datetime.strptime(e["time"], "%Y-%m-%dT%H:%M:%S.%fZ") - EPOCH) // datetime.timedelta(microseconds=1)
    counts = sorted(e.get("counts", {}).items(), key=lambda count: count[0].encode())
    return b"".join(
        (
            text("fieldcrypt.audit.v1"),
            number(e["seq"]),
            number(micros),
            text(e["actor"]),
            text(e["operation"]),
            number(e.get("of", 0)),
            text(e["result"]),
            text(e.get("error", "")),
            text(e.get("keyring", "")),
            items([text(k) for k in e.get("key_ids", [])]),
            text(e.get("store", "")),
            text(e.get("detail", "")),
            number(rows.get("count", 0)),
            items([text(i) for i in rows.get("ids", [])]),
            text(rows.get("last", "")),
            text(bytes.fromhex(rows.get("digest", ""))),
            items([text(name) + number(n) for name, n in counts]),
            bytes.fromhex(e["previous"]),
        )
    )


def line(e):
    """The line of an entry, without its end: its members in their order, those that are empty left out."""
    ordered = {name: e[name] for name in MEMBERS if e.get(name) not in (None, "", 0, [], {})}
    if "rows" in ordered:
        ordered["rows"] = {name: e["rows"][name] for name in ("count", "ids", "last", "digest") if e["rows"].get(name) not in (None, "", 0, [])}
    if "counts" in ordered:
        ordered["counts"] = dict(sorted(e["counts"].items(), key=lambda count: count[0].encode()))
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode()


def is_number(value):
    return type(value) is int and 0 <= value < 1 << 63


def is_text(value):
    return isinstance(value, str)


def parse(data):
    """The entry of a line that is, to the byte, what its members give, and has its own hash; else a ValueError."""
    e = json.loads(data.decode())
    if not isinstance(e, dict):
        raise ValueError("no object")
    rows, counts = e.get("rows", {}), e.get("counts", {})
    whole = (
        all(is_text(e.get(name, "")) for name in ("time", "actor", "operation", "result", "error", "keyring", "store", "detail", "previous", "hash"))
        and is_number(e.get("seq"))
        and is_number(e.get("of", 0))
        and all(map(is_text, e.get("key_ids", [])))
        and is_number(rows.get("count", 0))
        and all(map(is_text, rows.get("ids", [])))
        and is_text(rows.get("last", ""))
        and all(map(is_number, counts.values()))
        and TIME.fullmatch(e["time"])
        and e["result"] in RESULTS
        and HASH.fullmatch(e["previous"])
        and HASH.fullmatch(e["hash"])
        and HASH.fullmatch(rows.get("digest", "0" * 64))
        and line(e) == data
        and hashlib.sha256(hashed(e)).hexdigest() == e["hash"]
    )
    if not whole:
        raise ValueError("not a line that fieldcrypt wrote")
    return e


def read(data):
    """The entry of a line, or None."""
    try:
        return parse(data)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def check(lines, noted=None):
    """Entries, head, the numbers of operations without an outcome, and whether the last line is torn; else Damage. lines are bytes, with their ends."""
    seq, head, unfinished, torn, seen = 0, "0" * 64, set(), False, noted is None
    for data in lines:
        e = read(data.removesuffix(b"\n"))
        if e is None and not data.endswith(b"\n"):
            torn = True  # it was never confirmed to anybody; the next writer cuts it off and says so
            break
        if e is None:
            raise Damage("changed", seq + 1)
        if e["seq"] > seq + 1:
            raise Damage("missing", seq + 1)
        if e["seq"] <= seq:
            raise Damage("out-of-order", e["seq"])
        if e["previous"] != head:
            raise Damage("unlinked", e["seq"])
        seq, head = e["seq"], e["hash"]
        seen = seen or head == noted
        if e["result"] == "begun":
            unfinished.add(seq)
        unfinished.discard(e.get("of", 0))
    if not seen:
        raise Damage("cut", 0)
    return {"entries": seq, "head": head, "unfinished": sorted(unfinished), "torn": torn}


def main(arguments):
    noted = None
    if arguments[:1] == ["--head"] and len(arguments) > 1:
        noted, arguments = arguments[1], arguments[2:]
    if len(arguments) > 1 or arguments and arguments[0].startswith("--"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") if arguments and arguments[0] != "-" else sys.stdin.buffer as lines:
            found = check(lines, noted)
    except Damage as damage:
        print(damage)
        return 3
    print(f"whole: {found['entries']} entries\nhead {found['head']}")
    if found["torn"]:
        print("the last line has no end: a process was killed while it wrote it")
    if found["unfinished"]:
        print(f"{len(found['unfinished'])} operations without an outcome: {' '.join(map(str, found['unfinished'][:10]))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
