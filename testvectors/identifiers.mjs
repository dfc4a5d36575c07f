// Identifiers (docs/format.md 2), beside format.mjs and with the same purpose.

import { Refused } from './format.mjs';

const uuid = (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text) && !/^[0-]*$/.test(text) && !/^[fF-]*$/.test(text);

const forms = {
  type: (text) => /^[A-Za-z0-9._-]{1,255}$/.test(text),
  version: (n) => Number.isInteger(n) && n >= 1 && n <= 2147483647,
  id: uuid,
  kid: (text) => /^[0-9a-f]{8}$/.test(text) && text !== '00000000',
  aggregate: (text) => text !== '' && !text.includes('\0'),
  keyring: (text) => /^[a-z][a-z0-9_-]{0,62}$/.test(text),
  index: (text) => /^[a-z][a-z0-9_]{0,40}$/.test(text),
};

// identifier gives the canonical form of an identifier: of an event id its small letters, of all others what they are.
export function identifier(of, value) {
  if (!forms[of](value)) throw new Refused('identifier', `no ${of}`);
  return of === 'id' ? value.toLowerCase() : value;
}
