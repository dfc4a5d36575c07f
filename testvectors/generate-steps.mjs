// Writes v1/steps.json and v1/compounds.json, as generate.mjs writes the other files: node testvectors/generate-steps.mjs

import { compoundID, compoundMessages, indexKey, indexText, normalise, normaliserID, storedValue } from './format.mjs';
import { hex, key, refusal, write } from './write.mjs';

// ---- the steps with parameters or more than one rule. want is by hand: what is computed must be that.

{
  const unassigned = '\u1c89'; // assigned by Unicode 16
  const vectors = [];
  const valid = (name, why, steps, text, want) => {
    const normalised = normalise(steps, text);
    if (normalised !== want) throw new Error(`${name}: ${JSON.stringify(normalised)}`);
    vectors.push({ name, kind: 'normalise', valid: true, why, steps, normaliser: normaliserID(steps), text, normalised });
  };

  valid('alnum: a plate', 'letters and decimal digits stay as they are', ['alnum'], '34 ABC-123', '34ABC123');
  valid('alnum: Turkish letters', 'letters of any script; case stays', ['alnum'], '\u0130nci I\u015f\u0131l \u00c7.', '\u0130nciI\u015f\u0131l\u00c7');
  valid('alnum: Arabic digits', 'are not made ASCII', ['alnum'], '\u0663-\u0664', '\u0663\u0664');
  valid('alnum: full-width', 'is not normalised', ['alnum'], '\uff21\uff11\u3000', '\uff21\uff11');
  valid('alnum: combining marks', 'General_Category M is dropped', ['alnum'], 'e\u0301', 'e');
  valid('alnum: other numbers', 'Nl and No are dropped', ['alnum'], 'x\u00b2\u2167\u00bd', 'x');
  valid('alnum: above U+FFFF', 'a Deseret letter and a mathematical digit; no emoji', ['alnum'], '\ud801\udc00\ud83d\ude00\ud835\udfce', '\ud801\udc00\ud835\udfce');
  valid('alnum: nothing is left', 'such a value has no index', ['alnum'], '-_ \u0301', '');
  valid('alnum: an unassigned code point', 'skips the step', ['alnum'], `a-${unassigned}`, `a-${unassigned}`);

  valid('last4: digits', 'the last four', ['digits', 'last4'], '4111 1111 1111 1234', '1234');
  valid('last4: code points', 'not bytes, not UTF-16', ['last4'], 'x\u0130\ud83d\ude00e\u0301', '\u0130\ud83d\ude00e\u0301');
  valid('last4: exactly four', 'all of it', ['last4'], 'abcd', 'abcd');
  valid('last4: three', 'fewer give nothing', ['last4'], 'abc', '');
  valid('last4: nothing', 'fewer give nothing', ['last4'], '', '');
  valid('last4: an unassigned code point', 'does not skip it: it does not depend on Unicode', ['trim', 'last4'], ` 123${unassigned} `, `23${unassigned} `);

  valid('email: the usual', 'trimmed, both sides in small letters', ['email'], ' Ada.Lovelace@Example.COM\n', 'ada.lovelace@example.com');
  valid('email: full-width', 'NFKC, also of the at sign', ['email'], '\uff21da\uff20Example\uff0ecom', 'ada@example.com');
  valid('email: a decomposed letter', 'NFKC composes', ['email'], 'Jose\u0301@example.com', 'jos\u00e9@example.com');
  valid('email: \u00df', 'the local part is folded, the domain lower-cased', ['email'], 'Stra\u00dfe@Stra\u00dfe.de', 'strasse@stra\u00dfe.de');
  valid('email: capital \u00df', 'the local part is folded, the domain lower-cased', ['email'], '\u1e9e@\u1e9e.de', 'ss@\u00df.de');
  valid('email: \u0130', 'folded to i and a dot, lower-cased to i', ['email'], '\u0130@\u0130.tr', 'i\u0307@i.tr');
  valid('email: I', 'i on both sides', ['email'], 'I@I.tr', 'i@i.tr');
  valid('email: \u0131', 'stays on both sides', ['email'], '\u0131@\u0131.tr', '\u0131@\u0131.tr');
  valid('email: a ligature', 'NFKC', ['email'], '\ufb01n@\ufb01n.example', 'fin@fin.example');
  valid('email: sigma', 'a final one is folded on the left, and has no context on the right', ['email'], '\u039f\u03a3\u03c2@\u039f\u03a3\u03c2.gr', '\u03bf\u03c3\u03c3@\u03bf\u03c3\u03c2.gr');
  valid('email: Cherokee', 'folds to capitals, lowers to small letters', ['email'], '\u13a0@\u13a0.example', '\u13a0@\uab70.example');
  valid('email: two at signs', 'the last one splits', ['email'], '"\u0130@\u0130"@\u0130.tr', '"i\u0307@i\u0307"@i.tr');
  valid('email: no at sign', 'all is folded', ['email'], ' STRA\u00dfE ', 'strasse');
  valid('email: no local part', 'the empty string before it', ['email'], '@\u0130', '@i');
  valid('email: no domain', 'the empty string after it', ['email'], '\u0130@', 'i\u0307@');
  valid('email: blank', 'such a value has no index', ['email'], ' \u3000', '');
  valid('email: plus and dots', 'stay: who provides the mailbox decides what they mean', ['email'], 'a.d.a+x@example.com', 'a.d.a+x@example.com');
  valid('email: an unassigned code point', 'skips the step', ['email'], ` A${unassigned}@B `, ` A${unassigned}@B `);

  const tr = (name, why, text, want) => valid(`phone(TR): ${name}`, why, ['phone(TR)'], text, want);
  tr('national with trunk prefix', '0 is taken off', '0532 123 45 67', '+905321234567');
  tr('national without', 'ten digits', '532 123 45 67', '+905321234567');
  tr('international', 'with plus sign', '+90 532 123 45 67', '+905321234567');
  tr('international by 00', 'the international prefix', '0090 532 123 45 67', '+905321234567');
  tr('without plus sign', 'the region\u2019s own country code', '905321234567', '+905321234567');
  tr('a trunk prefix after the country code', 'is taken off', '+90 (0) 532 123 45 67', '+905321234567');
  tr('separators', 'parentheses, full stops, slashes, dashes of every kind', '(0532)\u2013123.45/67', '+905321234567');
  tr('Arabic digits', 'decimal digits of any script', '\u0660\u0665\u0663\u0662 \u0661\u0662\u0663 \u0664\u0665 \u0666\u0667', '+905321234567');
  tr('full-width', 'NFKC: the plus sign too', '\uff0b\uff19\uff10\u3000\uff15\uff13\uff12\uff11\uff12\uff13\uff14\uff15\uff16\uff17', '+905321234567');
  tr('invisible characters', 'format controls, as they come with a copy from a web page', '\u202a+90 532\u00a0123\u201145\u00ad67\u202c', '+905321234567');
  tr('a fixed line', 'the same rules', '0 (212) 555 11 22', '+902125551122');
  tr('abroad', 'another country\u2019s rules', '+44 (0)20 7946 0958', '+442079460958');
  tr('abroad by 00', 'another country\u2019s rules', '00 1 415 555 0132', '+14155550132');
  tr('a letter', 'is no number: digits', '0532 123 45 67 (ev)', '05321234567');
  tr('an extension', 'is no number: digits', '0212 555 11 22 dahili 5', '021255511225');
  tr('a plus sign in the middle', 'is no number: digits', '0532+1234567', '05321234567');
  tr('two plus signs', 'is no number: digits', '++905321234567', '905321234567');
  tr('one digit short', 'no possible length: digits', '0532 123 45 6', '0532123456');
  tr('one digit more', 'no possible length: digits', '0532 123 45 678', '053212345678');
  tr('a short number', 'no possible length: digits', '112', '112');
  tr('an unassigned country code', 'is no number: digits', '+999 123 456 789', '999123456789');
  tr('a plus sign alone', 'has no digits: no index', '+', '');
  tr('no digit', 'no index', 'yok', '');
  tr('a superscript', 'NFKC makes a digit of it', '0532 123 45 6\u2077', '+905321234567');
  tr('an unassigned code point', 'skips the step', `0532 123 45 67${unassigned}`, `0532 123 45 67${unassigned}`);
  for (const [region, text, want, why] of [
    ['US', '(415) 555-0132', '+14155550132', 'no trunk prefix'],
    ['US', '1-415-555-0132', '+14155550132', 'the trunk prefix 1'],
    ['US', '011 90 532 123 45 67', '+905321234567', 'its international prefix'],
    ['US', '0090 532 123 45 67', '+905321234567', '00 is taken everywhere'],
    ['DE', '030 123456', '+4930123456', 'variable lengths'],
    ['DE', '+49 (0)30 123456', '+4930123456', 'the trunk prefix in the midst'],
    ['DE', '49 30 123456', '+494930123456', 'a possible national number: where lengths vary, write the plus sign'],
    ['IT', '06 698 1234', '+39066981234', 'the zero is part of the number'],
    ['IT', '+39 06 698 1234', '+39066981234', 'the zero is part of the number'],
    ['RU', '8 (812) 123-45-67', '+78121234567', 'the trunk prefix 8'],
    ['RU', '+7 812 123-45-67', '+78121234567', '8 is the number\u2019s own'],
    ['RU', '8~10 90 532 123 45 67', '810905321234567', 'a tilde is no separator'],
    ['RU', '810 90 532 123 45 67', '+905321234567', 'its international prefix'],
    ['KZ', '8 727 123 45 67', '+77271234567', 'shares a country code'],
    ['HU', '06 1 234 5678', '+3612345678', 'a trunk prefix of two digits'],
    ['BY', '8 017 123-45-67', '+375171234567', '8 and then 0'],
    ['GB', '020 7946 0958', '+442079460958', ''],
    ['BR', '(11) 91234-5678', '+5511912345678', ''],
    ['BR', '0021 90 532 123 45 67', '+905321234567', 'a carrier\u2019s international prefix'],
    ['AU', '0011 90 532 123 45 67', '+905321234567', 'the longest international prefix first'],
    ['JP', '03-1234-5678', '+81312345678', ''],
    ['SG', '6123 4567', '+6561234567', 'no trunk prefix'],
    ['KR', '010-1234-5678', '+821012345678', ''],
    ['KR', '00 82 02 2222 2222', '+82222222222', '00 and the own country code come before 008, a carrier\u2019s prefix'],
    ['KR', '008 90 532 123 45 67', '+905321234567', 'a carrier\u2019s international prefix'],
  ]) valid(`phone(${region}): ${text}`, why || 'the region\u2019s own rules', [`phone(${region})`], text, want);
  valid('phone, last4', 'steps after it see E.164', ['phone(TR)', 'last4'], '0532 123 45 67', '4567');
  valid('trim, phone', 'steps before it see the text', ['casefold', 'phone(TR)'], '0532X', '0532');
  valid('argon2id: does nothing to the text', 'it works on the message', ['digits', 'argon2id(2,19456)'], '123-45', '12345');
  valid('argon2id: alone', 'it works on the message', ['argon2id(16,65536)'], 'A', 'A');

  for (const [steps, why] of [
    [['phone(QQ)'], 'no such region'], [['phone(tr)'], 'regions are in capitals'], [['phone()'], 'a region is needed'], [['phone(TR'], 'a parenthesis is open'], [['phone(TR,US)'], 'one region'],
    [['argon2id(0,65536)'], 'no pass'], [['argon2id(17,1024)'], 'over 16 passes'], [['argon2id(1,1023)'], 'under 1,024 KiB'], [['argon2id(1,262145)'], 'over 262,144 KiB'],
    [['argon2id(5,262144)'], 'over 1,048,576 in all'], [['argon2id(01,65536)'], 'one spelling'], [['argon2id(1, 65536)'], 'one spelling'], [['argon2id(1,65536)', 'trim'], 'the last step'],
    [['argon2id(1,65536)', 'argon2id(1,65536)'], 'the last step'], [['email.1'], 'a version is no part of a step'], [['trim()'], 'takes no parameter'],
  ]) {
    const name = `refused: ${steps.join(', ')}`;
    vectors.push({ name, kind: 'normalise', valid: false, why, steps, text: 'a', refused: refusal(() => normaliserID(steps)) });
  }
  write('steps', 'As normalisers, for the steps alnum, last4, email, phone(REGION) and argon2id(PASSES,KIB). phone follows phone/1.json.', vectors);
}

// ---- compound indexes

{
  const vectors = [];
  const valid = (name, why, json, parts, count = 1) => {
    const messages = compoundMessages(parts, Buffer.from(json));
    if (messages.length !== count) throw new Error(`${name}: ${messages.length}`);
    vectors.push({ name, kind: 'compound', valid: true, why, parts, normaliser: compoundID(parts), json, messages: messages.map(hex) });
  };
  const invalid = (name, why, json, parts) => vectors.push({ name, kind: 'compound', valid: false, why, parts, json, refused: refusal(() => compoundMessages(parts, Buffer.from(json))) });
  const two = [['trim', 'casefold'], []];
  valid('a name and a date', 'c, the number of parts, each with its length in front', '[" Ada ", "1815-12-10"]', two);
  valid('a string and an integer', 'each part says what it is', '["ada", 7]', two);
  valid('the string of the same digits', 'is another message', '["ada", "7"]', two);
  valid('an integer in another spelling', 'the same message as 7', '["ada", 7.0e0]', two);
  valid('the other order', 'another message', '["1815-12-10", "ada"]', two);
  valid('text moved from one part to the other', 'another message than the next', '["ab", "c"]', [[], []]);
  valid('text moved back', 'another message than the one before', '["a", "bc"]', [[], []]);
  valid('three parts', 'in the order of the fields', '["a", 1, "b"]', [[], [], []]);
  valid('eight parts', 'the most a schema takes', '[1, 2, 3, 4, 5, 6, 7, 8]', Array(8).fill([]));
  valid('null', 'no index without all parts', '["ada", null]', two, 0);
  valid('a blank part', 'normalises to nothing: no index', '[" ", "x"]', two, 0);
  valid('a part that is argon2id\u2019s', 'the message is the one before it', '["ada", "12345"]', [[], ['digits', 'argon2id(1,1024)']]);
  valid('a part beyond ASCII', 'the length counts bytes', '["I\u015e\u0131l", "x"]', [['casefold-tr'], []]);
  invalid('too few values', 'one for each part', '["ada"]', two);
  invalid('too many values', 'one for each part', '["ada", 1, 2]', two);
  invalid('one value', 'one for each part', '"ada"', two);
  invalid('a boolean', 'has no index', '["ada", true]', two);
  invalid('an array', 'a part is one value', '["ada", ["x"]]', two);
  invalid('a fraction', 'is no integer', '["ada", 1.5]', two);
  invalid('half a surrogate pair', 'strict', '["ada", "\\ud800"]', two);

  const kid = '0f3a9c01';
  for (const [name, why, parts, bits, json] of [
    ['a value of two parts', 'the normaliser\u2019s id is the parts\u2019, joined by a comma', two, 128, '[" Ada ", "1815-12-10"]'],
    ['a value of 12 bits', 'the last 4 bits are zero', two, 12, '[" Ada ", "1815-12-10"]'],
    ['a value of raw parts', 'raw.1,raw.1', [[], []], 128, '["ada", 7]'],
    ['a value of three parts', 'phone(TR) has its parameter in the id', [['email'], ['phone(TR)'], []], 256, '["ADA@example.com", "0532 123 45 67", 7]'],
  ]) {
    const index = { index: 'name_birth', normaliser: compoundID(parts), bits };
    const [message] = compoundMessages(parts, Buffer.from(json));
    const stored = storedValue({ ...index, key: key(0), kid }, message);
    vectors.push({
      name, kind: 'index-value', valid: true, why, key: hex(key(0)), kid, index: index.index, parts, normaliser: index.normaliser, bits, message: hex(message),
      index_key: hex(indexKey(key(0), index)), stored: hex(stored), text: indexText(stored),
    });
  }
  write('compounds', 'Compound indexes: the message of several values together (json is an array with one for each part, parts the steps of each), and stored values of such messages.', vectors);
}
