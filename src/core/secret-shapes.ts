/** The shapes of secrets in texts and the names of fields that hold secrets. */

/** Returns the text that replaces a secret of a kind. */
export type SecretMask = (kind: string, secret: string) => string;

interface SecretShape {
  readonly kind: string;
  /** The first group stays in the text. */
  readonly pattern: RegExp;
  /** Whether a match is a secret. A test of its own keeps the pattern linear. */
  readonly test?: (secret: string) => boolean;
}

/** Names of secrets, in fields and in texts. */
const secretWords =
  'pass(?:word|wd|phrase)|secret|(?:api|access|account|private|signing)[-_]?key|authorization|cookie|credentials?';

const secretName = new RegExp(`${secretWords}|(?:^|[_-])(?:pass|pwd)$|token$`, 'i');

/** Matches a value with its quotes, which may be escaped, and whose end may be cut off. */
const quotedValue = /(?:\\*"[^"]*(?:"|$)|\\*'[^']*(?:'|$)|[^\s"'&,;]+)/.source;
const secretWord = `(?:${secretWords}|[_-](?:pass|pwd)|token)`;

const secretFlag = new RegExp(`^--?[\\w-]*${secretWord}$`, 'i');

const shapes: readonly SecretShape[] = [
  {
    kind: 'private key',
    pattern:
      /(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  },
  // The end of a key whose beginning was cut off.
  {
    kind: 'private key',
    pattern: /()(?<![A-Za-z0-9+/=\s])[A-Za-z0-9+/=\s]{32,}-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----/g,
  },
  { kind: 'header', pattern: /(\b(?:authorization|cookie)\s*:\s*)(?=[^\s"'\\])[^"'\r\n\\]+/gi },
  { kind: 'credentials', pattern: /(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi },
  { kind: 'password', pattern: /(:\/\/)[^\s/:@]*:[^\s/@]+(?=@)/g },
  { kind: 'password', pattern: /(\s(?:-u|--user)[\s=]*[^\s:=][^\s:]*:)\S+/g },
  { kind: 'password', pattern: /(\bsshpass\s+-p\s*|\blogin\s+\S{1,100}\s+password\s+)\S+/g },
  { kind: 'password', pattern: /(\b(?:mysql|mariadb)[a-z]*\s[^\n|;&]{0,200}?\s-p)[^\s'"]+/g },
  // The working folder of a shell is a path.
  { kind: 'password', pattern: /(\b(?:pwd|pass)\s*=\s*)(?![/.~$\\])[^\s;&,"']{3,}/gi },
  { kind: 'credentials', pattern: /(\bauth\\*"\s*:\s*\\*")[\w+/=]{8,}/g },
  { kind: 'webhook', pattern: /(\bhooks\.slack\.com\/[a-z]+\/)[\w/-]+/g },
  { kind: 'signature', pattern: /([?&](?:sig|signature|x-amz-signature|x-goog-signature)=)[\w%+/=-]{8,}/gi },
  { kind: 'secret', pattern: /([?&#](?:key|code|auth|session|sid)=)[\w%+/=.~-]{16,}/gi },
  { kind: 'secret', pattern: new RegExp(`(${secretWord}\\\\*["']?\\s*[=:]\\s*)${quotedValue}`, 'gi') },
  { kind: 'secret', pattern: new RegExp(`((?<![\\w-])--?[\\w-]{0,64}${secretWord}\\s+)${quotedValue}`, 'gi') },
  {
    kind: 'API key',
    pattern:
      /(\b)(?:[spr]k|gsk|gh[oprsu]|github_pat|glpat|xox[a-z]|xapp|npm|hf|r8|AKIA|ASIA|AIza|ya29)[-_.]?[\w-]{12,}/g,
  },
  { kind: 'API key', pattern: /(\b)(?:xai-|shp[a-z]{2}_|sq0[a-z]{3}-)[\w-]{12,}/g },
  // Tokens of several parts: of SendGrid, Terraform, Vault and Doppler, and of Discord bots.
  { kind: 'API key', pattern: /(\b)(?:SG|\w{14}\.atlasv1|hv[bsr]|dp\.[a-z]{2,5})\.[\w-]{16,}(?:\.[\w-]{16,})?/g },
  { kind: 'API key', pattern: /(\b)[MNO][\w-]{22,30}\.[\w-]{6,7}\.[\w-]{27,}/g },
  { kind: 'JWT', pattern: /(\b)eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?/g },
  { kind: 'random text', pattern: /((?<![\w+/-]))[\w+/-]{32,}={0,2}/g, test: looksRandom },
  { kind: 'random text', pattern: /(\b)[\w+=-]{32,}/g, test: (secret) => /\d/.test(secret) && /[a-z]/i.test(secret) },
];

/** Whether letters of both cases and digits follow each other without order; slashes of a path do not count. */
function looksRandom(text: string): boolean {
  const letters = text.replaceAll(/[^A-Za-z0-9]/g, '');
  let changes = 0;
  for (let at = 1; at < letters.length; at++) if (kindOf(letters, at) !== kindOf(letters, at - 1)) changes++;
  return changes >= letters.length * 0.4 && /[A-Z]/.test(letters) && /[a-z]/.test(letters);
}

function kindOf(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 58 ? 0 : code < 91 ? 1 : 2;
}

/** Replaces everything in a text that has the shape of a secret. An encoded part that has one is shown decoded. */
export function maskSecrets(text: string, mask: SecretMask): string {
  const decoded = text.includes('%') ? text.replaceAll(encodedRuns, (run) => maskEncoded(run, mask)) : text;
  return maskPlain(decoded, mask);
}

/** Words with a percent-encoded character. */
const encodedRuns = /[^\s"'%]*%[^\s"']+/g;
/** How often a text is encoded at most. */
const encodedTimesMax = 2;

function maskEncoded(run: string, mask: SecretMask): string {
  let decoded = run;
  for (let times = 0; times < encodedTimesMax; times++)
    decoded = decoded.replaceAll(/%([0-7][\da-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  const masked = maskPlain(decoded, mask);
  return masked === decoded ? run : masked;
}

function maskPlain(text: string, mask: SecretMask): string {
  return shapes.reduce(
    (left, { kind, pattern, test }) =>
      left.replace(pattern, (match: string, kept: string) => {
        const secret = match.slice(kept.length);
        return test?.(secret) === false ? match : kept + mask(kind, secret);
      }),
    text,
  );
}

/** Whether a field of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** Whether a word is a flag whose next word is a secret, such as `--token`. */
export function isSecretFlag(word: string): boolean {
  return secretFlag.test(word);
}
