// Writes v1/payloads.json, as generate.mjs writes the other files: node testvectors/generate-payloads.mjs

import { readPlaces } from './places.mjs';
import { hex, refusal, write } from './write.mjs';

const vectors = [];
const given = (text) => (Buffer.isBuffer(text) ? { payload_hex: hex(text) } : { payload: text });

function valid(name, why, text) {
  vectors.push({ name, kind: 'payload', valid: true, why, ...given(text), places: readPlaces(Buffer.from(text)) });
}

function invalid(name, why, text) {
  vectors.push({ name, kind: 'payload', valid: false, why, ...given(text), refused: refusal(() => readPlaces(Buffer.from(text))) });
}

const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth);
const deepObject = (depth) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);

valid('an object', 'the plain case', '{"a":1,"b":"x"}');
valid('a scalar', 'any JSON value is a payload', 'null');
valid('a number alone', 'any JSON value is a payload', '-0.0e-7');
valid('white space', 'space, tab, CR and LF, anywhere between the tokens', ' \t\r\n{ "a"\n:\t[ 1 ,\r2 ] , "b" : { } }\n');
valid('members of members', 'pointers of RFC 6901', '{"a":{"b":[{"c":null},[[true]]]},"":{"":false}}');
valid('names that pointers escape', '~ is ~0, / is ~1, and nothing else is escaped', '{"a/b":1,"m~n":2,"~1":3," ":4,"\\"":5,"\\\\":6,"%41":7}');
valid('names by escapes', 'a name is what its escapes mean', '{"\\u0061":1,"\\u00fc":2,"\\ud83d\\ude00":3,"\\u0000":4,"\\/":5}');
valid('names that look alike', 'compared by code points, not normalised, not folded', '{"\u00e9":1,"e\u0301":2,"E":3,"e":4}');
valid('names of digits', 'a name of digits and an index of an array are written alike', '{"0":["x"],"00":1}');
valid('one name in two objects', 'unique within its object', '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}');
valid('numbers', 'every spelling of RFC 8259', '[0,-0,10,1.5,-0.0,1e0,1E+5,2e-10,0.1e1,9007199254740993]');
valid('1,000 digits', 'the most', `[${'9'.repeat(1000)}]`);
valid('1,000 digits on both sides of the point', 'digits of the fraction count', `[${'9'.repeat(500)}.${'9'.repeat(500)}]`);
valid('1,000 digits and an exponent', 'digits of the exponent do not count', `[${'9'.repeat(1000)}e1000]`);
valid('exponents of 1,000', 'the most in both directions', '[1e1000,1e-1000,1E+1000]');
valid('an exponent with leading zeros', 'is its value', '[1e0000000000000000001000,1e-00000000000000000001000]');
valid('every escape', 'RFC 8259', '["\\"\\\\\\/\\b\\f\\n\\r\\t\\u00E9\\uABCD"]');
valid('a surrogate pair', 'in either case of its digits', '["\\ud83d\\ude00","\\uD83D\\uDE00","\\udbff\\udfff"]');
valid('UTF-8 of each length', 'the first and last code points of each', '["\u0080\u07ff\u0800\ud7ff\ue000\uffff\ud800\udc00\udbff\udfff"]');
valid('DEL and a noncharacter', 'are characters of a string', '["\u007f\uffff"]');
valid('U+2028', 'needs no escape', '["\u2028\u2029"]');
valid('a byte order mark in a string', 'is a character there', '["\ufeff"]');
valid('JSON in a string', 'is a string', '{"a":"{\\"b\\":1,\\"b\\":2}"}');
valid('depth 200', 'the most', nested(200));
valid('an object of depth 200', 'the most', deepObject(200));
valid('empty containers', 'are values', '[{},[],{"a":[]},{"a":{}}]');

for (const [name, why, text] of [
  ['nothing', 'one value', ''], ['white space alone', 'one value', ' \n '], ['a byte order mark', 'not even in front', '\ufeff{}'], ['a byte order mark behind', 'not behind', '{}\ufeff'],
  ['two values', 'one value', '{} {}'], ['a comma behind', 'nothing but white space follows', '{},'], ['a zero byte behind', 'nothing but white space follows', '{}\u0000'],
  ['a form feed', 'is no white space', '{}\f'], ['a no-break space', 'is no white space', '\u00a0{}'], ['a line separator', 'is no white space', '{}\u2028'], ['a comment', 'RFC 8259', '{}//x'],
  ['an open object', 'ends too early', '{"a":1'], ['an open array', 'ends too early', '[1'], ['an open string', 'ends too early', '["a'], ['an open name', 'ends too early', '{"a'], ['an escape at the end', 'ends too early', '["\\'],
  ['a wrong bracket', 'RFC 8259', '[1}'], ['a bracket too many', 'RFC 8259', '[1]]'], ['a trailing comma in an array', 'RFC 8259', '[1,]'], ['a trailing comma in an object', 'RFC 8259', '{"a":1,}'],
  ['a leading comma', 'RFC 8259', '[,1]'], ['two commas', 'RFC 8259', '[1,,2]'], ['a missing comma', 'RFC 8259', '[1 2]'], ['a missing colon', 'RFC 8259', '{"a" 1}'], ['a missing value', 'RFC 8259', '{"a":}'],
  ['a name without quotes', 'RFC 8259', '{a:1}'], ['a number as a name', 'RFC 8259', '{1:1}'], ['single quotes', 'RFC 8259', "['a']"],
  ['duplicate names', 'unique', '{"a":1,"a":1}'], ['duplicate names with others between', 'unique', '{"a":1,"b":2,"c":3,"a":4}'], ['duplicate names by an escape', 'compared after decoding', '{"a":1,"\\u0061":2}'],
  ['duplicate names by another escape', 'compared after decoding', '{"\\/":1,"/":2}'], ['duplicate empty names', 'unique', '{"":1,"":2}'], ['duplicate names beyond the BMP', 'compared after decoding', '{"\ud83d\ude00":1,"\\ud83d\\ude00":2}'],
  ['duplicate names deep inside', 'at every depth', '[[{"x":{"a":[],"a":{}}}]]'], ['duplicate names of which one is in a nested object too', 'unique in each object', '{"a":{"a":1},"b":1,"a":2}'],
  ['a high surrogate alone', 'half a pair', '["\\ud83d"]'], ['a low surrogate alone', 'half a pair', '["\\ude00"]'], ['halves in the wrong order', 'halves of two pairs', '["\\ude00\\ud83d"]'], ['two high surrogates', 'halves of two pairs', '["\\ud83d\\ud83d\\ude00x"]'],
  ['a pair with a character between', 'halves of two pairs', '["\\ud83dx\\ude00"]'], ['half a pair in a name', 'in names too', '{"\\ud83d":1}'], ['a pair whose second half is no escape', 'half a pair', '["\\ud83d\\n"]'],
  ['an unknown escape', 'RFC 8259', '["\\x41"]'], ['an escaped single quote', 'RFC 8259', '["\\\'"]'], ['an upper-case U', 'RFC 8259', '["\\U0041"]'], ['three hex digits', 'RFC 8259', '["\\u004"]'], ['no hex digits', 'RFC 8259', '["\\u00g1"]'],
  ['a tab in a string', 'must be escaped', '["\t"]'], ['a newline in a string', 'must be escaped', '["\n"]'], ['a zero byte in a string', 'must be escaped', '["\u0000"]'], ['U+001F in a name', 'must be escaped', '{"\u001f":1}'],
  ['a leading zero', 'RFC 8259', '[01]'], ['two zeros', 'RFC 8259', '[00]'], ['a negative leading zero', 'RFC 8259', '[-01]'], ['a plus sign', 'RFC 8259', '[+1]'], ['a minus sign alone', 'RFC 8259', '[-]'], ['a point alone', 'RFC 8259', '[.5]'],
  ['a point at the end', 'RFC 8259', '[1.]'], ['an exponent without digits', 'RFC 8259', '[1e]'], ['an exponent with a sign alone', 'RFC 8259', '[1e+]'], ['a hexadecimal number', 'RFC 8259', '[0x1]'], ['a digit separator', 'RFC 8259', '[1_000]'],
  ['Infinity', 'RFC 8259', '[Infinity]'], ['NaN', 'RFC 8259', '[NaN]'], ['a digit of another script', 'RFC 8259', '[\u0661]'],
  ['a literal in capitals', 'RFC 8259', '[True]'], ['a literal cut short', 'RFC 8259', '[nul]'], ['a literal too long', 'RFC 8259', '[nulll]'], ['a word', 'RFC 8259', '[undefined]'],
  ['1,001 digits', 'one too many', `[${'9'.repeat(1001)}]`], ['1,001 digits with the fraction', 'one too many', `[1.${'0'.repeat(1000)}]`], ['exponent 1,001', 'one too many', '[1e1001]'], ['exponent -1,001', 'one too many', '[1e-1001]'],
  ['exponent 2^64 + 1', 'however it is read', '[1e18446744073709551617]'], ['zero with exponent 1,001', 'whatever it is worth', '[0e1001]'],
  ['depth 201', 'one too many', nested(201)], ['an object of depth 201', 'one too many', deepObject(201)],
  ['a byte that begins nothing', 'UTF-8', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])], ['a continuation byte alone', 'UTF-8', Buffer.from([0x5b, 0x22, 0x80, 0x22, 0x5d])],
  ['a sequence cut short', 'UTF-8', Buffer.from([0x5b, 0x22, 0xe2, 0x82, 0x22, 0x5d])], ['an overlong slash', 'UTF-8', Buffer.from([0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d])], ['an overlong NUL', 'UTF-8', Buffer.from([0x5b, 0x22, 0xe0, 0x80, 0x80, 0x22, 0x5d])],
  ['an encoded surrogate', 'UTF-8', Buffer.from([0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d])], ['a pair of encoded surrogates', 'is CESU-8', Buffer.from([0x5b, 0x22, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80, 0x22, 0x5d])],
  ['above U+10FFFF', 'UTF-8', Buffer.from([0x5b, 0x22, 0xf4, 0x90, 0x80, 0x80, 0x22, 0x5d])], ['invalid UTF-8 in a name', 'in names too', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['invalid UTF-8 between tokens', 'throughout', Buffer.from([0x5b, 0xff, 0x5d])], ['UTF-16', 'UTF-8', Buffer.from('{}', 'utf16le')],
]) invalid(name, `refused: ${why}`, text);

write('payloads', 'Strict payloads of section 3: payload (payload_hex where it is no UTF-8) is read, and places holds the pointer, first byte and end of every value in the order of the text; or it is refused.', vectors);
