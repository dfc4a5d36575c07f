// Writes v1/keyrings.json, as generate.mjs writes the other files: node testvectors/generate-keyrings.mjs

import { clearDigest, kekEncrypt, keysetData, openKeyring, writeKeyset } from './keyring.mjs';
import { hex, key, nonce, refusal, write } from './write.mjs';

const vectors = [];

// ---- associated data

const simple = '{"name":"default"}';
for (const [name, why, v] of [
  ['seal', 'the plain case', { purpose: 'seal', keyring: 'default', revision: 1, clear: simple }],
  ['index', 'the purpose is in it', { purpose: 'index', keyring: 'default', revision: 1, clear: simple }],
  ['another name', 'the name that was asked for is in it', { purpose: 'seal', keyring: 'health', revision: 1, clear: simple }],
  ['another revision', 'uint64, big-endian', { purpose: 'seal', keyring: 'default', revision: 0x0102030405, clear: simple }],
  ['the highest revision', '2^53 - 1', { purpose: 'seal', keyring: 'default', revision: Number.MAX_SAFE_INTEGER, clear: simple }],
  ['another clear part', 'one space more', { purpose: 'seal', keyring: 'default', revision: 1, clear: '{"name": "default"}' }],
  ['a clear part beyond ASCII', 'the digest is taken over UTF-8', { purpose: 'seal', keyring: 'default', revision: 1, clear: '{"name":"default","kek":"m\u00fc\u015fteri \ud83d\udd11"}' }],
]) vectors.push({ name: `associated data: ${name}`, kind: 'keyset-data', valid: true, why, ...v, clear_digest: hex(clearDigest(v.clear)), data: hex(keysetData({ ...v, name: v.keyring })) });

// ---- documents

const kek = { uri: 'file:argon2id:606162636465666768696a6b6c6d6e6f', key: key(6) };
const since = (...names) => names.map((state, i) => ({ state, time: `2026-11-30T12:${String(10 * i).padStart(2, '0')}:00Z`, author: 'ops@example.com' }));
const keyOf = (id, purpose, k, ...history) => ({ id, purpose, state: history.at(-1), states: since(...history), key: hex(k) });
const plain = [keyOf('0f3a9c01', 'seal', key(0), 'primary'), keyOf('5b20e7d4', 'index', key(1), 'primary')];

// document writes one. Every part can be given otherwise.
function document(label, { name = 'default', revision = 1, keys = plain, clear = {}, clearText, keysets, outer = {}, sealedFor = {}, members = (m) => m } = {}) {
  const part = members({
    name, revision, kek: kek.uri, propagation: '10m0s', stores: [], keys: keys.map(({ id, purpose, state, states }) => ({ id, purpose, state, states })), ...clear,
  });
  const text = clearText ?? JSON.stringify(part);
  const sealed = {};
  for (const purpose of ['seal', 'index']) {
    const own = keys.filter((k) => k.purpose === purpose && k.state !== 'destroyed');
    const data = keysetData({ purpose, name, revision, clear: text, ...sealedFor });
    const plaintext = keysets?.[purpose] ?? writeKeyset(own.find((k) => k.state === 'primary')?.id ?? '00000001', own);
    sealed[purpose] = kekEncrypt(kek.key, nonce(`${label} ${purpose}`), plaintext, data).toString('base64');
  }
  return JSON.stringify({ format: 'fieldcrypt-keyring/1', clear: text, keysets: sealed, ...outer });
}

const head = (name, why, doc, over = {}) => ({ name, kind: 'keyring', why, keyring: 'default', kek: kek.uri, kek_key: hex(kek.key), document: doc, ...over });
const open = (v) => openKeyring(v.keyring, v.document, { uri: v.kek, key: Buffer.from(v.kek_key, 'hex') });
const order = ({ name, kind, ...rest }, valid) => ({ name, kind, valid, ...rest });

function valid(name, why, options, over) {
  const v = head(name, why, document(name, options), over);
  vectors.push({ ...order(v, true), ...open(v) });
}

function invalid(name, reason, why, doc, over) {
  const v = head(name, why, typeof doc === 'string' ? doc : document(name, doc), over);
  const got = refusal(() => open(v));
  if (got !== reason) throw new Error(`${name}: refused for ${got}, not ${reason}`);
  vectors.push({ ...order(v, false), refused: reason });
}

const all = [
  keyOf('00000001', 'seal', key(2), 'staged', 'primary', 'active'), ...plain, keyOf('fffffffe', 'seal', key(3), 'staged'),
  keyOf('abcdef01', 'seal', key(4), 'staged', 'primary', 'active', 'disabled'), keyOf('abcdef02', 'index', key(5), 'primary', 'active', 'disabled', 'destroyed'),
];
valid('two keys', 'the smallest keyring');
valid('keys of every state', 'a destroyed key is named and has no bytes; a disabled one has bytes, and is not used', { keys: all, revision: 9 });
valid('another name', 'names have small letters, digits, _ and -', { name: 'health_2-eu' }, { keyring: 'health_2-eu' });
valid('the highest revision', '2^53 - 1', { revision: Number.MAX_SAFE_INTEGER });
valid('times with fractions', 'up to six digits, without trailing zeros', { keys: plain.map((k) => ({ ...k, states: [{ ...k.states[0], time: '2026-11-30T12:00:00.00012Z' }] })) });
valid('an author beyond ASCII', 'printable text', { keys: plain.map((k) => ({ ...k, states: [{ ...k.states[0], author: 'I\u015f\u0131l Y\u0131lmaz' }] })) });
valid('no propagation', 'from 0s', { clear: { propagation: '0s' } });
valid('the longest propagation', 'to a year', { clear: { propagation: '8760h0m0s' } });
valid('members in another order, white space', 'the clear part is bound as it stands', {
  clearText: `{ "keys": ${JSON.stringify(plain.map(({ id, purpose, state, states }) => ({ states, state, purpose, id })))},\n"stores":[],"propagation":"1h0m0s","kek":"${kek.uri}","revision":1,"name":"default" }`,
});

const good = document('good');
const parsed = JSON.parse(good);
const changed = (over) => JSON.stringify({ ...parsed, ...over });
const withClear = (change) => { const c = JSON.parse(parsed.clear); change(c); return { clearText: JSON.stringify(c) }; };
const withKey = (change) => withClear((c) => change(c.keys[0], c));

for (const [name, why, doc] of [
  ['document: nothing', 'no JSON', ''],
  ['document: another format', 'only version 1 is known', changed({ format: 'fieldcrypt-keyring/2' })],
  ['document: a member more', 'every member present, and no other', changed({ note: '' })],
  ['document: a member twice', 'strict', good.replace('{"format"', '{"format":"fieldcrypt-keyring/1","format"')],
  ['document: something after it', 'strict', good + ' {}'],
  ['document: clear is an object', 'a string that holds JSON', changed({ clear: JSON.parse(parsed.clear) })],
  ['document: no clear part', 'every member present', changed({ clear: undefined })],
  ['document: a keyset is missing', 'every member present', changed({ keysets: { seal: parsed.keysets.seal } })],
  ['document: a third keyset', 'no other member', changed({ keysets: { ...parsed.keysets, other: parsed.keysets.seal } })],
  ['document: an empty keyset', 'base64 of something', changed({ keysets: { ...parsed.keysets, seal: '' } })],
  ['document: a newline in a keyset', 'canonical base64: Go\'s decoder skips it', changed({ keysets: { ...parsed.keysets, seal: parsed.keysets.seal.replace(/^(.{8})/, '$1\n') } })],
  ['document: base64url', 'standard base64', changed({ keysets: { ...parsed.keysets, seal: '-_' + parsed.keysets.seal.slice(2) } })],
  ['document: base64 without its padding', 'standard base64 with padding', changed({ keysets: { ...parsed.keysets, seal: Buffer.alloc(28).toString('base64').replace(/=+$/, '') } })],
  ['document: unused bits set in base64', 'canonical base64', changed({ keysets: { ...parsed.keysets, seal: Buffer.alloc(28).toString('base64').replace('A==', 'B==') } })],
  ['clear: no JSON', 'a string that holds JSON', { clearText: 'name=default' }],
  ['clear: a member twice by an escape', 'names are compared after decoding', { clearText: parsed.clear.replace('"revision":1', '"revision":1,"\\u0072evision":1') }],
  ['clear: a member more', 'no other member', withClear((c) => { c.note = ''; })],
  ['clear: a member less', 'every member present', withClear((c) => { delete c.stores; })],
  ['clear: a store', 'not in this version', withClear((c) => { c.stores = ['postgres://outbox']; })],
  ['clear: revision 0', 'from 1', withClear((c) => { c.revision = 0; })],
  ['clear: revision 2^53', 'to 2^53 - 1', { clearText: parsed.clear.replace('"revision":1', '"revision":9007199254740992') }],
  ['clear: revision 1.0', 'an integer by its text', { clearText: parsed.clear.replace('"revision":1', '"revision":1.0') }],
  ['clear: a revision in quotes', 'an integer', withClear((c) => { c.revision = '1'; })],
  ['clear: a name in capitals', 'a keyring\'s name', withClear((c) => { c.name = 'Default'; })],
  ['clear: no KEK', 'from 1 byte', withClear((c) => { c.kek = ''; })],
  ['clear: a KEK with a line end', 'printable text', withClear((c) => { c.kek += '\n'; })],
  ['clear: a propagation in another spelling', 'Go\'s own spelling alone', withClear((c) => { c.propagation = '600s'; })],
  ['clear: a negative propagation', 'from 0s', withClear((c) => { c.propagation = '-1s'; })],
  ['clear: a propagation above a year', 'to 8760h0m0s', withClear((c) => { c.propagation = '8760h0m1s'; })],
  ['clear: keys is null', 'an array', withClear((c) => { c.keys = null; })],
  ['clear: no keys', 'one primary key of each purpose', withClear((c) => { c.keys = []; })],
  ['clear: a key without a member', 'every member present, at every level', withKey((k) => { delete k.state; })],
  ['clear: a key with a member more', 'no other member, at every level', withKey((k) => { k.note = ''; })],
  ['clear: an upper-case key id', 'a key id has one spelling', withKey((k) => { k.id = '0F3A9C01'; })],
  ['clear: a short key id', '8 digits', withKey((k) => { k.id = 'f3a9c01'; })],
  ['clear: key id 00000000', 'is never used', withKey((k) => { k.id = '00000000'; })],
  ['clear: a key id twice', 'unique in the document, over both purposes', withKey((k, c) => { c.keys[1].id = k.id; })],
  ['clear: an unknown purpose', 'seal or index', withKey((k) => { k.purpose = 'sign'; })],
  ['clear: an unknown state', 'one of five', withKey((k) => { k.state = k.states[0].state = 'retired'; })],
  ['clear: no history', 'never empty', withKey((k) => { k.states = []; })],
  ['clear: a history that ends elsewhere', 'the last entry is the state', withKey((k) => { k.states[0].state = 'staged'; })],
  ['clear: a time with an offset', 'UTC as Z', withKey((k) => { k.states[0].time = '2026-11-30T13:00:00+01:00'; })],
  ['clear: a time with a trailing zero', 'one spelling', withKey((k) => { k.states[0].time = '2026-11-30T12:00:00.10Z'; })],
  ['clear: a time of seven fractional digits', 'at most six', withKey((k) => { k.states[0].time = '2026-11-30T12:00:00.1234567Z'; })],
  ['clear: the 31st of November', 'a time', withKey((k) => { k.states[0].time = '2026-11-31T12:00:00Z'; })],
  ['clear: no author', 'from 1 byte', withKey((k) => { k.states[0].author = ''; })],
  ['clear: two primary keys', 'each purpose has exactly one', { keys: [...plain, keyOf('00000002', 'seal', key(2), 'primary')] }],
  ['clear: no primary key', 'each purpose has exactly one', withKey((k) => { k.state = k.states[0].state = 'active'; })],
]) invalid(name, 'document', why, doc);

invalid('another keyring', 'name', 'the name that was asked for', { name: 'health' });
invalid('a renamed copy', 'authentication', 'the name is bound to the keysets', { sealedFor: { name: 'health' } });
invalid('another KEK by its name', 'kek', 'compared with the configured one, and never followed', { clear: { kek: 'file:argon2id:ffffffffffffffffffffffffffffffff' } });
invalid('another KEK of the same name', 'authentication', 'AES-GCM refuses', {}, { kek_key: hex(key(7)) });
invalid('a changed state', 'authentication', 'the clear part is bound', changed({ clear: parsed.clear.replace('ops@', 'eve@') }));
invalid('white space in the clear part', 'authentication', 'the clear part is bound byte for byte', changed({ clear: parsed.clear + ' ' }));
invalid('a lower revision on the keysets of a higher one', 'authentication', 'the revision is bound', { sealedFor: { revision: 2 } });
invalid('keysets exchanged', 'authentication', 'the purpose is bound', changed({ keysets: { seal: parsed.keysets.index, index: parsed.keysets.seal } }));
invalid('one keyset of another revision', 'authentication', 'both must open', changed({ keysets: { ...parsed.keysets, index: JSON.parse(document('two', { revision: 2 })).keysets.index } }));
invalid('a short keyset', 'authentication', 'nonce and tag alone are 28 bytes', changed({ keysets: { ...parsed.keysets, seal: Buffer.alloc(27).toString('base64') } }));
invalid('a changed tag', 'authentication', 'AES-GCM refuses', changed({ keysets: { ...parsed.keysets, seal: (() => { const b = Buffer.from(parsed.keysets.seal, 'base64'); b[b.length - 1] ^= 1; return b.toString('base64'); })() } }));

const [sealKey] = plain;
const seal = (change, primary = sealKey.id) => ({ keysets: { seal: writeKeyset(primary, [{ ...sealKey, ...change }]) } });
const varintField = (field, n) => Buffer.from([field * 8, n]);
for (const [name, why, options] of [
  ['no keyset at all', 'authentic, and no protocol buffer', { keysets: { seal: Buffer.from('no keyset') } }],
  ['an empty keyset', 'a key of the clear part is missing', { keysets: { seal: writeKeyset(sealKey.id, []) } }],
  ['a key that the clear part does not name', 'ids must agree', { keysets: { seal: writeKeyset(sealKey.id, [sealKey, { ...sealKey, id: '00000003' }]) } }],
  ['a key twice', 'an id names one key', { keysets: { seal: writeKeyset(sealKey.id, [sealKey, sealKey]) } }],
  ['another key id', 'ids must agree', seal({ id: '00000003' }, '00000003')],
  ['a key of the other purpose', 'ids must agree within the purpose', { keysets: { seal: writeKeyset(plain[1].id, [plain[1]]) } }],
  ['a destroyed key with bytes', 'a destroyed key is not in the keyset', { keys: all, keysets: { index: writeKeyset(plain[1].id, [plain[1], all.at(-1)]) } }],
  ['a disabled key that is ENABLED', 'status must agree', { keys: all, keysets: { seal: writeKeyset(sealKey.id, all.filter((k) => k.purpose === 'seal').map((k) => ({ ...k, status: 1 }))) } }],
  ['a primary key that is DISABLED', 'status must agree', seal({ status: 2 })],
  ['another primary key', 'must agree', { keys: all, keysets: { seal: writeKeyset('00000001', all.filter((k) => k.purpose === 'seal')) } }],
  ['output prefix TINK', 'RAW alone', seal({ prefix: 1 })],
  ['another type of key', 'HkdfPrfKey alone', seal({ url: 'type.googleapis.com/google.crypto.tink.HmacPrfKey' })],
  ['another material', 'SYMMETRIC alone', seal({ type: 2 })],
  ['a version of the key', '0 alone', seal({ version: 1 })],
  ['SHA-512', 'SHA-256 alone', seal({ hash: 4 })],
  ['a salt', 'empty', seal({ salt: Buffer.from('salt') })],
  ['31 bytes', '32 bytes', seal({ key: hex(key(0).subarray(1)) })],
  ['33 bytes', '32 bytes', seal({ key: hex(key(0)) + '00' })],
  ['a field that nobody knows', 'no other fields', seal({ extra: varintField(9, 1) })],
]) invalid(`keyset: ${name}`, 'keyset', `authentic, and refused: ${why}`, options);

write('keyrings', 'Keyring documents of section 7. keyset-data: the associated data of a keyset. keyring: a document opens under the name that was asked for (keyring) and the configured KEK (its name kek, its 32 bytes kek_key, AES-256-GCM as that of a keyring in a file), to its revision and keys, or is refused. A destroyed key has no key.', vectors);
