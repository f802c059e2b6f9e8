/** The command `switchgear alerts`: shows the built-in alerts of a store, and sends test messages. */

import { formatTimeSpan } from '../../core/quote.ts';
import { type AlertSummary, readAlerts } from '../../operator/alerts/read-alerts.ts';
import { listAlertRules } from '../../operator/alerts/rules.ts';
import type { Paint, TableCell } from '../../operator/format.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { makeTestMessage } from '../../server/alerts/message.ts';
import { resolveWebhooks } from '../../server/alerts/resolve-webhooks.ts';
import { sendMessage } from '../../server/alerts/send-message.ts';
import { type Command, exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { loadEffectivePolicy, placeOnStore } from '../policy/load-policy.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';

export const command: Command = {
  usage: [
    'alerts                           show the built-in alerts, what fires, and the webhooks of a store',
    'alerts test [WEBHOOK]            send a test message to the webhooks of the policy here, or to one of them',
  ],
  details: ['', 'A switchgear serve evaluates the alerts; docs/guides/alerts.md explains thresholds and webhooks.'],
  run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json'], 2, ['--store']);
    const [verb] = parsedArgs.positionals;
    if (verb !== undefined && verb !== 'test') throw usageError(`alerts: expected 'test' or nothing, got '${verb}'`);
    const action = verb === 'test' ? testWebhooks : showAlerts;
    return withStore(findStoreAddress(parsedArgs, terminal), (store) => action(store, parsedArgs, terminal));
  },
};

async function showAlerts(store: CrossProcessStore, { switches }: ParsedArgs, terminal: Terminal): Promise<number> {
  const alerts = await readAlerts(store);
  if (switches.has('--json')) {
    terminal.out(JSON.stringify(alerts, null, 2));
    return exitCodes.ok;
  }
  const { policy } = await loadEffectivePolicy(undefined, terminal, placeOnStore(store, terminal));
  // Without a server the rules are those of the policy here.
  const rules = alerts.isEvaluated ? alerts.rules : listAlertRules(policy.settings.alerts);
  for (const line of formatAlerts({ ...alerts, rules }, store.clock.wallMs(), createPaint(terminal)))
    terminal.out(line);
  return exitCodes.ok;
}

function formatAlerts(alerts: AlertSummary, wallMs: number, paint: Paint): readonly string[] {
  const { isEvaluated, evaluatedBy = '', rules, firing, webhooks } = alerts;
  const ruleRows = rules.map(({ name, condition, setting }): readonly TableCell[] => [
    { text: name },
    { text: condition, style: condition === 'off' ? 'yellow' : undefined },
    { text: setting, style: 'dim' },
  ]);
  const firingRows = firing.map(({ rule, subject, sinceWallMs, card }): readonly TableCell[] => [
    { text: rule, style: 'red' },
    { text: subject },
    { text: `for ${formatTimeSpan(wallMs - sinceWallMs)}` },
    { text: card, style: 'dim' },
  ]);
  const webhookRows = webhooks.map(
    ({ name, host, format, events, state, problem, lastDelivery }): readonly TableCell[] => [
      { text: name },
      { text: state, style: state === 'failing' ? 'red' : undefined },
      { text: `${format}: ${events.join(', ')}` },
      { text: problem ?? `${host}${lastDelivery === undefined ? '' : `, last: ${lastDelivery.detail}`}`, style: 'dim' },
    ],
  );
  const section = (title: string, rows: readonly (readonly TableCell[])[]) =>
    rows.length === 0 ? [] : ['', paint(`${title} (${rows.length})`, 'bold'), ...formatTable(rows, paint)];
  return [
    isEvaluated ? `Evaluated by the server ${evaluatedBy}` : 'Not evaluated: no switchgear serve runs on this store.',
    ...section('Rules', ruleRows),
    ...(firing.length === 0 ? ['', 'Nothing fires.'] : section('Firing', firingRows)),
    ...section('Webhooks', webhookRows),
  ];
}

/** Sends a test message with the addresses and secrets that this terminal has. */
async function testWebhooks(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<number> {
  const [, wanted] = parsedArgs.positionals;
  await identifyOperator(store, parsedArgs, terminal, 'loosen');
  const { policy, waiting, file } = await loadEffectivePolicy(undefined, terminal, placeOnStore(store, terminal));
  const all = resolveWebhooks(policy.settings.webhooks ?? [], terminal);
  const webhooks = all.filter(({ name }) => wanted === undefined || name === wanted);
  if (webhooks.length === 0) {
    if (all.length === 0 && waiting.some((setting) => setting.startsWith('webhooks')))
      throw usageError(`the webhooks of ${file} wait for: switchgear policy trust`);
    const known = all.map(({ name }) => name).join(', ');
    throw usageError(
      wanted === undefined || all.length === 0
        ? 'the policy here has no webhooks: see docs/guides/alerts.md'
        : `there is no webhook ${JSON.stringify(wanted)}; there are ${known}`,
    );
  }
  const wallMs = store.clock.wallMs();
  const results = await Promise.all(
    webhooks.map(async (webhook) => {
      const message = makeTestMessage({ pageUrl: 'http://127.0.0.1:4770', wallMs, webhook: webhook.name });
      return { name: webhook.name, ...(await sendMessage(webhook, message, wallMs)) };
    }),
  );
  if (parsedArgs.switches.has('--json')) terminal.out(JSON.stringify(results, null, 2));
  else
    for (const { name, isDelivered, detail } of results)
      terminal.out(`${name}: ${isDelivered ? 'delivered' : 'not delivered'} (${detail})`);
  return results.every(({ isDelivered }) => isDelivered) ? exitCodes.ok : exitCodes.error;
}
