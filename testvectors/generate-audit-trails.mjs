// Writes v1/audit-trails.json, as generate.mjs writes the other files: node testvectors/generate-audit-trails.mjs

import { createHash } from 'node:crypto';
import { Checker, Damage, hashed, hashOf, line } from './audittrail.mjs';
import { hex, write } from './write.mjs';

const none = '0'.repeat(64);
const id = (n) => `01938a52-7c00-7000-8000-${String(n).padStart(12, '0')}`;
const digest = (ids) => hex(createHash('sha256').update(Buffer.concat(ids.flatMap((i) => [Buffer.from([0, 0, 0, i.length]), Buffer.from(i)]))).digest());

// chain gives entries their number, their time, the hash of the one before, and their own.
function chain(entries) {
  let previous = none;
  return entries.map((e, i) => {
    const made = { seq: i + 1, time: `2026-11-30T12:00:0${i}.${String(123456 + i).padStart(6, '0')}Z`, actor: 'ada@ops1', ...e, previous };
    made.hash = hashOf(made);
    previous = made.hash;
    return made;
  });
}

const hashedAnew = (e) => ({ ...e, hash: hashOf(e) });
const opened = [id(1), id(2), id(1)];
const entries = chain([
  { operation: 'rotate.promote', result: 'begun', keyring: 'default', key_ids: ['seal:0f3a9c01'] },
  { operation: 'rotate.promote', of: 1, result: 'ok', keyring: 'default', key_ids: ['seal:0f3a9c01'] },
  { operation: 'open', result: 'begun' },
  { operation: 'open', of: 3, result: 'ok', rows: { count: 3, ids: opened, last: id(1), digest: digest(opened) }, counts: { 'type:invoice.issued': 3 } },
  { operation: 're-encrypt', result: 'begun', store: 'postgres://app@db/shop', key_ids: ['index:c4d9e001', 'seal:0f3a9c01'] },
  { actor: 'ci (\u0416\u00e9\u{1f600}@ops2)', operation: 'keys.destroy', result: 'begun', keyring: 'default', key_ids: ['seal:00000a01'] },
  { actor: 'ci (\u0416\u00e9\u{1f600}@ops2)', operation: 'keys.destroy', of: 6, result: 'refused', error: 'keyring.HeldError', keyring: 'default', key_ids: ['seal:00000a01'], detail: 'a "quoted" \\ <word> & another' },
  { operation: 're-encrypt', of: 5, result: 'failed', error: 'interrupted', store: 'postgres://app@db/shop', key_ids: ['index:c4d9e001', 'seal:0f3a9c01'], detail: 'rows are those that failed', rows: { count: 1, ids: ['not-a-uuid'], last: 'not-a-uuid', digest: digest(['not-a-uuid']) }, counts: { '10': 1, '9': 2, Z: 3, a: 4, '\u00e9': 5, '\uff01': 6, '\u{1f600}': 7 } },
  { operation: 'trail.torn-line', result: 'ok', actor: 'fieldcrypt', detail: `sha256:${none}`, counts: { bytes: 17 } },
]);
const vectors = [];

// Entries.
const names = ['begins an operation', 'the outcome, which names its beginning', 'the fewest members', 'rows and a count', 'a store, and two keys', 'letters beyond ASCII', 'a refusal, and what JSON escapes', 'counts in the order of their bytes', 'of a line that was torn'];
entries.forEach((e, i) => vectors.push({ name: `entry: ${names[i]}`, kind: 'audit-entry', valid: true, why: 'line, what is hashed, and the hash', line: line(e), hashed: hex(hashed(e)), hash: e.hash }));
const [first, second] = entries;
const late = chain([{ ...first, time: '9999-12-31T23:59:59.999999Z', operation: 'open' }])[0];
vectors.push({ name: 'entry: the last microsecond', kind: 'audit-entry', valid: true, why: 'microseconds take more than 53 bits', line: line(late), hashed: hex(hashed(late)), hash: late.hash });
const wrong = (name, why, text) => vectors.push({ name: `entry: ${name}`, kind: 'audit-entry', valid: false, why, line: text, refused: 'changed' });
wrong('a changed actor', 'the hash is not that of what it holds', line(second).replace('ada', 'eve'));
wrong('a changed hash', 'the hash is not that of what it holds', line({ ...second, hash: first.hash }));
wrong('a space', 'one spelling', line(second).replace(',"time"', ', "time"'));
wrong('an escape', 'one spelling', line(second).replace('ada', '\\u0061da'));
wrong('a number with a fraction', 'one spelling', line(second).replace('"seq":2', '"seq":2.0'));
wrong('an unknown member', 'no other members', line(second).replace('"result"', '"note":"x","result"'));
wrong('members in another order', 'one order', line(second).replace('"seq":2,', '').replace('"actor"', '"seq":2,"actor"'));
wrong('a member twice', 'one spelling', line(second).replace('"actor"', '"actor":"eve@ops1","actor"'));
wrong('an empty member', 'what is empty is left out', line(second).replace(',"result"', ',"result"').replace(',"keyring"', ',"error":"","keyring"'));
wrong('counts in another order', 'the order of their bytes', line(entries[7]).replace('"10":1,"9":2', '"9":2,"10":1'));
wrong('capitals in the hash', 'one spelling', line(second).replace(second.hash, second.hash.toUpperCase()));
wrong('a time without a fraction', 'six fractional digits', line(hashedAnew({ ...second, time: '2026-11-30T12:00:01.000000Z' })).replace('.000000', ''));
wrong('another result', 'begun, ok, refused, failed', line(hashedAnew({ ...second, result: 'done' })));
wrong('nothing', 'is no entry', '');
wrong('no JSON', 'is no entry', 'x');
wrong('an array', 'is no entry', `[${line(second)}]`);
wrong('two', 'one line, one entry', line(second) + line(second));

// Trails.
const text = (all) => all.map((e) => `${typeof e === 'string' ? e : line(e)}\n`).join('');
function trail(name, why, trailText, noted) {
  const v = { name: `trail: ${name}`, kind: 'audit-trail', valid: true, why, text: trailText };
  if (noted) v.noted = noted;
  const checker = new Checker(noted);
  try {
    for (const data of trailText.match(/[^\n]*\n|[^\n]+$/g) ?? []) checker.add(Buffer.from(data));
    Object.assign(v, checker.end());
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    Object.assign(v, { valid: false, at: error.at, refused: error.kind });
  }
  vectors.push(v);
}
const head = entries.at(-1).hash;
const without = (...seqs) => entries.filter((e) => !seqs.includes(e.seq));
const replaced = (n, e) => entries.map((old) => (old.seq === n ? e : old));
const forged = hashedAnew({ ...entries[3], actor: 'eve@ops1' });
const anew = chain(entries.map((e) => ({ ...e, actor: 'eve@ops1' })));

trail('empty', 'nobody has done anything', '');
trail('one entry', 'the first names 32 zero bytes', text([first]));
trail('whole', 'every kind of entry', text(entries), head);
trail('a head from the middle', 'it was the newest once', text(entries), entries[4].hash);
trail('operations without an outcome', 'their processes were killed, or go on', text(entries.slice(0, 6)));
trail('a torn last line', 'a process was killed while it wrote it', text(entries.slice(0, 8)) + line(entries[8]).slice(0, 60), entries[7].hash);
trail('a last line without its end', 'all but its end was written: it counts', text(entries).slice(0, -1), head);
trail('written anew', 'whoever may write the whole trail can; without a noted head it is whole', text(anew));
trail('a changed entry', 'its hash is not that of what it holds', text(replaced(4, line(entries[3]).replace('"count":3', '"count":2'))), head);
trail('a line that is no entry', 'x', text(replaced(5, 'x')), head);
trail('an empty line', 'is no entry', text(replaced(5, '')), head);
trail('the first entry gone', 'one is missing', text(without(1)), head);
trail('two entries gone', 'the first of them is named', text(without(4, 5)), head);
trail('an entry twice', 'it stands where it does not belong', text([...entries.slice(0, 4), ...entries.slice(3)]), head);
trail('two entries swapped', 'the one that comes too early shows that another is missing', text([...entries.slice(0, 2), entries[3], entries[2], ...entries.slice(4)]), head);
trail('an earlier entry again at the end', 'it stands where it does not belong', text([...entries, entries[1]]), head);
trail('a replaced entry', 'it has its own hash, and the next does not name it', text(replaced(4, forged)), head);
trail('a replaced last entry', 'nothing follows that names it', text(replaced(9, hashedAnew({ ...entries[8], detail: 'x' }))), head);
trail('the last entry gone', 'the noted head is not there', text(without(9)), head);
trail('all gone', 'the noted head is not there', '', head);
trail('written anew, against the noted head', 'the noted head is not there', text(anew), head);
trail('torn in the noted entry', 'it was whole once', text(entries).slice(0, -9), head);

write('audit-trails', 'Entries and trails of section 9.1, whole and damaged in each way.', vectors);
