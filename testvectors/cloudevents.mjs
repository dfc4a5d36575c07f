// Events on a broker and as CloudEvents (docs/format.md 10), beside format.mjs and with the same purpose. A message is {headers, body}: headers a list of
// [name, value], body a Buffer; in JSON there are no headers.

import { JSONReader, Refused } from './format.mjs';

const refuse = (reason, what) => { throw new Refused(reason, what); };

const known = ['specversion', 'id', 'type', 'source', 'subject', 'aggregatetype', 'aggregateversion', 'time', 'dataschema', 'datacontenttype', 'data'];
const required = ['specversion', 'id', 'type', 'source', 'subject', 'aggregatetype', 'dataschema'];
const isAttribute = (name) => /^[a-z0-9]+$/.test(name);
// A String of CloudEvents: no control characters, no noncharacters.
const isString = (text) => !/[\u0000-\u001f\u007f-\u009f\ufdd0-\ufdef]/.test(text) && [...text].every((c) => (c.codePointAt(0) & 0xfffe) !== 0xfffe);
const trim = (text) => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');

// ---- writing

function attributesOf(event, source) {
  const list = [
    ['specversion', '1.0'], ['id', event.id], ['type', event.type], ['source', source], ['subject', event.aggregate_id], ['aggregatetype', event.aggregate_type],
  ];
  if (event.aggregate_version !== undefined) list.push(['aggregateversion', event.aggregate_version]);
  if (event.occurred_at !== undefined) list.push(['time', event.occurred_at]);
  list.push(['dataschema', `fieldcrypt:${event.type}/${event.version}`]);
  for (const [name, value] of list) if (!isString(value)) refuse('unfit', name);
  return list;
}

const headersOf = (event) => Object.entries(event.headers ?? {}).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

function extensionsOf(event) {
  const list = headersOf(event);
  for (const [name, value] of list) if (!isAttribute(name) || known.includes(name) || !isString(value)) refuse('unfit', 'a header');
  return list;
}

const percentEncode = (text) => [...Buffer.from(text)].map((b) => (b > 0x20 && b < 0x7f && b !== 0x22 && b !== 0x25
  ? String.fromCharCode(b) : '%' + b.toString(16).toUpperCase().padStart(2, '0'))).join('');

export function writeMessage(form, event, source) {
  const attributes = attributesOf(event, source);
  const payload = Buffer.from(event.payload);
  switch (form) {
    case 'broker':
      return { headers: [...attributes.map(([n, v]) => [`ce_${n}`, v]), ['content-type', 'application/json'], ...headersOf(event)], body: payload };
    case 'http':
      return { headers: [['content-type', 'application/json'], ...[...attributes, ...extensionsOf(event)].map(([n, v]) => [`ce-${n}`, percentEncode(v)])], body: payload };
    case 'json': {
      const members = [...attributes, ['datacontenttype', 'application/json'], ...extensionsOf(event)].map(([n, v]) => `${JSON.stringify(n)}:${JSON.stringify(v)}`);
      return { body: Buffer.from(`{${members.join(',')},"data":${trim(event.payload)}}`) };
    }
    default:
      throw new Error(`form ${form}`);
  }
}

// ---- reading

// media gives [type, charset] of a content type.
function media(contentType) {
  const match = /^\s*([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)\s*(?:;\s*charset="?([a-z0-9_-]+)"?\s*)?$/i.exec(contentType);
  return match ? [match[1].toLowerCase(), (match[2] ?? 'utf-8').toLowerCase()] : refuse('malformed', 'content type');
}

function isStructured(contentType) {
  const [type, charset] = media(contentType);
  if (!type.startsWith('application/cloudevents')) return false;
  if (type !== 'application/cloudevents+json' || charset !== 'utf-8') refuse('unsupported', 'a batch or another format');
  return true;
}

function percentDecode(text) {
  if (text.startsWith('"')) {
    const match = /^"((?:[^"\\]|\\.)*)"$/s.exec(text);
    if (!match) refuse('malformed', 'quotes');
    text = match[1].replace(/\\(.)/gs, '$1');
  }
  try {
    return decodeURIComponent(text); // refuses what is not percent-encoded UTF-8
  } catch {
    return refuse('malformed', 'percent-encoding');
  }
}

class Attributes {
  all = new Map();
  headers = {};

  add(name, value) {
    if (!isAttribute(name) || name === 'data') refuse('malformed', 'a name');
    if (this.all.has(name)) refuse('duplicate', name);
    if (!isString(value)) refuse('malformed', name);
    this.all.set(name, value);
    if (!known.includes(name)) this.header(name, value);
  }

  header(name, value) {
    if (Object.hasOwn(this.headers, name)) refuse('duplicate', 'a header');
    if (name === '' || /^(?:ce_|content-type)/i.test(name)) refuse('identifier', 'a header');
    this.headers[name] = value;
  }

  event(contentType, payload) {
    const { all } = this;
    if (all.has('specversion') && all.get('specversion') !== '1.0') refuse('unsupported', 'specversion');
    for (const name of required) if (!all.has(name)) refuse('missing', name); else if (all.get(name) === '') refuse('malformed', name);
    const [type, charset] = media(contentType);
    if (!/\/(?:.*\+)?json$/.test(type) || type.startsWith('application/cloudevents') || charset !== 'utf-8') refuse('unsupported', 'content type');
    const event = { id: all.get('id').toLowerCase(), type: all.get('type') };
    const schema = /^fieldcrypt:(.*)\/([^/]*)$/s.exec(all.get('dataschema')) ?? refuse('unsupported', 'dataschema');
    if (!/^[1-9][0-9]{0,9}$/.test(schema[2]) || Number(schema[2]) > 2147483647) refuse('malformed', 'dataschema');
    if (schema[1] !== event.type) refuse('mismatch', 'dataschema');
    event.version = Number(schema[2]);
    event.aggregate_type = all.get('aggregatetype');
    event.aggregate_id = all.get('subject');
    if (all.has('aggregateversion')) {
      const version = all.get('aggregateversion');
      if (!/^(?:0|-?[1-9][0-9]*)$/.test(version) || BigInt.asIntN(64, BigInt(version)) !== BigInt(version)) refuse('malformed', 'aggregateversion');
      event.aggregate_version = version;
    }
    if (all.has('time')) {
      const time = all.get('time');
      if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(time) || Number.isNaN(Date.parse(time))) refuse('malformed', 'time');
      event.occurred_at = time;
    }
    if (Object.keys(this.headers).length > 0) event.headers = this.headers;
    if (payload === undefined || payload.length === 0) refuse('missing', 'data');
    if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(event.id) || /^[0f-]+$/.test(event.id)) refuse('identifier', 'id');
    if (!/^[A-Za-z0-9._-]{1,255}$/.test(event.type)) refuse('identifier', 'type');
    new JSONReader(payload).document();
    event.payload = payload.toString('utf8');
    return event;
  }
}

// readJSON reads an event in JSON; around are the attributes of the message that it came in, which must not contradict it.
function readJSON(text, around) {
  const reader = new JSONReader(text, -1); // the payload's depth counts from the payload
  const attributes = new Attributes();
  const nulls = new Set();
  let data;
  const malformed = (read) => {
    try {
      return read();
    } catch (error) {
      return error instanceof Refused && error.reason === 'json' ? refuse('malformed', error.message) : (() => { throw error; })();
    }
  };
  const member = () => {
    const name = malformed(() => { const n = reader.string(); reader.space(); reader.take(':'); reader.space(); return n; });
    if (name === 'data' || name === 'data_base64') {
      if (data !== undefined) refuse('duplicate', 'data');
      const node = reader.value();
      data = text.subarray(node.start, node.end);
      if (name === 'data_base64') {
        data = Buffer.from(node.string ?? '', 'base64');
        if (node.string === undefined || data.toString('base64') !== node.string) refuse('malformed', 'data_base64');
      }
      return;
    }
    const node = malformed(() => reader.value());
    const written = text.subarray(node.start, node.end).toString();
    if (nulls.has(name) || attributes.all.has(name)) refuse('duplicate', name);
    const text64 = /^(?:0|-?[1-9][0-9]*)$/.test(written) && BigInt.asIntN(64, BigInt(written)) === BigInt(written);
    switch (node.kind) {
      case 'null': if (!isAttribute(name)) refuse('malformed', 'a name'); nulls.add(name); return;
      case 'string': attributes.add(name, node.string); return;
      case 'boolean': case 'number':
        if ((node.kind === 'number' && !text64) || (known.includes(name) && name !== 'aggregateversion')) refuse('malformed', name);
        attributes.add(name, written);
        return;
      default: refuse('malformed', name);
    }
  };
  reader.space();
  if (reader.peek() === '[') refuse('unsupported', 'a batch');
  malformed(() => { reader.take('{'); reader.space(); });
  for (let more = reader.peek() !== '}'; more;) {
    reader.space();
    member();
    reader.space();
    more = reader.peek() === ',';
    if (more) reader.at++;
  }
  malformed(() => { reader.take('}'); reader.space(); if (reader.at !== text.length) reader.fail('something follows'); });
  for (const [name, value] of around.all) if (attributes.all.get(name) !== value) refuse('mismatch', name);
  return attributes.event(attributes.all.get('datacontenttype') ?? 'application/json', data);
}

export function readMessage(form, { headers = [], body }) {
  const around = new Attributes();
  if (form === 'json') return readJSON(body, around);
  const prefix = form === 'broker' ? 'ce_' : 'ce-';
  const named = form === 'http' ? headers.map(([n, v]) => [n.toLowerCase(), v]) : headers;
  if (form === 'broker' && named.some(([n]) => /^(?:ce_|content-type$)/i.test(n) && !/^(?:ce_|content-type$)/.test(n))) refuse('malformed', 'the case of a name');
  const types = named.filter(([n]) => n === 'content-type');
  if (types.length !== 1) refuse(types.length === 0 ? 'missing' : 'duplicate', 'content-type');
  const contentType = types[0][1];
  const structured = isStructured(contentType);
  for (const [name, value] of named) {
    if (name.startsWith(prefix)) {
      if (name === `${prefix}datacontenttype`) refuse('malformed', name);
      if (form === 'http' && around.all.has(name.slice(3))) refuse('duplicate', name);
      around.add(name.slice(3), form === 'http' ? percentDecode(value) : value);
    } else if (form === 'broker' && name !== 'content-type' && !structured) {
      around.header(name, value);
    }
  }
  return structured ? readJSON(body, around) : around.event(contentType, body);
}
