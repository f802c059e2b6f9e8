import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { cardApprover } from '../../src/approvers/card-approver.ts';
import { firstAnswer } from '../../src/approvers/first-answer.ts';
import { noApprover } from '../../src/approvers/no-approver.ts';
import { terminalApprover } from '../../src/approvers/terminal-approver.ts';
import { webhookApprover } from '../../src/approvers/webhook-approver.ts';
import type { Card, CardAction } from '../../src/core/card.ts';
import type { Approver } from '../../src/ports/approver.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { approverSuite, questionCard } from '../../src/testing/approver-suite.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

const words: Readonly<Record<string, string>> = {
  approve: 'y',
  approve_run: 'run',
  approve_always: 'always',
  decline: 'n',
};

/** A terminal that a test types at. */
function typing(isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough();
  const shown: string[] = [];
  output.on('data', (data) => shown.push(String(data)));
  return { input, output, shown, approver: terminalApprover({ input, output }) };
}

function store() {
  const clock = simulatedClock();
  const kept = memoryStore(clock);
  const answer = (card: Card, action: CardAction) => {
    kept.putCard({ ...card, state: 'answered', answer: action, by: 'bob' });
    return clock.elapse(1_000);
  };
  return { kept, answer };
}

/** A server that holds requests until they are answered, by card. */
async function serving(answer?: (response: ServerResponse) => void) {
  const open = new Map<string, ServerResponse>();
  const asked: { readonly headers: IncomingMessage['headers']; readonly card: Card }[] = [];
  let wake = () => {};
  const server: Server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += String(part);
    const card = JSON.parse(text) as Card;
    asked.push({ headers: request.headers, card });
    if (answer !== undefined) return answer(response);
    open.set(card.id, response);
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ask`;
  return {
    url,
    asked,
    async responseTo({ id }: Card): Promise<ServerResponse> {
      while (!open.has(id)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return open.get(id)!;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const said: Readonly<Record<string, object>> = {
  approve: { approved: true },
  approve_run: { approved: true, for: 'run' },
  approve_always: { approved: true, for: 'always' },
  decline: { approved: false },
};

approverSuite('terminal', () => {
  const { approver, input } = typing();
  return { approver, answer: (_, action) => void input.write(`${words[action]}\n`) };
});

approverSuite('cards', () => {
  const { kept, answer } = store();
  return { approver: cardApprover({ store: kept }), answer };
});

approverSuite('webhook', async () => {
  const { url, responseTo, close } = await serving();
  return {
    approver: webhookApprover({ url }),
    answer: async (card, action) => void (await responseTo(card)).end(JSON.stringify({ ...said[action], by: 'bob' })),
    close,
  };
});

approverSuite('first of several', () => {
  const { kept, answer } = store();
  return {
    approver: firstAnswer(noApprover, typing(false).approver, cardApprover({ store: kept }), typing().approver),
    answer,
  };
});

const signal = () => new AbortController().signal;

test('noApprover is never available and does not answer', async () => {
  assert.equal(noApprover.isAvailable?.(), false);
  await assert.rejects(noApprover.ask(questionCard(), signal()));
});

test('without a terminal the terminal approver is unavailable', async () => {
  const { approver, shown } = typing(false);
  assert.equal(approver.isAvailable?.(), false);
  await assert.rejects(approver.ask(questionCard(), signal()), /no terminal/);
  assert.deepEqual(shown, []);
});

test('the terminal approver repeats the question after an unknown word, and strips control characters', async () => {
  const { approver, input, shown } = typing();
  const asked = approver.ask({ ...questionCard(), evidence: ['plan', 'pay \u001b[2Jnow?'] }, signal());
  input.write('perhaps\n');
  input.write('\n');
  input.write('YES\n');
  assert.equal((await asked).approved, true);
  const text = shown.join('');
  assert.match(text, /plan\npay ·\[2Jnow\?\nGo on\? \[y\/n\/run\/always\]/);
  assert.equal(text.match(/Please say y, n, run, always\./g)?.length, 2);
});

test('the terminal approver does not accept an answer that the card does not offer', async () => {
  const { approver, input, shown } = typing();
  const asked = approver.ask({ ...questionCard(), actions: ['approve', 'decline'] }, signal());
  input.write('always\n');
  input.write('n\n');
  assert.equal((await asked).approved, false);
  assert.match(shown.join(''), /\[y\/n\]/);
});

test('the terminal approver rejects if the input closes or has no yes or no in five lines', async () => {
  const closed = typing();
  const asked = closed.approver.ask(questionCard(), signal());
  closed.input.end();
  await assert.rejects(asked);
  const babble = typing();
  const again = babble.approver.ask(questionCard(), signal());
  for (let turn = 0; turn < 5; turn++) babble.input.write('well\n');
  await assert.rejects(again, /the terminal gave no yes or no/);
});

test('a webhook receives the card and the headers, and an invalid response rejects', async () => {
  const bad: readonly ((response: ServerResponse) => void)[] = [
    (response) => response.end('{"approved":"yes"}'),
    (response) => response.end('not json'),
    (response) => response.end(),
    (response) => response.writeHead(500).end('{"approved":true,"by":"x"}'),
    (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    (response) => response.end(`{"approved":true,"by":"${'x'.repeat(70_000)}"}`),
    (response) => response.destroy(),
  ];
  for (const answer of bad) {
    const { url, close, asked } = await serving(answer);
    const card = questionCard();
    await assert.rejects(webhookApprover({ url, headers: { authorization: 'Bearer t' } }).ask(card, signal()));
    assert.equal(asked[0]?.headers.authorization, 'Bearer t');
    assert.deepEqual(asked[0]?.card, card);
    close();
  }
});

test('after a response with status 202 another approver may answer', async () => {
  const { url, close } = await serving((response) => response.writeHead(202).end());
  const { kept, answer } = store();
  const card = questionCard();
  const asked = firstAnswer(webhookApprover({ url }), cardApprover({ store: kept })).ask(card, signal());
  await answer(card, 'approve');
  assert.deepEqual(await asked, { approved: true, by: 'bob' });
  close();
});

test('a webhook URL must use https or point to the local machine', () => {
  for (const url of ['https://example.com/a', 'http://localhost:1', 'http://127.0.0.1', 'http://[::1]:2/x']) {
    assert.ok(webhookApprover({ url }).name.startsWith('webhook '));
  }
  for (const url of ['http://example.com', 'ftp://localhost', 'nonsense', 'http://127.0.0.1.example.com']) {
    assert.throws(() => webhookApprover({ url }), { code: 'invalid_argument' });
  }
});

test('firstAnswer takes the first answer and aborts the rest, and rejects if all approvers fail', async () => {
  let wasLetGo = false;
  const silent: Approver = {
    name: 'silent',
    ask: (_, over) =>
      new Promise((_resolve, reject) => {
        over.addEventListener('abort', () => {
          wasLetGo = true;
          reject(new Error('over'));
        });
      }),
  };
  const ready: Approver = { name: 'ready', ask: async () => ({ approved: false, by: 'ann' }) };
  const odd: Approver = { name: 'odd', ask: async () => 'yes' as never };
  const broken: Approver = {
    name: 'broken',
    ask() {
      throw new Error('at once');
    },
  };
  const several = firstAnswer(broken, odd, silent, ready);
  assert.equal(several.name, 'broken, odd, silent, ready');
  assert.deepEqual(await several.ask(questionCard(), signal()), { approved: false, by: 'ann' });
  assert.equal(wasLetGo, true);
  await assert.rejects(firstAnswer(broken, odd).ask(questionCard(), signal()));
  assert.equal(firstAnswer(noApprover, typing(false).approver).isAvailable?.(), false);
  assert.equal(firstAnswer(noApprover, ready).isAvailable?.(), true);
});
