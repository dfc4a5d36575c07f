// Checks the vectors with Node's standard library alone: recomputes everything that v1/*.json states and opens every token, and sees to it that
// what must be refused is refused, for the reason that the vector gives.
//
//     node testvectors/check.mjs [DIRECTORY]      (Node 18 or later; default: the v1 beside this file)
//
// Prints "N passed, N failed" and exits 1 if anything failed, if a file is missing or empty, or if a vector is of a kind that it does not know.

import { readdirSync, readFileSync } from 'node:fs';
import {
  aad, compoundID, compoundMessages, eventKey, eventKeyInfo, indexKey, indexKeyInfo, indexText, messages, normalise, normaliserID, open, openEvent, pad, paddedLength, parseIndexText,
  Refused, sealBytes, sealEvent, storedValue,
} from './format.mjs';
import { Checker, Damage, hashed, line, parse } from './audittrail.mjs';
import { readMessage, writeMessage } from './cloudevents.mjs';
import { identifier } from './identifiers.mjs';
import { clearDigest, keysetData, openKeyring } from './keyring.mjs';
import { readPlaces } from './places.mjs';

const format = 'fieldcrypt-testvectors/1';
const files = ['derivation', 'padding', 'tokens', 'normalisers', 'messages', 'index-values', 'index-texts', 'events', 'payloads', 'keyrings', 'identifiers', 'steps', 'compounds', 'cloudevents', 'audit-trails'].map((name) => `${name}.json`);
// Argon2id is in Node from version 24 on; check.py and Go have it.
const notHere = ['file-keks.json', 'slow-index-values.json'];

class Mismatch extends Error {}

// text writes a value so that equal ones are equal whatever the order of their members.
const text = (value) => JSON.stringify(value, (_, v) => (v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort()) : v));
const hex = (buffer) => buffer.toString('hex');

function bytes(v, member) {
  const value = required(v, member);
  if (!/^(?:[0-9a-f]{2})*$/.test(value)) throw new Mismatch(`${member} is not hex`);
  return Buffer.from(value, 'hex');
}

function required(v, member) {
  if (v[member] === undefined) throw new Mismatch(`has no ${member}`);
  return v[member];
}

// same holds computed values against the vector's members.
function same(v, computed) {
  for (const [member, value] of Object.entries(computed)) {
    if (text(required(v, member)) !== text(value)) throw new Mismatch(`${member}: computed ${text(value)}`);
  }
}

const eventOf = (v) => ({ type: required(v, 'type'), version: required(v, 'version'), id: required(v, 'id') });

const kinds = {
  'event-key'(v) {
    same(v, { info: hex(eventKeyInfo(eventOf(v))), event_key: hex(eventKey(bytes(v, 'key'), eventOf(v))) });
  },

  aad(v) {
    same(v, { aad: hex(aad(required(v, 'kid'), required(v, 'pointer'))) });
  },

  'index-key'(v) {
    same(v, { info: hex(indexKeyInfo(v)), index_key: hex(indexKey(bytes(v, 'key'), v)) });
  },

  'padded-length'(v) {
    same(v, { padded: paddedLength(required(v, 'length')) });
  },

  token(v) {
    const key = bytes(v, 'key');
    const opened = open(new Map([[v.kid, key]]), eventOf(v), v.pointer, v.token);
    same(v, { plaintext: opened.text.toString('utf8'), padded: opened.padded });
    if (opened.padded < paddedLength(opened.text.length)) throw new Mismatch('padded to less than P');
    const where = { key, kid: v.kid, event: eventOf(v), pointer: v.pointer, nonce: bytes(v, 'nonce') };
    same(v, { token: sealBytes(where, pad(Buffer.from(v.plaintext, 'utf8'), v.padded)) });
  },

  normalise(v) {
    const normalised = normalise(v.steps, required(v, 'text'));
    same(v, { normaliser: normaliserID(v.steps), normalised });
  },

  messages(v) {
    const json = v.json_hex === undefined ? Buffer.from(required(v, 'json'), 'utf8') : bytes(v, 'json_hex');
    const found = messages(v.steps, json).map(hex);
    same(v, { messages: found });
  },

  compound(v) {
    const json = v.json_hex === undefined ? Buffer.from(required(v, 'json')) : bytes(v, 'json_hex');
    same(v, { messages: compoundMessages(required(v, 'parts'), json).map(hex), normaliser: compoundID(v.parts) });
  },

  'index-value'(v) {
    const normaliser = v.parts ? compoundID(v.parts) : normaliserID(required(v, 'steps'));
    const stored = storedValue({ ...v, normaliser, key: bytes(v, 'key') }, bytes(v, 'message'));
    same(v, { normaliser, index_key: hex(indexKey(bytes(v, 'key'), v)), stored: hex(stored), text: indexText(stored) });
    same(v, { stored: hex(parseIndexText(v.text)) });
  },

  'index-text'(v) {
    const stored = parseIndexText(required(v, 'text'));
    same(v, { stored: hex(stored), text: indexText(bytes(v, 'stored')) });
  },

  event(v) {
    same(v, sealEvent(v));
    same(v.event, { payload: openEvent(v) });
  },

  seal(v) {
    same(v, sealEvent(v));
  },

  open(v) {
    const payload = openEvent(v);
    same(v.event, { payload });
  },

  payload(v) {
    const data = v.payload_hex === undefined ? Buffer.from(required(v, 'payload'), 'utf8') : bytes(v, 'payload_hex');
    same(v, { places: readPlaces(data) });
  },

  identifier(v) {
    same(v, { canonical: identifier(required(v, 'of'), required(v, 'value')) });
  },

  'keyset-data'(v) {
    same(v, { clear_digest: hex(clearDigest(required(v, 'clear'))), data: hex(keysetData({ ...v, name: required(v, 'keyring') })) });
  },

  keyring(v) {
    same(v, openKeyring(required(v, 'keyring'), required(v, 'document'), { uri: required(v, 'kek'), key: bytes(v, 'kek_key') }));
  },

  cloudevent(v) {
    const written = writeMessage(v.form, required(v, 'wire_event'), required(v, 'source'));
    same(v, { ...written, body: written.body.toString('utf8') });
    same(v, { wire_event: readMessage(v.form, { headers: v.headers, body: Buffer.from(v.body, 'utf8') }) });
  },

  'cloudevent-write'(v) {
    writeMessage(v.form, required(v, 'wire_event'), required(v, 'source'));
  },

  'cloudevent-read'(v) {
    same(v, { wire_event: readMessage(v.form, { headers: v.headers, body: Buffer.from(required(v, 'body'), 'utf8') }) });
  },

  'audit-entry'(v) {
    const e = parse(Buffer.from(required(v, 'line')));
    if (!e) throw new Refused('changed', 'not a line that fieldcrypt wrote');
    same(v, { line: line(e), hashed: hex(hashed(e)), hash: e.hash });
  },

  'audit-trail'(v) {
    const checker = new Checker(v.noted);
    try {
      for (const data of required(v, 'text').match(/[^\n]*\n|[^\n]+$/g) ?? []) checker.add(Buffer.from(data));
      same(v, checker.end());
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      if (!v.valid) same(v, { at: error.at });
      throw new Refused(error.kind, error.message);
    }
  },
};

// check gives what is wrong with a vector, or null.
function check(v) {
  if (typeof v.name !== 'string' || typeof v.why !== 'string' || typeof v.valid !== 'boolean') return 'has no name, why or valid';
  if (!Object.hasOwn(kinds, v.kind)) return `is of the unknown kind ${v.kind}`;
  try {
    kinds[v.kind](v);
  } catch (error) {
    if (!(error instanceof Refused)) return error instanceof Mismatch ? error.message : `${error}`;
    if (v.valid) return `is refused: ${error.message}`;
    return error.reason === v.refused ? null : `is refused for ${error.message}`;
  }
  return v.valid ? null : 'is not refused';
}

function read(directory, file, fail) {
  let parsed;
  try {
    parsed = JSON.parse(readFileSync(new URL(file, directory), 'utf8'));
  } catch (error) {
    fail(file, '', error.code === 'ENOENT' ? 'is missing' : `${error.name}`);
    return [];
  }
  if (parsed.format !== format) fail(file, '', `is not of the format ${format}`);
  if (!Array.isArray(parsed.vectors) || parsed.vectors.length === 0) {
    fail(file, '', 'holds no vectors');
    return [];
  }
  const names = new Set(parsed.vectors.map((v) => v.name));
  if (names.size !== parsed.vectors.length) fail(file, '', 'has two vectors of one name');
  return parsed.vectors;
}

function main() {
  const directory = process.argv[2] ? new URL(`file://${process.argv[2].replace(/\/*$/, '/')}`) : new URL('./v1/', import.meta.url);
  let passed = 0;
  let failed = 0;
  const fail = (file, name, what) => {
    failed++;
    console.log(`failed: ${file}: ${name}: ${what}`);
  };
  for (const file of readdirSync(directory)) if (!files.includes(file) && !notHere.includes(file)) fail(file, '', 'is a file that nothing here checks');
  for (const file of files) {
    for (const v of read(directory, file, fail)) {
      const what = check(v);
      if (what === null) passed++;
      else fail(file, v.name, what);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

main();
