// Writes v1/cloudevents.json, as generate.mjs writes the other files: node testvectors/generate-cloudevents.mjs

import { readMessage, writeMessage } from './cloudevents.mjs';
import { refusal, write } from './write.mjs';

const vectors = [];
const source = 'https://shop.example/invoices';
const id = '01935e3c-7a1f-7c52-9d0e-5b6f3a2c1d4e';
const token = 'fc1:0f3a9c01:3yVdLzwsWL2Hq_j6PtZ6V1FzHrT5kPZ8M2b3LcD5u1wRkYwqIxP3Tg5m9tQ';
const forms = ['broker', 'http', 'json'];

const given = ({ headers, body }) => ({ ...(headers && { headers }), body: body.toString('utf8') });

// both adds an event that is written and read back in each form.
function both(name, why, event) {
  for (const form of forms) {
    vectors.push({ name: `${form}: ${name}`, kind: 'cloudevent', valid: true, why, form, source, wire_event: event, ...given(writeMessage(form, event, source)) });
  }
}

// unwritable adds an event that a form cannot carry.
function unwritable(name, why, event, only = forms) {
  for (const form of only) {
    vectors.push({ name: `${form}: ${name}`, kind: 'cloudevent-write', valid: false, why, form, source, wire_event: event, refused: refusal(() => writeMessage(form, event, source)) });
  }
}

function readable(name, why, form, message) {
  vectors.push({ name: `${form}: ${name}`, kind: 'cloudevent-read', valid: true, why, form, ...given(message), wire_event: readMessage(form, message) });
}

function unreadable(name, why, form, message) {
  vectors.push({ name: `${form}: ${name}`, kind: 'cloudevent-read', valid: false, why, form, ...given(message), refused: refusal(() => readMessage(form, message)) });
}

const least = { id, type: 'invoice.issued', version: 1, aggregate_type: 'invoice', aggregate_id: '42', payload: `{"email":"${token}"}` };
const full = {
  ...least, version: 2147483647, aggregate_type: 'billing', aggregate_id: 'm\u00fc\u015fteri 42% "x"', aggregate_version: '9223372036854775807',
  occurred_at: '2026-11-30T12:00:00.123456Z', headers: { tenant: '\u0130stanbul', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
};

both('the least', 'what every message has', least);
both('all that an event has', 'aggregate version, time and headers; values that HTTP percent-encodes', full);
both('spelling', 'the payload is copied byte for byte', { ...least, payload: '{ "b" : 1.50,\t"a":-0,\r\n"e":1e400, "c":"\\u0061\\/<&>", "d": [ ] }' });
both('a token alone', 'a payload that is sealed as a whole', { ...least, payload: `"${token}"` });
both('null', 'is a payload', { ...least, payload: 'null' });
both('an aggregate version below zero', '64 bits with a sign', { ...least, aggregate_version: '-9223372036854775808' });
both('a time without a fraction', 'no trailing zeros', { ...least, occurred_at: '2026-11-30T12:00:00Z' });
both('the longest type', '255 bytes', { ...least, type: 'a.B_c-9'.padEnd(255, 'x') });
both('a slash and a tilde', 'stay as they are', { ...least, aggregate_id: 'a/b~c%25' });
vectors.push({
  name: 'broker: white space around the payload', kind: 'cloudevent', valid: true, why: 'is a part of the body', form: 'broker', source,
  wire_event: { ...least, payload: ' {}\r\n' }, ...given(writeMessage('broker', { ...least, payload: ' {}\r\n' }, source)),
});
vectors.push({
  name: 'broker: any header', kind: 'cloudevent', valid: true, why: 'the event\'s own headers go under their own names', form: 'broker', source,
  wire_event: { ...least, headers: { 'Correlation-ID': 'a\nb', time: 'noon' } }, ...given(writeMessage('broker', { ...least, headers: { 'Correlation-ID': 'a\nb', time: 'noon' } }, source)),
});

unwritable('a control character in the aggregate id', 'CloudEvents has none in strings', { ...least, aggregate_id: 'a\nb' });
unwritable('a noncharacter in the aggregate type', 'CloudEvents has none in strings', { ...least, aggregate_type: 'a\ufffe' });
const extension = ['http', 'json'];
unwritable('a header with a hyphen', 'no attribute has such a name', { ...least, headers: { 'correlation-id': '1' } }, extension);
unwritable('a header in upper case', 'no attribute has such a name', { ...least, headers: { Tenant: '1' } }, extension);
unwritable('a header with the name of an attribute', 'would be taken for it', { ...least, headers: { subject: '1' } }, extension);
unwritable('a header named data', 'would be taken for the payload', { ...least, headers: { data: '1' } }, extension);
unwritable('a header with a control character', 'CloudEvents has none in strings', { ...least, headers: { tenant: 'a\tb' } }, extension);

// What others write.
const message = (form, event = full) => writeMessage(form, event, source);
const changed = (form, change, event) => { const m = message(form, event); return { ...m, headers: change(structuredClone(m.headers)) }; };
const set = (name, value) => (headers) => headers.map(([n, v]) => (n === name ? [n, value] : [n, v]));
const without = (name) => (headers) => headers.filter(([n]) => n !== name);
const add = (name, value) => (headers) => [...headers, [name, value]];
const inJSON = (change) => ({ body: Buffer.from(change(message('json', least).body.toString())) });
const member = (text) => inJSON((json) => json.replace('"data":', `${text},"data":`));

readable('headers in another order', 'have none', 'broker', changed('broker', (h) => h.reverse()));
readable('a content type with a charset', 'UTF-8 is the only one', 'broker', changed('broker', set('content-type', 'application/json; charset=UTF-8')));
readable('a content type of JSON\'s family', 'is JSON', 'broker', changed('broker', set('content-type', 'application/vnd.shop+json')));
readable('an extension attribute', 'is a header of the event', 'broker', changed('broker', add('ce_sequence', '7')));
readable('in JSON', 'structured mode', 'broker', { headers: [['content-type', 'application/cloudevents+json; charset=UTF-8']], body: message('json').body });
readable('in JSON, with attributes beside it', 'that say the same', 'broker', { headers: [['content-type', 'application/cloudevents+json'], ['ce_id', id], ['other', '1']], body: message('json').body });
readable('a time with an offset', 'RFC 3339', 'broker', changed('broker', set('ce_time', '2026-11-30T15:00:00.5+03:00')));
readable('an id in upper case', 'its canonical text is in lower case', 'broker', changed('broker', set('ce_id', id.toUpperCase())));
readable('names in any case', 'HTTP\'s have none', 'http', changed('http', (h) => h.map(([n, v]) => [n.toUpperCase(), v])));
readable('headers that are no attributes', 'are not the event\'s', 'http', changed('http', add('x-request-id', '1')));
readable('lower-case and needless encoding', 'is decoded as well', 'http', changed('http', set('ce-subject', '%6d%c3%bc')));
readable('a quoted value', 'as older writers have it', 'http', changed('http', set('ce-subject', '"a \\"b\\" %41"')));
readable('a value that is encoded twice', 'is decoded once', 'http', changed('http', set('ce-subject', '%2541')));
readable('in JSON', 'structured mode', 'http', { headers: [['Content-Type', 'application/cloudevents+json']], body: message('json').body });
readable('white space and another order', 'is JSON like any other', 'json', inJSON((json) => ` { "data" : { "a" : 1 } ,${json.slice(1).replace(/,"data":.*$/, '')} }\n`));
readable('data_base64', 'holds the payload\'s bytes', 'json', inJSON((json) => json.replace(/"data":.*$/, `"data_base64":"${Buffer.from('{"a": 1}').toString('base64')}"}`)));
readable('no datacontenttype', 'is application/json', 'json', inJSON((json) => json.replace('"datacontenttype":"application/json",', '')));
readable('integers, booleans and null', 'count as their text, and as absent', 'json', member('"aggregateversion":7,"n":-1,"b":true,"z":null'));

for (const name of ['specversion', 'id', 'type', 'source', 'subject', 'aggregatetype', 'dataschema']) {
  unreadable(`without ${name}`, 'it is required', 'broker', changed('broker', without(`ce_${name}`)));
  unreadable(`an empty ${name}`, 'it is required', 'broker', changed('broker', set(`ce_${name}`, '')));
  unreadable(`${name} twice`, 'which one holds is not guessed', 'http', changed('http', add(`ce-${name}`, '1')));
}
unreadable('without a content type', 'it is required', 'broker', changed('broker', without('content-type')));
unreadable('a content type twice', 'which one holds is not guessed', 'broker', changed('broker', add('content-type', 'application/json')));
unreadable('no body', 'there is no payload', 'broker', { ...message('broker'), body: Buffer.alloc(0) });
unreadable('version 0.3', 'another CloudEvents', 'broker', changed('broker', set('ce_specversion', '0.3')));
unreadable('another kind of schema', 'no event of fieldcrypt\'s', 'broker', changed('broker', set('ce_dataschema', 'https://example.org/schema')));
unreadable('a schema of another type', 'the two contradict each other', 'broker', changed('broker', set('ce_dataschema', 'fieldcrypt:invoice.paid/1')));
unreadable('another type', 'the two contradict each other', 'broker', changed('broker', set('ce_type', 'invoice.paid')));
for (const version of ['0', '01', '+1', '-1', '1.0', '2147483648', '']) {
  unreadable(`version ${version}`, 'is an integer from 1 to 2147483647 in plain digits', 'broker', changed('broker', set('ce_dataschema', `fieldcrypt:invoice.issued/${version}`)));
}
for (const version of ['07', '-0', '1e3', '9223372036854775808', 'seven']) {
  unreadable(`aggregate version ${version}`, 'is an integer of 64 bits in plain digits', 'broker', changed('broker', set('ce_aggregateversion', version)));
}
for (const time of ['2026-11-30', '2026-11-30T12:00:00', '2026-11-30T12:00:00,5Z', '2026-13-30T12:00:00Z', 'noon']) {
  unreadable(`time ${time}`, 'is no time of RFC 3339', 'broker', changed('broker', set('ce_time', time)));
}
unreadable('an id that is no UUID', 'see section 2', 'broker', changed('broker', set('ce_id', 'one')));
unreadable('XML', 'payloads are JSON', 'broker', changed('broker', set('content-type', 'application/xml')));
unreadable('another charset', 'payloads are UTF-8', 'broker', changed('broker', set('content-type', 'application/json; charset=iso-8859-9')));
unreadable('a batch', 'one message holds one event', 'broker', { headers: [['content-type', 'application/cloudevents-batch+json']], body: Buffer.from('[]') });
unreadable('another format', 'only JSON', 'broker', { headers: [['content-type', 'application/cloudevents+avro']], body: Buffer.from('{}') });
unreadable('a name in upper case', 'another reader may take it for an attribute', 'broker', changed('broker', add('CE_type', 'invoice.paid')));
unreadable('Content-Type in upper case', 'another reader may take it for the content type', 'broker', changed('broker', add('Content-Type', 'text/plain')));
unreadable('datacontenttype as a header', 'the content type says it', 'broker', changed('broker', add('ce_datacontenttype', 'application/json')));
unreadable('an attribute named data', 'is none', 'broker', changed('broker', add('ce_data', '1')));
unreadable('an attribute with an underscore', 'is none', 'broker', changed('broker', add('ce_a_b', '1')));
unreadable('a header twice', 'which one holds is not guessed', 'broker', changed('broker', add('tenant', '1')));
unreadable('a header and an attribute of one name', 'which one holds is not guessed', 'broker', changed('broker', add('ce_tenant', '1')));
unreadable('a payload with two members of one name', 'see section 3', 'broker', { ...message('broker'), body: Buffer.from('{"a":1,"a":2}') });
unreadable('JSON and headers that contradict it', 'both must say the same', 'broker', { headers: [['content-type', 'application/cloudevents+json'], ['ce_type', 'invoice.paid']], body: message('json').body });
unreadable('JSON and an attribute that it lacks', 'both must say the same', 'broker', { headers: [['content-type', 'application/cloudevents+json'], ['ce_other', '1']], body: message('json').body });
for (const value of ['%', '100%', '%4g', '%C0%A0', '%FF', '"a', '"a"b', '%0A']) {
  unreadable(`the value ${value}`, 'is no percent-encoded String', 'http', changed('http', set('ce-subject', value)));
}
unreadable('a batch', 'one message holds one event', 'json', { body: Buffer.from(`[${message('json').body}]`) });
unreadable('a string', 'an event is an object', 'json', { body: Buffer.from('"x"') });
unreadable('something behind it', 'one message holds one event', 'json', inJSON((json) => `${json} 1`));
unreadable('no data', 'there is no payload', 'json', inJSON((json) => json.replace(/,"data":.*$/, '}')));
unreadable('data and data_base64', 'which one holds is not guessed', 'json', inJSON((json) => json.replace(/}$/, ',"data_base64":"MQ=="}')));
unreadable('data twice', 'which one holds is not guessed', 'json', inJSON((json) => json.replace(/}$/, ',"data":1}')));
for (const text of ['"MQ"', '"MR=="', '"MQ==\\n"', '"*"', 'null', '1']) {
  unreadable(`data_base64 ${text}`, 'is no canonical base64', 'json', inJSON((json) => json.replace(/"data":.*$/, `"data_base64":${text}}`)));
}
for (const value of ['{}', '[]', '1.0', '1e2', '-0', '9223372036854775808', '"a\\u0000"', '"a\\ufdd0"']) {
  unreadable(`the attribute ${value}`, 'is no string, integer or boolean', 'json', member(`"other":${value}`));
}
for (const name of ['"Other"', '"other_"', '""', '"oth\\u00e9r"']) unreadable(`the name ${name}`, 'is no attribute\'s', 'json', member(`${name}:"1"`));
unreadable('a name twice, once by an escape', 'names are compared decoded', 'json', member('"\\u0069d":"1"'));
unreadable('a name twice, once null', 'which one holds is not guessed', 'json', member('"a":null,"a":"1"'));
unreadable('specversion as a number', 'is a string', 'json', inJSON((json) => json.replace('"1.0"', '1.0')));
unreadable('subject as a number', 'is a string', 'json', inJSON((json) => json.replace('"42"', '42')));
unreadable('a payload with two members of one name', 'see section 3', 'json', inJSON((json) => json.replace(/"data":.*$/, '"data":{"a":1,"a":2}}')));

write('cloudevents', 'Events as messages. cloudevent: wire_event, written in the form by a writer of this source, is headers and body, and back again; in HTTP names have no case and no order. cloudevent-read: what others write.', vectors);
