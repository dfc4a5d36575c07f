// The formats of docs/format.md on Node's standard library: what generate.mjs writes the vectors with and check.mjs reads them with. It
// shares nothing with the Go code, so that the two check each other. It is written to be read beside the document, not to be fast, and it
// is no library: a real reader takes its keys from a keyring and its locations from a schema.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hasRegion, phone } from './phone.mjs';

// Refused is what a reader must say instead of giving a result; reason is the vectors' member "refused".
export class Refused extends Error {
  constructor(reason, what) {
    super(`${reason}: ${what}`);
    this.reason = reason;
  }
}

// ---- bytes

const u16 = (n) => { const b = Buffer.alloc(2); b.writeUInt16BE(n); return b; };
const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n); return b; };
const bytes = (x) => (typeof x === 'string' ? Buffer.from(x, 'utf8') : x);
const lp = (x) => Buffer.concat([u32(bytes(x).length), bytes(x)]);
const hkdf = (key, info) => Buffer.from(hkdfSync('sha256', key, '', info, 32));

// ---- derivation

export const eventKeyInfo = ({ type, version, id }) => Buffer.concat([lp('fieldcrypt/v1/event'), lp(type), u32(version), lp(id)]);
export const eventKey = (key, event) => hkdf(key, eventKeyInfo(event));
export const aad = (kid, pointer) => Buffer.concat([lp('fieldcrypt/v1/field'), lp(kid), lp(pointer)]);
export const indexKeyInfo = ({ index, normaliser, bits }) => Buffer.concat([lp('fieldcrypt/v1/index'), lp(index), lp(normaliser), u16(bits)]);
export const indexKey = (key, index) => hkdf(key, indexKeyInfo(index));

// ---- padding

export function paddedLength(length) {
  if (length <= 256) return 16 * Math.ceil(length / 16);
  const e = Math.floor(Math.log2(length));
  const s = Math.floor(Math.log2(e)) + 1;
  const m = 2 ** (e - s) - 1;
  return length + m - ((length + m) % (m + 1));
}

export const pad = (text, length) => Buffer.concat([text, Buffer.alloc(length - text.length, ' ')]);

// ---- tokens

export const tokenPattern = /^fc1:(?:[0-9a-f]{8}|s[0-9a-f]{16}):[A-Za-z0-9_-]{59,}$/;

// sealBytes seals what is given, padded or not: hostile vectors need both.
export function sealBytes({ key, kid, event, pointer, nonce }, plaintext) {
  const cipher = createCipheriv('aes-256-gcm', eventKey(key, event), nonce);
  cipher.setAAD(aad(kid, pointer));
  const ct = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return `fc1:${kid}:${Buffer.concat([nonce, ct, cipher.getAuthTag()]).toString('base64url')}`;
}

// seal seals a value's JSON text; longest is the length of the longest text that the schema allows there, where it bounds it.
export function seal(where, text, longest = 0) {
  return sealBytes(where, pad(text, paddedLength(Math.max(text.length, longest))));
}

function canonicalBase64url(text) {
  const decoded = Buffer.from(text, 'base64url');
  return /^[A-Za-z0-9_-]*$/.test(text) && !text.includes('\n') && decoded.toString('base64url') === text ? decoded : null;
}

export function parseToken(text) {
  // Without the flag m, $ is the end of the text in JavaScript; in other languages it may also match before a final newline.
  if (!tokenPattern.test(text)) throw new Refused('form', 'no token');
  const [, kid, body] = text.split(':');
  if (kid === '00000000') throw new Refused('form', 'no key has this id');
  const raw = canonicalBase64url(body);
  if (!raw) throw new Refused('form', 'the body is not canonical base64url');
  const size = raw.length - 12 - 16;
  if (size <= 0 || size % 16 !== 0) throw new Refused('form', 'the ciphertext is no positive multiple of 16 bytes');
  return { kid, nonce: raw.subarray(0, 12), ct: raw.subarray(12, 12 + size), tag: raw.subarray(12 + size) };
}

// open gives the value's JSON text and the length it was padded to. keys holds the usable keys by kid.
export function open(keys, event, pointer, text) {
  const token = parseToken(text);
  const key = keys.get(token.kid);
  if (!key) throw new Refused('key', 'no usable key has this id');
  let plaintext;
  try {
    const decipher = createDecipheriv('aes-256-gcm', eventKey(key, event), token.nonce, { authTagLength: 16 });
    decipher.setAAD(aad(token.kid, pointer));
    decipher.setAuthTag(token.tag);
    plaintext = Buffer.concat([decipher.update(token.ct), decipher.final()]);
  } catch {
    throw new Refused('authentication', 'wrong key, type, version, id, pointer or ciphertext');
  }
  const value = new JSONReader(plaintext, pointer.split('/').length - 1).value();
  if (!plaintext.subarray(value.end).every((b) => b === 0x20)) throw new Refused('json', 'something but spaces follows the value');
  return { text: plaintext.subarray(0, value.end), padded: plaintext.length };
}

// ---- strict JSON (RFC 8259, no duplicate names, no halves of surrogate pairs, bounded), with the place of every value

const limits = { depth: 200, digits: 1000, exponent: 1000 };

export class JSONReader {
  constructor(text, depth = 0) {
    this.text = text;
    this.depth = depth; // of what surrounds the text
    this.at = 0;
    let decoded;
    try {
      decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text);
    } catch {
      throw new Refused('json', 'invalid UTF-8');
    }
    if (Buffer.byteLength(decoded) !== text.length) throw new Refused('json', 'invalid UTF-8');
  }

  // document reads a text that is one value between white space.
  document() {
    this.space();
    const value = this.value();
    this.space();
    if (this.at !== this.text.length) this.fail('something follows the value');
    return value;
  }

  fail(what) { throw new Refused('json', `${what} (byte ${this.at})`); }
  peek() { return this.at < this.text.length ? String.fromCharCode(this.text[this.at]) : ''; }
  space() { while (this.at < this.text.length && ' \t\r\n'.includes(this.peek())) this.at++; }
  take(char) { if (this.peek() !== char) this.fail(`expected ${char}`); this.at++; }

  // value gives {kind, start, end} and what the kind needs: members as [name, value], items, string, number.
  value() {
    const start = this.at;
    const node = this.node();
    return { ...node, start, end: this.at };
  }

  node() {
    switch (this.peek()) {
      case '{': return this.nested(() => this.object());
      case '[': return this.nested(() => this.array());
      case '"': return { kind: 'string', string: this.string() };
      case 't': return this.literal('true', 'boolean');
      case 'f': return this.literal('false', 'boolean');
      case 'n': return this.literal('null', 'null');
      default: return this.number();
    }
  }

  nested(read) {
    if (++this.depth > limits.depth) this.fail('too deep');
    const node = read();
    this.depth--;
    return node;
  }

  literal(word, kind) {
    for (const char of word) this.take(char);
    return { kind };
  }

  object() {
    const members = [];
    const names = new Set();
    this.take('{');
    this.space();
    if (this.peek() === '}') { this.at++; return { kind: 'object', members }; }
    for (;;) {
      this.space();
      const name = this.string();
      if (names.has(name)) this.fail('duplicate name');
      names.add(name);
      this.space();
      this.take(':');
      this.space();
      members.push([name, this.value()]);
      this.space();
      if (this.peek() === '}') { this.at++; return { kind: 'object', members }; }
      this.take(',');
    }
  }

  array() {
    const items = [];
    this.take('[');
    this.space();
    if (this.peek() === ']') { this.at++; return { kind: 'array', items }; }
    for (;;) {
      this.space();
      items.push(this.value());
      this.space();
      if (this.peek() === ']') { this.at++; return { kind: 'array', items }; }
      this.take(',');
    }
  }

  string() {
    const start = this.at;
    this.take('"');
    for (;;) {
      const char = this.peek();
      if (char === '' || char < ' ') this.fail('unterminated string or control character');
      if (char === '"') break;
      this.at += char === '\\' ? 2 : 1;
    }
    this.at++;
    let decoded;
    try {
      decoded = JSON.parse(this.text.subarray(start, this.at).toString('utf8')); // checks the escapes
    } catch {
      this.fail('bad escape');
    }
    for (const char of decoded) if (/^[\ud800-\udfff]$/.test(char)) this.fail('half a surrogate pair');
    return decoded;
  }

  number() {
    const rest = this.text.subarray(this.at).toString('latin1');
    const match = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?/.exec(rest);
    if (!match) this.fail('no JSON value');
    const [all, sign, whole, fraction = '', exponent = '0'] = match;
    if (whole.length + fraction.length > limits.digits) this.fail('too many digits');
    if (BigInt(exponent.replace('+', '')) ** 2n > BigInt(limits.exponent) ** 2n) this.fail('exponent too large');
    this.at += all.length;
    return { kind: 'number', number: { sign, whole, fraction, exponent: Number(exponent) } };
  }
}

// integer gives all digits of a number's value, or null if it has a fraction.
function integer({ sign, whole, fraction, exponent }) {
  let digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  let scale = exponent - fraction.length;
  while (scale < 0 && digits.endsWith('0')) { digits = digits.slice(0, -1); scale++; }
  return scale < 0 ? null : sign + digits + '0'.repeat(scale);
}

// ---- normalisers, version 1: Unicode 15.0, whatever Unicode this Node has

const ucd = JSON.parse(readFileSync(new URL('./unicode/15.0.0.json', import.meta.url), 'utf8'));
const codePoints = (hex) => String.fromCodePoint(...hex.split(' ').map((cp) => parseInt(cp, 16)));
const folds = new Map(ucd.casefold.map((line) => [codePoints(line.split(' ')[0]), codePoints(line.split(' ').slice(1).join(' '))]));
const zeros = ucd.digit_zeros.map((hex) => parseInt(hex, 16));
const ranges = (list) => list.map((range) => range.split('..').map((hex) => parseInt(hex, 16))).map(([lo, hi = lo]) => [lo, hi]);
const unassigned = ranges(ucd.unassigned);
const whiteSpace = ranges(ucd.white_space);
const within = (table, char) => table.some(([lo, hi]) => lo <= char.codePointAt(0) && char.codePointAt(0) <= hi);

const caseFold = (text) => Array.from(text, (char) => folds.get(char) ?? char).join('');

const steps = {
  trim(text) {
    const chars = Array.from(text);
    while (chars.length && within(whiteSpace, chars[0])) chars.shift();
    while (chars.length && within(whiteSpace, chars.at(-1))) chars.pop();
    return chars.join('');
  },
  nfkc: (text) => text.normalize('NFKC'),
  casefold: caseFold,
  'casefold-tr': (text) => caseFold(text.replaceAll('I', '\u0131').replaceAll('\u0130', 'i')),
  digits: (text) => Array.from(text, (char) => decimal(char) ?? '').join(''),
  alnum: (text) => text.replace(/[^\p{L}\p{Nd}]/gu, ''),
  last4: (text) => (Array.from(text).length < 4 ? '' : Array.from(text).slice(-4).join('')),
  email(text) {
    const address = steps.nfkc(steps.trim(text));
    const at = address.lastIndexOf('@');
    return at < 0 ? caseFold(address) : `${caseFold(address.slice(0, at))}@${lower(address.slice(at + 1))}`;
  },
};

function decimal(char) {
  const zero = zeros.find((z) => z <= char.codePointAt(0) && char.codePointAt(0) <= z + 9);
  return zero === undefined ? undefined : String(char.codePointAt(0) - zero);
}

// lower is Simple_Lowercase_Mapping, code point by code point; toLowerCase has a longer one for U+0130 alone.
const lower = (text) => Array.from(text, (char) => (char === '\u0130' ? 'i' : char.toLowerCase())).join('');

// parseStep gives a step's id and what it does; argon2id does nothing to the text itself.
function parseStep(name, position, names) {
  if (Object.hasOwn(steps, name)) return { id: `${name}.1`, apply: steps[name], always: name === 'last4' };
  const region = /^phone\(([A-Z]{2})\)$/.exec(name)?.[1];
  if (region !== undefined && hasRegion(region)) return { id: `phone.1(${region})`, apply: (text) => phone(region, text, decimal) ?? steps.digits(text) };
  const slow = slowParameters(name);
  if (slow && position === names.length - 1) return { id: `argon2id.1(${slow.passes},${slow.kib})`, apply: (text) => text, always: true };
  throw new Refused('step', `unknown step ${name}`);
}

// slowParameters reads argon2id(PASSES,KIB).
function slowParameters(name) {
  const match = /^argon2id\(([1-9][0-9]{0,9}),([1-9][0-9]{0,9})\)$/.exec(name);
  if (!match) return null;
  const [passes, kib] = match.slice(1).map(Number);
  return passes <= 16 && kib >= 1024 && kib <= 262144 && passes * kib <= 1048576 ? { passes, kib } : null;
}

export function normaliserID(names) {
  return names.length ? names.map((name, i) => parseStep(name, i, names).id).join('+') : 'raw.1';
}

export function normalise(names, text) {
  const skipped = Array.from(text).some((char) => within(unassigned, char));
  return names.map((name, i) => parseStep(name, i, names)).reduce((t, step) => (skipped && !step.always ? t : step.apply(t)), text);
}

// ---- blind indexes

function message(names, value) {
  if (value.kind === 'null') return null;
  if (value.kind === 'string') {
    const normalised = normalise(names, value.string);
    return normalised === '' ? null : Buffer.from('s' + normalised, 'utf8');
  }
  const digits = value.kind === 'number' ? integer(value.number) : null;
  if (digits === null) throw new Refused('type', `no index of ${value.kind}`);
  return Buffer.from('i' + digits, 'utf8');
}

const sortedDistinct = (buffers) => buffers.sort(Buffer.compare).filter((b, i) => i === 0 || !b.equals(buffers[i - 1]));

// messages gives the messages of a value's JSON text.
export function messages(names, text) {
  const value = new JSONReader(text).document();
  const found = (value.kind === 'array' ? value.items : [value]).map((item) => message(names, item));
  return sortedDistinct(found.filter((m) => m !== null));
}

// joined gives the one message of a compound index, or none: values has one node for each part.
function joined(parts, values) {
  if (values.length !== parts.length) throw new Refused('parts', `${values.length} values`);
  const found = values.map((value, i) => message(parts[i], value));
  return found.includes(null) ? [] : [Buffer.concat([Buffer.from('c'), u16(found.length), ...found.map(lp)])];
}

// compoundMessages takes the JSON text of an array with one value for each part.
export function compoundMessages(parts, text) {
  const value = new JSONReader(text).document();
  return joined(parts, value.kind === 'array' ? value.items : [value]);
}

export const compoundID = (parts) => parts.map(normaliserID).join(',');

export function storedValue({ key, kid, index, normaliser, bits }, msg) {
  const value = createHmac('sha256', indexKey(key, { index, normaliser, bits })).update(msg).digest().subarray(0, Math.ceil(bits / 8));
  if (bits % 8) value[value.length - 1] &= 0xff << (8 - (bits % 8));
  return Buffer.concat([Buffer.from(kid, 'hex'), value]);
}

export const storedValues = (index, msgs) => sortedDistinct(msgs.map((msg) => storedValue(index, msg)));

export const indexText = (stored) => `bi1:${stored.subarray(0, 4).toString('hex')}:${stored.subarray(4).toString('base64url')}`;

export function parseIndexText(text) {
  const match = /^bi1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/.exec(text);
  const value = match && canonicalBase64url(match[2]);
  if (!value || value.length < 1 || value.length > 32) throw new Refused('form', 'no blind index text');
  return Buffer.concat([Buffer.from(match[1], 'hex'), value]);
}

// ---- whole events, by a plan that the vector spells out: a reader of its own takes it from the schema

const escapePointer = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');

// walk gives every value below (and with) node, with its JSON pointer, in the order of the text.
function* walk(node, pointer = '') {
  yield [pointer, node];
  for (const [name, child] of node.members ?? []) yield* walk(child, `${pointer}/${escapePointer(name)}`);
  for (const [i, child] of (node.items ?? []).entries()) yield* walk(child, `${pointer}/${i}`);
}

const usable = (state) => ['staged', 'primary', 'active'].includes(state);
const ring = (vector, name) => vector.keyrings.find((k) => k.name === name);
const keysOf = (vector, name, purpose) => new Map(ring(vector, name).keys
  .filter((k) => k.purpose === purpose && usable(k.state)).map((k) => [k.id, Buffer.from(k.key, 'hex')]));
const primary = (vector, name, purpose) => ring(vector, name).keys.find((k) => k.purpose === purpose && k.state === 'primary');

// outermost gives the values at the plan's sealed locations, and the strings elsewhere.
function located(vector, root) {
  const sealed = [];
  const clear = [];
  let below = null;
  for (const [pointer, node] of walk(root)) {
    if (below !== null && (below === '' || pointer.startsWith(below + '/'))) continue;
    below = null;
    const location = vector.plan.sealed.find((s) => s.pointer === pointer);
    if (location) {
      below = pointer;
      sealed.push({ ...location, node });
    } else if (node.kind === 'string') {
      clear.push(node);
    }
  }
  if (sealed.length !== vector.plan.sealed.length) throw new Error('the plan names a location that the payload does not have, or one below another');
  return { sealed, clear };
}

// splice replaces the values at places, which are in the order of the text.
function splice(text, places, replacement) {
  const parts = [];
  let at = 0;
  for (const place of places) {
    parts.push(text.subarray(at, place.node.start), replacement(place));
    at = place.node.end;
  }
  return Buffer.concat([...parts, text.subarray(at)]);
}

// scalars gives the texts that may not stand in an aggregate id or a header: flagged strings and numbers of 8 bytes or more.
function* scalars(text, node) {
  for (const [, n] of walk(node)) {
    const value = n.kind === 'string' ? n.string : n.kind === 'number' ? text.subarray(n.start, n.end).toString('utf8') : '';
    if (Buffer.byteLength(value) >= 8) yield value;
  }
}

// sealEvent gives {wire, key_ids, blind_indexes}.
export function sealEvent(vector) {
  const { event } = vector;
  const text = Buffer.from(event.payload, 'utf8');
  const root = new JSONReader(text).document();
  const { sealed, clear } = located(vector, root);
  if (clear.some((node) => tokenPattern.test(node.string))) throw new Refused('unflagged', 'a string that is not flagged has the form of a token');
  const outside = [event.aggregate_id, ...Object.entries(event.headers ?? {}).flat()];
  for (const { node } of sealed) {
    for (const value of scalars(text, node)) {
      if (outside.some((o) => o.includes(value))) throw new Refused('outside', 'the aggregate id or a header holds a flagged value');
    }
  }
  const nonces = Buffer.from(vector.nonces, 'hex');
  if (nonces.length !== 12 * sealed.length || vector.nonces.length !== 2 * nonces.length) throw new Error('one nonce for each sealed value, in the order of the text');
  const ids = new Set();
  let used = 0;
  const wire = splice(text, sealed, ({ pointer, keyring, longest, node }) => {
    const { id: kid, key } = primary(vector, keyring, 'seal');
    ids.add(`seal:${kid}`);
    const nonce = nonces.subarray(12 * used, 12 * ++used);
    return Buffer.from(JSON.stringify(seal({ key: Buffer.from(key, 'hex'), kid, event, pointer, nonce }, text.subarray(node.start, node.end), longest)));
  });
  const indexes = {};
  for (const [name, index] of Object.entries(vector.plan.indexes)) {
    const msgs = [];
    const nodes = new Map(walk(root));
    if (index.parts) {
      const values = index.pointers.map((pointer) => nodes.get(pointer));
      if (!values.includes(undefined)) msgs.push(...joined(index.parts, values));
    } else {
      for (const [pointer, node] of nodes) {
        if (index.pointers.includes(pointer)) msgs.push(...messages(index.steps, text.subarray(node.start, node.end)));
      }
    }
    if (msgs.length === 0) continue;
    const { id: kid, key } = primary(vector, index.keyring, 'index');
    ids.add(`index:${kid}`);
    const normaliser = index.parts ? compoundID(index.parts) : normaliserID(index.steps);
    indexes[name] = storedValues({ key: Buffer.from(key, 'hex'), kid, index: name, normaliser, bits: index.bits }, msgs).map(indexText);
  }
  return { wire: wire.toString('utf8'), key_ids: [...ids].sort(), blind_indexes: indexes };
}

// openEvent gives the plaintext payload.
export function openEvent(vector) {
  const text = Buffer.from(vector.wire, 'utf8');
  const root = new JSONReader(text).document();
  const { sealed, clear } = located(vector, root);
  if (clear.some((node) => tokenPattern.test(node.string))) throw new Refused('unflagged', 'a token where nothing is flagged');
  return splice(text, sealed, ({ pointer, keyring, node }) => {
    // A token has no escapes: what stands between the quotes is the token.
    const raw = text.subarray(node.start + 1, node.end - 1).toString('utf8');
    if (node.kind !== 'string' || raw !== node.string) throw new Refused('form', `no token at ${pointer}`);
    return open(keysOf(vector, keyring, 'seal'), vector.event, pointer, raw).text;
  }).toString('utf8');
}
