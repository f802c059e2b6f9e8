/** Agents that wait for a server which never comes up. */

import { type BadStory, bash, turn } from '../story.ts';
import { chance, rounds, spoken } from './failing.ts';

const notReady = `Exit code 22
503 service not ready
curl: (22) The requested URL returned error: 503`;

/** Stories of a server that never answers as it should. */
export const endlessWaitStories: readonly BadStory[] = [
  {
    name: 'waiting-refused-without-pause',
    about: 'An agent asks a server that crashed at its start, without any pause between the questions.',
    kind: 'bad',
    haltedBy: 16,
    steps: [
      { prompt: 'Start the dev server and check that the start page renders.' },
      turn("I'll start the server in the background.", bash('npm run dev > /tmp/dev.log 2>&1 &', '', { secs: 0.2 })),
      ...rounds(64, (at) =>
        turn(
          ...spoken(['Is it up?', 'Vite needs a moment on a cold cache.', 'Not listening so far.'], at, 4),
          bash(
            'curl -sS http://localhost:5173/',
            'Exit code 7\ncurl: (7) Failed to connect to localhost port 5173 after 0 ms: Could not connect to server',
            { ok: false, secs: 0.03 + 0.02 * chance(at, 41) },
          ),
        ),
      ),
    ],
  },
  {
    name: 'waiting-refused-with-sleep',
    about: 'An agent sleeps ten seconds before each question to a server that never comes up.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Bring up the API with docker compose and run the smoke request against /health.' },
      turn(
        bash('docker compose up -d api', ' Network shop_default  Created\n Container shop-api-1  Started', {
          secs: 2.4,
        }),
      ),
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            ['The container is up; waiting for the API.', 'Giving it more time.', 'It is probably still migrating.'],
            at,
          ),
          bash(
            'sleep 10 && curl -sS http://localhost:8080/health',
            'Exit code 7\ncurl: (7) Failed to connect to localhost port 8080 after 0 ms: Could not connect to server',
            { ok: false, secs: 10.05 + 0.05 * chance(at, 42) },
          ),
        ),
      ),
    ],
  },
  {
    name: 'waiting-not-ready-without-pause',
    about: 'An agent asks a service that says "not ready" forever, without any pause between the questions.',
    kind: 'bad',
    haltedBy: 16,
    steps: [
      { prompt: 'Start the search service and index the sample products.' },
      turn(bash('docker start search', 'search', { secs: 0.7 })),
      ...rounds(64, (at) =>
        turn(
          ...spoken(['Checking whether the service is ready.', 'It answers, so it must be nearly there.'], at, 5),
          bash('curl --fail-with-body -sS http://localhost:9200/ready', notReady, {
            ok: false,
            secs: 0.04 + 0.03 * chance(at, 43),
          }),
        ),
      ),
    ],
  },
];
