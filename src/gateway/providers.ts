/** The providers whose APIs the gateway knows, with their addresses. */

import type { UpstreamApi } from '../core/declare/upstream-settings.ts';

export type ProviderName = UpstreamApi;

export const providerUrls: Readonly<Record<ProviderName, string>> = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com',
  gemini: 'https://generativelanguage.googleapis.com',
};
