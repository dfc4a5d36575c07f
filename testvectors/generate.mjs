// Writes v1/*.json with format.mjs, which is written from docs/format.md and shares nothing with the Go code.
//
//     node testvectors/generate.mjs
//
// Nothing in CI runs this. A vector of a released version never changes, and neither does one disappear: what was sealed by it must open for
// ever. New vectors may be added, here and at the end of a file's list; `git diff` must then show added lines alone.

import {
  aad, eventKey, eventKeyInfo, indexKey, indexKeyInfo, indexText, messages, normalise, normaliserID, open, openEvent, pad, paddedLength, parseIndexText,
  Refused, seal, sealBytes, sealEvent, storedValue,
} from './format.mjs';
import { hex, key, nonce, refusal, write } from './write.mjs';

const kid = '0f3a9c01';
const id = '01935e3c-7a1f-7c52-9d0e-5b6f3a2c1d4e';
const otherID = '01935e3c-7a1f-7c52-9d0e-5b6f3a2c1d4f';
const event = { type: 'invoice.issued', version: 1, id };

// ---- derivation

{
  const longType = 'a'.repeat(255);
  const events = [
    ['an event', { ...event }, 'the plain case'],
    ['another version', { ...event, version: 2 }, 'the version is in the derivation'],
    ['the highest version', { ...event, version: 2 ** 31 - 1 }, 'uint32, big-endian'],
    ['a version of every byte', { ...event, version: 0x01020304 }, 'uint32, big-endian'],
    ['another id', { ...event, id: otherID }, 'the id is in the derivation'],
    ['another type', { ...event, type: 'invoice.issueD' }, 'types are compared exactly'],
    ['a type of one byte', { ...event, type: 'a' }, 'the shortest type'],
    ['a type of 255 bytes', { ...event, type: longType }, 'the longest type'],
    ['another key', { ...event }, 'the key is in the derivation', key(1)],
    ['a key of zeros', { ...event }, 'HKDF takes any 32 bytes', Buffer.alloc(32)],
  ];
  const pointers = [
    ['the root', '', 'the whole payload is one value: LP of the empty pointer'],
    ['a member', '/email', 'the plain case'],
    ['a member with an empty name', '/', 'RFC 6901: a pointer of one empty name'],
    ['an array item', '/lines/0/email', 'array indexes are decimal'],
    ['the eleventh item', '/lines/10/email', 'array indexes are decimal, without leading zeros'],
    ['a slash in a name', '/a~1b', 'the name a/b, escaped as RFC 6901 says'],
    ['a tilde in a name', '/m~0n', 'the name m~n, escaped as RFC 6901 says'],
    ['both in a name', '/~01~10', 'the name ~1/0, escaped as RFC 6901 says'],
    ['a name that is not ASCII', '/m\u00fc\u015fteri', 'UTF-8, not normalised'],
    ['the same name decomposed', '/mu\u0308s\u0327teri', 'UTF-8, not normalised: another location'],
    ['a name with a NUL', '/\u0000', 'any name that JSON can have'],
  ];
  const indexes = [
    ['raw', { index: 'tax_id', normaliser: 'raw.1', bits: 128 }, 'no steps'],
    ['two steps', { index: 'tax_id', normaliser: 'trim.1+casefold.1', bits: 128 }, 'steps are joined by +'],
    ['the other order', { index: 'tax_id', normaliser: 'casefold.1+trim.1', bits: 128 }, 'the order is in the derivation'],
    ['8 bits', { index: 'tax_id', normaliser: 'raw.1', bits: 8 }, 'the length is in the derivation'],
    ['256 bits', { index: 'tax_id', normaliser: 'raw.1', bits: 256 }, 'uint16, big-endian'],
    ['another index', { index: 'tax_ie', normaliser: 'raw.1', bits: 128 }, 'the name is in the derivation'],
    ['a moved boundary', { index: 'tax_idr', normaliser: 'aw.1', bits: 128 }, 'no real normaliser; the lengths keep name and normaliser apart'],
  ];
  write('derivation', 'Keys and associated data. event-key: HKDF-SHA256(key, salt "", info, 32). aad: the associated data of a token. index-key: as event-key.', [
    ...events.map(([name, e, why, k = key(0)]) => ({
      name: `event key: ${name}`, kind: 'event-key', valid: true, why, key: hex(k), ...e, info: hex(eventKeyInfo(e)), event_key: hex(eventKey(k, e)),
    })),
    ...pointers.map(([name, pointer, why]) => ({
      name: `associated data: ${name}`, kind: 'aad', valid: true, why, kid, pointer, aad: hex(aad(kid, pointer)),
    })),
    { name: 'associated data: another key id', kind: 'aad', valid: true, why: 'the key id is in it', kid: '0f3a9c02', pointer: '/email', aad: hex(aad('0f3a9c02', '/email')) },
    ...indexes.map(([name, ix, why]) => ({
      name: `index key: ${name}`, kind: 'index-key', valid: true, why, key: hex(key(0)), ...ix, info: hex(indexKeyInfo(ix)), index_key: hex(indexKey(key(0), ix)),
    })),
  ]);
}

// ---- padding

{
  const lengths = [
    1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 240, 241, 255, 256, 257, 271, 272, 273, 288, 289, 496, 497, 511, 512, 513, 543, 544, 545, 576, 577, 992, 993,
    1000, 1023, 1024, 1025, 1087, 1088, 1089, 1984, 1985, 2047, 2048, 2049, 2176, 2177, 4095, 4096, 4097, 4352, 4353, 8192, 8193, 16384, 16385, 32768, 32769,
    65535, 65536, 65537, 67584, 67585, 131072, 131073, 262144, 262145, 524288, 524289, 1000000, 1048575, 1048576,
  ];
  // The document's own list, by hand: the generator must agree with it.
  const stated = { 1: 16, 16: 16, 17: 32, 256: 256, 257: 272, 512: 512, 513: 544, 1000: 1024, 1025: 1088, 4097: 4352, 65537: 67584 };
  for (const [length, padded] of Object.entries(stated)) if (paddedLength(Number(length)) !== padded) throw new Error(`P(${length})`);
  write('padding', 'P(L), the length in bytes that a value\'s JSON text of L bytes is padded to with spaces.', lengths.map((length) => ({
    name: `${length} bytes`, kind: 'padded-length', valid: true,
    why: String(length) in stated ? 'stated in the format document' : length <= 256 ? 'up to 256: the next multiple of 16' : 'above 256: Padm\u00e9',
    length, padded: paddedLength(length),
  })));
}

// ---- tokens

{
  const pointer = '/email';
  const vectors = [];
  const text = (t) => Buffer.from(t, 'utf8');

  // valid adds a token as a Sealer writes it, or padded to a given length.
  const valid = (name, why, plaintext, { e = event, p = pointer, k = key(0), i = kid, padded = paddedLength(text(plaintext).length) } = {}) => {
    const n = nonce(name);
    const token = sealBytes({ key: k, kid: i, event: e, pointer: p, nonce: n }, pad(text(plaintext), padded));
    vectors.push({ name, kind: 'token', valid: true, why, key: hex(k), kid: i, ...e, pointer: p, nonce: hex(n), plaintext, padded, token });
  };

  valid('null', 'null is sealed as any other value', 'null');
  valid('true', 'padding hides which boolean it is', 'true');
  valid('false', 'padding hides which boolean it is', 'false');
  valid('zero', 'a number keeps its text', '0');
  valid('minus zero', 'a number keeps its text', '-0');
  valid('a number with trailing zeros', 'a number keeps its text', '1.50');
  valid('a number with an exponent', 'a number keeps its text', '1E+3');
  valid('an integer above 2^53', 'a number keeps its text', '9007199254740993');
  valid('a number of 1,000 digits', 'the most that a number may have', '9'.repeat(1000));
  valid('the largest exponent', 'within the limit of 1,000', '1e1000');
  valid('the smallest exponent', 'within the limit of 1,000', '1e-1000');
  valid('the empty string', 'is sealed as any other value', '""');
  valid('a string', 'the plain case', '"ada@example.com"');
  valid('a string with escapes', 'escapes stay as they stood', '"\\u0061\\/\\n\\ud83d\\ude00"');
  valid('a string that is not ASCII', 'UTF-8', '"I\u015f\u0131l \ud83d\ude00"');
  valid('a string with a NUL', 'by its escape, as JSON demands', '"\\u0000"');
  valid('a string that ends in spaces', 'the spaces of a string are not padding', '"a   "');
  valid('a string that has the form of a token', 'nothing is taken for already encrypted from its looks', `"fc1:${kid}:${'A'.repeat(59)}"`);
  valid('an array', 'white space within a value stays', '[1, "a" ,null]');
  valid('the empty array', 'is sealed as any other value', '[]');
  valid('an object', 'white space and the order of names stay', '{"b": 1,\n "a": {"c": []}}');
  valid('the empty object', 'is sealed as any other value', '{}');
  valid('16 bytes', 'needs no padding', '"12345678901234"');
  valid('17 bytes', 'is padded to 32', '"123456789012345"');
  valid('256 bytes', 'the last length of plain multiples of 16', `"${'x'.repeat(254)}"`);
  valid('257 bytes', 'the first length of Padm\u00e9', `"${'x'.repeat(255)}"`);
  valid('5,000 bytes', 'Padm\u00e9 above 4,096', `"${'x'.repeat(4998)}"`);
  valid('more padding than needed', 'a schema may bound the value; an Opener takes any multiple of 16', 'true', { padded: 64 });
  valid('much more padding than needed', 'an Opener takes any multiple of 16', '1', { padded: 1040 });
  valid('nested 199 deep below one level', 'depth 200, counted with the surroundings, is the most', '['.repeat(199) + ']'.repeat(199));
  valid('the root', 'the whole payload may be one sealed value', '{"a":1}', { p: '' });
  valid('a member with an empty name', 'pointer of RFC 6901', '1', { p: '/' });
  valid('an array item', 'pointer of RFC 6901', '"a"', { p: '/lines/10/email' });
  valid('a name with a slash and a tilde', 'pointer of RFC 6901', '"a"', { p: '/a~1b/m~0n' });
  valid('a name that is not ASCII', 'pointer of RFC 6901 in UTF-8', '"a"', { p: '/m\u00fc\u015fteri' });
  valid('the highest version', 'versions go to 2^31 - 1', '"a"', { e: { ...event, version: 2 ** 31 - 1 } });
  valid('a type of 255 bytes', 'the longest type', '"a"', { e: { ...event, type: 'a'.repeat(255) } });
  valid('another event', 'the id is bound', '"ada@example.com"', { e: { ...event, id: otherID } });
  valid('another key', 'the key id stands in the token', '"ada@example.com"', { k: key(2), i: '5b2e77d0' });
  valid('a key id of letters', 'key ids are lower-case hex', '"a"', { i: 'abcdefab' });

  // invalid adds a token that must be refused for a key, an event and a pointer.
  const invalid = (name, why, reason, token, { e = event, p = pointer, k = key(0), i = kid } = {}) => {
    const got = refusal(() => open(new Map([[i, k]]), e, p, token));
    if (got !== reason) throw new Error(`${name}: refused for ${got}`);
    vectors.push({ name, kind: 'token', valid: false, why, key: hex(k), kid: i, ...e, pointer: p, token, refused: reason });
  };
  // hostile seals bytes that no Sealer would.
  const hostile = (name, plaintext, over = {}) => sealBytes({ key: key(0), kid, event, pointer, nonce: nonce(name), ...over }, plaintext);
  const good = seal({ key: key(0), kid, event, pointer, nonce: nonce('good') }, text('"ada@example.com"'));
  const body = good.slice(13);
  const raw = Buffer.from(body, 'base64url');
  const withBody = (b) => `fc1:${kid}:${b.toString('base64url')}`;
  const flipped = (at) => { const b = Buffer.from(raw); b[at] ^= 1; return withBody(b); };

  invalid('form: nothing', 'the empty string is no token', 'form', '');
  invalid('form: a plaintext', 'a flagged location must hold a token', 'form', 'ada@example.com');
  invalid('form: another version', 'only fc1 is known', 'form', good.replace('fc1', 'fc2'));
  invalid('form: an upper-case prefix', 'the prefix is exact', 'form', good.replace('fc1', 'FC1'));
  invalid('form: no prefix', 'the prefix is exact', 'form', good.slice(4));
  invalid('form: white space in front', 'nothing stands around a token', 'form', ' ' + good);
  invalid('form: white space behind', 'nothing stands around a token', 'form', good + ' ');
  invalid('form: a newline at the end', 'some engines let $ match before it', 'form', good + '\n');
  invalid('form: a newline in the body', 'Go\'s decoder skips it', 'form', `fc1:${kid}:${body.slice(0, 8)}\n${body.slice(8)}`);
  invalid('form: a carriage return in the body', 'Go\'s decoder skips it', 'form', `fc1:${kid}:${body.slice(0, 8)}\r${body.slice(8)}`);
  invalid('form: an upper-case key id', 'a key id has one spelling', 'form', good.replace(kid, kid.toUpperCase()));
  invalid('form: a short key id', '8 digits', 'form', good.replace(kid, kid.slice(1)));
  invalid('form: a long key id', '8 digits', 'form', good.replace(kid, '0' + kid));
  invalid('form: a key id that is not hex', '0-9 and a-f', 'form', good.replace(kid, '0f3a9c0g'));
  invalid('form: a padding character', 'base64url without padding', 'form', good + '=');
  invalid('form: the other alphabet', '+ and / are no base64url', 'form', `fc1:${kid}:+/${body.slice(2)}`);
  invalid('form: a non-ASCII character', 'is no base64url', 'form', `fc1:${kid}:\u00e9${body.slice(1)}`);
  {
    const ends = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const one = seal({ key: key(0), kid, event, pointer, nonce: nonce('unused bits') }, text('"a"')); // 44 bytes: 2 unused bits
    const last = ends[ends.indexOf(one.at(-1)) + 1];
    invalid('form: unused bits set', 'a token has one spelling: the bits after the last byte are zero', 'form', one.slice(0, -1) + last);
  }
  invalid('form: no body', 'nonce, 16 bytes or more, tag', 'form', `fc1:${kid}:`);
  invalid('form: a short body', 'nonce and tag alone seal nothing', 'form', withBody(raw.subarray(0, 28)));
  invalid('form: 58 characters', 'one less than the shortest body', 'form', `fc1:${kid}:${'A'.repeat(58)}`);
  invalid('form: 61 characters', 'a length that base64url does not have', 'form', `fc1:${kid}:${'A'.repeat(61)}`);
  invalid('form: a cut body', 'the ciphertext is a multiple of 16 bytes', 'form', withBody(raw.subarray(0, raw.length - 1)));
  invalid('form: a byte too many', 'the ciphertext is a multiple of 16 bytes', 'form', withBody(Buffer.concat([raw, Buffer.alloc(1)])));
  invalid('form: padding that is not a multiple of 16', 'authentic, and no length that a Sealer makes', 'form', hostile('padded to 20', pad(text('"ada@example.com"'), 20)));
  invalid('form: two tokens', 'exactly one', 'form', `${good},${good}`);
  invalid('key: an unknown key id', 'a reader may refresh its keyring once, and then says so', 'key', good.replace(kid, '0f3a9c02'));
  invalid('key: the reserved form', 'per-subject keys are reserved; the pattern has them, and nothing opens them yet', 'key', `fc1:s0123456789abcdef:${body}`);
  invalid('authentication: the first byte of the nonce', 'every byte is authentic', 'authentication', flipped(0));
  invalid('authentication: the first byte of the ciphertext', 'every byte is authentic', 'authentication', flipped(12));
  invalid('authentication: the last byte of the ciphertext', 'every byte is authentic', 'authentication', flipped(raw.length - 17));
  invalid('authentication: the first byte of the tag', 'every byte is authentic', 'authentication', flipped(raw.length - 16));
  invalid('authentication: the last byte of the tag', 'every byte is authentic', 'authentication', flipped(raw.length - 1));
  invalid('authentication: 16 bytes less', 'the length is authentic', 'authentication', withBody(raw.subarray(0, raw.length - 16)));
  invalid('authentication: 16 bytes more', 'the length is authentic', 'authentication', withBody(Buffer.concat([raw, Buffer.alloc(16)])));
  invalid('authentication: zeros', 'has the form of a token', 'authentication', `fc1:${kid}:${'A'.repeat(59)}`);
  invalid('authentication: another key', 'the key is bound', 'authentication', good, { k: key(2) });
  invalid('authentication: another key id for the same key', 'the key id is bound', 'authentication', good.replace(kid, '0f3a9c02'), { i: '0f3a9c02' });
  invalid('authentication: another pointer', 'a value cannot be moved within an event', 'authentication', good, { p: '/name' });
  invalid('authentication: another item', 'a value cannot be moved within an array', 'authentication', hostile('item', pad(text('"a"'), 16), { pointer: '/lines/0' }), { p: '/lines/1' });
  invalid('authentication: the pointer above', 'the pointer is exact', 'authentication', good, { p: '' });
  invalid('authentication: another type', 'a value cannot be moved to another type', 'authentication', good, { e: { ...event, type: 'invoice.paid' } });
  invalid('authentication: another version', 'a value cannot be moved to another version', 'authentication', good, { e: { ...event, version: 2 } });
  invalid('authentication: another id', 'a value cannot be moved to another event', 'authentication', good, { e: { ...event, id: otherID } });
  const surrogate = '"\\ud800"';
  for (const [name, why, plaintext] of [
    ['spaces alone', 'there is no value', text(' '.repeat(16))],
    ['zero bytes', 'there is no value', Buffer.alloc(16)],
    ['a leading space', 'the value begins at the first byte', text(' "a"' + ' '.repeat(12))],
    ['a leading newline', 'the value begins at the first byte', text('\n"a"' + ' '.repeat(12))],
    ['a byte order mark', 'is no JSON', text('\ufeff"a"' + ' '.repeat(10))],
    ['no JSON', 'the text must be one JSON value', text('ada@example.com ')],
    ['single quotes', 'RFC 8259', text("'a'             ")],
    ['NaN', 'RFC 8259', text('NaN             ')],
    ['a leading zero', 'RFC 8259', text('01              ')],
    ['two values', 'spliced values would shift what follows', text('1 2             ')],
    ['two values and a comma', 'spliced values would add a member', text('1,"b":2         ')],
    ['a closing brace', 'spliced text would end the object', text('1}              ')],
    ['a comment', 'RFC 8259', text('1 /* a */       ')],
    ['padding of tabs', 'spaces alone', text('"a"' + '\t'.repeat(13))],
    ['padding of newlines', 'spaces alone', text('"a"' + '\n'.repeat(13))],
    ['padding of zero bytes', 'spaces alone', Buffer.concat([text('"a"'), Buffer.alloc(13)])],
    ['one other byte in the padding', 'spaces alone', text('"a"' + ' '.repeat(12) + 'x')],
    ['an open string', 'the text must be one JSON value', text('"aaaaaaaaaaaaaaa')],
    ['an open array', 'the text must be one JSON value', text('[1,2            ')],
    ['duplicate names', 'strict', text('{"a":1,"a":2}   ')],
    ['duplicate names by an escape', 'compared after decoding', text('{"a":1,"\\u0061":2}' + ' '.repeat(14))],
    ['duplicate names deep inside', 'strict at every depth', text('[[{"a":[{"b":1,"b":1}]}]]' + ' '.repeat(7))],
    ['half a surrogate pair', 'strict', text(surrogate + ' '.repeat(16 - surrogate.length))],
    ['half a surrogate pair in a name', 'strict', text('{"\\udc00":1}    ')],
    ['invalid UTF-8', 'strict', Buffer.concat([text('"'), Buffer.from([0xff]), text('"             ')])],
    ['an encoded surrogate', 'is no UTF-8', Buffer.concat([text('"'), Buffer.from([0xed, 0xa0, 0x80]), text('"           ')])],
    ['an overlong encoding', 'is no UTF-8', Buffer.concat([text('"'), Buffer.from([0xc0, 0xaf]), text('"            ')])],
    ['a control character', 'must be escaped', text('"a\u0001b"           ')],
    ['an unknown escape', 'RFC 8259', text('"\\x61"          ')],
    ['1,001 digits', 'one more than a number may have', text('9'.repeat(1001) + ' '.repeat(7))],
    ['exponent 1,001', 'one more than a number may have', text('1e1001          ')],
    ['exponent -1,001', 'one more than a number may have', text('1e-1001         ')],
    ['exponent 5,000,000', 'would expand without bound', text('1e5000000       ')],
    ['nested 200 deep below one level', 'one more than depth 200, counted with the surroundings', text('['.repeat(200) + ']'.repeat(200))],
  ]) {
    if (plaintext.length % 16 !== 0) throw new Error(`${name}: ${plaintext.length} bytes`);
    invalid(`json: ${name}`, `authentic, and refused: ${why}`, 'json', hostile(name, plaintext));
  }
  invalid('form: key id 00000000', 'is never used', 'form', good.replace(kid, '00000000'));
  write('tokens', 'One sealed value: the token opens under the key that is named kid, for this event and pointer, to the plaintext, or is refused. A token that is valid is also what a Sealer writes with this nonce, padding to "padded".', vectors);
}

// ---- normalisers

{
  const unassigned = '\u1c89'; // assigned by Unicode 16
  const vectors = [
    ['raw', [], ' \u0130\u00a0\ufb01 ', 'no step'],
    ['trim: ASCII', ['trim'], ' \t\r\n a b \n', 'White_Space at both ends, not within'],
    ['trim: every White_Space', ['trim'], '\t\n\u000b\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000x', 'the 25 code points'],
    ['trim: no White_Space', ['trim'], '\u200bx\u180e\ufeff', 'zero width space, Mongolian vowel separator and byte order mark are none'],
    ['trim: nothing is left', ['trim'], ' \u3000 ', 'such a value has no index'],
    ['nfkc: a ligature', ['nfkc'], '\ufb01', 'compatibility decomposition'],
    ['nfkc: composition', ['nfkc'], 'e\u0301', 'e and acute'],
    ['nfkc: order of marks', ['nfkc'], 'a\u0301\u0323', 'dot below (220) goes before acute (230)'],
    ['nfkc: full-width letters', ['nfkc'], '\uff21\uff22\uff23', 'compatibility decomposition'],
    ['nfkc: full-width digits', ['nfkc'], '\uff10\uff11\uff19', 'compatibility decomposition'],
    ['nfkc: Arabic digits', ['nfkc'], '\u0660\u0661', 'stay'],
    ['nfkc: superscript', ['nfkc'], 'x\u00b2', 'compatibility decomposition'],
    ['nfkc: Hangul', ['nfkc'], '\u1100\u1161\u11a8', 'composes to one syllable'],
    ['nfkc: Angstrom sign', ['nfkc'], '\u212b', 'singleton decomposition, then composition'],
    ['nfkc: composition exclusion', ['nfkc'], '\u0958', 'is not composed again'],
    ['nfkc: the longest decomposition', ['nfkc'], '\ufdfa', '18 code points'],
    ['nfkc: 40 marks', ['nfkc'], 'a' + '\u0301\u0323'.repeat(20), 'no joiner is put in: Stream-Safe Text is not NFKC'],
    ['nfkc: 40 Hangul vowels', ['nfkc'], '\u1100' + '\u1161'.repeat(40), 'no joiner is put in'],
    ['casefold: I', ['casefold'], 'I', 'i'],
    ['casefold: I with dot', ['casefold'], '\u0130', 'full folding: i and a dot above'],
    ['casefold: dotless i', ['casefold'], '\u0131', 'has no folding'],
    ['casefold: i', ['casefold'], 'i', 'has no folding'],
    ['casefold: sharp s', ['casefold'], 'Stra\u00dfe', 'full folding: ss'],
    ['casefold: capital sharp s', ['casefold'], 'STRA\u1e9eE', 'full folding: ss'],
    ['casefold: a ligature', ['casefold'], '\ufb01n', 'full folding: fi'],
    ['casefold: sigma', ['casefold'], '\u03a3\u03b1\u03c2', 'final sigma too'],
    ['casefold: Kelvin', ['casefold'], '\u212a', 'k'],
    ['casefold: three letters of one', ['casefold'], '\u0390', 'full folding: iota, diaeresis, acute'],
    ['casefold: Cherokee', ['casefold'], '\u13a0\uab70\u13f8', 'Cherokee folds to its capitals'],
    ['casefold: Deseret', ['casefold'], '\ud801\udc00', 'above U+FFFF'],
    ['casefold: full-width letters', ['casefold'], '\uff21', 'stay full-width'],
    ['casefold: not normalised', ['casefold'], 'E\u0301', 'stays decomposed'],
    ['casefold-tr: I', ['casefold-tr'], 'I', 'dotless i'],
    ['casefold-tr: I with dot', ['casefold-tr'], '\u0130', 'i'],
    ['casefold-tr: dotless i', ['casefold-tr'], '\u0131', 'stays'],
    ['casefold-tr: i', ['casefold-tr'], 'i', 'stays'],
    ['casefold-tr: a name', ['casefold-tr'], 'I\u015eIL \u0130NC\u0130 Stra\u00dfe', 'and folds all the rest as casefold'],
    ['casefold-tr: a decomposed dot', ['casefold-tr'], 'I\u0307', 'is not looked for'],
    ['nfkc, casefold-tr: a decomposed dot', ['nfkc', 'casefold-tr'], 'I\u0307', 'nfkc composes it first'],
    ['digits: a phone number', ['digits'], '+90 (532) 000-00-00', 'all else is dropped'],
    ['digits: Arabic', ['digits'], '\u0660\u0661\u0662\u0669', 'as ASCII digits'],
    ['digits: eastern Arabic, Devanagari, full-width', ['digits'], '\u06f0\u06f9\u0966\u096f\uff10\uff19', 'as ASCII digits'],
    ['digits: mathematical', ['digits'], '\ud835\udfce\ud835\udfd7\ud835\udfd8\ud835\udfff', 'five runs of ten in one'],
    ['digits: the newest of Unicode 15.0', ['digits'], '\ud81a\udec0\ud807\udf50\ud807\udf59\ud839\udcf0', 'Tangsa, Kawi and Nag Mundari digits'],
    ['digits: no decimal digits', ['digits'], 'x\u00b2\u00bd\u2167\u2460', 'superscript, fraction, Roman numeral and circled digit are no Nd'],
    ['nfkc, digits: a superscript', ['nfkc', 'digits'], 'x\u00b2', 'nfkc makes a digit of it'],
    ['nfkc, casefold: a double-struck letter', ['nfkc', 'casefold'], '\u210d', 'h'],
    ['casefold, nfkc: a double-struck letter', ['casefold', 'nfkc'], '\u210d', 'H: the order matters'],
    ['trim, nfkc, casefold', ['trim', 'nfkc', 'casefold'], '\u00a0\uff21DA\u2003', 'the usual three'],
    ['unassigned: every step is skipped', ['trim', 'nfkc', 'casefold', 'casefold-tr', 'digits'], ` A\ufb011${unassigned} `, 'U+1C89 is unassigned in Unicode 15.0'],
    ['unassigned: assigned by Unicode 15.1', ['nfkc', 'casefold'], 'A\u2ffc', 'U+2FFC is unassigned in Unicode 15.0'],
    ['unassigned: a noncharacter', ['casefold'], 'A\ufdd0', 'General_Category Cn has noncharacters too'],
    ['unassigned: the last noncharacter', ['casefold'], 'A\udbff\udfff', 'U+10FFFF'],
    ['assigned: private use', ['casefold'], 'A\ue000', 'General_Category Co is not Cn'],
    ['assigned: the newest of Unicode 15.0', ['trim'], ' \ud80c\udc39\ud80d\udc39 ', 'Egyptian hieroglyph format controls'],
    ['assigned: the replacement character', ['casefold'], 'A\ufffd', 'U+FFFD is assigned'],
  ].map(([name, steps, text, why]) => ({ name, kind: 'normalise', valid: true, why, steps, normaliser: normaliserID(steps), text, normalised: normalise(steps, text) }));
  // What the tables cannot be trusted for, by hand from CaseFolding.txt and UnicodeData.txt.
  const byHand = {
    'casefold: I with dot': 'i\u0307', 'casefold: sharp s': 'strasse', 'casefold: capital sharp s': 'strasse', 'casefold: a ligature': 'fin',
    'casefold: three letters of one': '\u03b9\u0308\u0301', 'casefold: Cherokee': '\u13a0\u13a0\u13f0', 'casefold: sigma': '\u03c3\u03b1\u03c3',
    'casefold-tr: I': '\u0131', 'casefold-tr: I with dot': 'i', 'casefold-tr: a decomposed dot': '\u0131\u0307', 'nfkc, casefold-tr: a decomposed dot': 'i',
    'digits: mathematical': '0909', 'nfkc: order of marks': '\u1ea1\u0301', 'nfkc: 40 marks': '\u1ea1' + '\u0323'.repeat(19) + '\u0301'.repeat(20),
    'unassigned: every step is skipped': ` A\ufb011${unassigned} `, 'assigned: private use': 'a\ue000', 'digits: no decimal digits': '',
    'digits: the newest of Unicode 15.0': '0090',
  };
  for (const [name, want] of Object.entries(byHand)) {
    const got = vectors.find((v) => v.name === name).normalised;
    if (got !== want) throw new Error(`${name}: ${JSON.stringify(got)}`);
  }
  for (const step of ['phone', 'argon2id', 'casefld', 'NFKC']) {
    vectors.push({ name: `step ${step}`, kind: 'normalise', valid: false, why: /casefld|NFKC/.test(step) ? 'no such step' : 'a step that needs parameters', steps: ['trim', step], text: 'a', refused: 'step' });
  }
  write('normalisers', 'A text before and after normalisation, version 1 of each step: Unicode 15.0.', vectors);
}

// ---- index messages

{
  const vectors = [];
  const valid = (name, why, json, steps = []) => vectors.push({ name, kind: 'messages', valid: true, why, steps, json, messages: messages(steps, Buffer.from(json)).map(hex) });
  const invalid = (name, why, json, steps = []) => {
    const data = Buffer.isBuffer(json) ? json : Buffer.from(json);
    vectors.push({ name, kind: 'messages', valid: false, why, steps, ...(Buffer.isBuffer(json) ? { json_hex: hex(json) } : { json }), refused: refusal(() => messages(steps, data)) });
  };
  valid('a string', 's and UTF-8', '"ada"');
  valid('a string with escapes', 'decoded', '"\\u0061\\n\\ud83d\\ude00\\/"');
  valid('a string that is not ASCII', 'UTF-8', '"I\u015f\u0131l"');
  valid('a normalised string', 's and the normalised UTF-8', '" I\u015eIL "', ['trim', 'casefold-tr']);
  valid('null', 'has no index', 'null');
  valid('the empty string', 'has no index', '""');
  valid('a blank string', 'normalises to nothing: no index', '" \\u3000"', ['trim']);
  valid('a blank string, raw', 'is a value', '" "');
  valid('a string of digits', 'is no integer', '"42"');
  valid('an integer', 'i and digits', '42');
  valid('an integer is not normalised', 'steps are for strings', '42', ['digits']);
  valid('a negative integer', 'i, a minus sign and digits', '-42');
  for (const [json, why] of [
    ['0', 'zero'], ['-0', 'is 0'], ['0.0', 'is 0'], ['-0.0e-7', 'is 0'], ['0e1000', 'is 0'], ['1.0', 'is 1'], ['1e0', 'is 1'], ['1E+3', 'is 1000'], ['-1e1', 'is -10'],
    ['1.50e1', 'is 15'], ['150e-1', 'is 15'], ['0.001e3', 'is 1'], ['1e400', 'beyond any float'], ['1e1000', 'the largest exponent'], ['9007199254740993', 'above 2^53'],
    ['123456789012345678901234567890', 'any length'], ['9'.repeat(1000), 'the most digits'], ['1' + '0'.repeat(999) + 'e-999', 'is 1'],
  ]) valid(`the integer ${json.length > 40 ? `of ${json.length} characters that begins with ${json.slice(0, 4)}` : json}`, why, json);
  valid('an array', 'the distinct messages, sorted by their bytes', '["b", "a", "b"]');
  valid('an array of integers', 'the distinct messages, sorted by their bytes', '[10, 9, 1e1, -1]');
  valid('an array of both', 'i comes before s', '["1", 1, 1.0]');
  valid('an array with null and a blank', 'items without an index are left out', '[null, " ", "a"]', ['trim']);
  valid('an array that is distinct before and not after', 'distinct once normalised', '["A", "a"]', ['casefold']);
  valid('the empty array', 'has no index', '[]');
  valid('an array of null', 'has no index', '[null]');
  valid('an array beyond the BMP', 'sorted by UTF-8, not by UTF-16', '["\ud83d\ude00", "\uffee"]');
  valid('white space around the value', 'is no part of it', ' \n"a"\t');
  for (const [name, why, json] of [
    ['a boolean', 'has no index', 'true'], ['an object', 'has no index', '{"a":1}'], ['a fraction', 'is no integer', '1.5'], ['a fraction by its exponent', 'is no integer', '15e-1'],
    ['an array in an array', 'has no index', '[["a"]]'], ['an array with a boolean', 'has no index', '["a", true]'], ['an array with a fraction', 'is no integer', '[1, 0.5]'],
    ['no text', 'no JSON value', ''], ['no JSON', 'no JSON value', 'ada'], ['two values', 'one value', '"a" "b"'], ['an open string', 'no JSON value', '"a'], ['an open array', 'no JSON value', '["a"'],
    ['a trailing comma', 'RFC 8259', '["a",]'], ['a leading zero', 'RFC 8259', '01'], ['half a surrogate pair', 'strict', '"\\ud800"'], ['halves in the wrong order', 'strict', '"\\udc00\\ud800"'],
    ['half a surrogate pair in an array', 'strict', '["\\ud800"]'], ['1,001 digits', 'over the limit', '9'.repeat(1001)], ['exponent 1,001', 'over the limit', '1e1001'],
    ['exponent -1,001', 'over the limit', '1e-1001'], ['zero with exponent 1,001', 'over the limit', '0e1001'], ['exponent 5,000,000', 'over the limit', '1e5000000'],
    ['a control character', 'must be escaped', '"a\nb"'], ['invalid UTF-8', 'strict', Buffer.from([0x22, 0xff, 0x22])], ['a byte order mark', 'is no JSON', '\ufeff"a"'],
  ]) invalid(name, why, json);
  write('messages', 'What is hashed: the messages of a JSON value, in hex. json is the value\'s text (json_hex where it is no UTF-8).', vectors);
}

// ---- index values

{
  const message = (text) => Buffer.from('s' + text);
  const vectors = [];
  const value = (name, why, { index = 'tax_id', steps = [], bits = 128, k = key(0), i = kid, msg = message('ada') } = {}) => {
    const normaliser = normaliserID(steps);
    const stored = storedValue({ key: k, kid: i, index, normaliser, bits }, msg);
    vectors.push({
      name, kind: 'index-value', valid: true, why, key: hex(k), kid: i, index, steps, normaliser, bits, message: hex(msg),
      index_key: hex(indexKey(k, { index, normaliser, bits })), stored: hex(stored), text: indexText(stored),
    });
  };
  for (const bits of [8, 9, 12, 15, 16, 20, 31, 32, 64, 100, 127, 128, 129, 192, 255, 256]) value(`${bits} bits`, bits % 8 ? `the last ${8 - (bits % 8)} bits are zero` : 'whole bytes', { bits });
  value('an integer', 'the message says that it is one', { msg: Buffer.from('i42') });
  value('the string of the same digits', 'shares no value with the integer', { msg: message('42') });
  value('a string that is not ASCII', 'UTF-8', { msg: message('i\u015f\u0131l') });
  value('a long message', 'more than one block of SHA-256', { msg: message('x'.repeat(1000)) });
  value('another index', 'shares no value', { index: 'email' });
  value('the longest name', '41 characters', { index: 'a'.repeat(41) });
  value('a name with digits and underscores', '[a-z][a-z0-9_]{0,40}', { index: 'a_1_b2' });
  value('trim', 'the normaliser is in the derivation', { steps: ['trim'] });
  value('nfkc and casefold', 'the normaliser is in the derivation', { steps: ['nfkc', 'casefold'] });
  value('casefold and nfkc', 'so is its order', { steps: ['casefold', 'nfkc'] });
  value('casefold-tr', 'the normaliser is in the derivation', { steps: ['casefold-tr'] });
  value('all steps', 'the normaliser is in the derivation', { steps: ['trim', 'nfkc', 'casefold', 'casefold-tr', 'digits'] });
  value('another key', 'the key id stands in front', { k: key(3), i: '5b2e77d0' });
  value('a key id of zeros and ones', 'uint32, big-endian', { i: '00000001' });
  write('index-values', 'uint32(kid) and the first bits of HMAC-SHA256(index key, message), in hex, and its text.', vectors);
}

// ---- index texts

{
  const vectors = [];
  const valid = (name, why, stored) => vectors.push({ name, kind: 'index-text', valid: true, why, stored: hex(stored), text: indexText(stored) });
  const invalid = (name, why, text) => vectors.push({ name, kind: 'index-text', valid: false, why, text, refused: refusal(() => parseIndexText(text)) });
  valid('one byte', '8 bits, the least', Buffer.from('0f3a9c01ff', 'hex'));
  valid('two bytes', '9 to 16 bits', Buffer.from('0f3a9c01fffe', 'hex'));
  valid('three bytes', 'no unused bits', Buffer.from('0f3a9c01fffefd', 'hex'));
  valid('16 bytes', '128 bits', Buffer.concat([Buffer.from('0f3a9c01', 'hex'), key(0).subarray(0, 16)]));
  valid('32 bytes', '256 bits, the most', Buffer.concat([Buffer.from('0f3a9c01', 'hex'), key(7)]));
  valid('a key id of letters', 'lower-case hex', Buffer.from('abcdefab00', 'hex'));
  for (const [name, why, text] of [
    ['nothing', 'is no index', ''], ['another version', 'only bi1 is known', 'bi2:0f3a9c01:__4'], ['an upper-case prefix', 'the prefix is exact', 'BI1:0f3a9c01:__4'],
    ['white space in front', 'nothing stands around it', ' bi1:0f3a9c01:__4'], ['a newline at the end', 'nothing stands around it', 'bi1:0f3a9c01:__4\n'],
    ['a newline inside', 'Go\'s decoder skips it', 'bi1:0f3a9c01:_\n_4'], ['a carriage return inside', 'Go\'s decoder skips it', 'bi1:0f3a9c01:_\r_4'],
    ['an upper-case key id', 'a key id has one spelling', 'bi1:0F3A9C01:__4'], ['a short key id', '8 digits', 'bi1:f3a9c01:__4'], ['a long key id', '8 digits', 'bi1:00f3a9c01:__4'],
    ['a key id that is not hex', '0-9 and a-f', 'bi1:0f3a9c0g:__4'], ['no value', '8 bits at the least', 'bi1:0f3a9c01:'], ['padding', 'base64url without padding', 'bi1:0f3a9c01:__4='],
    ['the other alphabet', '+ and / are no base64url', 'bi1:0f3a9c01://4'], ['unused bits set', 'one spelling', 'bi1:0f3a9c01:__5'], ['five characters', 'a length that base64url does not have', 'bi1:0f3a9c01:AAAAA'],
    ['33 bytes', '256 bits at the most', `bi1:0f3a9c01:${'A'.repeat(44)}`], ['a third colon', 'base64url', 'bi1:0f3a9c01:__4:'], ['a token', 'another format', `fc1:0f3a9c01:${'A'.repeat(59)}`],
  ]) invalid(name, why, text);
  write('index-texts', 'The text of a stored index, bi1:<kid>:<base64url>, and its bytes in hex.', vectors);
}

// ---- whole events

{
  const sealKey = { id: '0f3a9c01', purpose: 'seal', state: 'primary', key: hex(key(0)) };
  const indexKeyOf = { id: '5b2e77d0', purpose: 'index', state: 'primary', key: hex(key(1)) };
  const oldSealKey = (state) => ({ id: '00c0ffee', purpose: 'seal', state, key: hex(key(2)) });
  const keyrings = [{ name: 'default', keys: [sealKey, indexKeyOf] }];
  const health = { name: 'health', keys: [{ id: '7e57ab1e', purpose: 'seal', state: 'primary', key: hex(key(3)) }, { id: '7e57ab1f', purpose: 'index', state: 'primary', key: hex(key(4)) }] };
  const flagged = { 'x-gdpr-sensitive': true };
  const text = { type: 'string', ...flagged };
  const draft = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' };
  const vectors = [];

  const base = (name, why, schema, payload, plan, more = {}) => ({
    name, why,
    schemas: { [`${more.type ?? 'invoice.issued'}.v${more.version ?? 1}.json`]: { ...draft, ...schema } },
    keyrings: more.keyrings ?? keyrings,
    event: {
      id, type: more.type ?? 'invoice.issued', version: more.version ?? 1, aggregate_type: 'invoice', aggregate_id: more.aggregate_id ?? '42', aggregate_version: 7,
      occurred_at: '2026-11-30T12:00:00Z', headers: more.headers ?? {}, payload,
    },
    plan: { sealed: plan.sealed.map((s) => ({ keyring: 'default', ...(typeof s === 'string' ? { pointer: s } : s) })), indexes: plan.indexes ?? {} },
  });
  const order = ({ name, kind, valid, why, ...rest }) => ({ name, kind, valid, why, ...rest });
  const withNonces = (v) => ({ ...v, nonces: hex(Buffer.concat(v.plan.sealed.map((s) => nonce(`${v.name} ${s.pointer}`)))) });

  // event adds one that seals to its wire form with these nonces, and opens to its payload.
  const event = (...args) => {
    const v = withNonces(base(...args));
    vectors.push(order({ ...v, kind: 'event', valid: true, ...sealEvent(v) }));
    return vectors.at(-1);
  };
  // opens adds one that only opens: it was sealed under another keyring state, or with other padding.
  const opens = (name, why, sealed, changed) => {
    const { nonces, key_ids, blind_indexes, ...v } = { ...sealed, name, why, ...changed };
    if (openEvent(v) !== v.event.payload) throw new Error(`${name} opens to something else`);
    vectors.push(order({ ...v, kind: 'open', valid: true }));
  };
  const refuseSeal = (...args) => {
    const v = withNonces(base(...args));
    vectors.push(order({ ...v, kind: 'seal', valid: false, refused: refusal(() => sealEvent(v)) }));
  };
  const refuseOpen = (name, why, sealed, wire, changed = {}) => {
    const { nonces, key_ids, blind_indexes, ...v } = { ...sealed, name, why, wire, ...changed };
    delete v.event.payload;
    vectors.push(order({ ...v, kind: 'open', valid: false, refused: refusal(() => openEvent(v)) }));
  };

  const taxID = { ...text, 'x-blind-index': { name: 'tax_id', normalize: ['trim', 'casefold'] } };
  const invoice = event('an invoice', 'flagged string, integer, object; a simple index of a string and of an integer; every other byte stays', {
    properties: {
      number: { type: 'string' }, total: { type: 'number' },
      customer: {
        type: 'object',
        properties: {
          name: text, tax_id: taxID,
          birth_year: { type: 'integer', ...flagged, 'x-blind-index': { name: 'birth_year', bits: 64 } },
          address: { type: 'object', ...flagged },
        },
      },
    },
  }, '{ "number": "2026-\\u0030042",\n  "customer" : {"name":"I\u015f\\u0131l Y\u0131lmaz", "tax_id": " TR-1234567890 ","birth_year":1.985e3,\t"address":{"city" : "\u0130zmir", "lines":[ "a", null ]}}, "total":1.50 }\n', {
    sealed: ['/customer/name', '/customer/tax_id', '/customer/birth_year', '/customer/address'],
    indexes: {
      tax_id: { keyring: 'default', steps: ['trim', 'casefold'], bits: 128, pointers: ['/customer/tax_id'] },
      birth_year: { keyring: 'default', steps: [], bits: 64, pointers: ['/customer/birth_year'] },
    },
  });
  event('nothing flagged', 'no token, no key id: the payload is the wire form', { properties: { number: { type: 'string' } } }, '{"number":"1"}', { sealed: [] });
  event('every type', 'null and the empty string are sealed like any other value', {
    properties: Object.fromEntries(['null', 'boolean', 'number', 'string', 'empty', 'array', 'object'].map((n) => [n, flagged])),
  }, '{"null":null,"boolean":true,"number":-0.0,"string":"a","empty":"","array":[],"object":{}}', { sealed: ['/null', '/boolean', '/number', '/string', '/empty', '/array', '/object'] });
  event('a multi index over items', 'distinct, in the order of the stored bytes; null and blank items have none', {
    properties: {
      lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' }, email: { type: ['string', 'null'], ...flagged, 'x-blind-index': { name: 'email', normalize: ['trim', 'nfkc', 'casefold'], bits: 64, multi: true } } } } },
    },
  }, '{"lines":[{"sku":"1","email":"bob@example.com"},{"email":"ADA@example.com"},{"email":null},{"sku":"4"},{"email":" "},{"email":"\\uff22ob@example.com"},{"email":"carol@example.com"}]}', {
    sealed: [0, 1, 2, 4, 5, 6].map((i) => `/lines/${i}/email`),
    indexes: { email: { keyring: 'default', steps: ['trim', 'nfkc', 'casefold'], bits: 64, pointers: [0, 1, 2, 4, 5, 6].map((i) => `/lines/${i}/email`) } },
  });
  event('a multi index over a sealed array', 'the array is sealed whole, its items are indexed', {
    properties: { phones: { type: 'array', ...flagged, items: { type: 'string' }, 'x-blind-index': { name: 'phone', normalize: ['digits'], multi: true } } },
  }, '{"phones":["+90 532 000 00 00","+49 30 000000", "905320000000"]}', {
    sealed: ['/phones'], indexes: { phone: { keyring: 'default', steps: ['digits'], bits: 128, pointers: ['/phones'] } },
  });
  event('no value to index', 'null and what normalises to nothing have no index, and no index key id', {
    properties: { tax_id: { type: ['string', 'null'], ...flagged, 'x-blind-index': { name: 'tax_id', normalize: ['trim'] } }, email: { ...text, 'x-blind-index': { name: 'email', normalize: ['trim'] } } },
  }, '{"tax_id":null,"email":"  "}', {
    sealed: ['/tax_id', '/email'],
    indexes: { tax_id: { keyring: 'default', steps: ['trim'], bits: 128, pointers: ['/tax_id'] }, email: { keyring: 'default', steps: ['trim'], bits: 128, pointers: ['/email'] } },
  });
  event('names that pointers escape', 'RFC 6901: ~0 and ~1, the empty name, names by escapes and beyond ASCII', {
    properties: { 'a/b': text, 'm~n': text, '': text, '~1': text, '\u00fc': text, 'say "x"': text },
  }, '{"a/b":"1","m~n":"2","":"3","~1":"4","\\u00fc":"5","say \\"x\\"":"6"}', { sealed: ['/a~1b', '/m~0n', '/', '/~01', '/\u00fc', '/say "x"'] });
  event('flags that nest', 'the outermost flagged location is sealed, once', {
    properties: { person: { type: 'object', ...flagged, properties: { email: text, pets: { type: 'array', items: text } } } },
  }, '{"person":{"email":"ada@example.com","pets":["a","b"]}}', { sealed: ['/person'] });
  event('an enum and a boolean', 'padded to the longest value that the schema allows', {
    properties: { status: { enum: ['single', 'in a registered civil partnership'], ...flagged }, smoker: { type: 'boolean', ...flagged } },
  }, '{"status":"single","smoker":false}', { sealed: [{ pointer: '/status', longest: 35 }, { pointer: '/smoker', longest: 5 }] });
  event('two keyrings', 'each location is sealed under its own', {
    properties: { email: text, diagnosis: { ...text, 'x-gdpr-keyring': 'health', 'x-blind-index': { name: 'diagnosis', bits: 12 } } },
  }, '{"diagnosis":"J06.9","email":"ada@example.com"}', {
    sealed: [{ pointer: '/diagnosis', keyring: 'health' }, '/email'],
    indexes: { diagnosis: { keyring: 'health', steps: [], bits: 12, pointers: ['/diagnosis'] } },
  }, { keyrings: [...keyrings, health] });
  event('undeclared members are sealed', 'policy seal; an object that declares no name is sealed whole', {
    'x-gdpr-undeclared': 'seal', properties: { number: { type: 'string' }, meta: { type: 'object' }, tags: { type: 'array' } },
  }, '{"number":"1","note":"call Ada","meta":{"anything":1},"tags":["x",{"y":1}]}', { sealed: ['/note', '/meta', '/tags/1'] });
  event('a recursive schema', 'a flag holds at every depth', {
    properties: { node: { $ref: '#/$defs/node' } }, $defs: { node: { type: 'object', properties: { name: text, child: { $ref: '#/$defs/node' } } } },
  }, '{"node":{"name":"a","child":{"child":{"name":"c"},"name":"b"}}}', { sealed: ['/node/name', '/node/child/child/name', '/node/child/name'] });
  event('pattern and additional properties', 'a flag on them holds for the names they apply to', {
    properties: { id: { type: 'integer' } }, patternProperties: { '^mail_': text }, additionalProperties: { type: 'integer', ...flagged },
  }, '{"mail_work":"a@example.com","id":1,"age":42}', { sealed: ['/mail_work', '/age'] });
  event('a Turkish name', 'casefold-tr: found by whoever types it in any case', {
    properties: { name: { ...text, 'x-blind-index': { name: 'name', normalize: ['nfkc', 'trim', 'casefold-tr'], bits: 40 } } },
  }, '{"name":" I\u015eIL \u0130nci "}', {
    sealed: ['/name'], indexes: { name: { keyring: 'default', steps: ['nfkc', 'trim', 'casefold-tr'], bits: 40, pointers: ['/name'] } },
  });
  event('compound indexes', 'two locations as one hash, one of them inside a sealed object; the second lacks a part', {
    'x-blind-indexes': {
      name_birth: { fields: ['/name', '/passport/birth_date'], normalize: [['trim', 'casefold-tr'], []], bits: 64 },
      name_nick: { fields: ['/name', '/nick'] },
    },
    properties: { name: text, nick: text, passport: { type: 'object', ...flagged, properties: { birth_date: text, number: { type: 'integer', ...flagged } } } },
  }, '{"passport":{"number":7,"birth_date":"1815-12-10"},"name":" \u0130nci "}', {
    sealed: ['/passport', '/name'], indexes: {
      name_birth: { keyring: 'default', parts: [['trim', 'casefold-tr'], []], bits: 64, pointers: ['/name', '/passport/birth_date'] },
      name_nick: { keyring: 'default', parts: [[], []], bits: 128, pointers: ['/name', '/nick'] },
    },
  });
  event('a long value', 'Padm\u00e9', { properties: { letter: text } }, `{"letter":"${'Dear Ada, '.repeat(150)}"}`, { sealed: ['/letter'] });
  event('the highest version', 'versions go to 2^31 - 1', { properties: { email: text } }, '{"email":"ada@example.com"}', { sealed: ['/email'] }, { version: 2 ** 31 - 1 });
  event('a short value in the aggregate id', 'up to 7 bytes meet by chance', { properties: { email: text } }, '{"email":"a@b.com"}', { sealed: ['/email'] }, { aggregate_id: 'a@b.com', headers: { traceparent: 'a@b.com' } });
  const rotated = event('a staged and an active key', 'a writer uses the primary', { properties: { email: text } }, '{"email":"ada@example.com"}', { sealed: ['/email'] }, {
    keyrings: [{ name: 'default', keys: [sealKey, oldSealKey('active'), { id: '0000abcd', purpose: 'seal', state: 'staged', key: hex(key(5)) }, indexKeyOf] }],
  });
  const swapped = (state) => [{ name: 'default', keys: [{ ...sealKey, state }, { ...oldSealKey('primary') }, indexKeyOf] }];
  opens('sealed under a key that is active now', 'active keys open', rotated, { keyrings: swapped('active') });
  opens('sealed under a key that is staged here', 'another process may be a refresh ahead', rotated, { keyrings: swapped('staged') });
  opens('longer padding', 'an Opener takes any multiple of 16', rotated, {
    wire: `{"email":"${sealBytes({ key: key(0), kid, event: rotated.event, pointer: '/email', nonce: nonce('longer padding') }, pad(Buffer.from('"ada@example.com"'), 96))}"}`,
  });

  refuseSeal('a duplicate name', 'strict', { properties: { email: text } }, '{"email":"a","email":"b"}', { sealed: ['/email'] });
  refuseSeal('a duplicate name by an escape', 'strict: compared after decoding', { properties: { email: text } }, '{"email":"a","\\u0065mail":"b"}', { sealed: ['/email'] });
  refuseSeal('half a surrogate pair', 'strict', { properties: { note: { type: 'string' } } }, '{"note":"\\ud800"}', { sealed: [] });
  refuseSeal('exponent 5,000,000', 'strict', { properties: { total: { type: 'number' } } }, '{"total":1e5000000}', { sealed: [] });
  refuseSeal('something after the value', 'strict', { properties: { note: { type: 'string' } } }, '{"note":"a"} x', { sealed: [] });
  refuseSeal('an unflagged string with the form of a token', 'it would be taken for one', { properties: { note: { type: 'string' } } }, `{"note":"fc1:${kid}:${'A'.repeat(59)}"}`, { sealed: [] });
  refuseSeal('an unflagged string with the reserved form of a token', 'it would be taken for one', { properties: { note: { type: 'string' } } }, `{"note":"fc1:s0123456789abcdef:${'A'.repeat(59)}"}`, { sealed: [] });
  refuseSeal('an unflagged string with the form of a token, escaped', 'it would be taken for one', { properties: { note: { type: 'string' } } }, `{"note":"\\u0066c1:${kid}:${'A'.repeat(59)}"}`, { sealed: [] });
  refuseSeal('a flagged string as aggregate id', 'the aggregate id leaves in clear', { properties: { email: text } }, '{"email":"ada@example.com"}', { sealed: ['/email'] }, { aggregate_id: 'ada@example.com' });
  refuseSeal('a flagged string within the aggregate id', 'the aggregate id leaves in clear', { properties: { email: text } }, '{"email":"ad\\u0061@example.com"}', { sealed: ['/email'] }, { aggregate_id: 'user/ada@example.com/1' });
  refuseSeal('a flagged number in a header', 'headers leave in clear', { properties: { tax_id: { type: 'integer', ...flagged } } }, '{"tax_id":12345678901}', { sealed: ['/tax_id'] }, { headers: { customer: 'no. 12345678901' } });
  refuseSeal('a string within a flagged object as a header\'s name', 'headers leave in clear', { properties: { person: { type: 'object', ...flagged } } }, '{"person":{"mails":["ada@example.com"]}}', { sealed: ['/person'] }, { headers: { 'x-ada@example.com': '1' } });

  const copy = (v) => structuredClone(v);
  const [nameToken, taxToken] = [...invoice.wire.matchAll(/"(fc1:[^"]*)"/g)].map((m) => m[1]);
  refuseOpen('a plaintext where a token should stand', 'the whole event fails', copy(invoice), invoice.wire.replace(nameToken, 'Ada Lovelace'));
  refuseOpen('null where a token should stand', 'the whole event fails', copy(invoice), invoice.wire.replace(`"${nameToken}"`, 'null'));
  refuseOpen('a number where a token should stand', 'the whole event fails', copy(invoice), invoice.wire.replace(`"${nameToken}"`, '1'));
  refuseOpen('a token in an array', 'exactly one token stands there', copy(invoice), invoice.wire.replace(`"${nameToken}"`, `["${nameToken}"]`));
  refuseOpen('a malformed token', 'the whole event fails', copy(invoice), invoice.wire.replace(nameToken, nameToken.slice(0, -1)));
  refuseOpen('a token with an escape', 'a token has one spelling', copy(invoice), invoice.wire.replace(nameToken, '\\u0066' + nameToken.slice(1)));
  refuseOpen('two tokens exchanged', 'the pointer is bound', copy(invoice), invoice.wire.replace(nameToken, '#').replace(taxToken, nameToken).replace('#', taxToken));
  refuseOpen('a token twice', 'the pointer is bound', copy(invoice), invoice.wire.replace(taxToken, nameToken));
  refuseOpen('a token where nothing is flagged', 'nothing is opened there', copy(invoice), invoice.wire.replace('"2026-\\u0030042"', `"${nameToken}"`));
  refuseOpen('tokens of another event', 'the id is bound', { ...copy(invoice), event: { ...copy(invoice).event, id: otherID } }, invoice.wire);
  refuseOpen('a key that the keyring does not have', 'an unknown key id is retryable', copy(rotated), rotated.wire, { keyrings: [{ name: 'default', keys: [oldSealKey('primary'), indexKeyOf] }] });
  refuseOpen('a disabled key', 'is not tried', copy(rotated), rotated.wire, { keyrings: swapped('disabled') });
  const two = vectors.find((v) => v.name === 'two keyrings');
  refuseOpen('a key of another keyring', 'a key id is looked up in the location\'s keyring alone', copy(two), two.wire, {
    keyrings: [{ name: 'default', keys: [...health.keys] }, { name: 'health', keys: [sealKey, indexKeyOf] }],
  });
  refuseOpen('a duplicate name in wire form', 'strict', copy(rotated), rotated.wire.replace('}', ',"email":1}'));
  write('events', 'Whole events: schemas (by file name), keyrings and the event. plan is what the schema says for this payload, spelt out for readers without a schema engine: the sealed locations in the payload\'s order (longest: of the texts that the schema allows), and for each index its pointers.', vectors);
}
