/** The tools, prompts and resources that the official conformance suite asks a server for; no transport. */

export type Message = Readonly<Record<string, unknown>>;

/** What a request may do while it is answered. */
export interface RequestContext {
  /** Sends a notification that belongs to the request. */
  notify(method: string, params: object): void;
  /** Asks the client. */
  ask(method: string, params: object): Promise<Message>;
  /** Closes the stream of the response, if the transport has one, so that the client has to go on with it. */
  closeStream(): void;
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const text = (value: string) => ({ type: 'text', text: value });
const image = { type: 'image', data: png, mimeType: 'image/png' };
const object = (properties: object = {}, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
});
const string = { type: 'string' };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Handler = (args: Message, context: RequestContext, meta: Message) => object | Promise<object>;

const resource = (uri: string, value: string, mimeType = 'text/plain') => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
});

const defaults = object({
  name: { type: 'string', description: 'User name', default: 'John Doe' },
  age: { type: 'integer', description: 'User age', default: 30 },
  score: { type: 'number', description: 'User score', default: 95.5 },
  status: { type: 'string', description: 'Status', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', description: 'Verified', default: true },
});

const titled = ['1', '2', '3'].map((n) => ({
  const: `value${n}`,
  title: `${['First', 'Second', 'Third'][+n - 1]} Option`,
}));
const plain = ['option1', 'option2', 'option3'];
const enums = object({
  untitledSingle: { type: 'string', enum: plain },
  titledSingle: { type: 'string', oneOf: titled },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
  titledMulti: { type: 'array', items: { anyOf: titled } },
});

const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address: { type: 'object', properties: { street: string, city: string } } },
  properties: { name: string, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
};

/** Each tool with its schema and what it does. */
const tools: Readonly<Record<string, readonly [schema: object, handler: Handler]>> = {
  test_simple_text: [object(), () => ({ content: [text('This is a simple text response for testing.')] })],
  test_image_content: [object(), () => ({ content: [image] })],
  test_audio_content: [object(), () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] })],
  test_embedded_resource: [
    object(),
    () => ({ content: [resource('test://embedded-resource', 'This is an embedded resource content.')] }),
  ],
  test_multiple_content_types: [
    object(),
    () => ({
      content: [
        text('Multiple content types test:'),
        image,
        resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
      ],
    }),
  ],
  test_tool_with_logging: [
    object(),
    async (_args, { notify }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        notify('notifications/message', { level: 'info', data });
        await pause(20);
      }
      return { content: [text('Tool with logging executed successfully')] };
    },
  ],
  test_tool_with_progress: [
    object(),
    async (_args, { notify }, { progressToken }) => {
      for (const progress of [0, 50, 100]) {
        notify('notifications/progress', { progressToken, progress, total: 100 });
        await pause(20);
      }
      return { content: [text('Tool with progress executed successfully')] };
    },
  ],
  test_error_handling: [
    object(),
    () => ({ isError: true, content: [text('This tool intentionally returns an error for testing')] }),
  ],
  test_sampling: [
    object({ prompt: string }, ['prompt']),
    async ({ prompt }, { ask }) => {
      const messages = [{ role: 'user', content: text(String(prompt)) }];
      const answer = await ask('sampling/createMessage', { messages, maxTokens: 100 });
      return { content: [text(`LLM response: ${JSON.stringify(answer.content)}`)] };
    },
  ],
  test_elicitation: [
    object({ message: string }, ['message']),
    async ({ message }, { ask }) => {
      const requestedSchema = object({ username: string, email: string }, ['username', 'email']);
      const answer = await ask('elicitation/create', { message, requestedSchema });
      return { content: [text(`User response: ${JSON.stringify(answer)}`)] };
    },
  ],
  test_elicitation_sep1034_defaults: [object(), askFor('Please review the form', defaults)],
  test_elicitation_sep1330_enums: [object(), askFor('Please select', enums)],
  json_schema_2020_12_tool: [schema2020, () => ({ content: [text('JSON Schema 2020-12')] })],
  test_reconnection: [
    object(),
    async (_args, { closeStream }) => {
      await pause(1_100);
      closeStream();
      await pause(100);
      return { content: [text('Reconnection test completed successfully')] };
    },
  ],
};

function askFor(message: string, requestedSchema: object): Handler {
  return async (_args, { ask }) => {
    const answer = await ask('elicitation/create', { message, requestedSchema });
    return { content: [text(`Elicitation completed: ${JSON.stringify(answer)}`)] };
  };
}

const resources = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: png },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' },
} as const;

const argument = (name: string) => ({ name, description: name, required: true });
const prompts: Readonly<
  Record<string, readonly [args: readonly object[], make: (args: Message) => readonly object[]]>
> = {
  test_simple_prompt: [[], () => [text('This is a simple prompt for testing.')]],
  test_prompt_with_arguments: [
    [argument('arg1'), argument('arg2')],
    ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)],
  ],
  test_prompt_with_embedded_resource: [
    [argument('resourceUri')],
    ({ resourceUri }) => [
      resource(String(resourceUri), 'Embedded resource content for testing.'),
      text('Please process the embedded resource above.'),
    ],
  ],
  test_prompt_with_image: [[], () => [image, text('Please analyze the image above.')]],
};

const capabilities = {
  ...{ logging: {}, completions: {}, tools: { listChanged: true }, prompts: { listChanged: true } },
  resources: { subscribe: true, listChanged: true },
};

type Params = Readonly<Record<string, unknown>>;

/** The answer to each method. */
const methods: Readonly<Record<string, (params: Params, context: RequestContext) => object | Promise<object>>> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities,
    serverInfo: { name: 'conformance-server', version: '1.0.0' },
  }),
  ping: () => ({}),
  'logging/setLevel': () => ({}),
  'completion/complete': () => ({ completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false } }),
  'tools/list': () => ({
    tools: Object.entries(tools).map(([name, [inputSchema]]) => ({ name, description: `Tests ${name}`, inputSchema })),
  }),
  'tools/call': ({ name, arguments: args, _meta }, context) => {
    const [, handler] = tools[String(name)] ?? [];
    if (handler === undefined) throw new RpcError(-32602, `Unknown tool: ${String(name)}`);
    return handler((args ?? {}) as Message, context, (_meta ?? {}) as Message);
  },
  'resources/list': () => ({
    resources: Object.entries(resources).map(([uri, { mimeType }]) => ({
      ...{ uri, mimeType, name: uri.slice('test://'.length), description: `The resource ${uri}` },
    })),
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }],
  }),
  'resources/read': ({ uri }) => {
    const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(String(uri)) ?? [];
    if (id !== undefined) {
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri, mimeType: 'application/json', text: data }] };
    }
    const found = resources[String(uri) as keyof typeof resources];
    if (found === undefined) throw new RpcError(-32002, `Resource not found: ${String(uri)}`);
    return { contents: [{ uri, ...found }] };
  },
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'prompts/list': () => ({
    prompts: Object.entries(prompts).map(([name, [args]]) => ({
      ...{ name, description: `Tests ${name}`, arguments: args },
    })),
  }),
  'prompts/get': ({ name, arguments: args }) => {
    const [, make] = prompts[String(name)] ?? [];
    if (make === undefined) throw new RpcError(-32602, `Unknown prompt: ${String(name)}`);
    return { messages: make((args ?? {}) as Message).map((content) => ({ role: 'user', content })) };
  },
};

class RpcError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Answers a request. */
export async function answerRequest({ id, method, params }: Message, context: RequestContext): Promise<Message> {
  try {
    const handler = methods[String(method)];
    if (handler === undefined) throw new RpcError(-32601, `Method not found: ${String(method)}`);
    return { jsonrpc: '2.0', id, result: await handler((params ?? {}) as Params, context) };
  } catch (error) {
    const { code = -32603, message } = error as RpcError;
    return { jsonrpc: '2.0', id, error: { code, message } };
  }
}

/** Requests of a server that wait for the answers of its client. */
export class Questions {
  readonly #waiting = new Map<unknown, (answer: Message) => void>();
  #count = 0;

  ask(send: (message: Message) => void, method: string, params: object): Promise<Message> {
    const id = `question-${++this.#count}`;
    send({ jsonrpc: '2.0', id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** Takes an answer of the client. */
  take({ id, result, error }: Message): void {
    this.#waiting.get(id)?.((result ?? { error }) as Message);
    this.#waiting.delete(id);
  }
}
