/** The routes of tasks: list, timeline, halt, pause, resume. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { SwitchgearError } from '../../core/error.ts';
import { reasonLengthMax, storedEntriesMax } from '../../core/limits.ts';
import type { TaskFamily } from '../../operator/board/task-families.ts';
import { readTimelineRows } from '../../operator/board/timeline-rows.ts';
import { readAllTasks, readOrders } from '../../operator/status.ts';
import { describeUnknownTask, effectsOfOrders, giveTaskOrder } from '../../operator/task-orders.ts';
import { readTimeline, type TimelinePage } from '../../operator/timeline.ts';
import { answerRowsMax } from '../http/limits.ts';
import { formatJson, securityHeaders } from '../http/respond.ts';
import { defineRoute, type Route, type ServerContext } from '../http/route.ts';
import { objectSchema } from '../http/schema.ts';

export const taskRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/tasks',
    summary: 'List the tasks of all processes on the store.',
    access: 'viewer',
    query: objectSchema({
      state: { type: 'string', enum: ['running', 'paused', 'halted', 'lost'] },
      offset: { type: 'integer', minimum: 0, maximum: 1_000_000 },
      limit: { type: 'integer', minimum: 1, maximum: answerRowsMax, description: '1000 by default' },
      id: { type: 'string', maxLength: 1_000, description: 'Only this task and those directly below it.' },
    }),
    answer: 'The tasks, oldest first, how many there are in all, the pauses in force, and the time of the store.',
    async handle({ context, query }) {
      const { state, id, offset = 0, limit = answerRowsMax } = query;
      const all = await readAllTasks(context.store, context.readRecentEntries);
      const tasks = all
        .filter((task) => (state ?? task.state) === task.state)
        .filter((task) => id === undefined || task.id === id || task.parent === id);
      const { pauses } = readOrders(context.store);
      const atMs = context.store.clock.nowMs();
      return { tasks: tasks.slice(offset, offset + limit), total: tasks.length, pauses, atMs };
    },
  }),
  ...(['halt', 'pause', 'resume'] as const).map((order) =>
    defineRoute({
      method: 'POST',
      path: `/api/tasks/{id}/${order}`,
      summary: `Give the order ${order} to a task, and wait for its acknowledgement.`,
      access: 'operator',
      body: objectSchema({ reason: { type: 'string', maxLength: reasonLengthMax } }),
      answer: 'What the order did, and the task as it is in the store after it.',
      async handle({ context, params, body, authorize }) {
        const { store } = context;
        const operator = await authorize(effectsOfOrders[order]);
        const request = { target: params.id!, reason: body.reason ?? '', ...operator };
        const effect = await giveTaskOrder(store, order, request);
        const unknown = effect.status === 'ordered' ? describeUnknownTask(order, params.id!, effect) : undefined;
        if (unknown !== undefined) throw new SwitchgearError('not_found', unknown);
        const task = (await readAllTasks(store)).find(({ id }) => id === params.id);
        return { effect, ...(task && { task }) };
      },
    }),
  ),
  defineRoute({
    method: 'GET',
    path: '/api/tasks/{id}/timeline',
    summary: 'The journal entries of a task and of the tasks below it, oldest first.',
    access: 'viewer',
    query: objectSchema({
      after: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Entries after this one.' },
      limit: { type: 'integer', minimum: 1, maximum: 10_000, description: '1000 by default; a file has all entries.' },
      format: { type: 'string', enum: ['json', 'jsonl'], description: 'jsonl: one entry in each line, for a file.' },
    }),
    answer: 'The entries, and the number after which the next page begins; or JSON lines.',
    async handle({ context, params, query, response }) {
      const { after = 0, limit, format } = query;
      const family = await context.findTaskFamily(params.id!);
      if (format !== 'jsonl') return readTimeline(context.store, family, after, limit ?? exportPageSize);
      await sendLines(response, timelineLines(context, family, after, limit ?? storedEntriesMax));
      return undefined;
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/tasks/{id}/rows',
    summary: 'The timeline of a task and of the tasks below it as rows: tracks, calls, marks, costs.',
    access: 'viewer',
    query: objectSchema({
      after: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Rows after this entry.' },
      before: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Rows before this entry.' },
      limit: { type: 'integer', minimum: 1, maximum: answerRowsMax, description: '1000 by default' },
      trouble: { type: 'boolean', description: 'Only refusals, failures and halts.' },
    }),
    answer: 'The newest rows, or those before or after an entry; the numbers between which the journal was read.',
    async handle({ context, params, query }) {
      const { after, before, limit = answerRowsMax, trouble: onlyTrouble } = query;
      const family = await context.findTaskFamily(params.id!);
      return readTimelineRows(context.store, family, { after, before, limit, onlyTrouble });
    },
  }),
];

/** Entries that a file is read by. */
const exportPageSize = 1_000;

async function* timelineLines(
  { store }: ServerContext,
  family: TaskFamily,
  after: number,
  limit: number,
): AsyncGenerator<string> {
  let last: number | undefined = after;
  for (let left = limit; last !== undefined && left > 0; ) {
    const page: TimelinePage = await readTimeline(store, family, last, Math.min(exportPageSize, left));
    yield page.entries.map((entry) => `${formatJson(entry)}\n`).join('');
    left -= page.entries.length;
    last = page.next;
  }
}

/** Writes a file part by part, as fast as the client reads it. */
async function sendLines(response: ServerResponse, parts: AsyncIterable<string>): Promise<void> {
  response.writeHead(200, {
    ...securityHeaders,
    'content-type': 'application/x-ndjson; charset=utf-8',
    'content-disposition': 'attachment; filename="timeline.jsonl"',
  });
  for await (const part of parts) {
    if (response.destroyed) return;
    if (!response.write(part)) await Promise.race([once(response, 'drain'), once(response, 'close')]).catch(() => {});
  }
  response.end();
}
