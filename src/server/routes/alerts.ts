/** The route about alerts: rules, what fires, and webhooks. */

import { readAlerts } from '../../operator/alerts/read-alerts.ts';
import { defineRoute, type Route } from '../http/route.ts';

export const alertRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/alerts',
    summary: 'The built-in alerts: rules in force, what fires, and webhooks with their last deliveries.',
    access: 'viewer',
    answer: 'Rules with thresholds, firing and ended alerts, webhooks without their addresses, deliveries.',
    handle: ({ context }) => readAlerts(context.store),
  }),
];
