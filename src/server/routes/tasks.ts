/** The routes of tasks: list, timeline, halt, pause, resume. */

import { reasonLengthMax } from '../../core/limits.ts';
import { readAllTasks, readOrders } from '../../operator/status.ts';
import { effectsOfOrders, giveTaskOrder } from '../../operator/task-orders.ts';
import { readTimeline } from '../../operator/timeline.ts';
import { answerRowsMax } from '../http/limits.ts';
import { formatJson, textAnswer } from '../http/respond.ts';
import { defineRoute, type Route } from '../http/route.ts';
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
    }),
    answer: 'The tasks, oldest first, how many there are in all, the pauses in force, and the time of the store.',
    async handle({ context, query }) {
      const { state, offset = 0, limit = answerRowsMax } = query;
      const tasks = (await readAllTasks(context.store)).filter((task) => (state ?? task.state) === task.state);
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
      limit: { type: 'integer', minimum: 1, maximum: 10_000, description: '1000 by default' },
      format: { type: 'string', enum: ['json', 'jsonl'], description: 'jsonl: one entry in each line, for a file.' },
    }),
    answer: 'The entries, and the number after which the next page begins; or JSON lines.',
    async handle({ context, params, query }) {
      const { after = 0, limit = 1_000, format } = query;
      const page = await readTimeline(context.store, params.id!, after, limit);
      if (format !== 'jsonl') return page;
      const text = page.entries.map((entry) => `${formatJson(entry)}\n`).join('');
      const headers = { 'content-disposition': 'attachment; filename="timeline.jsonl"' };
      return textAnswer('application/x-ndjson; charset=utf-8', text, { headers });
    },
  }),
];
