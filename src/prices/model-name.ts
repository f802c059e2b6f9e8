/** Parses model names as hosts write them: the bare name, the vendor, and the version. */

/** A name to look up, at one provider or at its maker. */
export interface ModelLookup {
  readonly name: string;
  readonly provider?: string;
}

/** Lists possible names of a model, the most literal first: as written, at the named vendor, and without the vendor. */
export function listModelLookups(model: string): readonly ModelLookup[] {
  // The size of the context window may be appended: `[1m]` by agent CLIs, `:200k` by Bedrock.
  const name = model.trim().replace(/\[[^\]]*\]$|(?<=:\d):\d+[km]$/, '');
  const lookups: ModelLookup[] = [{ name }];
  // Names that only their maker or reseller uses: fine-tuned models, embeddings, free variants.
  const own = name.slice(name.lastIndexOf('/') + 1);
  if (/^(?:ft:|text-embedding-(?:3|ada))/.test(own)) lookups.unshift({ name: own, provider: 'openai' });
  if (own.endsWith(':free')) lookups.unshift({ name: name.replace(/^openrouter\//, ''), provider: 'openrouter' });
  const slash = name.indexOf('/');
  if (slash > 0) {
    lookups.push({ name: name.slice(slash + 1), provider: name.slice(0, slash) });
    lookups.push({ name: name.slice(name.lastIndexOf('/') + 1) });
  }
  const pair = /^([a-z][a-z_-]+):([^/]+)$/i.exec(name);
  if (pair) lookups.push({ name: pair[2]!, provider: pair[1]! });
  // Bedrock writes `us.anthropic.claude-…-v1:0`, with or without the region.
  const bedrock =
    /(?:^|\/)((?:[a-z-]+\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.(.+))$/i.exec(name);
  if (bedrock)
    lookups.push({ name: bedrock[1]!, provider: 'aws' }, { name: bedrock[2]!.replace(/-v\d+(?::\d+)?$/, '') });
  return lookups;
}

/** Whether two names mean the same version: `sonnet-5-5` is not `sonnet-5`, although it has the same prefix. */
export function isSameVersion(a: string, b: string): boolean {
  return readVersion(a) === readVersion(b);
}

/** The version numbers in a name, without dates, builds, sizes and trailing zeros. */
function readVersion(name: string): string {
  const bare = name
    .toLowerCase()
    .replace(/-v\d+:\d+$/, '')
    .replace(/\d{4}-\d{2}-\d{2}|\b(?:0[1-9]|1[0-2])-(?:20)?\d{2}\b|\d{3,}/g, '');
  const numbers = bare.split(/[^a-z0-9]+/).filter((part) => /^v?\d{1,2}$/.test(part));
  while (numbers.length > 0 && /^v?0+$/.test(numbers.at(-1)!)) numbers.pop();
  return numbers.map((part) => part.replace('v', '')).join('.');
}
