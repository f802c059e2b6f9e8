/** The OpenAPI document says what the server accepts: examples made from it pass, and others do not. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFileStore, serve } from './server-setup.ts';

interface SchemaText {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

interface Operation {
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: SchemaText }[];
  readonly requestBody?: {
    content: Record<string, { schema: { properties: Record<string, SchemaText>; required: string[] } }>;
  };
  readonly responses: Record<string, { description: string; content: Record<string, unknown> }>;
  readonly security: readonly unknown[];
}

/** Values that a schema allows, and one that it does not. */
function examples({ type, enum: words, minimum = 0, maximum = 0, minLength = 0, maxLength = 0 }: SchemaText) {
  if (words !== undefined) return { right: words, wrong: 'no such word' };
  if (type === 'boolean') return { right: [true, false], wrong: 'perhaps' };
  if (type === 'string') return { right: ['x'.repeat(Math.max(1, minLength)), 'x'.repeat(maxLength)], wrong: 7 };
  if (type === undefined) return { right: [null, { any: 'value' }], wrong: undefined };
  if (type === 'array') return { right: [['nothing']], wrong: [] };
  return { right: [minimum, maximum], wrong: maximum + 1 };
}

test('each operation takes what its schemas allow, and refuses anything else', async () => {
  const store = openFileStore();
  const server = await serve(store);
  const { json: document } = await server.send('GET', '/api/openapi.json');
  assert.equal(document.openapi, '3.1.0');
  const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>);
  assert.ok(paths.length >= 24, `${paths.length} paths`);
  let count = 0;
  for (const [template, operations] of paths) {
    for (const [method, operation] of Object.entries(operations)) {
      const { parameters, requestBody, responses, security } = operation;
      const place = `${method} ${template}`;
      const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(
        parameters.filter((each) => each.in === 'path').map(({ name }) => name),
        names,
        place,
      );
      assert.ok(responses['200'] !== undefined && responses.default !== undefined, place);
      if (template === '/api/events' || template === '/api/session') continue;
      const path = template.replaceAll(/\{\w+\}/g, 'nothing');
      const ask = (query: string, body: unknown) => server.send(method.toUpperCase(), path + query, body);
      const bare = await server.send(method.toUpperCase(), path, requestBody && {}, { authorization: '' });
      assert.equal(bare.status === 401, security.length > 0, place);
      for (const { name, schema } of parameters.filter((each) => each.in === 'query')) {
        const { right, wrong } = examples(schema);
        for (const value of right)
          assert.notEqual(
            (await ask(`?${name}=${encodeURIComponent(String(value))}`, undefined)).status,
            400,
            `${place} ${name}=${value}`,
          );
        if (typeof wrong !== 'number' || schema.type !== 'string')
          assert.equal(
            (await ask(`?${name}=${encodeURIComponent(String(wrong))}`, undefined)).status,
            400,
            `${place} ${name}=${wrong}`,
          );
        count++;
      }
      const schema = requestBody?.content['application/json']?.schema;
      if (schema === undefined) continue;
      const required = Object.fromEntries(
        schema.required.map((name) => [name, examples(schema.properties[name]!).right[0]]),
      );
      for (const [name, property] of Object.entries(schema.properties)) {
        const { right, wrong } = examples(property);
        const isSchemaError = async (body: unknown) => {
          const { status, json } = await ask('', body);
          return status === 400 && /must be|must have|unknown/.test(json.error.message);
        };
        // An order to an unknown task is waited for, so that one is enough.
        const tried = template.startsWith('/api/tasks/') ? right.slice(-1) : right;
        for (const value of tried)
          assert.equal(await isSchemaError({ ...required, [name]: value }), false, `${place} ${name}`);
        if (wrong !== undefined)
          assert.equal(await isSchemaError({ ...required, [name]: wrong }), true, `${place} ${name}`);
        count++;
      }
      assert.equal((await ask('', { ...required, 'no such property': 1 })).status, 400, place);
      if (schema.required.length > 0) assert.equal((await ask('', {})).status, 400, place);
    }
  }
  assert.ok(count >= 20, `${count} properties`);
  await server.close();
  store.close();
});
