// Where the values of a strict payload stand (docs/format.md 3, and the pointers of 1).

import { JSONReader } from './format.mjs';

const escape = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');

function* places(node, pointer) {
  yield [pointer, node.start, node.end];
  for (const [name, child] of node.members ?? []) yield* places(child, `${pointer}/${escape(name)}`);
  for (const [i, child] of (node.items ?? []).entries()) yield* places(child, `${pointer}/${i}`);
}

// readPlaces gives every value's pointer and where its text begins and ends, in bytes, in the order of the text.
export const readPlaces = (text) => [...places(new JSONReader(text).document(), '')];
