// What every generator of vectors needs: keys, nonces, and the layout of a file.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Refused } from './format.mjs';

const format = 'fieldcrypt-testvectors/1';
const directory = new URL('./v1/', import.meta.url);

// Keys that nobody can take for real ones: key(0) is 00 01 02 … 1f, key(1) is 20 21 … 3f, and so on.
export const key = (n) => Buffer.from(Array.from({ length: 32 }, (_, i) => (32 * n + i) % 256));
export const nonce = (label) => createHash('sha256').update(`fieldcrypt test vector nonce: ${label}`).digest().subarray(0, 12);
export const hex = (buffer) => buffer.toString('hex');

export function write(name, description, vectors) {
  const names = vectors.map((v) => v.name);
  if (new Set(names).size !== names.length) throw new Error(`${name}: two vectors share a name`);
  // ASCII alone, so that no editor or mail changes a code point, and white space can be seen.
  const text = JSON.stringify({ format, description, vectors }, null, 2)
    .replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  mkdirSync(directory, { recursive: true });
  writeFileSync(new URL(`${name}.json`, directory), text + '\n');
  console.log(`${name}.json: ${vectors.length} vectors`);
}

// refusal runs what must be refused and gives the reason, so that no vector is called invalid by mistake.
export function refusal(run) {
  try {
    run();
  } catch (error) {
    if (error instanceof Refused) return error.reason;
    throw error;
  }
  throw new Error('this is not refused');
}
