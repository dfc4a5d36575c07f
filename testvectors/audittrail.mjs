// Checks an audit trail without fieldcrypt: docs/format.md, section 9.1, with Node's standard library alone.
//
//     node testvectors/audittrail.mjs [--head HASH] [FILE]      (Node 18 or later; default: standard input)
//
// FILE is a trail in a file, or what psql -At -c 'SELECT entry FROM fieldcrypt_audit ORDER BY seq' prints. HASH is a head that was noted once. Prints the number of
// entries and the head, and exits 0; or says where the trail is not whole, and exits 3. Numbers above 2^53 are read wrongly, and told as changed.

import { createHash } from 'node:crypto';
import { createReadStream, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const members = ['seq', 'time', 'actor', 'operation', 'of', 'result', 'error', 'keyring', 'key_ids', 'store', 'detail', 'rows', 'counts', 'previous', 'hash'];
const rowMembers = ['count', 'ids', 'last', 'digest'];
const results = ['begun', 'ok', 'refused', 'failed'];

// Damage is the first place where a trail is not whole: changed, missing, out-of-order, unlinked or cut; at is the entry's number, 0 for cut.
export class Damage extends Error {
  constructor(kind, at) {
    super(at ? `${kind} at entry ${at}` : kind);
    this.kind = kind;
    this.at = at;
  }
}

const uint32 = (n) => {
  const b = Buffer.alloc(4);
  b.writeUInt32BE(n);
  return b;
};
const number = (n) => {
  const b = Buffer.alloc(8);
  b.writeBigUInt64BE(BigInt(n));
  return b;
};
const text = (value) => {
  const data = Buffer.from(value);
  return Buffer.concat([uint32(data.length), data]);
};
const items = (values) => Buffer.concat([uint32(values.length), ...values]);
const byBytes = ([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const countsOf = (e) => Object.entries(e.counts ?? {}).sort(byBytes);

// hashed gives the bytes of which an entry's hash is the SHA-256.
export function hashed(e) {
  const rows = e.rows ?? {};
  // Date knows milliseconds.
  const micros = BigInt(Date.parse(`${e.time.slice(0, 23)}Z`)) * 1000n + BigInt(e.time.slice(23, 26));
  return Buffer.concat([
    text('fieldcrypt.audit.v1'), number(e.seq), number(micros), text(e.actor), text(e.operation), number(e.of ?? 0), text(e.result), text(e.error ?? ''), text(e.keyring ?? ''),
    items((e.key_ids ?? []).map(text)), text(e.store ?? ''), text(e.detail ?? ''),
    number(rows.count ?? 0), items((rows.ids ?? []).map(text)), text(rows.last ?? ''), text(Buffer.from(rows.digest ?? '', 'hex')),
    items(countsOf(e).map(([name, n]) => Buffer.concat([text(name), number(n)]))), Buffer.from(e.previous, 'hex'),
  ]);
}

export const hashOf = (e) => createHash('sha256').update(hashed(e)).digest('hex');

const isEmpty = (value) => value === undefined || value === '' || value === 0 || (typeof value === 'object' && Object.keys(value).length === 0);
const object = (pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
const filled = (names, from) => names.filter((name) => !isEmpty(from[name]));

// line gives the line of an entry, without its end: its members in their order, those that are empty left out.
export function line(e) {
  return object(filled(members, e).map((name) => {
    if (name === 'rows') return [name, object(filled(rowMembers, e.rows).map((row) => [row, JSON.stringify(e.rows[row])]))];
    // By hand: JavaScript puts names that are numbers first.
    if (name === 'counts') return [name, object(countsOf(e))];
    return [name, JSON.stringify(e[name])];
  }));
}

const isNumber = (n) => Number.isSafeInteger(n) && n >= 0;
const isText = (value) => typeof value === 'string';
const isHash = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value) && value.length === 64;
const areTexts = (values) => Array.isArray(values) && values.every(isText);

// parse gives the entry of a line that is, to the byte, what its members give, and has its own hash; else null.
export function parse(data) {
  try {
    const written = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
    const e = JSON.parse(written);
    const rows = e.rows ?? {};
    const whole = ['actor', 'operation'].every((name) => isText(e[name])) && ['error', 'keyring', 'store', 'detail'].every((name) => isText(e[name] ?? ''))
      && isNumber(e.seq) && isNumber(e.of ?? 0) && areTexts(e.key_ids ?? []) && isNumber(rows.count ?? 0) && areTexts(rows.ids ?? []) && isText(rows.last ?? '')
      && Object.values(e.counts ?? {}).every(isNumber) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(e.time) && results.includes(e.result)
      && isHash(e.previous) && isHash(e.hash) && (rows.digest === undefined || isHash(rows.digest)) && line(e) === written && hashOf(e) === e.hash;
    return whole ? e : null;
  } catch {
    return null;
  }
}

// Checker takes the lines of a trail one after the other: buffers, with their ends.
export class Checker {
  #noted;
  #seen;
  #seq = 0;
  #head = '0'.repeat(64);
  #torn = false;
  #unfinished = new Set();

  constructor(noted) {
    this.#noted = noted;
    this.#seen = noted === undefined;
  }

  add(data) {
    const ended = data[data.length - 1] === 10;
    const e = parse(ended ? data.subarray(0, -1) : data);
    if (!e && !ended) {
      this.#torn = true; // it was never confirmed to anybody; the next writer cuts it off and says so
      return;
    }
    if (!e) throw new Damage('changed', this.#seq + 1);
    if (e.seq > this.#seq + 1) throw new Damage('missing', this.#seq + 1);
    if (e.seq <= this.#seq) throw new Damage('out-of-order', e.seq);
    if (e.previous !== this.#head) throw new Damage('unlinked', e.seq);
    this.#seq = e.seq;
    this.#head = e.hash;
    this.#seen ||= e.hash === this.#noted;
    if (e.result === 'begun') this.#unfinished.add(e.seq);
    this.#unfinished.delete(e.of);
  }

  // end gives entries, head, the numbers of operations without an outcome, and whether the last line is torn.
  end() {
    if (!this.#seen) throw new Damage('cut', 0);
    return { entries: this.#seq, head: this.#head, unfinished: [...this.#unfinished].sort((a, b) => a - b), torn: this.#torn };
  }
}

// linesOf cuts chunks of bytes into lines, with their ends.
async function* linesOf(chunks) {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end + 1);
      rest = rest.subarray(end + 1);
    }
  }
  if (rest.length > 0) yield rest;
}

async function main(args) {
  let noted;
  if (args[0] === '--head' && args.length > 1) [, noted, ...args] = args;
  if (args.length > 1 || args[0]?.startsWith('--')) {
    console.error('usage: node testvectors/audittrail.mjs [--head HASH] [FILE]');
    return 2;
  }
  try {
    const checker = new Checker(noted);
    for await (const data of linesOf(args.length && args[0] !== '-' ? createReadStream(args[0]) : process.stdin)) checker.add(data);
    const found = checker.end();
    console.log(`whole: ${found.entries} entries\nhead ${found.head}`);
    if (found.torn) console.log('the last line has no end: a process was killed while it wrote it');
    if (found.unfinished.length) console.log(`${found.unfinished.length} operations without an outcome: ${found.unfinished.slice(0, 10).join(' ')}`);
    return 0;
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    console.log(error.message);
    return 3;
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
