/** The clauses about a tool of an MCP server, through `switchgear mcp` in front of a real server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createPlace, ProxyProcess } from '../cli/mcp/proxy-process.ts';
import { bin } from '../harness/switchgear-bin.ts';

const place = createPlace();
after(() => place.clear());

/** Reads a document that cannot be parsed, six times; returns the last result. */
async function readSixTimes(proxy: ProxyProcess) {
  await proxy.initialize();
  for (let n = 1; n <= 5; n++) {
    const { content } = await proxy.call('read_doc', { path: `chapter-${n}.md` });
    assert.match(content[0]?.text ?? '', /^parse failure/);
  }
  return proxy.call('read_doc', { path: 'chapter-6.md' });
}

test('C31: a parse failure of read_doc, five times, blocks further reads', { timeout: 60_000 }, async () => {
  const proxy = new ProxyProcess(place, { bin });
  try {
    const sixth = await readSixTimes(proxy);
    assert.equal(ProxyProcess.readLog(place).filter((line) => line === 'call read_doc').length, 5);
    assert.equal(sixth.isError, true);
    assert.match(sixth.content[0]?.text ?? '', /read_doc' is out of order .*failed 5 times in a row/);
  } finally {
    proxy.end();
    await proxy.exited;
  }
});

test('C32: the agent is told to ask the user or to check its input first', { timeout: 60_000 }, async () => {
  const own = createPlace();
  const proxy = new ProxyProcess(own, { bin });
  try {
    const { content } = await readSixTimes(proxy);
    assert.match(content[0]?.text ?? '', /ask the user, or check that .*the file exists/);
  } finally {
    proxy.end();
    await proxy.exited;
    own.clear();
  }
});
