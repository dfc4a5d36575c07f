"""Writes v1/slow-index-values.json, as generate.mjs writes the other files: python3 testvectors/generate-slow.py (Node.js has Argon2id from version 24 on)."""

import json
import os

import check

KEY = bytes(range(32))
KID = "0f3a9c01"
VECTORS = [
    ("a national id", "11 digits can be tried out in hours by a fast hash", "tc_no", ["digits", "argon2id(1,1024)"], 128, b"s10000000146"),
    ("two passes", "the parameters are part of the derivation and of the hash", "tc_no", ["digits", "argon2id(2,1024)"], 128, b"s10000000146"),
    ("more memory", "the parameters are part of the derivation and of the hash", "tc_no", ["digits", "argon2id(1,2048)"], 128, b"s10000000146"),
    ("an integer", "its message", "tc_no", ["digits", "argon2id(1,1024)"], 128, b"i10000000146"),
    ("another index", "has another salt", "passport", ["digits", "argon2id(1,1024)"], 128, b"s10000000146"),
    ("12 bits", "is truncated like any other", "tc_no", ["digits", "argon2id(1,1024)"], 12, b"s10000000146"),
    ("no other step", "raw.1 is not named beside it", "tc_no", ["argon2id(1,1024)"], 256, b"s10000000146"),
    ("parameters in use", "19 MiB and two passes", "tc_no", ["phone(TR)", "argon2id(2,19456)"], 128, b"s+905321234567"),
]


def main():
    vectors = []
    for name, why, index, steps, bits, message in VECTORS:
        normaliser = check.normaliser_id(steps)
        index_key = check.hkdf(KEY, check.index_info(index, normaliser, bits))
        hashed = check.slowed(index_key, message, steps)
        stored = check.stored(KEY, KID, index, normaliser, bits, hashed)
        vectors.append({
            "name": name, "kind": "index-value", "valid": True, "why": why, "key": KEY.hex(), "kid": KID, "index": index, "steps": steps, "normaliser": normaliser,
            "bits": bits, "message": message.hex(), "hashed": hashed.hex(), "index_key": index_key.hex(), "stored": stored.hex(), "text": check.index_text(stored),
        })
    content = {
        "format": check.FORMAT,
        "description": "As index-values, for indexes whose last step is argon2id: hashed is what HMAC-SHA256 gets in the place of the message.",
        "vectors": vectors,
    }
    with open(os.path.join(check.HERE, "v1", "slow-index-values.json"), "w", encoding="ascii") as f:
        f.write(json.dumps(content, indent=2) + "\n")
    print(f"slow-index-values.json: {len(vectors)} vectors")


if __name__ == "__main__":
    main()
