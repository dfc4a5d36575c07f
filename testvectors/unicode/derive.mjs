// Derives 15.0.0.json, the few facts of Unicode 15.0 that the normalisers' version 1 needs, from the Unicode Character Database.
//
//     apt-get install unicode-data      (15.0.0-1 in Debian bookworm; no other version)
//     node testvectors/unicode/derive.mjs > testvectors/unicode/15.0.0.json
//
// Nothing in CI runs this, and its output never changes: version 1 of a step means Unicode 15.0 for ever.

import { readFileSync } from 'node:fs';

const ucd = '/usr/share/unicode';
const version = /^# Version: (\S+)$|^# CaseFolding-(\S+)\.txt/m.exec(readFileSync(`${ucd}/CaseFolding.txt`, 'utf8'));
if ((version[1] ?? version[2]) !== '15.0.0') throw new Error(`${ucd} is not Unicode 15.0.0`);

// rows gives the fields of a UCD file's lines, comments and blank lines left out.
function rows(file) {
  return readFileSync(`${ucd}/${file}`, 'utf8').split('\n')
    .map((line) => line.replace(/#.*/, '').trim()).filter(Boolean)
    .map((line) => line.split(';').map((field) => field.trim()));
}

// ranges gives the sorted, merged ranges of the code points that have a value of a property.
function ranges(file, value) {
  const all = rows(file).filter((row) => row[1] === value)
    .map(([range]) => range.split('..').map((cp) => parseInt(cp, 16)))
    .map(([lo, hi = lo]) => [lo, hi]).sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const [lo, hi] of all) {
    const last = merged.at(-1);
    if (last && last[1] + 1 === lo) last[1] = hi;
    else merged.push([lo, hi]);
  }
  return merged;
}

const hex = (cp) => cp.toString(16).toUpperCase().padStart(4, '0');
const rangeText = ([lo, hi]) => (lo === hi ? hex(lo) : `${hex(lo)}..${hex(hi)}`);
const lines = (texts, perLine) => {
  const out = [];
  for (let i = 0; i < texts.length; i += perLine) out.push('    ' + texts.slice(i, i + perLine).map((t) => JSON.stringify(t)).join(', '));
  return out.join(',\n');
};

const folds = rows('CaseFolding.txt').filter(([, status]) => status === 'C' || status === 'F').map(([from, , to]) => `${from} ${to}`);
const zeros = rows('UnicodeData.txt').filter((row) => row[2] === 'Nd' && row[6] === '0').map(([cp]) => cp);
const digitCount = rows('UnicodeData.txt').filter((row) => row[2] === 'Nd').length;
for (const row of rows('UnicodeData.txt')) {
  // What "digits" lists must be enough to say every decimal digit and its value.
  if (row[2] === 'Nd' && !zeros.includes(hex(parseInt(row[0], 16) - Number(row[6])))) throw new Error(`${row[0]} stands in no run of ten`);
}
if (digitCount !== 10 * zeros.length) throw new Error('a run of decimal digits is not complete');

process.stdout.write(`{
  "unicode": "15.0.0",
  "source": "Derived from the Unicode Character Database 15.0.0: CaseFolding.txt, UnicodeData.txt, PropList.txt, extracted/DerivedGeneralCategory.txt. Copyright © 1991-2022 Unicode, Inc. All rights reserved. Distributed under the Terms of Use in https://www.unicode.org/copyright.html",
  "white_space": [
${lines(ranges('PropList.txt', 'White_Space').map(rangeText), 12)}
  ],
  "digit_zeros": [
${lines(zeros, 16)}
  ],
  "unassigned": [
${lines(ranges('extracted/DerivedGeneralCategory.txt', 'Cn').map(rangeText), 10)}
  ],
  "casefold": [
${lines(folds, 8)}
  ]
}
`);
