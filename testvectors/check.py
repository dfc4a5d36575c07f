#!/usr/bin/env python3
"""Checks the vectors with Python: its own reading of docs/format.md, written from README.md beside this file, over the `cryptography` package
(AES-GCM, HKDF, HMAC of OpenSSL) and Argon2's own library; audit trails by audittrail.py. It shares nothing with the Go code or with format.mjs.

    python3 testvectors/check.py [DIRECTORY]      (default: the v1 beside this file)

Needs Python 3.9 and, on Debian, apt-get install python3-cryptography python3-argon2. Prints "N passed, N failed" and exits 1 if anything failed,
if a file is missing or empty, or if a vector is of a kind that it does not know.
"""

import base64
import datetime
import hashlib
import json
import os
import re
import struct
import sys
import unicodedata

import audittrail
from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

HERE = os.path.dirname(os.path.abspath(__file__))
FORMAT = "fieldcrypt-testvectors/1"


class Refused(Exception):
    """What a reader must say instead of giving a result; reason is the vectors' member "refused"."""

    def __init__(self, reason, what=""):
        super().__init__(f"{reason}: {what}")
        self.reason = reason


class Mismatch(Exception):
    pass


# ---- bytes and derivations (sections 1, 4.3, 4.4, 6.1)


def lp(part):
    data = part.encode() if isinstance(part, str) else bytes(part)
    return struct.pack(">I", len(data)) + data


def hkdf(key, info):
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(key)


def mac(key, message):
    h = hmac.HMAC(key, hashes.SHA256())
    h.update(message)
    return h.finalize()


def event_info(event):
    return lp("fieldcrypt/v1/event") + lp(event["type"]) + struct.pack(">I", event["version"]) + lp(event["id"])


def field_data(kid, pointer):
    return lp("fieldcrypt/v1/field") + lp(kid) + lp(pointer)


def index_info(name, normaliser, bits):
    return lp("fieldcrypt/v1/index") + lp(name) + lp(normaliser) + struct.pack(">H", bits)


def padded_length(length):
    if length <= 256:
        return (length + 15) // 16 * 16
    e = length.bit_length() - 1
    s = e.bit_length()
    mask = (1 << (e - s)) - 1
    return (length + mask) & ~mask


# ---- strict JSON (section 3)


class Node:
    """A value with the place of its text. kind is object, array, string, number, boolean or null."""

    def __init__(self, kind, start, end, content=None):
        self.kind, self.start, self.end, self.content = kind, start, end, content


NUMBER = re.compile(rb"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
MAX_DEPTH, MAX_DIGITS, MAX_EXPONENT = 200, 1000, 1000


class Reader:
    def __init__(self, text, depth=0):
        self.text, self.at, self.depth = bytes(text), 0, depth
        try:
            self.text.decode("utf-8", "strict")
        except UnicodeDecodeError:
            raise Refused("json", "invalid UTF-8")

    def fail(self, what):
        raise Refused("json", f"{what} at byte {self.at}")

    def document(self):
        self.space()
        node = self.value()
        self.space()
        if self.at != len(self.text):
            self.fail("something follows the value")
        return node

    def space(self):
        while self.text[self.at : self.at + 1] in (b" ", b"\t", b"\r", b"\n"):
            self.at += 1

    def peek(self):
        return self.text[self.at : self.at + 1]

    def take(self, token):
        if not self.text.startswith(token, self.at):
            self.fail(f"expected {token!r}")
        self.at += len(token)

    def value(self):
        start, first = self.at, self.peek()
        if first in (b"{", b"["):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                self.fail("too deep")
            node = Node("object", start, 0, self.members()) if first == b"{" else Node("array", start, 0, self.items())
            self.depth -= 1
        elif first == b'"':
            node = Node("string", start, 0, self.string())
        elif first in (b"t", b"f", b"n"):
            word = {b"t": b"true", b"f": b"false", b"n": b"null"}[first]
            self.take(word)
            node = Node("null" if first == b"n" else "boolean", start, 0)
        else:
            node = Node("number", start, 0, self.number())
        node.end = self.at
        return node

    def several(self, close, one):
        """The comma-separated things up to a bracket, which is the next byte or follows each of them."""
        found = []
        self.at += 1
        self.space()
        if self.peek() == close:
            self.at += 1
            return found
        while True:
            self.space()
            found.append(one())
            self.space()
            if self.peek() == close:
                self.at += 1
                return found
            self.take(b",")

    def items(self):
        return self.several(b"]", self.value)

    def members(self):
        names = set()

        def member():
            name = self.string()
            if name in names:
                self.fail("duplicate name")
            names.add(name)
            self.space()
            self.take(b":")
            self.space()
            return name, self.value()

        return self.several(b"}", member)

    def string(self):
        self.take(b'"')
        parts = []
        while True:
            begin = self.at
            while self.at < len(self.text) and self.text[self.at] >= 0x20 and self.text[self.at] not in b'"\\':
                self.at += 1
            parts.append(self.text[begin : self.at].decode("utf-8"))
            char = self.peek()
            if char == b'"':
                self.at += 1
                return "".join(parts)
            if char != b"\\":
                self.fail("open string or control character")
            parts.append(self.escape())

    def escape(self):
        code = self.text[self.at + 1 : self.at + 2].decode("latin-1")
        if code in ESCAPES and code:
            self.at += 2
            return ESCAPES[code]
        unit = self.unit()
        if 0xDC00 <= unit <= 0xDFFF:
            self.fail("half a surrogate pair")
        if 0xD800 <= unit <= 0xDBFF:
            low = self.unit()
            if not 0xDC00 <= low <= 0xDFFF:
                self.fail("half a surrogate pair")
            unit = 0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00
        return chr(unit)

    def unit(self):
        match = re.compile(rb"\\u([0-9A-Fa-f]{4})").match(self.text, self.at)
        if not match:
            self.fail("no escape")
        self.at = match.end()
        return int(match.group(1), 16)

    def number(self):
        match = NUMBER.match(self.text, self.at)
        if not match:
            self.fail("no JSON value")
        sign, whole, fraction, exponent = (g or b"" for g in match.groups())
        if len(whole) + len(fraction) > MAX_DIGITS:
            self.fail("too many digits")
        digits = exponent.lstrip(b"+-").lstrip(b"0")
        if len(digits) > 4 or int(digits or b"0") > MAX_EXPONENT:
            self.fail("exponent too large")
        self.at = match.end()
        return sign.decode(), whole.decode(), fraction.decode(), int(exponent or b"0")


def walk(node, pointer=""):
    """Every value with its JSON pointer, in the order of the text."""
    yield pointer, node
    if node.kind == "object":
        for name, child in node.content:
            yield from walk(child, pointer + "/" + name.replace("~", "~0").replace("/", "~1"))
    elif node.kind == "array":
        for i, child in enumerate(node.content):
            yield from walk(child, f"{pointer}/{i}")


# ---- tokens (section 4)

TOKEN = re.compile(r"fc1:([0-9a-f]{8}|s[0-9a-f]{16}):([A-Za-z0-9_-]{59,})")


def base64url(text):
    """The bytes, or None where the text is not the one canonical spelling."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return data if base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text else None


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def seal_bytes(key, kid, event, pointer, nonce, plaintext):
    sealed = AESGCM(hkdf(key, event_info(event))).encrypt(nonce, plaintext, field_data(kid, pointer))
    return f"fc1:{kid}:{unpadded(nonce + sealed)}"


def open_token(keys, event, pointer, text):
    """The JSON text that a token holds and the length that it was padded to. keys are the usable ones by kid."""
    match = TOKEN.fullmatch(text)  # not match with $, which is before a final newline too
    body = base64url(match.group(2)) if match else None
    if body is None or len(body) < 44 or (len(body) - 28) % 16 or match.group(1) == "00000000":
        raise Refused("form", "no token")
    kid = match.group(1)
    if kid not in keys:
        raise Refused("key", "no usable key has this id")
    try:
        plaintext = AESGCM(hkdf(keys[kid], event_info(event))).decrypt(body[:12], body[12:], field_data(kid, pointer))
    except InvalidTag:
        raise Refused("authentication")
    reader = Reader(plaintext, depth=pointer.count("/"))
    value = reader.value()
    if plaintext[value.end :].strip(b" "):
        raise Refused("json", "something but spaces follows the value")
    return plaintext[: value.end], len(plaintext)


# ---- normalisers (section 6.3): version 1 is Unicode 15.0

with open(os.path.join(HERE, "unicode", "15.0.0.json"), encoding="utf-8") as f:
    UCD = json.load(f)


def points(text):
    return "".join(chr(int(point, 16)) for point in text.split())


def ranges(entries):
    for entry in entries:
        first, _, last = entry.partition("..")
        yield int(first, 16), int(last or first, 16)


FOLDS = {points(line.split(" ", 1)[0]): points(line.split(" ", 1)[1]) for line in UCD["casefold"]}
SPACE = {chr(c) for first, last in ranges(UCD["white_space"]) for c in range(first, last + 1)}
UNASSIGNED = list(ranges(UCD["unassigned"]))
DIGITS = {chr(int(zero, 16) + i): str(i) for zero in UCD["digit_zeros"] for i in range(10)}


def unassigned(char):
    return any(first <= ord(char) <= last for first, last in UNASSIGNED)


def trim(text):
    start, end = 0, len(text)
    while start < end and text[start] in SPACE:
        start += 1
    while end > start and text[end - 1] in SPACE:
        end -= 1
    return text[start:end]


def nfkc(text):
    # Debian 12's Python has Unicode 14: what it does not know it would leave as it is, in silence.
    if any(unicodedata.category(char) == "Cn" for char in text):
        raise Mismatch("Python's Unicode is older than 15.0 and does not know a character of this text")
    return unicodedata.normalize("NFKC", text)


def casefold(text):
    return "".join(FOLDS.get(char, char) for char in text)


STEPS = {
    "trim": trim,
    "nfkc": nfkc,
    "casefold": casefold,
    "casefold-tr": lambda text: casefold(text.replace("I", "\u0131").replace("\u0130", "i")),
    "digits": lambda text: "".join(DIGITS.get(char, "") for char in text),
    "alnum": lambda text: "".join(char for char in text if category(char)[0] == "L" or category(char) == "Nd"),
    "last4": lambda text: text[-4:] if len(text) >= 4 else "",
    "email": lambda text: email(nfkc(trim(text))),
}


def category(char):
    if unicodedata.category(char) == "Cn":
        raise Mismatch("Python's Unicode is older than 15.0 and does not know a character of this text")
    return unicodedata.category(char)


def email(text):
    local, at, domain = text.rpartition("@")
    if not at:
        return casefold(text)
    # Simple_Lowercase_Mapping, code point by code point: str.lower has a longer one for U+0130 alone.
    return casefold(local) + at + "".join("i" if char == "\u0130" else char.lower() for char in domain)


# phone(REGION), section 6.6

with open(os.path.join(HERE, "phone", "1.json"), encoding="utf-8") as f:
    PHONE = json.load(f)


def phone(region, text):
    dialled = ""
    for char in nfkc(text):
        if char == "+" and not dialled:
            dialled = "+"
        elif char in DIGITS:
            dialled += DIGITS[char]
        elif not (char in SPACE or char in "()[]./\u2212" or category(char) in ("Cf", "Pd")):
            return None
    if not dialled.strip("+"):
        return None
    if dialled[0] == "+":
        return abroad(dialled[1:])
    own = PHONE["regions"][region]
    for prefix in ["00"] * dialled.startswith("00" + own["code"]) + own["international"]:
        number = abroad(dialled[len(prefix) :]) if dialled.startswith(prefix) else None
        if number:
            return number
    trunk = PHONE["codes"][own["code"]]["trunk"]
    number = national(dialled, trunk, own["lengths"])
    if not number and dialled.startswith(own["code"]):
        number = national(dialled[len(own["code"]) :], trunk, own["lengths"])
    return number and e164(own["code"], number)


def abroad(dialled):
    for n in (1, 2, 3):
        code = dialled[:n]
        if n < len(dialled) and code in PHONE["codes"]:
            number = national(dialled[n:], PHONE["codes"][code]["trunk"], PHONE["codes"][code]["lengths"])
            return number and e164(code, number)
    return None


def national(dialled, trunk, lengths):
    for prefix in trunk:
        if dialled.startswith(prefix) and len(dialled) - len(prefix) in lengths:
            return dialled[len(prefix) :]
    if any(prefix[0] == "0" and dialled.startswith(prefix) for prefix in trunk):
        return None
    return dialled if len(dialled) in lengths else None


def e164(code, number):
    return None if len(code + number) > 15 else "+" + code + number


def slow_parameters(step):
    match = re.fullmatch(r"argon2id\(([1-9][0-9]{0,9}),([1-9][0-9]{0,9})\)", step)
    passes, kib = (int(n) for n in match.groups()) if match else (0, 0)
    return (passes, kib) if 1 <= passes <= 16 and 1024 <= kib <= 262144 and passes * kib <= 1048576 else None


def step_of(steps, position):
    """A step's id, what it does, and whether it does not depend on Unicode."""
    step = steps[position]
    if step in STEPS:
        return step + ".1", STEPS[step], step == "last4"
    match = re.fullmatch(r"phone\(([A-Z]{2})\)", step)
    if match and match[1] in PHONE["regions"]:
        return f"phone.1({match[1]})", lambda text: phone(match[1], text) or STEPS["digits"](text), False
    if slow_parameters(step) and position == len(steps) - 1:
        return "argon2id.1(%d,%d)" % slow_parameters(step), lambda text: text, True
    raise Refused("step", step)


def normaliser_id(steps):
    return "+".join(step_of(steps, i)[0] for i in range(len(steps))) or "raw.1"


def normalise(steps, text):
    known = [step_of(steps, i) for i in range(len(steps))]
    skipped = any(unassigned(char) for char in text)
    for _, apply, always in known:
        if always or not skipped:
            text = apply(text)
    return text


# ---- blind indexes (section 6)


def integer(number):
    """All digits of a number's value, or None if it has a fraction."""
    sign, whole, fraction, exponent = number
    digits, scale = (whole + fraction).lstrip("0"), exponent - len(fraction)
    if not digits:
        return "0"
    while scale < 0 and digits.endswith("0"):
        digits, scale = digits[:-1], scale + 1
    return None if scale < 0 else sign + digits + "0" * scale


def message(steps, node):
    if node.kind == "null":
        return None
    if node.kind == "string":
        text = normalise(steps, node.content)
        return b"s" + text.encode() if text else None
    digits = integer(node.content) if node.kind == "number" else None
    if digits is None:
        raise Refused("type", node.kind)
    return b"i" + digits.encode()


def messages(steps, text):
    node = Reader(text).document()
    found = [message(steps, item) for item in (node.content if node.kind == "array" else [node])]
    return sorted({m for m in found if m is not None})


def joined(parts, nodes):
    """The one message of a compound index, or none."""
    if len(nodes) != len(parts):
        raise Refused("parts", str(len(nodes)))
    found = [message(steps, node) for steps, node in zip(parts, nodes)]
    return [] if None in found else [b"c" + struct.pack(">H", len(found)) + b"".join(lp(m) for m in found)]


def compound_messages(parts, text):
    node = Reader(text).document()
    return joined(parts, node.content if node.kind == "array" else [node])


def compound_id(parts):
    return ",".join(normaliser_id(steps) for steps in parts)


def slowed(key, msg, steps):
    """What argon2id makes of a message. The salt is the index key's own."""
    parameters = slow_parameters(steps[-1]) if steps else None
    if not parameters:
        return msg
    return b"a" + hash_secret_raw(msg, mac(key, b"salt")[:16], *parameters, 1, 32, Type.ID, 0x13)


def stored(key, kid, name, normaliser, bits, msg):
    value = bytearray(mac(hkdf(key, index_info(name, normaliser, bits)), msg)[: (bits + 7) // 8])
    if bits % 8:
        value[-1] &= 0xFF << (8 - bits % 8) & 0xFF
    return bytes.fromhex(kid) + bytes(value)


def index_text(data):
    return f"bi1:{data[:4].hex()}:{unpadded(data[4:])}"


def parse_index_text(text):
    match = re.fullmatch(r"bi1:([0-9a-f]{8}):([A-Za-z0-9_-]+)", text)
    value = base64url(match.group(2)) if match else None
    if value is None or not 1 <= len(value) <= 32:
        raise Refused("form", "no blind index text")
    return bytes.fromhex(match.group(1)) + value


# ---- events (section 5), by a plan that the vector spells out


def keys_of(vector, ring, purpose):
    keys = next(r for r in vector["keyrings"] if r["name"] == ring)["keys"]
    return {k["id"]: bytes.fromhex(k["key"]) for k in keys if k["purpose"] == purpose and k["state"] in ("staged", "primary", "active")}


def primary(vector, ring, purpose):
    keys = next(r for r in vector["keyrings"] if r["name"] == ring)["keys"]
    key = next(k for k in keys if k["purpose"] == purpose and k["state"] == "primary")
    return key["id"], bytes.fromhex(key["key"])


def located(vector, root):
    """The plan's locations with their values, and the strings that are not below one."""
    plan = {place["pointer"]: place for place in vector["plan"]["sealed"]}
    sealed, clear, end = [], [], -1
    for pointer, node in walk(root):
        if node.start < end:
            continue
        if pointer in plan:
            sealed.append((plan[pointer], node))
            end = node.end
        elif node.kind == "string":
            clear.append(node.content)
    if len(sealed) != len(plan):
        raise Mismatch("the plan names a location that is not there")
    if any(TOKEN.fullmatch(text) for text in clear):
        raise Refused("unflagged", "a string that is not flagged has the form of a token")
    return sealed


def splice(text, replacements):
    out, at = [], 0
    for node, new in replacements:
        out += [text[at : node.start], new]
        at = node.end
    return b"".join(out + [text[at:]])


def seal_event(vector):
    event = vector["event"]
    text = event["payload"].encode()
    root = Reader(text).document()
    sealed = located(vector, root)
    outside = [event["aggregate_id"]] + [part for header in event.get("headers", {}).items() for part in header]
    for _, top in sealed:
        for _, node in walk(top):
            value = node.content if node.kind == "string" else text[node.start : node.end].decode() if node.kind == "number" else ""
            if len(value.encode()) >= 8 and any(value in o for o in outside):
                raise Refused("outside", "the aggregate id or a header holds a flagged value")
    nonces = bytes.fromhex(vector["nonces"])
    if len(nonces) != 12 * len(sealed):
        raise Mismatch("one nonce for each sealed value")
    ids, replacements = set(), []
    for i, (place, node) in enumerate(sealed):
        kid, key = primary(vector, place["keyring"], "seal")
        ids.add(f"seal:{kid}")
        value = text[node.start : node.end]
        padded = value.ljust(padded_length(max(len(value), place.get("longest", 0))))
        token = seal_bytes(key, kid, event, place["pointer"], nonces[12 * i : 12 * i + 12], padded)
        replacements.append((node, b'"' + token.encode() + b'"'))
    indexes, at = {}, dict(walk(root))
    for name, index in vector["plan"]["indexes"].items():
        nodes = [at[pointer] for pointer in index["pointers"] if pointer in at]
        if "parts" in index:
            found = set(joined(index["parts"], nodes)) if len(nodes) == len(index["parts"]) else set()
            normaliser = compound_id(index["parts"])
        else:
            found = {m for node in nodes for m in messages(index["steps"], text[node.start : node.end])}
            normaliser = normaliser_id(index["steps"])
        if found:
            kid, key = primary(vector, index["keyring"], "index")
            ids.add(f"index:{kid}")
            values = {stored(key, kid, name, normaliser, index["bits"], m) for m in found}
            indexes[name] = [index_text(v) for v in sorted(values)]
    return {"wire": splice(text, replacements).decode(), "key_ids": sorted(ids), "blind_indexes": indexes}


def open_event(vector):
    text = vector["wire"].encode()
    replacements = []
    for place, node in located(vector, Reader(text).document()):
        raw = text[node.start + 1 : node.end - 1].decode()
        if node.kind != "string" or raw != node.content:  # a token has no escapes
            raise Refused("form", "no token")
        opened, _ = open_token(keys_of(vector, place["keyring"], "seal"), vector["event"], place["pointer"], raw)
        replacements.append((node, opened))
    return splice(text, replacements).decode()


# ---- keyrings (section 7)


def clear_digest(clear):
    return hashlib.sha256(clear.encode()).digest()


def keyset_data(purpose, name, revision, clear):
    return lp("fieldcrypt/v1/keyring") + lp(purpose) + lp(name) + struct.pack(">Q", revision) + lp(clear_digest(clear))


def file_kek(v):
    return hash_secret_raw(v["passphrase"].encode(), bytes.fromhex(v["salt"]), v["time"], v["memory_kib"], v["threads"], 32, Type.ID, 0x13)


def need(ok, what, reason="document"):
    if not ok:
        raise Refused(reason, what)


def strict_value(text):
    """What a strict JSON text holds. An integer is an int; another number is its text."""
    try:
        root = Reader(text).document()
    except Refused as refused:
        raise Refused("document", str(refused))

    def plain(node):
        if node.kind == "object":
            return {name: plain(child) for name, child in node.content}
        if node.kind == "array":
            return [plain(child) for child in node.content]
        if node.kind == "number":
            raw = text[node.start : node.end].decode()
            return int(raw) if re.fullmatch(r"-?[0-9]{1,30}", raw) else raw
        return node.content if node.kind == "string" else None

    return plain(root)


def shaped(value, **types):
    need(isinstance(value, dict) and set(value) == set(types), "other members")
    for name, kind in types.items():
        need(type(value[name]) is kind, f"{name} is of another type")
    return value


def printable(text, most):
    return 1 <= len(text.encode()) <= most and not any(unicodedata.category(c)[0] in "CZ" for c in text.replace(" ", ""))


def duration(text):
    """Seconds of a Go duration in its own spelling, or None."""
    if re.fullmatch(r"[1-9][0-9]{0,2}(\.[0-9]*[1-9])?(ms|\u00b5s|ns)", text):
        return 1
    match = re.fullmatch(r"(?:(?:([1-9][0-9]*)h)?([0-9]|[1-5][0-9])m)?([0-9]|[1-5][0-9])(\.[0-9]*[1-9])?s", text)
    if not match or match.group(2) == "0" and not match.group(1):
        return None
    return int(match.group(1) or 0) * 3600 + int(match.group(2) or 0) * 60 + int(match.group(3)) + (1 if match.group(4) else 0)


def canonical_time(text):
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,5}[1-9])?Z", text):
        return False
    try:
        datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return False
    return True


STATES = ("staged", "primary", "active", "disabled", "destroyed")


def parse_clear(text):
    clear = shaped(strict_value(text.encode()), name=str, revision=int, kek=str, propagation=str, stores=list, keys=list)
    need(re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", clear["name"]), "name")
    need(1 <= clear["revision"] < 1 << 53, "revision")
    need(printable(clear["kek"], 1024), "kek")
    seconds = duration(clear["propagation"])
    need(seconds is not None and seconds <= 8760 * 3600, "propagation")
    need(not clear["stores"], "stores are not in this version")
    for key in clear["keys"]:
        shaped(key, id=str, purpose=str, state=str, states=list)
        need(re.fullmatch(r"[0-9a-f]{8}", key["id"]) and key["id"] != "00000000", "key id")
        need(key["purpose"] in ("seal", "index") and key["state"] in STATES, "purpose or state")
        for entry in key["states"]:
            shaped(entry, state=str, time=str, author=str)
            need(entry["state"] in STATES and canonical_time(entry["time"]) and printable(entry["author"], 256), "history")
        need(key["states"] and key["states"][-1]["state"] == key["state"], "history")
    need(len({key["id"] for key in clear["keys"]}) == len(clear["keys"]), "a key id stands twice")
    for purpose in ("seal", "index"):
        need(sum(k["purpose"] == purpose and k["state"] == "primary" for k in clear["keys"]) == 1, "primary")
    return clear


def standard_base64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused("document", "no base64")
    need(data and base64.b64encode(data).decode() == text, "not canonical base64")
    return data


def fields(data):
    """The fields of a protocol buffer: numbers and bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            need(at < len(data) and shift < 64, "no protocol buffer", "keyset")
            byte = data[at]
            at += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        else:
            need(tag & 7 == 2, "wire type", "keyset")
            size = varint()
            need(at + size <= len(data), "no protocol buffer", "keyset")
            found.append((tag >> 3, data[at : at + size]))
            at += size
    return found


def parts(buffer, /, **names):
    """A message's fields by name, which is given with its number and default; a list is repeated."""
    by_number = {number: name for name, (number, _) in names.items()}
    result = {name: [] if default is list else default for name, (_, default) in names.items()}
    for number, value in fields(buffer):
        need(number in by_number, f"field {number}", "keyset")
        name = by_number[number]
        if names[name][1] is list:
            result[name].append(value)
        else:
            need(type(value) is type(names[name][1]), "wire type", "keyset")
            result[name] = value
    return result


def parse_keyset(data, keys):
    present = {k["id"]: k for k in keys if k["state"] != "destroyed"}
    keyset, material = parts(data, primary=(1, 0), key=(2, list)), {}
    for raw in keyset["key"]:
        need(isinstance(raw, bytes), "key", "keyset")
        key = parts(raw, data=(1, b""), status=(2, 0), id=(3, 0), prefix=(4, 0))
        kid = f"{key['id']:08x}"
        need(kid in present and kid not in material, "ids disagree", "keyset")
        need(key["status"] == (2 if present[kid]["state"] == "disabled" else 1) and key["prefix"] == 3, "status or prefix", "keyset")
        inner = parts(key["data"], url=(1, b""), value=(2, b""), kind=(3, 0))
        need(inner["url"] == b"type.googleapis.com/google.crypto.tink.HkdfPrfKey" and inner["kind"] == 1, "type", "keyset")
        prf = parts(inner["value"], version=(1, 0), params=(2, b""), key=(3, b""))
        params = parts(prf["params"], hash=(1, 0), salt=(2, b""))
        need((prf["version"], params["hash"], params["salt"], len(prf["key"])) == (0, 3, b"", 32), "parameters", "keyset")
        material[kid] = prf["key"]
    need(set(material) == set(present), "ids disagree", "keyset")
    need(present[f"{keyset['primary']:08x}"]["state"] == "primary" if f"{keyset['primary']:08x}" in present else False, "primary", "keyset")
    return material


def open_keyring(name, text, uri, kek):
    need(len(text.encode()) <= 1 << 20, "larger than 1 MiB")
    document = shaped(strict_value(text.encode()), format=str, clear=str, keysets=dict)
    need(document["format"] == "fieldcrypt-keyring/1", "format")
    clear = parse_clear(document["clear"])
    keysets = {purpose: standard_base64(value) for purpose, value in shaped(document["keysets"], seal=str, index=str).items()}
    need(clear["name"] == name, "another name", "name")
    need(clear["kek"] == uri, "another KEK", "kek")
    material = {}
    for purpose in ("seal", "index"):
        sealed = keysets[purpose]
        try:
            plain = AESGCM(kek).decrypt(sealed[:12], sealed[12:], keyset_data(purpose, name, clear["revision"], document["clear"]))
        except (InvalidTag, ValueError):
            raise Refused("authentication")
        material.update(parse_keyset(plain, [k for k in clear["keys"] if k["purpose"] == purpose]))
    keys = []
    for key in clear["keys"]:
        entry = {"id": key["id"], "purpose": key["purpose"], "state": key["state"]}
        if key["id"] in material:
            entry["key"] = material[key["id"]].hex()
        keys.append(entry)
    return {"revision": clear["revision"], "keys": keys}


# ---- identifiers (section 2)

HEX = r"[0-9A-Fa-f]"
IDENTIFIERS = {
    "type": lambda v: re.fullmatch(r"[A-Za-z0-9._-]{1,255}", v),
    "version": lambda v: 1 <= v < 1 << 31,
    "id": lambda v: re.fullmatch(f"{HEX}{{8}}(-{HEX}{{4}}){{3}}-{HEX}{{12}}", v) and set(v.lower()) not in ({"0", "-"}, {"f", "-"}),
    "kid": lambda v: re.fullmatch(r"[0-9a-f]{8}", v) and v != "00000000",
    "aggregate": lambda v: v and "\0" not in v,
    "keyring": lambda v: re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", v),
    "index": lambda v: re.fullmatch(r"[a-z][a-z0-9_]{0,40}", v),
}


def identifier(of, value):
    need(IDENTIFIERS[of](value), of, "identifier")
    return value.lower() if of == "id" else value


# ---- events as messages (section 10)

ATTRIBUTES = ("specversion", "id", "type", "source", "subject", "aggregatetype", "aggregateversion", "time", "dataschema", "datacontenttype")
REQUIRED = ("specversion", "id", "type", "source", "subject", "aggregatetype", "dataschema")


def is_string(text):
    """A String of CloudEvents: no control characters, no noncharacters."""
    return not any(c < "\x20" or "\x7f" <= c <= "\x9f" or "\ufdd0" <= c <= "\ufdef" or ord(c) & 0xFFFE == 0xFFFE for c in text)


def is_integer64(text):
    return re.fullmatch(r"0|-?[1-9][0-9]{0,18}", text) is not None and -(1 << 63) <= int(text) < 1 << 63


def write_message(form, event, source):
    attributes = [("specversion", "1.0"), ("id", event["id"]), ("type", event["type"]), ("source", source)]
    attributes += [("subject", event["aggregate_id"]), ("aggregatetype", event["aggregate_type"])]
    attributes += [(name, event[member]) for name, member in (("aggregateversion", "aggregate_version"), ("time", "occurred_at")) if member in event]
    attributes.append(("dataschema", f"fieldcrypt:{event['type']}/{event['version']}"))
    need(all(is_string(value) for _, value in attributes), "an attribute", "unfit")
    headers = sorted(event.get("headers", {}).items(), key=lambda h: h[0].encode())
    if form == "broker":
        return [["ce_" + n, v] for n, v in attributes] + [["content-type", "application/json"]] + [list(h) for h in headers], event["payload"]
    for name, value in headers:
        fits = re.fullmatch(r"[a-z0-9]+", name) and name not in ATTRIBUTES and name != "data" and is_string(value)
        need(fits, "a header of the event is no extension", "unfit")
    if form == "http":
        return [["content-type", "application/json"]] + [["ce-" + n, percent(v)] for n, v in attributes + headers], event["payload"]
    members = attributes + [("datacontenttype", "application/json")] + headers
    return None, "{" + ",".join(f"{quoted(n)}:{quoted(v)}" for n, v in members) + ',"data":' + event["payload"].strip(" \t\r\n") + "}"


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def percent(text):
    return "".join(chr(b) if 0x20 < b < 0x7F and b not in b'"%' else f"%{b:02X}" for b in text.encode())


def unpercent(text):
    if text.startswith('"'):
        match = re.fullmatch(r'"((?:[^"\\]|\\.)*)"', text, re.DOTALL)
        need(match, "quotes", "malformed")
        text = re.sub(r"\\(.)", r"\1", match.group(1), flags=re.DOTALL)
    need(re.fullmatch(r"(?:[^%]|%[0-9A-Fa-f]{2})*", text, re.DOTALL), "percent-encoding", "malformed")
    try:
        return re.sub(rb"%(..)", lambda m: bytes([int(m.group(1), 16)]), text.encode()).decode()
    except UnicodeDecodeError:
        raise Refused("malformed", "no UTF-8")


def media_type(text):
    match = re.fullmatch(r'\s*([a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+)\s*(?:;\s*charset="?([a-z0-9_-]+)"?\s*)?', text, re.IGNORECASE)
    need(match, "content type", "malformed")
    return match.group(1).lower(), (match.group(2) or "utf-8").lower()


class Message:
    """The attributes and headers of a message as they are read."""

    def __init__(self):
        self.attributes, self.headers = {}, {}

    def attribute(self, name, value):
        need(re.fullmatch(r"[a-z0-9]+", name) and name != "data", "a name", "malformed")
        need(name not in self.attributes, name, "duplicate")
        need(is_string(value), name, "malformed")
        self.attributes[name] = value
        if name not in ATTRIBUTES:
            self.header(name, value)

    def header(self, name, value):
        need(name not in self.headers, "a header", "duplicate")
        need(name and not re.match(r"ce_|content-type", name, re.IGNORECASE), "a header's name", "identifier")
        self.headers[name] = value

    def event(self, content_type, payload):
        all = self.attributes
        need(all.get("specversion", "1.0") == "1.0", "specversion", "unsupported")
        for name in REQUIRED:
            need(name in all, name, "missing")
            need(all[name], name, "malformed")
        kind, charset = media_type(content_type)
        subtype = kind.split("/")[1]
        is_json = (subtype == "json" or subtype.endswith("+json")) and not kind.startswith("application/cloudevents")
        need(is_json and charset == "utf-8", "content type", "unsupported")
        match = re.fullmatch(r"fieldcrypt:(.*)/([^/]*)", all["dataschema"], re.DOTALL)
        need(match, "dataschema", "unsupported")
        need(re.fullmatch(r"[1-9][0-9]{0,9}", match.group(2)) and int(match.group(2)) < 1 << 31, "version", "malformed")
        need(match.group(1) == all["type"], "dataschema", "mismatch")
        event = {
            "id": all["id"].lower(), "type": all["type"], "version": int(match.group(2)), "aggregate_type": all["aggregatetype"], "aggregate_id": all["subject"],
        }
        if "aggregateversion" in all:
            need(is_integer64(all["aggregateversion"]), "aggregateversion", "malformed")
            event["aggregate_version"] = all["aggregateversion"]
        if "time" in all:
            need(rfc3339(all["time"]), "time", "malformed")
            event["occurred_at"] = all["time"]
        if self.headers:
            event["headers"] = self.headers
        need(payload, "data", "missing")
        is_id = re.fullmatch(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", event["id"]) and set(event["id"]) not in ({"0", "-"}, {"f", "-"})
        need(is_id, "id", "identifier")
        need(re.fullmatch(r"[A-Za-z0-9._-]{1,255}", event["type"]), "type", "identifier")
        Reader(payload).document()
        event["payload"] = payload.decode()
        return event


def rfc3339(text):
    match = re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})", text)
    try:
        return bool(match and datetime.datetime.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return False


def malformed(read):
    """What read gives; text outside of data that is not strict JSON makes the message malformed."""
    try:
        return read()
    except Refused as refused:
        raise Refused("malformed", str(refused)) if refused.reason == "json" else refused


def read_json(text, around):
    reader = malformed(lambda: Reader(text, depth=-1))  # the payload's depth counts from the payload
    message, nulls, data = Message(), set(), None

    def start():
        reader.space()
        need(reader.peek() != b"[", "a batch", "unsupported")
        reader.take(b"{")
        reader.space()

    def name_and_colon():
        reader.space()
        name = reader.string()
        reader.space()
        reader.take(b":")
        reader.space()
        return name

    def end():
        reader.take(b"}")
        reader.space()
        if reader.at != len(text):
            reader.fail("something follows")

    malformed(start)
    more = reader.peek() != b"}"
    while more:
        name = malformed(name_and_colon)
        if name in ("data", "data_base64"):
            need(data is None, "data", "duplicate")
            node = reader.value()
            data = text[node.start : node.end]
            if name == "data_base64":
                need(node.kind == "string", "data_base64", "malformed")
                try:
                    data = base64.b64decode(node.content, validate=True)
                except ValueError:
                    raise Refused("malformed", "data_base64")
                need(base64.b64encode(data).decode() == node.content, "data_base64", "malformed")
        else:
            node = malformed(reader.value)
            written = text[node.start : node.end].decode()
            need(name not in nulls and name not in message.attributes, name, "duplicate")
            if node.kind == "null":
                need(re.fullmatch(r"[a-z0-9]+", name), "a name", "malformed")
                nulls.add(name)
            elif node.kind == "string":
                message.attribute(name, node.content)
            else:
                scalar = node.kind == "boolean" or node.kind == "number" and is_integer64(written)
                need(scalar and (name not in ATTRIBUTES or name == "aggregateversion"), name, "malformed")
                message.attribute(name, written)
        reader.space()
        more = reader.peek() == b","
        reader.at += more
    malformed(end)
    for name, value in around.attributes.items():
        need(message.attributes.get(name) == value, name, "mismatch")
    return message.event(message.attributes.get("datacontenttype", "application/json"), data)


def read_message(form, headers, body):
    message = Message()
    if form == "json":
        return read_json(body, message)
    named = [(name.lower() if form == "http" else name, value) for name, value in headers]
    for name, _ in named:
        known = name.startswith("ce_") or name == "content-type"
        alike = name.lower().startswith("ce_") or name.lower() == "content-type"
        need(form == "http" or known or not alike, "a name in another case", "malformed")
    types = [value for name, value in named if name == "content-type"]
    need(types, "content-type", "missing")
    need(len(types) == 1, "content-type", "duplicate")
    kind, charset = media_type(types[0])
    structured = kind.startswith("application/cloudevents")
    need(not structured or kind == "application/cloudevents+json" and charset == "utf-8", "a batch or another format", "unsupported")
    prefix = "ce-" if form == "http" else "ce_"
    for name, value in named:
        if name.startswith(prefix):
            need(name != prefix + "datacontenttype", name, "malformed")
            if form == "http":
                need(name[3:] not in message.attributes, name, "duplicate")
                value = unpercent(value)
            message.attribute(name[3:], value)
        elif form == "broker" and name != "content-type" and not structured:
            message.header(name, value)
    return read_json(body, message) if structured else message.event(types[0], body)


# ---- kinds of vectors


def same(vector, **computed):
    for name, value in computed.items():
        if name not in vector:
            raise Mismatch(f"has no {name}")
        if vector[name] != value or type(vector[name]) is not type(value):
            raise Mismatch(f"{name}: computed {json.dumps(value)}")


def raw(vector, name):
    """The bytes of a JSON text, which is in hex where it is no UTF-8."""
    return bytes.fromhex(vector[name + "_hex"]) if name + "_hex" in vector else vector[name].encode()


def check_event_key(v):
    info = event_info(v)
    same(v, info=info.hex(), event_key=hkdf(bytes.fromhex(v["key"]), info).hex())


def check_index_key(v):
    info = index_info(v["index"], v["normaliser"], v["bits"])
    same(v, info=info.hex(), index_key=hkdf(bytes.fromhex(v["key"]), info).hex())


def check_token(v):
    key = bytes.fromhex(v["key"])
    text, padded = open_token({v["kid"]: key}, v, v["pointer"], v["token"])
    same(v, plaintext=text.decode(), padded=padded)
    if padded < padded_length(len(text)):
        raise Mismatch("padded to less than P")
    same(v, token=seal_bytes(key, v["kid"], v, v["pointer"], bytes.fromhex(v["nonce"]), text.ljust(padded)))


def check_index_value(v):
    key, normaliser = bytes.fromhex(v["key"]), compound_id(v["parts"]) if "parts" in v else normaliser_id(v["steps"])
    msg, ik = bytes.fromhex(v["message"]), hkdf(key, index_info(v["index"], normaliser, v["bits"]))
    if "hashed" in v:
        msg = slowed(ik, msg, v["steps"])
        same(v, hashed=msg.hex())
    value = stored(key, v["kid"], v["index"], normaliser, v["bits"], msg)
    same(v, normaliser=normaliser, index_key=hkdf(key, index_info(v["index"], normaliser, v["bits"])).hex(), stored=value.hex(), text=index_text(value))
    same(v, stored=parse_index_text(v["text"]).hex())


def check_index_text(v):
    same(v, stored=parse_index_text(v["text"]).hex(), text=index_text(bytes.fromhex(v["stored"])))


def check_event(v):
    same(v, **seal_event(v))
    same(v["event"], payload=open_event(v))


def check_payload(v):
    root = Reader(raw(v, "payload")).document()
    same(v, places=[[pointer, node.start, node.end] for pointer, node in walk(root)])


def check_keyset_data(v):
    data = keyset_data(v["purpose"], v["keyring"], v["revision"], v["clear"])
    same(v, clear_digest=clear_digest(v["clear"]).hex(), data=data.hex())


def check_cloudevent(v):
    headers, body = write_message(v["form"], v["wire_event"], v["source"])
    same(v, body=body, **({} if headers is None else {"headers": headers}))
    check_cloudevent_read(v)


def check_cloudevent_read(v):
    same(v, wire_event=read_message(v["form"], v.get("headers", []), v["body"].encode()))


def check_audit_entry(v):
    entry = audittrail.read(v["line"].encode())
    if entry is None:
        raise Refused("changed", "not a line that fieldcrypt wrote")
    same(v, line=audittrail.line(entry).decode(), hashed=audittrail.hashed(entry).hex(), hash=entry["hash"])


def check_audit_trail(v):
    try:
        same(v, **audittrail.check(re.findall(rb"[^\n]*\n|[^\n]+$", v["text"].encode()), v.get("noted")))
    except audittrail.Damage as damage:
        if not v["valid"]:
            same(v, at=damage.at)
        raise Refused(damage.kind, f"at entry {damage.at}")


KINDS = {
    "event-key": check_event_key,
    "aad": lambda v: same(v, aad=field_data(v["kid"], v["pointer"]).hex()),
    "index-key": check_index_key,
    "padded-length": lambda v: same(v, padded=padded_length(v["length"])),
    "token": check_token,
    "normalise": lambda v: same(v, normalised=normalise(v["steps"], v["text"]), normaliser=normaliser_id(v["steps"])),
    "messages": lambda v: same(v, messages=[m.hex() for m in messages(v["steps"], raw(v, "json"))]),
    "compound": lambda v: same(v, messages=[m.hex() for m in compound_messages(v["parts"], raw(v, "json"))], normaliser=compound_id(v["parts"])),
    "index-value": check_index_value,
    "index-text": check_index_text,
    "event": check_event,
    "seal": lambda v: same(v, **seal_event(v)),
    "open": lambda v: same(v["event"], payload=open_event(v)),
    "payload": check_payload,
    "keyset-data": check_keyset_data,
    "keyring": lambda v: same(v, **open_keyring(v["keyring"], v["document"], v["kek"], bytes.fromhex(v["kek_key"]))),
    "identifier": lambda v: same(v, canonical=identifier(v["of"], v["value"])),
    "cloudevent": check_cloudevent,
    "cloudevent-read": check_cloudevent_read,
    "cloudevent-write": lambda v: write_message(v["form"], v["wire_event"], v["source"]),
    "audit-entry": check_audit_entry,
    "audit-trail": check_audit_trail,
    "file-kek": lambda v: same(v, kek=file_kek(v).hex(), uri="file:argon2id:" + v["salt"]),
}

FILES = [
    "derivation.json",
    "padding.json",
    "tokens.json",
    "normalisers.json",
    "messages.json",
    "index-values.json",
    "index-texts.json",
    "events.json",
    "payloads.json",
    "keyrings.json",
    "file-keks.json",
    "identifiers.json",
    "steps.json",
    "compounds.json",
    "slow-index-values.json",
    "cloudevents.json",
    "audit-trails.json",
]


def check(vector):
    """What is wrong with a vector, or None."""
    if not (isinstance(vector.get("name"), str) and isinstance(vector.get("why"), str) and isinstance(vector.get("valid"), bool)):
        return "has no name, why or valid"
    if vector.get("kind") not in KINDS:
        return f"is of the unknown kind {vector.get('kind')}"
    try:
        KINDS[vector["kind"]](vector)
    except Refused as refused:
        if vector["valid"]:
            return f"is refused: {refused}"
        return None if refused.reason == vector.get("refused") else f"is refused for {refused}"
    except Exception as problem:  # a vector may hold anything: what breaks its check is a failure of this vector alone
        return str(problem) if isinstance(problem, Mismatch) else f"{type(problem).__name__}: {problem}"
    return None if vector["valid"] else "is not refused"


def read(directory, name, fail):
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as problem:
        fail(name, "", "is missing" if isinstance(problem, FileNotFoundError) else type(problem).__name__)
        return []
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        fail(name, "", f"is not of the format {FORMAT}")
    vectors = content.get("vectors") if isinstance(content, dict) else None
    if not vectors:
        fail(name, "", "holds no vectors")
        return []
    if len({v.get("name") for v in vectors}) != len(vectors):
        fail(name, "", "has two vectors of one name")
    return vectors


def main(arguments):
    directory = arguments[0] if arguments else os.path.join(HERE, "v1")
    passed = failed = 0

    def fail(*what):
        nonlocal failed
        failed += 1
        print("failed: " + ": ".join(what))

    for name in sorted(set(os.listdir(directory)) - set(FILES)):
        fail(name, "", "is a file that nothing here checks")
    for name in FILES:
        for vector in read(directory, name, fail):
            problem = check(vector)
            if problem is None:
                passed += 1
            else:
                fail(name, str(vector.get("name")), problem)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
