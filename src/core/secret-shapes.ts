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
  'pass(?:word|wd|phrase)|secret|(?:api|access|private|signing)[-_]?key|authorization|cookie|credentials?';

const secretName = new RegExp(`${secretWords}|(?:^|[_-])(?:pass|pwd)$|token$`, 'i');

/** Matches a value with its quotes, which may be escaped, and whose end may be cut off. */
const quotedValue = /(?:\\*"[^"]*(?:"|$)|\\*'[^']*(?:'|$)|[^\s"'&,;]+)/.source;
const secretWord = `(?:${secretWords}|[_-](?:pass|pwd)|token)`;

const secretFlag = new RegExp(`^--?[\\w-]*${secretWord}$`, 'i');

const shapes: readonly SecretShape[] = [
  {
    kind: 'private key',
    pattern: /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  },
  // The end of a key whose beginning was cut off.
  { kind: 'private key', pattern: /()(?<![A-Za-z0-9+/=\s])[A-Za-z0-9+/=\s]{32,}-----END [A-Z ]*PRIVATE KEY-----/g },
  { kind: 'header', pattern: /(\b(?:authorization|cookie)\s*:\s*)(?=[^\s"'\\])[^"'\r\n\\]+/gi },
  { kind: 'credentials', pattern: /(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi },
  { kind: 'password', pattern: /(:\/\/)[^\s/:@]*:[^\s/@]+(?=@)/g },
  { kind: 'password', pattern: /(\s(?:-u|--user)[\s=]*[^\s:=][^\s:]*:)\S+/g },
  { kind: 'secret', pattern: new RegExp(`(${secretWord}\\\\*["']?\\s*[=:]\\s*)${quotedValue}`, 'gi') },
  { kind: 'secret', pattern: new RegExp(`((?<![\\w-])--?[\\w-]{0,64}${secretWord}\\s+)${quotedValue}`, 'gi') },
  {
    kind: 'API key',
    pattern: /(\b)(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[abprs]|npm|hf|AKIA|ASIA|AIza|ya29)[-_.]?[\w-]{12,}/g,
  },
  { kind: 'JWT', pattern: /(\b)eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?/g },
  { kind: 'random text', pattern: /(\b)[\w+=-]{32,}/g, test: (secret) => /\d/.test(secret) && /[a-z]/i.test(secret) },
];

/** Replaces everything in a text that has the shape of a secret. */
export function maskSecrets(text: string, mask: SecretMask): string {
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
