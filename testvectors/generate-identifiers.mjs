// Writes v1/identifiers.json, as generate.mjs writes the other files: node testvectors/generate-identifiers.mjs

import { identifier } from './identifiers.mjs';
import { refusal, write } from './write.mjs';

const id = '01935e3c-7a1f-7c52-9d0e-5b6f3a2c1d4e';
const cases = {
  type: {
    valid: [['one byte', 'the shortest', 'a'], ['every character', 'letters, digits, . _ -', 'Az09._-'], ['255 bytes', 'the longest', 'a'.repeat(255)], ['dots alone', 'no part of it means anything', '..']],
    invalid: [['nothing', '1 byte at the least', ''], ['256 bytes', '255 at the most', 'a'.repeat(256)], ['a space', 'is none of them', 'invoice issued'], ['a slash', 'is none of them', 'invoice/issued'], ['a letter beyond ASCII', 'is none of them', 'fatura.\u00f6dendi'], ['a newline at the end', 'some engines let $ match before it', 'invoice.issued\n']],
  },
  version: {
    valid: [['1', 'the least', 1], ['2,147,483,647', 'the most', 2147483647]],
    invalid: [['0', '1 at the least', 0], ['-1', '1 at the least', -1], ['2,147,483,648', '31 bits', 2147483648]],
  },
  id: {
    valid: [['version 7', 'the plain case', id], ['capitals', 'small letters are canonical', id.toUpperCase()], ['version 4', 'any version', '7b44e1c8-0b1d-4c7a-8f05-2f4f0c2c6a11'], ['no version of RFC 9562', 'any UUID but two', '00000000-0000-0000-0000-000000000001']],
    invalid: [['nothing', 'is no UUID', ''], ['nil', 'names nothing', '00000000-0000-0000-0000-000000000000'], ['max', 'names nothing', 'ffffffff-ffff-ffff-ffff-ffffffffffff'], ['max in capitals', 'names nothing', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'], ['without hyphens', '36 characters', id.replaceAll('-', '')], ['in braces', '36 characters', `{${id}}`], ['a URN', '36 characters', `urn:uuid:${id}`], ['no hex digit', '0-9 and a-f', id.replace('e3c', 'g3c')], ['a hyphen elsewhere', '8-4-4-4-12', '01935e3c7-a1f-7c52-9d0e-5b6f3a2c1d4e'], ['a newline at the end', '36 characters', id + '\n']],
  },
  kid: {
    valid: [['the least', '1', '00000001'], ['the most', '2^32 - 1', 'ffffffff']],
    invalid: [['zero', 'is never used', '00000000'], ['capitals', 'one spelling', '0F3A9C01'], ['7 digits', '8', 'f3a9c01'], ['9 digits', '8', '00f3a9c01'], ['no hex digit', '0-9 and a-f', '0f3a9c0g'], ['the reserved form', 'of a subject\'s key', 's0123456789abcdef'], ['a newline at the end', 'one spelling', '0f3a9c01\n']],
  },
  aggregate: {
    valid: [['one byte', 'not empty', 'x'], ['beyond ASCII', 'UTF-8', 'm\u00fc\u015fteri \ud83d\ude00'], ['a space', 'is text', ' '], ['a line end', 'is text', 'a\nb']],
    invalid: [['nothing', 'not empty', ''], ['NUL', 'databases do not take it', 'a\u0000b']],
  },
  keyring: {
    valid: [['one letter', 'the shortest', 'a'], ['every character', 'small letters, digits, _ -', 'health_2-eu'], ['63 characters', 'the longest', 'a'.repeat(63)]],
    invalid: [['nothing', '1 at the least', ''], ['64 characters', '63 at the most', 'a'.repeat(64)], ['a capital', 'small letters', 'Health'], ['a digit first', 'a letter first', '2health'], ['a dot', 'is none of them', 'health.eu'], ['a newline at the end', 'is none of them', 'health\n']],
  },
  index: {
    valid: [['one letter', 'the shortest', 'a'], ['every character', 'small letters, digits, _', 'tax_id_2'], ['41 characters', 'the longest: a column is bidx_NAME', 'a'.repeat(41)]],
    invalid: [['nothing', '1 at the least', ''], ['42 characters', '41 at the most', 'a'.repeat(42)], ['a capital', 'small letters', 'taxID'], ['an underscore first', 'a letter first', '_tax'], ['a hyphen', 'is no part of a column\'s name', 'tax-id'], ['a newline at the end', 'is none of them', 'tax\n']],
  },
};

const vectors = [];
for (const [of, { valid, invalid }] of Object.entries(cases)) {
  for (const [name, why, value] of valid) vectors.push({ name: `${of}: ${name}`, kind: 'identifier', valid: true, why, of, value, canonical: identifier(of, value) });
  for (const [name, why, value] of invalid) vectors.push({ name: `${of}: ${name}`, kind: 'identifier', valid: false, why, of, value, refused: refusal(() => identifier(of, value)) });
}
write('identifiers', 'Identifiers of section 2: value is one, canonical its canonical form; or it is refused.', vectors);
