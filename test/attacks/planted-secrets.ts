/**
 * Secrets of many vendors and forms, made from parts so that no scanner takes this file for a leak. Each has the text
 * in which it usually comes, and the piece of that text that must not be found anywhere.
 */

import { createHash } from 'node:crypto';

/** One secret: its kind, the text around it, and the piece that nobody may find. */
export interface PlantedSecret {
  readonly kind: string;
  readonly text: string;
  readonly secret: string;
}

const lower = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const alphabets = {
  hex: '0123456789abcdef',
  upper: lower.toUpperCase() + digits,
  alnum: lower + lower.toUpperCase() + digits,
  base64: `${lower}${lower.toUpperCase()}${digits}+/`,
  url: `${lower}${lower.toUpperCase()}${digits}-_`,
  digits,
  word: lower,
} as const;

/** Characters of an alphabet that look random and are the same in every run. */
function draw(alphabet: keyof typeof alphabets, length: number, seed: string): string {
  const letters = alphabets[alphabet];
  let drawn = '';
  for (let round = 0; drawn.length < length; round++) {
    const bytes = createHash('sha512').update(`${seed}/${alphabet}/${round}`).digest();
    for (const byte of bytes) drawn += letters[byte % letters.length];
  }
  return drawn.slice(0, length);
}

type Draw = (alphabet: keyof typeof alphabets, length: number) => string;
/** The text, and the secret in it; the whole text is secret if there is one part only. */
type Make = (random: Draw) => string | readonly [before: string, secret: string, after?: string];

const pem = (label: string, body: string): readonly [string, string, string] => [
  `-----BEGIN ${label}-----\n`,
  body.replaceAll(/.{64}/g, '$&\n'),
  `\n-----END ${label}-----`,
];
const base64Text = (text: string) => Buffer.from(text).toString('base64');
const base64Url = (text: string) => Buffer.from(text).toString('base64url');

const vendorKeys: Readonly<Record<string, Make>> = {
  'OpenAI project key': (r) => `sk-${'proj'}-${r('url', 48)}`,
  'OpenAI key': (r) => `sk-${r('alnum', 48)}`,
  'Anthropic key': (r) => `sk-${'ant'}-api03-${r('url', 93)}AA`,
  'OpenRouter key': (r) => `sk-${'or'}-v1-${r('hex', 64)}`,
  'Groq key': (r) => `gsk${'_'}${r('alnum', 52)}`,
  'xAI key': (r) => `xai${'-'}${r('alnum', 80)}`,
  'Perplexity key': (r) => `pplx${'-'}${r('alnum', 48)}`,
  'Replicate token': (r) => `r8${'_'}${r('alnum', 37)}`,
  'Hugging Face token': (r) => `hf${'_'}${r('alnum', 34)}`,
  'AWS access key id': (r) => `AKI${'A'}${r('upper', 16)}`,
  'AWS temporary key id': (r) => `ASI${'A'}${r('upper', 16)}`,
  'AWS secret key': (r) => ['aws_secret_access_key = ', r('base64', 40)],
  'AWS session token': (r) => ['export AWS_SESSION_TOKEN=', r('base64', 220)],
  'AWS presigned URL': (r) => [
    'https://b.s3.amazonaws.com/k?X-Amz-Expires=900&X-Amz-Signature=',
    r('hex', 64),
    '&X-Amz-SignedHeaders=host',
  ],
  'GCP API key': (r) => `AIz${'a'}${r('url', 35)}`,
  'GCP access token': (r) => `ya29${'.'}a0${r('url', 120)}`,
  'GCP service account': (r) => {
    const [begin, body, end] = pem(`PRIVATE ${'KEY'}`, r('base64', 640));
    return [
      `{"type":"service_account","private_key":"${JSON.stringify(begin).slice(1, -1)}`,
      JSON.stringify(body).slice(1, -1),
      `${JSON.stringify(end).slice(1, -1)}\\n","client_email":"a@b.iam.gserviceaccount.com"}`,
    ];
  },
  'Azure storage connection string': (r) => [
    `DefaultEndpointsProtocol=https;AccountName=files;Account${'Key'}=`,
    `${r('base64', 86)}==`,
    ';EndpointSuffix=core.windows.net',
  ],
  'Azure SAS': (r) => [
    'https://files.blob.core.windows.net/c/f?sv=2022-11-02&se=2030-01-01&sp=r&sig=',
    `${r('alnum', 20)}%2B${r('alnum', 20)}%3D`,
  ],
  'Azure client secret': (r) => `${r('alnum', 3)}8Q~${r('url', 34)}`,
  'Azure service bus': (r) => [
    'Endpoint=sb://q.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=',
    `${r('base64', 43)}=`,
  ],
  'GitHub classic token': (r) => `gh${'p'}_${r('alnum', 36)}`,
  'GitHub fine-grained token': (r) => `github${'_pat_'}${r('alnum', 22)}_${r('alnum', 59)}`,
  'GitHub app token': (r) => `gh${'s'}_${r('alnum', 36)}`,
  'GitHub refresh token': (r) => `gh${'r'}_${r('alnum', 76)}`,
  'GitLab token': (r) => `glpat${'-'}${r('url', 20)}`,
  'Bitbucket app password': (r) => `ATB${'B'}${r('alnum', 32)}`,
  'Atlassian token': (r) => `ATATT3x${'FfGF0'}${r('url', 180)}`,
  'Slack bot token': (r) => `xox${'b'}-${r('digits', 12)}-${r('digits', 13)}-${r('alnum', 24)}`,
  'Slack app token': (r) => `xap${'p'}-1-A${r('upper', 10)}-${r('digits', 13)}-${r('hex', 64)}`,
  'Slack webhook': (r) => [
    `https://hooks.slack.com/${'services'}/`,
    `T${r('upper', 8)}/B${r('upper', 8)}/${r('alnum', 24)}`,
  ],
  'Discord webhook': (r) => [`https://discord.com/api/${'webhooks'}/${r('digits', 18)}/`, r('url', 68)],
  'Discord bot token': (r) => `${base64Url(r('digits', 18))}.${r('url', 6)}.${r('url', 38)}`,
  'Telegram bot token': (r) => [`https://api.telegram.org/bot${r('digits', 10)}:`, `AA${r('url', 33)}`, '/getMe'],
  'Stripe secret key': (r) => `sk${'_live_'}${r('alnum', 24)}`,
  'Stripe restricted key': (r) => `rk${'_live_'}${r('alnum', 24)}`,
  'Stripe webhook secret': (r) => `whsec${'_'}${r('alnum', 32)}`,
  'Square token': (r) => `sq0${'atp'}-${r('url', 22)}`,
  'Shopify token': (r) => `shp${'at'}_${r('hex', 32)}`,
  'npm token': (r) => `npm${'_'}${r('alnum', 36)}`,
  'npm registry line': (r) => [`//registry.example.com/:_auth${'Token'}=`, r('url', 36)],
  'PyPI token': (r) => `pypi${'-'}AgEIcHlwaS5vcmc${r('url', 120)}`,
  'SendGrid key': (r) => `S${'G'}.${r('url', 22)}.${r('url', 43)}`,
  'Twilio key': (r) => `S${'K'}${r('hex', 32)}`,
  'Mailgun key': (r) => `key${'-'}${r('hex', 32)}`,
  'Mailchimp key': (r) => `${r('hex', 32)}-us${'12'}`,
  'DigitalOcean token': (r) => `dop${'_v1_'}${r('hex', 64)}`,
  'Doppler token': (r) => `dp${'.pt.'}${r('alnum', 43)}`,
  'New Relic key': (r) => `NRA${'K'}-${r('upper', 27)}`,
  'Datadog header': (r) => [`DD-API-${'KEY'}: `, r('hex', 32)],
  'Sentry DSN': (r) => ['https://', r('hex', 32), '@o1.ingest.sentry.io/2'],
  'Vault token': (r) => `hv${'s'}.${r('url', 90)}`,
  'Terraform token': (r) => `${r('alnum', 14)}.atlas${'v1'}.${r('url', 67)}`,
  'Databricks token': (r) => `dap${'i'}${r('hex', 32)}`,
  'Linear key': (r) => `lin${'_api_'}${r('alnum', 40)}`,
  'Notion token': (r) => `ntn${'_'}${r('digits', 11)}${r('alnum', 35)}`,
  'Supabase token': (r) => `sbp${'_'}${r('hex', 40)}`,
  'age key': (r) => `AGE-SECRET-${'KEY'}-1${r('upper', 58)}`,
};

const otherForms: Readonly<Record<string, Make>> = {
  JWT: (r) => `${base64Url('{"alg":"HS256"}')}.${base64Url(`{"sub":"${r('alnum', 20)}"}`)}.${r('url', 43)}`,
  'RSA private key': (r) => pem(`RSA PRIVATE ${'KEY'}`, r('base64', 640)),
  'EC private key': (r) => pem(`EC PRIVATE ${'KEY'}`, r('base64', 160)),
  'OpenSSH private key': (r) => pem(`OPENSSH PRIVATE ${'KEY'}`, r('base64', 320)),
  'encrypted private key': (r) => pem(`ENCRYPTED PRIVATE ${'KEY'}`, r('base64', 640)),
  'PGP private key': (r) => pem(`PGP PRIVATE KEY ${'BLOCK'}`, r('base64', 640)),
  'bearer header': (r) => ['authorization: Bearer ', r('url', 40)],
  'basic header': (r) => ['Authorization: Basic ', base64Text(`deploy:${r('alnum', 18)}`)],
  'key header': (r) => [`x-api-${'key'}: `, r('alnum', 30)],
  'cookie header': (r) => ['Cookie: theme=dark; sid=', r('alnum', 26)],
  'set-cookie header': (r) => ['Set-Cookie: session=', r('alnum', 26), '; HttpOnly; Path=/'],
  'password in a URL': (r) => [`https://deploy:`, r('alnum', 16), '@git.example.com/a.git'],
  'token as the user of a URL': (r) => ['https://', `${r('alnum', 24)}7`, ':x-oauth-basic@git.example.com/a.git'],
  'Postgres URL': (r) => ['postgres://app:', r('alnum', 14), '@db.internal:5432/app?sslmode=require'],
  'MongoDB URL': (r) => ['mongodb+srv://app:', r('alnum', 14), '@c0.ab1cd.mongodb.net/app'],
  'Redis URL': (r) => ['redis://:', r('alnum', 20), '@cache.internal:6379/0'],
  'AMQP URL': (r) => ['amqps://app:', r('alnum', 14), '@mq.internal/vhost'],
  'SQL Server connection string': (r) => [
    'Server=tcp:db.example.com,1433;User Id=app;Password=',
    r('alnum', 14),
    ';Encrypt=True',
  ],
  'ODBC connection string': (r) => ['Driver={PostgreSQL};Server=db;Uid=app;Pwd=', r('alnum', 14), ';'],
  'JDBC URL': (r) => ['jdbc:mysql://db:3306/app?user=app&password=', r('alnum', 14), '&useSSL=true'],
  'password in a query': (r) => ['https://example.com/login?user=ann&password=', r('alnum', 12), '&next=%2F'],
  'token in a query': (r) => ['https://example.com/api?access_token=', r('alnum', 24), '&page=2'],
  'token in a fragment': (r) => ['https://example.com/cb#id_token=', r('alnum', 24), '&state=1'],
  'key in a query': (r) => ['https://maps.example.com/api?key=', r('alnum', 30), '&q=berlin'],
  'client secret in a body': (r) => ['grant_type=client_credentials&client_secret=', r('alnum', 22)],
  'one-time code in a query': (r) => ['https://example.com/cb?code=', r('alnum', 30), '&state=xyz'],
  'password in JSON': (r) => ['{"user":"ann","password":"', r('alnum', 12), '"}'],
  'password in YAML': (r) => ['db:\n  user: ann\n  password: ', r('alnum', 12)],
  'password in an environment line': (r) => ['DB_PASSWORD=', r('alnum', 12)],
  'Heroku key': (r) => [
    'HEROKU_API_KEY=',
    `${r('hex', 8)}-${r('hex', 4)}-4${r('hex', 3)}-a${r('hex', 3)}-${r('hex', 12)}`,
  ],
  'curl with a user': (r) => ['curl -u deploy:', r('alnum', 14), ' https://example.com'],
  sshpass: (r) => ['sshpass -p ', r('alnum', 14), ' ssh root@example.com'],
  'mysql with a password': (r) => ['mysql -h db -u root -p', r('alnum', 14), ' app'],
  'netrc line': (r) => ['machine example.com login ann password ', r('alnum', 14)],
  'Docker credentials': (r) => ['{"auths":{"r.example.com":{"auth":"', base64Text(`ann:${r('alnum', 14)}`), '"}}}'],
  'kubeconfig key': (r) => ['client-key-data: ', r('base64', 200)],
  'password flag': (r) => ['psql --password ', r('alnum', 14), ' -h db'],
};

/** All secrets. */
export const plantedSecrets: readonly PlantedSecret[] = Object.entries({ ...vendorKeys, ...otherForms }).map(
  ([kind, make]) => {
    let drawn = 0;
    const made = make((alphabet, length) => draw(alphabet, length, `${kind}/${drawn++}`));
    const [before, secret, after = ''] = typeof made === 'string' ? ['', made] : made;
    return { kind, text: before + secret + after, secret };
  },
);

/** Characters of a secret in a row that nobody may find. */
const pieceLength = 10;

/** The kinds of the secrets of which 10 characters are in a text, plain or as hex, base64 or percent-encoded. */
export function findPlantedSecrets(content: string | Buffer): readonly string[] {
  const text = typeof content === 'string' ? content : content.toString('latin1');
  return plantedSecrets
    .filter((each) => listPieces(each).some((piece) => text.includes(piece)))
    .map(({ kind }) => kind);
}

function listPieces({ secret }: PlantedSecret): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at + pieceLength <= secret.length; at += at < 40 ? 1 : pieceLength)
    pieces.push(secret.slice(at, at + pieceLength));
  // The prefix of a vendor is no secret.
  return [...pieces.filter((piece) => /\d|[A-Z].*[a-z]|[a-z].*[A-Z]/.test(piece)), ...encodedForms(secret)];
}

/** The end of a secret in other writings. */
function encodedForms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret.slice(-12));
  return [bytes.toString('hex'), bytes.toString('base64'), encodeURIComponent(secret).slice(-16)];
}
