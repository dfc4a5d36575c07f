// The keyring document of docs/format.md 7 on Node's standard library, beside format.mjs and with the same purpose.

import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { JSONReader, Refused } from './format.mjs';

const number = (size, n) => { const b = Buffer.alloc(size); if (size === 8) b.writeBigUInt64BE(BigInt(n)); else b.writeUInt32BE(n); return b; };
const bytes = (x) => (typeof x === 'string' ? Buffer.from(x, 'utf8') : x);
const lp = (x) => Buffer.concat([number(4, bytes(x).length), bytes(x)]);
const refuse = (reason, what) => { throw new Refused(reason, what); };

export const clearDigest = (clear) => createHash('sha256').update(clear, 'utf8').digest();

// keysetData is the associated data of a keyset. name is the one that was asked for.
export const keysetData = ({ purpose, name, revision, clear }) => Buffer.concat([
  lp('fieldcrypt/v1/keyring'), lp(purpose), lp(name), number(8, revision), lp(clearDigest(clear)),
]);

// kekEncrypt and kekDecrypt are a KEK that is 32 bytes: that of a keyring in a file.
export function kekEncrypt(kek, nonce, plaintext, data) {
  const cipher = createCipheriv('aes-256-gcm', kek, nonce).setAAD(data);
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

export function kekDecrypt(kek, sealed, data) {
  try {
    if (sealed.length < 28) throw new Error('short');
    const decipher = createDecipheriv('aes-256-gcm', kek, sealed.subarray(0, 12), { authTagLength: 16 }).setAAD(data);
    decipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
  } catch {
    return refuse('authentication', 'the KEK does not open this keyset with this associated data');
  }
}

// ---- the document

const isKid = (text) => /^[0-9a-f]{8}$/.test(text) && text !== '00000000';
const isName = (text) => /^[a-z][a-z0-9_-]{0,62}$/.test(text);
const printable = (text, most) => Buffer.byteLength(text) >= 1 && Buffer.byteLength(text) <= most && !/[\p{C}\p{Z}]/u.test(text.replaceAll(' ', ''));
const states = ['staged', 'primary', 'active', 'disabled', 'destroyed'];

// object demands an object with exactly these members, and gives their nodes.
function object(node, names) {
  if (node.kind !== 'object') refuse('document', 'no object');
  const members = Object.fromEntries(node.members);
  if (node.members.length !== names.length || names.some((n) => !Object.hasOwn(members, n))) refuse('document', `not the members ${names}`);
  return members;
}

const string = (node) => (node.kind === 'string' ? node.string : refuse('document', 'no string'));
const list = (node) => (node.kind === 'array' ? node.items : refuse('document', 'no array'));
const check = (value, test, what) => (test(value) ? value : refuse('document', what));

function strict(text) {
  try {
    return new JSONReader(bytes(text)).document();
  } catch (error) {
    if (error instanceof Refused) refuse('document', error.message);
    throw error;
  }
}

function integer(node, text) {
  const written = node.kind === 'number' ? bytes(text).subarray(node.start, node.end).toString() : '';
  return check(Number(check(written, (w) => /^(0|[1-9][0-9]{0,15})$/.test(w), 'no integer')), Number.isSafeInteger, 'above 2^53 - 1');
}

// canonicalDuration: as Go writes it: 0s, 1.5ms, 10m0s, 8760h0m0s.
function canonicalDuration(text) {
  if (/^[1-9]\d{0,2}(?:\.\d*[1-9])?(?:ms|\u00b5s|ns)$/.test(text)) return true;
  const match = /^(?:(?:([1-9]\d*)h)?(\d|[1-5]\d)m)?(\d|[1-5]\d)(?:\.\d*[1-9])?s$/.exec(text);
  if (!match || (match[2] === '0' && !match[1])) return false;
  return (match[1] ?? 0) * 3600 + (match[2] ?? 0) * 60 + match[3] * 1 + (text.includes('.') ? 1 : 0) <= 8760 * 3600;
}

const canonicalTime = (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{0,5}[1-9])?Z$/.test(text) &&
  new Date(text).toJSON()?.slice(0, 19) === text.slice(0, 19); // Date takes the 31st of November for the 1st of December

function parseKey(node) {
  const key = object(node, ['id', 'purpose', 'state', 'states']);
  const history = list(key.states).map((n) => {
    const entry = object(n, ['state', 'time', 'author']);
    check(string(entry.time), canonicalTime, 'time');
    check(string(entry.author), (a) => printable(a, 256), 'author');
    return check(string(entry.state), (s) => states.includes(s), 'state');
  });
  const state = check(string(key.state), (s) => states.includes(s), 'state');
  if (history.at(-1) !== state) refuse('document', 'the history does not end in the state');
  return { id: check(string(key.id), isKid, 'key id'), purpose: check(string(key.purpose), (p) => p === 'seal' || p === 'index', 'purpose'), state };
}

function parseClear(text) {
  const c = object(strict(text), ['name', 'revision', 'kek', 'propagation', 'stores', 'keys']);
  const clear = {
    name: check(string(c.name), isName, 'name'),
    revision: check(integer(c.revision, text), (r) => r >= 1, 'revision'),
    kek: check(string(c.kek), (k) => printable(k, 1024), 'kek'),
    keys: list(c.keys).map(parseKey),
  };
  check(string(c.propagation), canonicalDuration, 'propagation');
  if (list(c.stores).length) refuse('document', 'stores is not in this version');
  if (new Set(clear.keys.map((k) => k.id)).size !== clear.keys.length) refuse('document', 'a key id stands twice');
  for (const purpose of ['seal', 'index']) {
    if (clear.keys.filter((k) => k.purpose === purpose && k.state === 'primary').length !== 1) refuse('document', `not one primary ${purpose} key`);
  }
  return clear;
}

function base64(text) {
  const decoded = Buffer.from(text, 'base64');
  return check(decoded, (d) => d.length > 0 && d.toString('base64') === text, 'not canonical base64');
}

// openKeyring gives {revision, keys}; each key that is not destroyed has its 32 bytes. kek is {uri, key} as the reader's configuration has it.
export function openKeyring(name, document, kek) {
  if (Buffer.byteLength(document) > 1 << 20) refuse('document', 'larger than 1 MiB');
  const d = object(strict(document), ['format', 'clear', 'keysets']);
  check(string(d.format), (f) => f === 'fieldcrypt-keyring/1', 'format');
  const text = string(d.clear);
  const clear = parseClear(text);
  const keysets = object(d.keysets, ['seal', 'index']);
  const sealed = { seal: base64(string(keysets.seal)), index: base64(string(keysets.index)) };
  if (clear.name !== name) refuse('name', 'is the keyring of another name');
  if (clear.kek !== kek.uri) refuse('kek', 'was sealed by another KEK');
  const material = {};
  for (const purpose of ['seal', 'index']) {
    const data = keysetData({ purpose, name, revision: clear.revision, clear: text });
    Object.assign(material, parseKeyset(kekDecrypt(kek.key, sealed[purpose], data), clear.keys.filter((k) => k.purpose === purpose)));
  }
  return { revision: clear.revision, keys: clear.keys.map((k) => ({ ...k, ...(material[k.id] ? { key: material[k.id].toString('hex') } : {}) })) };
}

// ---- Tink's keysets: as much of protocol buffers as they need

const typeURL = 'type.googleapis.com/google.crypto.tink.HkdfPrfKey';

// fields reads a message: [field, value] with a Buffer (wire type 2) or a number (wire type 0).
function fields(message) {
  const found = [];
  let at = 0;
  const varint = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= message.length || shift > 63n) refuse('keyset', 'no protocol buffer');
      const byte = message[at++];
      n |= BigInt(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return Number(n);
    }
  };
  while (at < message.length) {
    const tag = varint();
    if (tag % 8 === 0) found.push([tag >> 3, varint()]);
    else if (tag % 8 === 2) {
      const length = varint();
      if (at + length > message.length) refuse('keyset', 'no protocol buffer');
      found.push([tag >> 3, message.subarray(at, at + length)]);
      at += length;
    } else refuse('keyset', 'a wire type that no keyset has');
  }
  return found;
}

// message gives a message's fields by name, each at most once but for the list; an absent one has its default.
function message(data, names, list) {
  const result = list ? { [list]: [] } : {};
  for (const [field, value] of fields(data)) {
    const name = names[field];
    if (!name) refuse('keyset', `an unknown field ${field}`);
    if (name === list) result[list].push(value);
    else result[name] = value;
  }
  return result;
}

const demand = (ok, what) => { if (!ok) refuse('keyset', what); };

function parseKeyset(data, keys) {
  const keyset = message(data, { 1: 'primary', 2: 'key' }, 'key');
  const material = {};
  for (const k of keyset.key) {
    const key = message(k, { 1: 'data', 2: 'status', 3: 'id', 4: 'prefix' });
    const keyData = message(key.data ?? Buffer.alloc(0), { 1: 'url', 2: 'value', 3: 'type' });
    const id = (key.id ?? 0).toString(16).padStart(8, '0');
    const known = keys.find((x) => x.id === id && x.state !== 'destroyed');
    demand(known && !material[id], `key ${id} is not one of the clear part, or stands twice`);
    demand(key.status === (known.state === 'disabled' ? 2 : 1), 'another status');
    demand(key.prefix === 3, 'the output prefix is not RAW');
    demand(keyData.url?.toString() === typeURL && keyData.type === 1, 'another type of key');
    const prf = message(keyData.value ?? Buffer.alloc(0), { 1: 'version', 2: 'params', 3: 'key' });
    const params = message(prf.params ?? Buffer.alloc(0), { 1: 'hash', 2: 'salt' });
    demand((prf.version ?? 0) === 0 && params.hash === 3 && (params.salt ?? '').length === 0, 'other parameters');
    demand(prf.key?.length === 32, 'another size');
    material[id] = prf.key;
  }
  demand(Object.keys(material).length === keys.filter((k) => k.state !== 'destroyed').length, 'a key of the clear part is missing');
  demand((keyset.primary ?? 0).toString(16).padStart(8, '0') === keys.find((k) => k.state === 'primary').id, 'another primary key');
  return material;
}

// writeKeyset serialises keys: {id, state, key (hex)}, and what a hostile one may have besides.
export function writeKeyset(primary, keys) {
  const varint = (n) => { const out = []; do { out.push((n % 128) | (n >= 128 ? 0x80 : 0)); n = Math.floor(n / 128); } while (n); return Buffer.from(out); };
  const num = (field, n) => (n === 0 ? Buffer.alloc(0) : Buffer.concat([varint(field * 8), varint(n)]));
  const blob = (field, data) => Buffer.concat([varint(field * 8 + 2), varint(data.length), data]);
  const kid = (id) => parseInt(id, 16);
  return Buffer.concat([num(1, kid(primary)), ...keys.map((k) => {
    const value = Buffer.concat([num(1, k.version ?? 0), blob(2, Buffer.concat([num(1, k.hash ?? 3), k.salt ? blob(2, k.salt) : Buffer.alloc(0)])), blob(3, Buffer.from(k.key, 'hex'))]);
    const data = Buffer.concat([blob(1, bytes(k.url ?? typeURL)), blob(2, value), num(3, k.type ?? 1)]);
    return blob(2, Buffer.concat([blob(1, data), num(2, k.status ?? (k.state === 'disabled' ? 2 : 1)), num(3, kid(k.id)), num(4, k.prefix ?? 3), k.extra ?? Buffer.alloc(0)]));
  })]);
}
