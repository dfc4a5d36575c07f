"""Writes v1/file-keks.json, as generate.mjs writes the other files: python3 testvectors/generate-keks.py (Node.js has Argon2id from version 24 on)."""

import json
import os

import check

SALT = bytes(range(0x60, 0x70)).hex()
VECTORS = [
    ("the example of the document", "far too weak for anything else", "correct horse battery staple", SALT, 1, 64, 1),
    ("two passes", "time", "correct horse battery staple", SALT, 2, 64, 1),
    ("more memory", "memory_kib", "correct horse battery staple", SALT, 1, 128, 1),
    ("four lanes", "threads; 8 KiB for each at the least", "correct horse battery staple", SALT, 1, 64, 4),
    ("the least memory", "8 KiB", "correct horse battery staple", SALT, 1, 8, 1),
    ("memory that is no multiple of four lanes", "is rounded down as RFC 9106 says", "correct horse battery staple", SALT, 2, 71, 2),
    ("another passphrase", "a passphrase is bytes: a final space counts", "correct horse battery staple ", SALT, 1, 64, 1),
    ("a passphrase beyond ASCII", "UTF-8, not normalised", "do\u011fru at pil z\u0131mba", SALT, 1, 64, 1),
    ("another salt", "16 bytes", "correct horse battery staple", "00" * 15 + "01", 1, 64, 1),
    ("a salt of 64 bytes", "the longest", "correct horse battery staple", bytes(range(64)).hex(), 1, 64, 1),
]


def main():
    vectors = []
    for name, why, passphrase, salt, time, memory, threads in VECTORS:
        v = {
            "name": name, "kind": "file-kek", "valid": True, "why": why, "passphrase": passphrase, "salt": salt, "time": time, "memory_kib": memory,
            "threads": threads, "uri": "file:argon2id:" + salt,
        }
        v["kek"] = check.file_kek(v).hex()
        vectors.append(v)
    content = {
        "format": check.FORMAT,
        "description": "The KEK of a keyring in a file (section 7.3): Argon2id of the passphrase, version 1.3, 32 bytes; uri is its name in the document.",
        "vectors": vectors,
    }
    with open(os.path.join(check.HERE, "v1", "file-keks.json"), "w", encoding="ascii") as f:
        f.write(json.dumps(content, indent=2) + "\n")
    print(f"file-keks.json: {len(vectors)} vectors")


if __name__ == "__main__":
    main()
