/** The view Standing approvals: what runs without a question, and who allowed it. */

import { useSignal } from '@preact/signals';
import { apiPost, errorText } from '../api.ts';
import { DataTable } from '../components/data-table.tsx';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { Ago } from '../components/time.tsx';
import { useResource } from '../live/resource.ts';
import { announce, isOperator } from '../state.ts';
import type { View } from './view.ts';

interface StandingApproval {
  readonly id: string;
  readonly chain: string;
  readonly step: string;
  readonly file?: string;
  readonly rules: readonly string[];
  readonly by: string;
  readonly givenWallMs: number;
}

interface StandingAnswer {
  readonly standing: readonly StandingApproval[];
}

const columns = ['Chain', 'Step', 'Rules', 'Given by', 'When'];

function Standing() {
  const busy = useSignal('');
  const { loaded, reload } = useResource<StandingAnswer>('/api/standing', ({ type }) => type.startsWith('standing-'));
  const { value, error } = loaded.value;
  const revoke = async ({ id, chain, step }: StandingApproval) => {
    busy.value = id;
    try {
      await apiPost(`/api/standing/${encodeURIComponent(id)}/revoke`);
      announce(`Revoked: ${nameStep(chain, step)} asks again.`, 'good');
    } catch (thrown) {
      announce(errorText(thrown), 'bad');
    }
    await reload();
    busy.value = '';
  };
  if (value === undefined) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reload} />;
  if (value.standing.length === 0) {
    return (
      <EmptyState icon="check" title="No standing approvals.">
        <p>“Approve always” on a question of a chain puts one here. The same in a terminal:</p>
        <CommandLine text="switchgear inbox approve ID --for always" />
      </EmptyState>
    );
  }
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      <DataTable name="Standing approvals" columns={isOperator.value ? [...columns, 'Actions'] : columns}>
        {value.standing.map((approval) => (
          <tr key={approval.id}>
            <th scope="row">
              {approval.chain}
              {approval.file !== undefined && <div class="dim file">{approval.file}</div>}
            </th>
            <td>{approval.step === '' ? 'the whole run' : approval.step}</td>
            <td>
              {approval.rules.map((rule) => (
                <div key={rule}>
                  <code>{rule}</code>
                </div>
              ))}
            </td>
            <td>{approval.by}</td>
            <td>
              <Ago wallMs={approval.givenWallMs} />
            </td>
            {isOperator.value && (
              <td>
                <button
                  type="button"
                  class="danger small"
                  disabled={busy.value === approval.id}
                  aria-label={`Revoke: ${nameStep(approval.chain, approval.step)}`}
                  onClick={() => void revoke(approval)}
                >
                  Revoke
                </button>
              </td>
            )}
          </tr>
        ))}
      </DataTable>
    </>
  );
}

function nameStep(chain: string, step: string): string {
  return step === '' ? chain : `${chain}, step ${step}`;
}

export const standingView: View = { id: 'standing', title: 'Standing approvals', Component: Standing };
