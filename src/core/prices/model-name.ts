/** Reads the names of models as providers, gateways and deployments write them. */

/** Suffixes that name a release of the same model: a date, a build, `latest`, `preview`, a version of Bedrock. */
const date = '\\d{8}|20\\d\\d-\\d\\d-\\d\\d|\\d\\d-20\\d\\d|\\d{3,4}';
const preview = '(?:preview|exp|experimental|beta)(?:-\\d\\d-\\d\\d(?:\\d\\d)?)?';
const release = new RegExp(`[-@:](?:latest|default|${date}|v\\d(?:[:-]\\d+)?|${preview})$`);

/** Prefixes of Bedrock: `us.anthropic.`, `meta.`. */
const vendor = /^(?:[a-z-]{2,8}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|moonshot|openai|qwen|zai)\./;

/** Words that deployments add behind the name of their model. */
const deploymentWords =
  /^(?:-(?:prod|production|dev|test|staging|deployment|deploy|eu|us|east|west|global|main|default)\d?)*$/;

/** Programs that run models on the machine of the user. */
const localProvider = /^(?:ollama|lm[-_]?studio|llama[-_.]?cpp|llamafile|localai|gpt4all|koboldcpp)(?:[-_]chat)?[.:/]/;

/** Whether the name says that a program on the user's machine runs the model. Cloud models of such programs are not. */
export function isLocalModel(model: string): boolean {
  const name = model.trim().toLowerCase();
  return localProvider.test(name) && !/cloud/.test(name);
}

/** Providers that sell the models of others by the token. */
const resellers =
  'openrouter|groq|together|fireworks|deepinfra|bedrock|amazon[-_]bedrock|aws|azure|vertex|google[-_.]vertex|' +
  'replicate|huggingface|perplexity|cerebras|sambanova|novita|hyperbolic|baseten|cloudflare';
const reseller = new RegExp(`^(?:${resellers})[-_a-z]*[.:/]`);

/** Whether the name says that a reseller runs the model, so that it costs money, whatever its bare name. */
export function isResold(model: string): boolean {
  return reseller.test(model.trim().toLowerCase());
}

/** Lists the names that a model may be known by, the most literal first: without provider, release and punctuation. */
export function listModelNames(model: string): readonly string[] {
  const written = model
    .trim()
    .toLowerCase()
    .replace(/\[[^\]]*\]$|(?<=:\d):\d+[km]$/, ''); // The size of a context window: `[1m]`, `-v1:0:200k`.
  const bare = written.slice(written.lastIndexOf('/') + 1).replace(vendor, '');
  const names = new Set<string>();
  for (const start of [bare, bare.replace(/^(?!ft:)[a-z_-]+:/, '')]) {
    for (let name = start; ; name = name.replace(release, '')) {
      names.add(unifyName(name));
      if (!release.test(name)) break;
    }
  }
  return [...names];
}

/** One spelling of a name: `claude-4.5-sonnet` and `claude-sonnet-4-5` are the same model, and so are 4 and 4.0. */
export function unifyName(name: string): string {
  return name
    .replace(/[._]/g, '-')
    .replace(/^claude-(\d+(?:-\d)?)-(opus|sonnet|haiku|fable)(?=-|$)/, 'claude-$2-$1')
    .replace(/^(claude-[a-z]+-\d)-0$/, '$1')
    .replace(/^(llama|qwen)-?(?=\d)/, '$1-');
}

/** Whether a name is that of a deployment of a model: `team-gpt-4o-prod`. */
export function isDeploymentOf(name: string, model: string): boolean {
  const at = `-${name}`.indexOf(`-${model}`);
  return at >= 0 && deploymentWords.test(name.slice(at + model.length));
}

const vendors = 'claude|gpt|chatgpt|codex|o(?=\\d)|gemini|gemma|grok|deepseek|command|llama|kimi|glm|minimax|qwen|nova';
const makers = new RegExp(`^(?:${vendors}|mistral|codestral|devstral|magistral|ministral)(?=\\d|$)`);
const tiers = /^(?:opus|sonnet|haiku|fable|pro|flash|mini|nano)$/;
const details = /^(?:lite|micro|premier|large|medium|small|fast|turbo|codex|chat|max|thinking|reasoner|coder|oss)$/;

/** The words of a name that show its family: the maker and the tier, and words that tell models of a tier apart. */
export function readFamily(name: string): { readonly words: readonly string[]; readonly details: readonly string[] } {
  const parts = name.split(/[^a-z0-9]+/);
  const maker = parts.map((part) => makers.exec(part)?.[0]).find((word) => word !== undefined);
  return {
    words: [...(maker === undefined ? [] : [maker]), ...parts.filter((part) => tiers.test(part))],
    details: parts.filter((part) => details.test(part)),
  };
}
