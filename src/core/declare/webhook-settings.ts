/** Webhooks of a policy: where `switchgear serve` sends alerts, halts and questions. */

/** What a webhook can be told: alerts that begin or end, halted tasks, questions. */
export const webhookEvents = ['alerts', 'halts', 'questions'] as const;

/** One kind of event. */
export type WebhookEvent = (typeof webhookEvents)[number];

/** The shapes of a message: the card as JSON, or a message of Slack. */
export const webhookFormats = ['json', 'slack'] as const;

/** The shape of a message. */
export type WebhookFormat = (typeof webhookFormats)[number];

/** Webhooks of one policy. */
export const webhooksMax = 20;

/** The fields of a webhook with their meanings, by their names in files. */
export const webhookFields = {
  name: 'The name, for cards and `switchgear alerts`; 1 to 40 letters, digits, dashes or underscores.',
  url: 'The address, `http:` or `https:`, without a password.',
  url_env: 'The environment variable of the server that has the address, instead of `url`.',
  url_file: 'The file that has the address, instead of `url`.',
  secret_env: 'The environment variable of the server that has the secret of the signature.',
  secret_file: 'The file that has the secret of the signature.',
  format: 'The shape of a message: `json` (the default) or `slack`.',
  events: 'The kinds of cards that are sent: a list of `alerts`, `halts`, `questions`; `["alerts"]` by default.',
} as const;

/** A webhook of a policy. Exactly one of the three addresses is set, and at most one of the two secrets. */
export interface WebhookSettings {
  readonly name: string;
  readonly url?: string;
  readonly urlEnv?: string;
  readonly urlFile?: string;
  readonly secretEnv?: string;
  readonly secretFile?: string;
  /** @default 'json' */
  readonly format: WebhookFormat;
  /** @default ['alerts'] */
  readonly events: readonly WebhookEvent[];
}
