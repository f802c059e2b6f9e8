/** Upstreams of a policy: the hosts that `switchgear gateway` reaches, and the keys it has for them. */

/** The APIs that upstreams offer. */
export const upstreamApis = ['anthropic', 'openai', 'gemini'] as const;

/** Whose API it is. */
export type UpstreamApi = (typeof upstreamApis)[number];

/** Upstreams of one policy, headers of one of them, and globs of models. */
export const upstreamsMax = 50;
export const upstreamHeadersMax = 20;
export const upstreamModelsMax = 200;

/** The fields of an upstream with their meanings, by their names in files. */
export const upstreamFields = {
  name: 'The name; 1 to 40 letters, digits, dashes or underscores.',
  url: 'The address before paths such as `/v1/messages`, `https:` or `http:`, no password; may end with `/v1`.',
  apis: 'The APIs that the upstream offers: a list of `anthropic`, `openai`, `gemini`; all of them by default.',
  models: 'The models that the upstream serves, as globs; every model by default. `*` = any characters.',
  headers: 'Headers in place of those of the client. `${NAME}` stands for an environment variable of the gateway.',
  key_env: "The environment variable of the gateway that has the key of the provider, in place of the client's key.",
  key_file: 'The file that has the key of the provider, instead of `key_env`.',
  fallback: 'The name of the upstream that takes the calls of a model while its circuit is open here.',
} as const;

/** An upstream of a policy. */
export interface UpstreamSettings {
  readonly name: string;
  readonly url: string;
  /** @default every API */
  readonly apis: readonly UpstreamApi[];
  /** @default ['*'] */
  readonly models: readonly string[];
  /** @default {} */
  readonly headers: Readonly<Record<string, string>>;
  readonly keyEnv?: string;
  readonly keyFile?: string;
  readonly fallback?: string;
}
