// The normaliser step phone(REGION), version 1: docs/format.md 6.6.

import { readFileSync } from 'node:fs';

const table = JSON.parse(readFileSync(new URL('./phone/1.json', import.meta.url), 'utf8'));

export const hasRegion = (region) => Object.hasOwn(table.regions, region);

// phone gives a number as E.164 writes it, or null. decimal gives the value of a decimal digit, or undefined.
export function phone(region, text, decimal) {
  const { code, lengths, international } = table.regions[region];
  const dialled = dial(text, decimal);
  if (dialled === null) return null;
  if (dialled.startsWith('+')) return abroad(dialled.slice(1));
  const home = dialled.startsWith(`00${code}`) ? abroad(dialled.slice(2)) : null;
  if (home !== null) return home;
  for (const prefix of international) {
    const number = dialled.startsWith(prefix) ? abroad(dialled.slice(prefix.length)) : null;
    if (number !== null) return number;
  }
  const { trunk } = table.codes[code];
  let own = national(dialled, trunk, lengths);
  if (own === null && dialled.startsWith(code)) own = national(dialled.slice(code.length), trunk, lengths);
  return own === null ? null : e164(code, own);
}

function dial(text, decimal) {
  let dialled = '';
  for (const char of text.normalize('NFKC')) {
    if (char === '+' && dialled === '') dialled = '+';
    else if (/^[()[\]./\u2212\p{White_Space}\p{Cf}\p{Pd}]$/u.test(char)) continue;
    else if (decimal(char) === undefined) return null;
    else dialled += decimal(char);
  }
  return /[0-9]/.test(dialled) ? dialled : null;
}

function abroad(dialled) {
  const code = [1, 2, 3].map((n) => dialled.slice(0, n)).find((c, i) => dialled.length > i + 1 && Object.hasOwn(table.codes, c));
  if (code === undefined) return null;
  const { lengths, trunk } = table.codes[code];
  const number = national(dialled.slice(code.length), trunk, lengths);
  return number === null ? null : e164(code, number);
}

function national(dialled, trunk, lengths) {
  for (const prefix of trunk) {
    if (dialled.startsWith(prefix) && lengths.includes(dialled.length - prefix.length)) return dialled.slice(prefix.length);
  }
  if (trunk.some((prefix) => prefix.startsWith('0') && dialled.startsWith(prefix))) return null;
  return lengths.includes(dialled.length) ? dialled : null;
}

const e164 = (code, number) => (code.length + number.length > 15 ? null : `+${code}${number}`);
